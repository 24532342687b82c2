//! The harness with a scripted model and a real session file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxBlock, FauxProvider, FauxTurn};
use pi_ai::{AssistantMessage, StopReason, Tool as Definition};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::message::BashExecutionMessage;
use crate::session::{EntryBody, new_session_id};
use crate::tool::{ToolCallInput, ToolError, ToolOutput};

mod goldens;
mod prompts;
mod retries;
mod stops;

/// A harness, its model, and all it told, one short line per event.
struct Bed {
    harness: Harness,
    model: FauxProvider,
    ear: Arc<Ear>,
    dir: tempfile::TempDir,
}

/// Ends the wait of every test that would hang.
const PATIENCE: Duration = Duration::from_secs(20);

impl Bed {
    fn new(turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        Self::with_tools(turns, vec![])
    }

    fn with_tools(turns: impl IntoIterator<Item = FauxTurn>, tools: Vec<Arc<dyn Tool>>) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let session = Session::create(dir.path(), Path::new("/w"), new_session_id(), None);
        Self::on(session.expect("session"), dir, turns, tools)
    }

    fn on(
        session: Session,
        dir: tempfile::TempDir,
        turns: impl IntoIterator<Item = FauxTurn>,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Self {
        let model = FauxProvider::new(turns.into_iter().collect());
        let stream = Arc::new(model.protocols());
        let mut agent = AgentConfig::new(Arc::new(FauxProvider::model()), stream);
        agent.tools = tools;
        let harness = Harness::new(HarnessConfig {
            prompt: Arc::new(sections),
            retry: RetrySettings { base_delay_ms: 1, ..RetrySettings::default() },
            ..HarnessConfig::new(agent, session)
        });
        let ear = Arc::new(Ear::default());
        harness.subscribe(Arc::clone(&ear) as Arc<dyn SessionListener>);
        Self { harness, model, ear, dir }
    }

    /// The same file, opened by another harness.
    fn reopened(self, turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        let path = self.path();
        drop(self.harness);
        let session = Session::open(&path, Path::new("/w")).expect("opens").0;
        Self::on(session, self.dir, turns, vec![])
    }

    async fn prompt(&self, text: &str) -> RunOutcome {
        let prompt = self.harness.prompt(vec![InputBlock::text(text)]);
        tokio::time::timeout(PATIENCE, prompt).await.expect("in time").expect("prompt")
    }

    fn spawn_prompt(
        &self,
        text: &str,
    ) -> tokio::task::JoinHandle<Result<RunOutcome, HarnessError>> {
        let harness = self.harness.clone();
        let blocks = vec![InputBlock::text(text)];
        tokio::spawn(async move { harness.prompt(blocks).await })
    }

    /// What was told since this was last asked.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.ear.events.lock().expect("lock")).iter().map(outline).collect()
    }

    fn path(&self) -> PathBuf {
        self.harness.with_session(|session| session.path().expect("path").to_owned())
    }

    /// The file's lines; all must be JSON and end in a line end.
    fn lines(&self) -> Vec<Value> {
        let Ok(text) = fs::read_to_string(self.path()) else { return vec![] };
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    fn entries(&self) -> Vec<String> {
        self.lines().iter().map(entry_outline).collect()
    }

    /// Roles the model was sent with each request.
    fn requests(&self) -> Vec<String> {
        let role = |message: &pi_ai::Message| AgentMessage::from(message.clone()).role();
        let roles = |context: &pi_ai::Context| {
            context.messages.iter().map(role).collect::<Vec<_>>().join(" ")
        };
        self.model.contexts().iter().map(roles).collect()
    }
}

fn sections(tools: &[Arc<dyn Tool>]) -> IndexMap<String, String> {
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    [("preamble".to_owned(), "Be brief.".to_owned()), ("tools".to_owned(), names.join(" "))].into()
}

#[derive(Default)]
struct Ear {
    events: Mutex<Vec<Value>>,
    heard: Notify,
}

impl Ear {
    /// Waits for an event whose outline begins so.
    async fn wait_for(&self, start: &str) {
        let wait = async {
            loop {
                let heard = self.heard.notified();
                if self.has(start) {
                    return;
                }
                heard.await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect(start);
    }

    fn has(&self, start: &str) -> bool {
        self.events.lock().expect("lock").iter().any(|event| outline(event).starts_with(start))
    }
}

impl SessionListener for Ear {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let event = serde_json::to_value(event).expect("JSON");
        if event["type"] != "message_update" {
            self.events.lock().expect("lock").push(event);
            self.heard.notify_waiters();
        }
        Box::pin(std::future::ready(()))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// One event in short; understands the recordings of the original as well.
fn outline(event: &Value) -> String {
    let kind = text(&event["type"]);
    let message = &event["message"];
    let detail = match kind {
        "message_start" | "message_end" | "turn_end" => {
            format!("{} {}", text(&message["role"]), text(&message["stopReason"]))
        }
        "agent_end" => {
            let role = |m: &Value| text(if m.is_string() { m } else { &m["role"] }).to_owned();
            let messages = event["messages"].as_array().expect("messages");
            let roles: Vec<_> = messages.iter().map(role).collect();
            format!("{} retry={}", roles.join(","), event["willRetry"])
        }
        "auto_retry_start" => {
            format!("{} of {} in {}", event["attempt"], event["maxAttempts"], event["delayMs"])
        }
        "auto_retry_end" => format!("{} {}", event["success"], event["attempt"]),
        "queue_update" => format!("{} {}", event["steering"], event["followUp"]),
        "entry_appended" => text(&event["entry"]["type"]).to_owned(),
        "agent_settled" => format!("aborted={}", event["aborted"]),
        "thinking_level_changed" => text(&event["level"]).to_owned(),
        "tool_execution_start" | "tool_execution_end" => text(&event["toolName"]).to_owned(),
        _ => String::new(),
    };
    format!("{kind} {detail}").trim_end().to_owned()
}

fn entry_outline(entry: &Value) -> String {
    match text(&entry["type"]) {
        "message" => text(&entry["message"]["role"]).to_owned(),
        other => other.to_owned(),
    }
}

/// A tool that waits until it is let go.
#[derive(Debug)]
struct Gate {
    definition: Definition,
    open: Notify,
    is_running: AtomicBool,
}

impl Gate {
    fn new(name: &str) -> Arc<Self> {
        let definition =
            json!({"name": name, "description": "d", "parameters": {"type": "object"}});
        Arc::new(Self {
            definition: serde_json::from_value(definition).expect("tool"),
            open: Notify::new(),
            is_running: AtomicBool::new(false),
        })
    }
}

impl Tool for Gate {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.is_running.store(true, Ordering::SeqCst);
            tokio::select! {
                () = self.open.notified() => Ok(ToolOutput::text("done")),
                () = call.cancel.cancelled() => Err(ToolError::new("Command aborted")),
            }
        })
    }
}

fn call(name: &str) -> FauxTurn {
    FauxTurn::tool_call("call_1", name, json!({}))
}

fn bash(command: &str) -> BashExecutionMessage {
    serde_json::from_value(json!({"command": command, "output": "", "exitCode": 0})).expect("bash")
}

fn stop_of(outcome: &RunOutcome) -> StopReason {
    let answer: &AssistantMessage = outcome.answer.as_ref().expect("answer");
    answer.stop_reason
}
