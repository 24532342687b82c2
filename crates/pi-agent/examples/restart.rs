//! An agent that survives a restart: the conversation is on disk before anyone hears of it.
//!
//! The first part is cut off in the middle of a tool call, as by a crash or a deployment. The
//! second opens the newest session of the directory, sees how far things got, goes back to before
//! the interrupted question, and asks again on a branch of its own. Nothing is lost: the first
//! attempt is still in the file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::AgentMessage;
use pi_agent::agent::AgentConfig;
use pi_agent::harness::{Harness, HarnessConfig, NavigateOptions};
use pi_agent::session::{EntryKind, Session, new_session_id};
use pi_agent::session_dir::{Newest, SessionDir};
use pi_agent::tool::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use pi_ai::faux::{FauxProvider, FauxTurn};
use serde_json::json;
use tokio::sync::Notify;

/// Takes for ever.
#[derive(Debug)]
struct Forecast {
    definition: pi_ai::Tool,
    asked: Arc<Notify>,
}

impl Tool for Forecast {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.asked.notify_one();
            call.cancel.cancelled().await;
            Err(ToolError::new("The forecast was not ready in time."))
        })
    }
}

fn harness(
    session: Session,
    model: &FauxProvider,
    asked: &Arc<Notify>,
) -> Result<Harness, Box<dyn Error>> {
    let definition = serde_json::from_value(json!({
        "name": "forecast", "description": "The weather to come.", "parameters": {"type": "object"},
    }))?;
    let mut agent = AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
    agent.tools = vec![Arc::new(Forecast { definition, asked: Arc::clone(asked) })];
    Ok(Harness::new(HarnessConfig::new(agent, session)))
}

async fn run() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let sessions = SessionDir::PerProject(folder.path().to_owned());
    let project = Path::new("/harbour");
    let question = || vec![InputBlock::text("Will it rain?")];

    let model = FauxProvider::default();
    model.push("Hello.");
    model.push(FauxTurn::tool_call("call_1", "forecast", json!({})));
    let session = sessions.create(project, new_session_id(), None)?;
    let asked = Arc::new(Notify::new());
    let first = harness(session, &model, &asked)?;
    first.prompt(vec![InputBlock::text("Good morning")]).await?;
    // The future is dropped while the tool runs; its call gets a result in the file all the same.
    tokio::select! {
        _outcome = first.prompt(question()) => return Err("the forecast never comes".into()),
        () = asked.notified() => {}
    }
    drop(first);

    let Newest { found, .. } = sessions.newest(project);
    let found = found.ok_or("no session to go on with")?;
    let (session, problems) = Session::open(&found.path, project)?;
    assert!(problems.is_empty());
    let model = FauxProvider::default();
    model.push("No, it stays dry.");
    let second = harness(session, &model, &asked)?;
    let last_question = second.with_session(|session| {
        let asked = session.walk_up().find(|entry| {
            let message = entry.parse().ok().and_then(|entry| entry.message().cloned());
            matches!(message, Some(AgentMessage::User(_)))
        });
        asked.map(|entry| entry.id().to_owned())
    });
    let back = second.navigate(last_question.as_deref(), NavigateOptions::default()).await?;
    assert_eq!(back.editor_text.as_deref(), Some("Will it rain?"));
    let outcome = second.prompt(question()).await?;
    assert_eq!(outcome.answer.map(|answer| answer.text()).as_deref(), Some("No, it stays dry."));

    let (told, kept) = second.with_session(|session| {
        let messages = session.entries().filter(|entry| *entry.kind() == EntryKind::Message);
        (session.context().messages.len(), messages.count())
    });
    assert_eq!((told, kept), (5, 8), "three messages are on the branch that was left");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    run().await
}
