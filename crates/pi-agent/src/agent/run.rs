//! Starting a run and making sure it ends: well, by a panic, or because its future was dropped.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use pi_ai::{AssistantBlock, AssistantMessage, StopReason, TextContent};
use tokio_util::sync::CancellationToken;

use super::{Agent, AgentError, Inner, State};
use crate::agent_loop::{ABORTED, LoopHost as _, LoopInput, agent_loop};
use crate::event::AgentEvent;
use crate::message::{AgentMessage, missing_results};

impl Agent {
    /// Runs the loop on what `prompts` gives. Nothing happens before the future is polled.
    pub(super) fn run(
        &self,
        prompts: impl FnOnce(&mut State) -> Result<Vec<AgentMessage>, AgentError> + Send + 'static,
    ) -> impl Future<Output = Result<(), AgentError>> + Send + 'static {
        let inner = Arc::clone(&self.inner);
        async move {
            let (guard, input) = begin(inner, prompts)?;
            let cancel = input.cancel.clone();
            let run = AssertUnwindSafe(agent_loop(input, &*guard.inner)).catch_unwind();
            if Box::pin(run).await.is_err() {
                let failure = AssertUnwindSafe(end_broken_run(&guard.inner, &cancel));
                // A listener that panics again has been told twice: the agent still becomes idle.
                drop(failure.catch_unwind().await);
            }
            Ok(())
        }
    }
}

fn begin(
    inner: Arc<Inner>,
    prompts: impl FnOnce(&mut State) -> Result<Vec<AgentMessage>, AgentError>,
) -> Result<(RunGuard, LoopInput), AgentError> {
    let input = {
        let mut state = inner.state();
        if state.cancel.is_some() {
            return Err(AgentError::Busy);
        }
        let prompts = prompts(&mut state)?;
        let cancel = CancellationToken::new();
        state.cancel = Some(cancel.clone());
        state.produced.clear();
        state.error_message = None;
        LoopInput {
            prompts,
            stream: Arc::clone(&inner.stream),
            hooks: Arc::clone(&state.hooks),
            validators: Arc::clone(&inner.validators),
            cancel,
        }
    };
    inner.running.send_replace(true);
    Ok((RunGuard { inner }, input))
}

/// Makes the agent idle when the run is over, however it ended.
struct RunGuard {
    inner: Arc<Inner>,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        {
            let mut state = self.inner.state();
            if let Some(cancel) = state.cancel.take() {
                cancel.cancel();
            }
            state.produced.clear();
            state.streaming = None;
            state.pending_tool_calls.clear();
            state.queues.release();
        }
        self.inner.running.send_replace(false);
    }
}

/// Tells of a run that a hook or a listener broke.
async fn end_broken_run(inner: &Inner, cancel: &CancellationToken) {
    let settings = inner.settings();
    let (stop_reason, text) = if cancel.is_cancelled() {
        (StopReason::Aborted, ABORTED)
    } else {
        (StopReason::Error, "The run was broken by a crash in a hook or a listener")
    };
    for result in missing_results(&inner.messages()) {
        let result = AgentMessage::ToolResult(Arc::new(result));
        inner.emit(AgentEvent::MessageStart { message: result.clone() }).await;
        inner.emit(AgentEvent::MessageEnd { message: result }).await;
    }
    let message = Arc::new(AssistantMessage {
        content: vec![AssistantBlock::Text(TextContent::default())],
        stop_reason,
        error_message: Some(text.to_owned()),
        ..AssistantMessage::pending(&settings.model, pi_ai::now_ms())
    });
    let answer = AgentMessage::Assistant(Arc::clone(&message));
    inner.emit(AgentEvent::MessageStart { message: answer.clone() }).await;
    inner.emit(AgentEvent::MessageEnd { message: answer }).await;
    inner.emit(AgentEvent::TurnEnd { message, tool_results: Vec::new() }).await;
    inner.emit(AgentEvent::AgentEnd { messages: inner.produced() }).await;
}
