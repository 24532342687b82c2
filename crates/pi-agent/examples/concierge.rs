//! An agent that has nothing to do with code: the front desk of a hotel.
//!
//! It has a prompt of its own, one tool, and a conversation that grows too long and is compacted. A
//! scripted model stands in for a real one; put [`pi_ai::Protocols`] and a model of the catalogue
//! in its place.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use pi_agent::agent::AgentConfig;
use pi_agent::compaction::{CompactionPolicy, CompactionSettings};
use pi_agent::harness::{Harness, HarnessConfig};
use pi_agent::session::{Session, new_session_id};
use pi_agent::tool::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use pi_ai::faux::{FauxProvider, FauxTurn};
use serde_json::json;

/// Looks a room up.
#[derive(Debug)]
struct Rooms {
    definition: pi_ai::Tool,
}

impl Rooms {
    fn new() -> Result<Self, serde_json::Error> {
        let definition = serde_json::from_value(json!({
            "name": "free_rooms",
            "description": "Free rooms on a day.",
            "parameters": {
                "type": "object",
                "properties": {"day": {"type": "string", "description": "As in 2026-11-30"}},
                "required": ["day"],
            },
        }))?;
        Ok(Self { definition })
    }
}

impl Tool for Rooms {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Free rooms on a day")
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match call.arguments.get("day").and_then(|day| day.as_str()) {
                Some(day) => Ok(ToolOutput::text(format!("{day}: rooms 12 and 14 are free."))),
                None => Err(ToolError::new("Say which day, as in 2026-11-30.")),
            }
        })
    }
}

/// Named sections; the model is told what changes in them, and no more.
fn prompt(tools: &[Arc<dyn Tool>]) -> IndexMap<String, String> {
    let list: Vec<_> = tools.iter().filter_map(|tool| tool.prompt_snippet()).collect();
    IndexMap::from([
        ("preamble".to_owned(), "You answer at the front desk of a small hotel.".to_owned()),
        ("tools".to_owned(), list.join("\n")),
    ])
}

async fn run() -> Result<(), Box<dyn Error>> {
    let model = FauxProvider::default();
    let asked = json!({"day": "2026-12-24"});
    model.push(FauxTurn::tool_call("call_1", "free_rooms", asked));
    model.push("Rooms 12 and 14 are free on Christmas Eve.");
    model.push("Room 14 has the better view.");
    model.push("## Goal\nA room for Christmas Eve.");
    model.push("Booked: room 14.");

    let mut agent = AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
    agent.tools = vec![Arc::new(Rooms::new()?)];
    let session = Session::in_memory("/hotel".as_ref(), new_session_id())?;
    let harness = Harness::new(HarnessConfig {
        prompt: Arc::new(prompt),
        // So little stays word for word that this short talk can be compacted.
        compaction: CompactionPolicy {
            settings: CompactionSettings {
                keep_recent_tokens: 10,
                ..CompactionSettings::default()
            },
            ..CompactionPolicy::default()
        },
        ..HarnessConfig::new(agent, session)
    });

    harness.prompt(vec![InputBlock::text("Is there a room on Christmas Eve?")]).await?;
    harness.prompt(vec![InputBlock::text("Which one is nicer?")]).await?;
    let compacted = harness.compact(Some("dates and room numbers")).await?;
    assert!(compacted.summary.starts_with("## Goal"));
    let outcome = harness.prompt(vec![InputBlock::text("Book it.")]).await?;

    let answer = outcome.answer.map(|answer| answer.text());
    assert_eq!(answer.as_deref(), Some("Booked: room 14."));
    // What the model was sent last: prompt, summary, the newest exchange, the question.
    let roles: Vec<_> = harness.messages().iter().map(pi_agent::AgentMessage::role).collect();
    let expected = ["system", "compactionSummary", "user", "assistant", "user", "assistant"];
    assert_eq!(roles, expected);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    run().await
}
