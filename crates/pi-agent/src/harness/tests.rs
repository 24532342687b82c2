//! The harness with a scripted model and a real session file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxBlock, FauxProvider, FauxTurn, FauxUsage};
use pi_ai::{AssistantMessage, Model, StopReason, ThinkingLevel, Tool as Definition};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::compaction::CompactionSettings;
use crate::message::BashExecutionMessage;
use crate::session::{EntryBody, new_session_id};
use crate::tool::{ToolCallInput, ToolError, ToolOutput};

mod compaction;
mod goldens;
mod hooks;
mod interleavings;
mod navigation;
mod operations;
mod overflow;
mod prompts;
mod retries;
mod stops;
mod storing;
mod threshold;
mod tools;

/// A harness, its model, and all it told, one short line per event.
struct Bed {
    harness: Harness,
    model: FauxProvider,
    ear: Arc<Ear>,
    plan: Plan,
    dir: tempfile::TempDir,
}

/// What a harness is made with.
#[derive(Clone)]
struct Plan {
    model: Model,
    compaction: CompactionSettings,
    tools: Vec<Arc<dyn Tool>>,
    /// `None`: all.
    active: Option<ActiveTools>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            model: FauxProvider::model(),
            compaction: CompactionSettings::default(),
            tools: Vec::new(),
            active: None,
        }
    }
}

impl Plan {
    /// A window of 100,000 tokens that is full above [`LIMIT`], and a compaction that keeps about
    /// 100: one [`long`] message.
    fn small() -> Self {
        let model = Model { context_window: 100_000, ..FauxProvider::model() };
        let compaction =
            CompactionSettings { keep_recent_tokens: 100, ..CompactionSettings::default() };
        Self { model, compaction, ..Self::default() }
    }
}

/// Most tokens of [`Plan::small`] that need no compaction.
const LIMIT: u64 = 100_000 - 16_384;

/// Ends the wait of every test that would hang.
const PATIENCE: Duration = Duration::from_secs(20);

impl Bed {
    fn new(turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        Self::with_tools(turns, vec![])
    }

    fn with_tools(turns: impl IntoIterator<Item = FauxTurn>, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::of(Plan { tools, ..Plan::default() }, turns)
    }

    /// A bed of [`Plan::small`].
    fn small(turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        Self::of(Plan::small(), turns)
    }

    fn of(plan: Plan, turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let session =
            Session::create(&dir.path().join("s.jsonl"), Path::new("/w"), new_session_id());
        Self::on(session.expect("session"), dir, plan, turns)
    }

    fn on(
        session: Session,
        dir: tempfile::TempDir,
        plan: Plan,
        turns: impl IntoIterator<Item = FauxTurn>,
    ) -> Self {
        let model = FauxProvider::new(turns.into_iter().collect());
        let stream = Arc::new(model.protocols());
        let mut agent = AgentConfig::new(Arc::new(plan.model.clone()), stream);
        agent.tools.clone_from(&plan.tools);
        let usual = HarnessConfig::new(agent, session);
        let harness = Harness::new(HarnessConfig {
            prompt: Arc::new(sections),
            retry: RetrySettings { base_delay_ms: 1, ..RetrySettings::default() },
            compaction: CompactionPolicy {
                settings: plan.compaction,
                ..CompactionPolicy::default()
            },
            active_tools: plan.active.clone().unwrap_or_else(|| usual.active_tools.clone()),
            ..usual
        });
        let ear = Arc::new(Ear::default());
        harness.subscribe(Arc::clone(&ear) as Arc<dyn SessionListener>);
        Self { harness, model, ear, plan, dir }
    }

    /// The same file, opened by another harness.
    fn reopened(self, turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        let plan = self.plan.clone();
        self.reopened_as(plan, turns)
    }

    fn reopened_as(self, plan: Plan, turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        let path = self.path();
        drop(self.harness);
        let session = Session::open(&path, Path::new("/w")).expect("opens").0;
        Self::on(session, self.dir, plan, turns)
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

    /// Two turns of one [`long`] message each, `ALPHA` and `BETA`; a compaction keeps the second,
    /// which begins with line 6 of the file.
    async fn two_turns(&self) {
        self.model_says(["A.", "B."]);
        self.prompt(&long("ALPHA")).await;
        self.prompt(&long("BETA")).await;
        self.told();
    }

    fn model_says<T: Into<FauxTurn>>(&self, turns: impl IntoIterator<Item = T>) {
        turns.into_iter().for_each(|turn| self.model.push(turn));
    }

    /// Adds an answer that never ends; the notice comes when it is asked for.
    fn model_hangs(&self) -> Arc<Notify> {
        let asked = Arc::new(Notify::new());
        let notice = Arc::clone(&asked);
        self.model.push_with(move |_| {
            notice.notify_one();
            hanging()
        });
        asked
    }

    /// Has every later request answered: a summary with `SUMMARY`, another with `Next.`.
    fn model_answers(&self) {
        self.model.always(|context| match context.system_prompt {
            Some(_) => FauxTurn::text("SUMMARY"),
            None => FauxTurn::text("Next."),
        });
    }

    async fn compact(&self) -> Result<CompactionResult, HarnessError> {
        let compaction = self.harness.compact(None);
        tokio::time::timeout(PATIENCE, compaction).await.expect("in time")
    }

    fn spawn_compact(&self) -> tokio::task::JoinHandle<Result<CompactionResult, HarnessError>> {
        let harness = self.harness.clone();
        tokio::spawn(async move { harness.compact(None).await })
    }

    /// Where the next entry will hang; empty before every entry.
    fn leaf(&self) -> String {
        let leaf = |session: &Session| session.leaf().map(|leaf| leaf.id().to_owned());
        self.harness.with_session(leaf).unwrap_or_default()
    }

    /// Id of the entry in line `line` of the file; the header is line 0.
    fn id(&self, line: usize) -> String {
        text(&self.lines()[line]["id"]).to_owned()
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

    /// The file, byte for byte.
    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).expect("file")
    }

    /// The message, or the last messages, as JSON without their times.
    fn context(&self) -> Vec<Value> {
        self.harness.messages().iter().map(without_times).collect()
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

    /// The messages of request `index` as JSON text.
    fn sent(&self, index: usize) -> String {
        let messages = self.model.contexts().swap_remove(index).messages;
        let messages: Vec<_> = messages.into_iter().map(AgentMessage::from).collect();
        serde_json::to_string(&messages).expect("JSON")
    }
}

fn without_times(message: &AgentMessage) -> Value {
    let mut json = serde_json::to_value(message).expect("JSON");
    json.as_object_mut().expect("object").remove("timestamp");
    json
}

/// A text of about 110 tokens.
fn long(mark: &str) -> String {
    format!("{mark} {}", "word ".repeat(90))
}

/// An answer for which the provider counted `tokens` in all, 10 of them its own.
fn counted(answer: &str, tokens: u64) -> FauxTurn {
    with_count(FauxTurn::text(answer), tokens)
}

fn with_count(turn: FauxTurn, tokens: u64) -> FauxTurn {
    turn.with_usage(FauxUsage { input: tokens - 10, output: 10, ..FauxUsage::default() })
}

/// Says a word and then nothing until the request is cancelled.
fn hanging() -> FauxTurn {
    FauxTurn { hang: true, ..FauxTurn::text("PART") }
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
        "compaction_start" => text(&event["reason"]).to_owned(),
        "compaction_end" => {
            let result = match (&event["result"], &event["aborted"], text(&event["errorMessage"])) {
                (Value::Null, Value::Bool(true), "") => "aborted",
                (Value::Null, Value::Bool(false), error) => error,
                (Value::Object(_), Value::Bool(false), "") => "done",
                _ => "contradicts itself",
            };
            format!("{} {result} retry={}", text(&event["reason"]), event["willRetry"])
        }
        "summarization_retry_scheduled" => {
            format!("{} of {} in {}", event["attempt"], event["maxAttempts"], event["delayMs"])
        }
        "summarization_retry_attempt_start" => {
            format!("{} {}", text(&event["source"]), text(&event["reason"]))
        }
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

/// A tool that says the same whatever it is asked.
#[derive(Debug)]
struct Says {
    definition: Definition,
    text: String,
}

impl Says {
    fn new(name: &str, text: &str) -> Arc<Self> {
        let definition = Gate::new(name).definition.clone();
        Arc::new(Self { definition, text: text.to_owned() })
    }
}

impl Tool for Says {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        _call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::text(&self.text))))
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
