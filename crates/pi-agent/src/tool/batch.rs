//! One answer's tool calls, run in three phases: prepare in order, execute, finalize.
//!
//! Owns: which calls may overlap, the order of events and results, what becomes an error result.
//! Never: lets a fault of a tool or a hook reach the run; every call ends with a result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_ai::{InputBlock, ToolCall, ToolResultMessage};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::validate::ToolValidators;
use super::{ExecutionMode, Tool, ToolCallInput, ToolError, ToolOutput};
use crate::agent_loop::LoopHost;
use crate::event::AgentEvent;
use crate::hooks::{LoopHooks, ToolDecision, ToolOutputPatch};
use crate::message::AgentMessage;

/// How long a cancelled tool may take to end by itself before it is dropped.
const ABORT_GRACE: Duration = Duration::from_secs(10);

const ABORTED: &str = "Operation aborted";

/// What a batch runs with.
pub(crate) struct Batch<'a> {
    pub(crate) host: &'a dyn LoopHost,
    pub(crate) hooks: &'a Arc<dyn LoopHooks>,
    pub(crate) tools: &'a [Arc<dyn Tool>],
    pub(crate) validators: &'a ToolValidators,
    pub(crate) mode: ExecutionMode,
    pub(crate) cancel: &'a CancellationToken,
}

/// Results in the order of the calls.
#[derive(Debug, Default)]
pub(crate) struct BatchOutcome {
    pub(crate) results: Vec<Arc<ToolResultMessage>>,
    /// Whether every result asked to end the run.
    pub(crate) terminate: bool,
}

impl Batch<'_> {
    /// Runs the calls; all results are in the transcript afterwards.
    pub(crate) async fn run(&self, calls: Vec<ToolCall>) -> BatchOutcome {
        if self.is_sequential(&calls) {
            self.run_sequential(calls).await
        } else {
            self.run_parallel(calls).await
        }
    }

    /// Answers calls of a message that hit the output limit: their arguments may be cut, so none
    /// is run.
    pub(crate) async fn refuse_cut_off(&self, calls: Vec<ToolCall>) -> BatchOutcome {
        let mut outcome = Outcome::default();
        for call in calls {
            self.started(&call).await;
            let settled = Settled::failed(cut_off_text(&call));
            self.ended(&call, &settled).await;
            outcome.add(&call, settled, self.host).await;
        }
        outcome.finish()
    }

    fn is_sequential(&self, calls: &[ToolCall]) -> bool {
        self.mode == ExecutionMode::Sequential
            || calls
                .iter()
                .filter_map(|call| self.find(&call.name))
                .any(|tool| tool.execution_mode() == ExecutionMode::Sequential)
    }

    fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.definition().name == name)
    }

    async fn run_sequential(&self, calls: Vec<ToolCall>) -> BatchOutcome {
        let mut outcome = Outcome::default();
        for call in calls {
            let (call, settled) = match self.prepare(call).await {
                Prepared::Settled(call, settled) => (call, *settled),
                Prepared::Ready(ready) => {
                    let mut running = Running::default();
                    running.start(0, *ready, self.cancel.clone());
                    match running.next(self.host).await {
                        Some((_, call, settled)) => (call, settled),
                        None => break,
                    }
                }
            };
            outcome.add(&call, settled, self.host).await;
        }
        outcome.finish()
    }

    async fn run_parallel(&self, calls: Vec<ToolCall>) -> BatchOutcome {
        let mut settled: Vec<Option<(ToolCall, Settled)>> = Vec::with_capacity(calls.len());
        let mut ready = Vec::new();
        for call in calls {
            match self.prepare(call).await {
                Prepared::Settled(call, result) => settled.push(Some((call, *result))),
                Prepared::Ready(call) => {
                    ready.push((settled.len(), call));
                    settled.push(None);
                }
            }
        }
        let mut running = Running::default();
        for (index, call) in ready {
            running.start(index, *call, self.cancel.clone());
        }
        while let Some((index, call, result)) = running.next(self.host).await {
            if let Some(slot) = settled.get_mut(index) {
                *slot = Some((call, result));
            }
        }
        let mut outcome = Outcome::default();
        for (call, result) in settled.into_iter().flatten() {
            outcome.add(&call, result, self.host).await;
        }
        outcome.finish()
    }

    /// Phase 1. A call that cannot run has its `tool_execution_end` when this returns.
    async fn prepare(&self, call: ToolCall) -> Prepared {
        self.started(&call).await;
        match self.check(&call).await {
            Ok((tool, arguments)) => {
                let hooks = Arc::clone(self.hooks);
                Prepared::Ready(Box::new(Ready { call, tool, arguments, hooks }))
            }
            Err(text) => {
                let settled = Settled::failed(text);
                self.ended(&call, &settled).await;
                Prepared::Settled(call, Box::new(settled))
            }
        }
    }

    async fn check(&self, call: &ToolCall) -> Result<(Arc<dyn Tool>, Map<String, Value>), String> {
        let name = &call.name;
        let tool = self.find(name).ok_or_else(|| format!("Tool {name} not found"))?;
        if let Some(error) = &call.arguments_error {
            return Err(format!("Invalid arguments for tool \"{name}\": {error}"));
        }
        if self.cancel.is_cancelled() {
            return Err(ABORTED.to_owned());
        }
        let prepare = || tool.prepare_arguments(call.arguments.clone());
        let arguments = std::panic::catch_unwind(AssertUnwindSafe(prepare))
            .unwrap_or_else(|panic| Err(ToolError(panic_text(&*panic))))
            .map_err(|error| error.0)?;
        let arguments = self.validators.validate(tool.definition(), arguments)?;
        let decision =
            AssertUnwindSafe(async { self.hooks.before_tool_call(call, arguments).await })
                .catch_unwind();
        match self.cancel.run_until_cancelled(decision).await {
            None => Err(ABORTED.to_owned()),
            Some(Err(panic)) => Err(panic_text(&*panic)),
            Some(Ok(Err(text))) => Err(text),
            Some(Ok(Ok(ToolDecision::Block(reason)))) => {
                Err(reason.unwrap_or_else(|| BLOCKED.to_owned()))
            }
            Some(Ok(Ok(ToolDecision::Run(arguments)))) => Ok((Arc::clone(tool), arguments)),
        }
    }

    async fn started(&self, call: &ToolCall) {
        self.host
            .emit(AgentEvent::ToolExecutionStart {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                args: call.arguments.clone(),
            })
            .await;
    }

    async fn ended(&self, call: &ToolCall, settled: &Settled) {
        self.host.emit(end_event(call, settled)).await;
    }
}

const BLOCKED: &str = "Tool execution was blocked";

fn cut_off_text(call: &ToolCall) -> String {
    format!(
        "Tool {} was not run: the answer reached its output limit, so the arguments may be cut off. \
         Call it again with shorter arguments.",
        call.name
    )
}

enum Prepared {
    Ready(Box<Ready>),
    Settled(ToolCall, Box<Settled>),
}

/// A call that may run.
struct Ready {
    call: ToolCall,
    tool: Arc<dyn Tool>,
    arguments: Map<String, Value>,
    hooks: Arc<dyn LoopHooks>,
}

/// A call's final result.
struct Settled {
    output: ToolOutput,
    /// Milliseconds of execution; absent when the tool never ran.
    duration_ms: Option<u64>,
}

impl Settled {
    fn failed(text: impl Into<String>) -> Self {
        Self { output: error_output(text), duration_ms: None }
    }
}

fn error_output(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        content: vec![InputBlock::text(text)],
        details: Some(Value::Object(Map::new())),
        is_error: true,
        ..ToolOutput::default()
    }
}

fn end_event(call: &ToolCall, settled: &Settled) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: settled.output.clone(),
        is_error: settled.output.is_error,
        duration_ms: settled.duration_ms,
    }
}

/// Phases 2 and 3: calls on tasks of their own, so that a slow listener does not stall a tool.
/// Dropping it ends them.
struct Running {
    tasks: JoinSet<(usize, ToolCall, Settled)>,
    updates: (mpsc::UnboundedSender<AgentEvent>, mpsc::UnboundedReceiver<AgentEvent>),
}

impl Default for Running {
    fn default() -> Self {
        Self { tasks: JoinSet::new(), updates: mpsc::unbounded_channel() }
    }
}

impl Running {
    fn start(&mut self, index: usize, ready: Ready, cancel: CancellationToken) {
        let updates = self.updates.0.clone();
        self.tasks.spawn(async move {
            let Ready { call, tool, arguments, hooks } = ready;
            let settled = execute(&call, &*tool, arguments, &*hooks, cancel, updates).await;
            (index, call, settled)
        });
    }

    /// Tells of progress until a call has settled, and of its end.
    async fn next(&mut self, host: &dyn LoopHost) -> Option<(usize, ToolCall, Settled)> {
        loop {
            tokio::select! {
                biased;
                Some(update) = self.updates.1.recv() => host.emit(update).await,
                done = self.tasks.join_next() => {
                    // A task cannot fail: it catches its panics and is never aborted from here.
                    let (index, call, settled) = done?.ok()?;
                    while let Ok(update) = self.updates.1.try_recv() {
                        host.emit(update).await;
                    }
                    host.emit(end_event(&call, &settled)).await;
                    return Some((index, call, settled));
                }
            }
        }
    }
}

async fn execute(
    call: &ToolCall,
    tool: &dyn Tool,
    arguments: Map<String, Value>,
    hooks: &dyn LoopHooks,
    cancel: CancellationToken,
    updates: mpsc::UnboundedSender<AgentEvent>,
) -> Settled {
    if cancel.is_cancelled() {
        return Settled::failed(ABORTED);
    }
    let began = Instant::now();
    let hooked = arguments.clone();
    let output = execute_tool(call, tool, arguments, cancel, updates).await;
    let duration_ms = Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
    let patch = AssertUnwindSafe(async { hooks.after_tool_call(call, &hooked, &output).await })
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(panic_text(&*panic)));
    let output = match patch {
        Ok(patch) => patched(output, patch),
        Err(text) => error_output(text),
    };
    Settled { output, duration_ms }
}

async fn execute_tool(
    call: &ToolCall,
    tool: &dyn Tool,
    arguments: Map<String, Value>,
    cancel: CancellationToken,
    updates: mpsc::UnboundedSender<AgentEvent>,
) -> ToolOutput {
    let settled = Arc::new(AtomicBool::new(false));
    let input = ToolCallInput {
        id: &call.id,
        arguments,
        cancel: cancel.clone(),
        on_update: update_sender(call, updates, Arc::clone(&settled)),
    };
    let run = AssertUnwindSafe(async { tool.execute(input).await }).catch_unwind();
    let overdue = async {
        cancel.cancelled().await;
        tokio::time::sleep(ABORT_GRACE).await;
    };
    let result = tokio::select! {
        biased;
        result = run => result.unwrap_or_else(|panic| Err(ToolError(panic_text(&*panic)))),
        () = overdue => Err(ToolError::new(ABORTED)),
    };
    settled.store(true, Ordering::Release);
    result.unwrap_or_else(|error| error_output(error.0))
}

fn update_sender(
    call: &ToolCall,
    updates: mpsc::UnboundedSender<AgentEvent>,
    settled: Arc<AtomicBool>,
) -> Arc<dyn Fn(ToolOutput) + Send + Sync> {
    let ToolCall { id, name, arguments, .. } = call.clone();
    Arc::new(move |partial_result| {
        if settled.load(Ordering::Acquire) {
            return;
        }
        // The receiver is gone when the run was dropped: nobody is left to be told.
        drop(updates.send(AgentEvent::ToolExecutionUpdate {
            tool_call_id: id.clone(),
            tool_name: name.clone(),
            args: arguments.clone(),
            partial_result,
        }));
    })
}

fn patched(output: ToolOutput, patch: ToolOutputPatch) -> ToolOutput {
    // New content alone no longer matches the old structured content.
    let structured = if patch.content.is_some() { None } else { output.structured_content };
    ToolOutput {
        content: patch.content.unwrap_or(output.content),
        details: patch.details.or(output.details),
        structured_content: patch.structured_content.or(structured),
        usage: patch.usage.or(output.usage),
        is_error: patch.is_error.unwrap_or(output.is_error),
        terminate: patch.terminate.or(output.terminate),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("Tool crashed: {text}")
}

/// Collects results as they are recorded.
#[derive(Default)]
struct Outcome {
    results: Vec<Arc<ToolResultMessage>>,
    refused_to_terminate: bool,
}

impl Outcome {
    async fn add(&mut self, call: &ToolCall, settled: Settled, host: &dyn LoopHost) {
        let Settled { output, duration_ms } = settled;
        self.refused_to_terminate |= output.terminate != Some(true);
        let message = Arc::new(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: output.content,
            details: output.details,
            usage: output.usage,
            nested_calls: None,
            is_error: output.is_error,
            duration_ms,
            timestamp: pi_ai::now_ms(),
        });
        self.results.push(Arc::clone(&message));
        let message = AgentMessage::ToolResult(message);
        host.emit(AgentEvent::MessageStart { message: message.clone() }).await;
        host.emit(AgentEvent::MessageEnd { message }).await;
    }

    fn finish(self) -> BatchOutcome {
        let terminate = !self.results.is_empty() && !self.refused_to_terminate;
        BatchOutcome { results: self.results, terminate }
    }
}
