//! Phases 2 and 3 of a batch: runs prepared calls and settles what each of them gave.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use pi_ai::{InputBlock, ToolCall};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ABORTED;
use crate::agent_loop::LoopHost;
use crate::event::AgentEvent;
use crate::hooks::{LoopHooks, ToolOutputPatch};
use crate::tool::{Tool, ToolCallInput, ToolError, ToolOutput};

/// How long a cancelled tool may take to end by itself before it is dropped.
const ABORT_GRACE: Duration = Duration::from_secs(10);

/// Updates that wait while listeners are behind. Each holds the whole result so far, so that one
/// more than these can be left out, and memory stays bounded however slow the listeners are.
const UPDATES_UNDER_WAY: usize = 64;

/// A call that may run.
pub(super) struct Ready {
    pub(super) call: ToolCall,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) arguments: Map<String, Value>,
    pub(super) hooks: Arc<dyn LoopHooks>,
}

/// A call's final result.
pub(super) struct Settled {
    pub(super) output: ToolOutput,
    /// Milliseconds of execution; absent when the tool never ran.
    pub(super) duration_ms: Option<u64>,
}

impl Settled {
    pub(super) fn failed(text: impl Into<String>) -> Self {
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

pub(super) fn end_event(call: &ToolCall, settled: &Settled) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        result: settled.output.clone(),
        is_error: settled.output.is_error,
        duration_ms: settled.duration_ms,
    }
}

/// Calls on tasks of their own, so that a slow listener does not stall a tool.
/// Dropping it ends them.
pub(super) struct Running {
    tasks: JoinSet<(usize, ToolCall, Settled)>,
    updates: (mpsc::Sender<AgentEvent>, mpsc::Receiver<AgentEvent>),
}

impl Default for Running {
    fn default() -> Self {
        Self { tasks: JoinSet::new(), updates: mpsc::channel(UPDATES_UNDER_WAY) }
    }
}

impl Running {
    pub(super) fn start(&mut self, index: usize, ready: Ready, cancel: CancellationToken) {
        let updates = self.updates.0.clone();
        self.tasks.spawn(async move {
            let Ready { call, tool, arguments, hooks } = ready;
            let settled = execute(&call, &*tool, arguments, &*hooks, cancel, updates).await;
            (index, call, settled)
        });
    }

    /// Tells of progress until a call has settled, and of its end.
    pub(super) async fn next(&mut self, host: &dyn LoopHost) -> Option<(usize, ToolCall, Settled)> {
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
    updates: mpsc::Sender<AgentEvent>,
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
    updates: mpsc::Sender<AgentEvent>,
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
    updates: mpsc::Sender<AgentEvent>,
    settled: Arc<AtomicBool>,
) -> Arc<dyn Fn(ToolOutput) + Send + Sync> {
    let ToolCall { id, name, arguments, .. } = call.clone();
    Arc::new(move |partial_result| {
        if settled.load(Ordering::Acquire) {
            return;
        }
        // Too many wait already, or the run was dropped and nobody is left to be told.
        drop(updates.try_send(AgentEvent::ToolExecutionUpdate {
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

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("Tool crashed: {text}")
}
