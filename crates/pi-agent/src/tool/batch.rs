//! One answer's tool calls, run in three phases: prepare in order, execute, finalize.
//!
//! Owns: which calls may overlap, the order of events and results, what becomes an error result.
//! Never: lets a fault of a tool or a hook reach the run; every call ends with a result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pi_ai::{ToolCall, ToolResultMessage};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::validate::ToolValidators;
use super::{ExecutionMode, Tool, ToolError};
use crate::agent_loop::{LoopHost, finished};
use crate::event::AgentEvent;
use crate::hooks::{LoopHooks, ToolDecision};
use crate::message::AgentMessage;

mod execute;

use execute::{Ready, Running, Settled, end_event, panic_text};

const ABORTED: &str = "Operation aborted";
const BLOCKED: &str = "Tool execution was blocked";

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
            outcome.add(&call, settled, self).await;
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
            outcome.add(&call, settled, self).await;
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
            outcome.add(&call, result, self).await;
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
            Err(Refusal { text, terminate }) => {
                let mut settled = Settled::failed(text);
                settled.output.terminate = terminate.then_some(true);
                self.ended(&call, &settled).await;
                Prepared::Settled(call, Box::new(settled))
            }
        }
    }

    async fn check(&self, call: &ToolCall) -> Result<(Arc<dyn Tool>, Map<String, Value>), Refusal> {
        let name = &call.name;
        let tool = self.find(name).ok_or_else(|| format!("Tool {name} not found"))?;
        if let Some(error) = &call.arguments_error {
            return Err(format!("Invalid arguments for tool \"{name}\": {error}").into());
        }
        if self.cancel.is_cancelled() {
            return Err(ABORTED.to_owned().into());
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
            None => Err(ABORTED.to_owned().into()),
            Some(Err(panic)) => Err(panic_text(&*panic).into()),
            Some(Ok(Err(text))) => Err(text.into()),
            Some(Ok(Ok(ToolDecision::Block { reason, terminate }))) => {
                Err(Refusal { text: reason.unwrap_or_else(|| BLOCKED.to_owned()), terminate })
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

fn cut_off_text(call: &ToolCall) -> String {
    format!(
        "Tool {} was not run: the answer reached its output limit, so the arguments may be cut off. \
         Call it again with shorter arguments.",
        call.name
    )
}

/// Why a call is not run.
struct Refusal {
    text: String,
    /// Whether it asks to end the run.
    terminate: bool,
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self { text, terminate: false }
    }
}

enum Prepared {
    Ready(Box<Ready>),
    Settled(ToolCall, Box<Settled>),
}

/// Collects results as they are recorded.
#[derive(Default)]
struct Outcome {
    results: Vec<Arc<ToolResultMessage>>,
    refused_to_terminate: bool,
}

impl Outcome {
    async fn add(&mut self, call: &ToolCall, settled: Settled, batch: &Batch<'_>) {
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
        let mut message = AgentMessage::ToolResult(message);
        batch.host.emit(AgentEvent::MessageStart { message: message.clone() }).await;
        // A result answers its call whatever the hooks make of it.
        if let AgentMessage::ToolResult(changed) = finished(&**batch.hooks, message.clone()).await
            && changed.tool_call_id == call.id
        {
            message = AgentMessage::ToolResult(changed);
        }
        if let AgentMessage::ToolResult(result) = &message {
            self.results.push(Arc::clone(result));
        }
        batch.host.emit(AgentEvent::MessageEnd { message }).await;
    }

    fn finish(self) -> BatchOutcome {
        let terminate = !self.results.is_empty() && !self.refused_to_terminate;
        BatchOutcome { results: self.results, terminate }
    }
}
