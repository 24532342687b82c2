//! Whole runs against a scripted model: what listeners hear, what the transcript holds.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxProvider, FauxTurn};
use pi_ai::{InputBlock, ToolResultMessage};
use serde_json::{Value, json};

use super::{Agent, AgentConfig, AgentListener};
use crate::event::AgentEvent;
use crate::hooks::LoopHooks;
use crate::message::AgentMessage;
use crate::queue::QueuedMessages;
use crate::tool::{ExecutionMode, Tool, ToolCallInput, ToolError, ToolOutput};

mod abort;
mod answers;
mod hooks;
mod queues;
mod state;
mod tools;

/// An agent with a scripted model, and a log of all it told.
struct Bed {
    agent: Agent,
    faux: FauxProvider,
    log: Arc<Log>,
}

impl Bed {
    fn new(turns: impl IntoIterator<Item = FauxTurn>) -> Self {
        Self::with(turns, |_| {})
    }

    fn with_tools(
        turns: impl IntoIterator<Item = FauxTurn>,
        tools: impl IntoIterator<Item = FnTool>,
    ) -> Self {
        Self::with(turns, |config| config.tools = boxed(tools))
    }

    fn with_hooks(
        turns: impl IntoIterator<Item = FauxTurn>,
        tools: impl IntoIterator<Item = FnTool>,
        hooks: impl LoopHooks + 'static,
    ) -> Self {
        Self::with(turns, |config| {
            config.tools = boxed(tools);
            config.hooks = Arc::new(hooks);
        })
    }

    fn with(
        turns: impl IntoIterator<Item = FauxTurn>,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Self {
        let faux = FauxProvider::default();
        turns.into_iter().for_each(|turn| faux.push(turn));
        let mut config =
            AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(faux.protocols()));
        change(&mut config);
        let agent = Agent::new(config);
        let log = Arc::new(Log::default());
        agent.subscribe(Arc::clone(&log) as Arc<dyn AgentListener>);
        Self { agent, faux, log }
    }

    async fn prompt(&self, text: &str) -> Vec<String> {
        self.agent.prompt(vec![user(text)]).await.unwrap();
        assert!(!self.agent.is_streaming());
        self.log.take()
    }

    /// Text of each tool result in the transcript.
    fn results(&self) -> Vec<(String, bool)> {
        self.result_messages().iter().map(|m| (text_of(&m.content), m.is_error)).collect()
    }

    fn result_messages(&self) -> Vec<Arc<ToolResultMessage>> {
        self.agent
            .messages()
            .iter()
            .filter_map(|message| match message {
                AgentMessage::ToolResult(result) => Some(Arc::clone(result)),
                _ => None,
            })
            .collect()
    }

    fn roles(&self) -> Vec<&'static str> {
        self.agent.messages().iter().map(AgentMessage::role).collect()
    }

    /// The last answer in the transcript.
    fn answer(&self) -> Arc<pi_ai::AssistantMessage> {
        let messages = self.agent.messages();
        match messages.last() {
            Some(AgentMessage::Assistant(answer)) => Arc::clone(answer),
            other => panic!("no answer but {other:?}"),
        }
    }
}

fn boxed(tools: impl IntoIterator<Item = FnTool>) -> Vec<Arc<dyn Tool>> {
    tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect()
}

fn user(text: &str) -> AgentMessage {
    AgentMessage::user(vec![InputBlock::text(text)], 0)
}

fn text_of(content: &[InputBlock]) -> String {
    content.iter().filter_map(InputBlock::as_text).collect()
}

/// One line per event; deltas are left out.
#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    events: Mutex<Vec<AgentEvent>>,
}

impl Log {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }

    fn events(&self) -> Vec<AgentEvent> {
        self.events.lock().unwrap().clone()
    }

    fn push(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }
}

impl AgentListener for Log {
    fn on_event<'a>(&'a self, event: &'a AgentEvent) -> BoxFuture<'a, ()> {
        self.events.lock().unwrap().push(event.clone());
        if let Some(line) = line_of(event) {
            self.push(line);
        }
        Box::pin(std::future::ready(()))
    }

    fn on_queue_change<'a>(&'a self, queued: &'a QueuedMessages) -> BoxFuture<'a, ()> {
        let texts = |messages: &[AgentMessage]| {
            messages.iter().map(message_text).collect::<Vec<_>>().join(", ")
        };
        self.push(format!("queue [{}] [{}]", texts(&queued.steering), texts(&queued.follow_up)));
        Box::pin(std::future::ready(()))
    }
}

fn line_of(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::AgentStart => "agent_start".to_owned(),
        AgentEvent::TurnStart => "turn_start".to_owned(),
        AgentEvent::MessageStart { message } => format!("start {}", message_line(message)),
        AgentEvent::MessageUpdate { .. } => return None,
        AgentEvent::MessageEnd { message } => format!("end {}", message_line(message)),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("tool {tool_call_id}"),
        AgentEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
            format!("tool {tool_call_id} says {}", text_of(&partial_result.content))
        }
        AgentEvent::ToolExecutionEnd { tool_call_id, is_error, .. } => {
            format!("tool {tool_call_id} {}", if *is_error { "failed" } else { "done" })
        }
        AgentEvent::TurnEnd { message, tool_results } => {
            let ids: Vec<_> = tool_results.iter().map(|r| r.tool_call_id.as_str()).collect();
            format!("turn_end {} [{}]", json_name(&message.stop_reason), ids.join(", "))
        }
        AgentEvent::AgentEnd { messages } => {
            let roles: Vec<_> = messages.iter().map(AgentMessage::role).collect();
            format!("agent_end [{}]", roles.join(", "))
        }
    })
}

fn message_line(message: &AgentMessage) -> String {
    match message {
        AgentMessage::Assistant(m) => format!("assistant {}", json_name(&m.stop_reason)),
        AgentMessage::ToolResult(m) => format!("result {}", m.tool_call_id),
        AgentMessage::User(_) => format!("user {}", message_text(message)),
        other => other.role().to_owned(),
    }
}

fn message_text(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(m) => m.content.to_text(),
        other => other.role().to_owned(),
    }
}

fn json_name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

/// The lines of a run whose answers the reader does not care about.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

type Body = dyn Fn(String, Call) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

/// What a tool body gets to work with.
struct Call {
    arguments: Value,
    cancel: tokio_util::sync::CancellationToken,
    on_update: Arc<dyn Fn(ToolOutput) + Send + Sync>,
}

/// A tool made of a closure.
struct FnTool {
    definition: pi_ai::Tool,
    mode: ExecutionMode,
    body: Box<Body>,
}

impl std::fmt::Debug for FnTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.definition.name)
    }
}

impl FnTool {
    fn new<F>(name: &str, body: impl Fn(String, Call) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Self {
            definition: pi_ai::Tool {
                name: name.to_owned(),
                description: String::new(),
                parameters: json!({
                    "type": "object",
                    "properties": {"n": {"type": "number"}, "s": {"type": "string"}},
                }),
                constrained_sampling: None,
            },
            mode: ExecutionMode::Parallel,
            body: Box::new(move |id, call| Box::pin(body(id, call))),
        }
    }

    /// Answers at once with its arguments as JSON.
    fn echo(name: &str) -> Self {
        Self::new(name, |_, call| async move { Ok(ToolOutput::text(call.arguments.to_string())) })
    }

    /// Runs until it is cancelled.
    fn endless(name: &str) -> Self {
        Self::new(name, |_, call| async move {
            call.cancel.cancelled().await;
            Err(ToolError::new("Command aborted"))
        })
    }

    fn sequential(mut self) -> Self {
        self.mode = ExecutionMode::Sequential;
        self
    }
}

impl Tool for FnTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let ToolCallInput { id, arguments, cancel, on_update } = call;
        let arguments = Value::Object(arguments);
        (self.body)(id.to_owned(), Call { arguments, cancel, on_update })
    }
}

/// A turn that calls tools: id, name, arguments.
fn calls(calls: &[(&str, &str, Value)]) -> FauxTurn {
    FauxTurn::new(calls.iter().map(|(id, name, arguments)| {
        pi_ai::faux::FauxBlock::tool_call(*id, *name, arguments.clone())
    }))
}

/// Acts when the n-th event (from 0) has been told.
struct At<F: Fn() + Send + Sync> {
    index: usize,
    seen: Mutex<usize>,
    act: F,
}

impl<F: Fn() + Send + Sync> At<F> {
    fn new(index: usize, act: F) -> Arc<Self> {
        Arc::new(Self { index, seen: Mutex::new(0), act })
    }
}

impl<F: Fn() + Send + Sync> AgentListener for At<F> {
    fn on_event<'a>(&'a self, _event: &'a AgentEvent) -> BoxFuture<'a, ()> {
        let mut seen = self.seen.lock().unwrap();
        if *seen == self.index {
            (self.act)();
        }
        *seen += 1;
        Box::pin(std::future::ready(()))
    }
}

/// Acts at every event the test picks.
struct On<F>(F);

impl<F> AgentListener for On<F>
where
    F: Fn(&AgentEvent) -> BoxFuture<'static, ()> + Send + Sync,
{
    fn on_event<'a>(&'a self, event: &'a AgentEvent) -> BoxFuture<'a, ()> {
        (self.0)(event)
    }
}
