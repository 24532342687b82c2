//! An agent with tools of its own whose sessions are kept in a place of its own.
//!
//! The place is a map in memory that outlives the harness, as a table of a database would. What is
//! kept is the text of a session file, so it can be exported and opened anywhere.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_agent::agent::AgentConfig;
use pi_agent::harness::{ActiveTools, Harness, HarnessConfig};
use pi_agent::session::{Header, Session, SessionStorage, new_session_id};
use pi_agent::tool::{ExecutionMode, Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use pi_ai::faux::{FauxProvider, FauxTurn};
use serde_json::json;

/// Sessions by id, as one would keep them in a table.
#[derive(Debug, Clone, Default)]
struct Table(Arc<Mutex<BTreeMap<String, String>>>);

/// The row of one session.
#[derive(Debug)]
struct Row {
    table: Table,
    id: String,
}

impl Row {
    fn with<T>(&self, change: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
        change(&mut self.table.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SessionStorage for Row {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.with(|rows| rows.get(&self.id).map(|text| text.clone().into_bytes())))
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.with(|rows| rows.entry(self.id.clone()).or_default().push_str(lines));
        Ok(())
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        let text = String::from_utf8(text.to_vec()).map_err(io::Error::other)?;
        self.with(|rows| rows.insert(self.id.clone(), text));
        Ok(true)
    }
}

/// Counts what it is asked to count. Calls of one answer run one after the other.
#[derive(Debug)]
struct Counter {
    definition: pi_ai::Tool,
    count: Mutex<u64>,
}

impl Counter {
    fn named(name: &str) -> Result<Arc<dyn Tool>, serde_json::Error> {
        let definition = serde_json::from_value(json!({
            "name": name,
            "description": "Counts one further.",
            "parameters": {"type": "object", "properties": {}},
        }))?;
        Ok(Arc::new(Self { definition, count: Mutex::new(0) }))
    }
}

impl Tool for Counter {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Sequential
    }

    fn execute<'a>(
        &'a self,
        _call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
            *count += 1;
            Ok(ToolOutput::text(count.to_string()))
        })
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let table = Table::default();
    let id = new_session_id();
    let model = FauxProvider::default();
    let harness = |session: Session| -> Result<Harness, Box<dyn Error>> {
        let mut agent =
            AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
        agent.tools = vec![Counter::named("count_sheep")?, Counter::named("count_stars")?];
        Ok(Harness::new(HarnessConfig {
            // A new conversation counts sheep only; one that goes on has what it had.
            active_tools: ActiveTools::Restored(vec!["count_sheep".to_owned()]),
            ..HarnessConfig::new(agent, session)
        }))
    };

    model.push(FauxTurn::tool_call("call_1", "count_sheep", json!({})));
    model.push("One sheep.");
    let header = Header::new(Path::new("/meadow"), id.clone(), None);
    let row = Row { table: table.clone(), id: id.clone() };
    let first = harness(Session::with_storage(header, Box::new(row))?)?;
    first.set_active_tools(&["count_sheep", "count_stars"]);
    first.prompt(vec![InputBlock::text("Count.")]).await?;
    drop(first);

    let row = Row { table: table.clone(), id };
    let (session, problems) = Session::open_storage(Box::new(row), Path::new("/meadow"))?;
    assert!(problems.is_empty());
    let second = harness(session)?;
    assert_eq!(second.active_tools(), ["count_sheep", "count_stars"]);
    model.push("Good night.");
    second.prompt(vec![InputBlock::text("Enough.")]).await?;
    assert_eq!(second.messages().len(), 7);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn Error>> {
    run().await
}
