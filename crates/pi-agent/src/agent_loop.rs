//! The loop between a model and its tools: one run, from `agent_start` to `agent_end`.
//!
//! Owns: the order of turns and events, when queued messages are delivered, when a run ends.
//! Never: keeps state between runs, touches files or a terminal, or knows who listens. What it
//! needs of its owner it asks through [`LoopHost`].

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::{
    AssistantMessage, AssistantStream, Context, Model, Protocols, SimpleStreamOptions, StopReason,
    ThinkingLevel, ToolResultMessage,
};
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::hooks::{LoopHooks, TurnChange, TurnFinish};
use crate::message::AgentMessage;
use crate::tool::batch::{Batch, BatchOutcome};
use crate::tool::validate::ToolValidators;
use crate::tool::{ExecutionMode, Tool};

mod answer;

/// Error text of an answer whose request was never sent.
pub(crate) const ABORTED: &str = "This operation was aborted";

/// The door to a model. [`Protocols`] is one; a test or an embedder may bring another.
pub trait StreamFn: Send + Sync + fmt::Debug {
    /// Opens the stream of one answer. It may wait for what the request needs first, such as a key;
    /// an abort drops it meanwhile.
    fn stream<'a>(
        &'a self,
        model: &'a Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> BoxFuture<'a, AssistantStream>;
}

impl StreamFn for Protocols {
    fn stream<'a>(
        &'a self,
        model: &'a Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> BoxFuture<'a, AssistantStream> {
        Box::pin(std::future::ready(self.stream_simple(model, context, options)))
    }
}

/// What a run may change or learn at any time, asked anew before each request and each batch of
/// tool calls.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Template of the request options; the loop fills in cancellation, key and reasoning.
    pub options: SimpleStreamOptions,
    pub tools: Arc<[Arc<dyn Tool>]>,
    pub tool_execution: ExecutionMode,
}

/// The owner of a run: keeps the transcript and the queues, tells the listeners.
pub trait LoopHost: Send + Sync {
    /// Notes the event (a `message_end` adds to the transcript), then lets every listener finish.
    fn emit(&self, event: AgentEvent) -> BoxFuture<'_, ()>;

    fn settings(&self) -> TurnSettings;

    /// The transcript as it stands.
    fn messages(&self) -> Arc<Vec<AgentMessage>>;

    /// Everything this run has added so far.
    fn produced(&self) -> Vec<AgentMessage>;

    /// Takes over model, level and context of the change; its messages are the loop's to add.
    fn apply(&self, change: &mut TurnChange);

    fn has_queued(&self) -> bool;

    /// Sets steering messages aside for the turn that starts; `false` when none wait.
    fn reserve_steering(&self) -> bool;

    /// The same for follow-up messages.
    fn reserve_follow_up(&self) -> bool;

    /// Hands out the next message set aside, after telling that the queue has changed.
    fn deliver(&self) -> BoxFuture<'_, Option<AgentMessage>>;
}

/// What one run starts from.
#[derive(Debug)]
pub struct LoopInput {
    /// New messages; none when the run continues the transcript.
    pub prompts: Vec<AgentMessage>,
    pub stream: Arc<dyn StreamFn>,
    pub hooks: Arc<dyn LoopHooks>,
    pub validators: Arc<ToolValidators>,
    /// Cancelling ends the run soon, with every tool call answered.
    pub cancel: CancellationToken,
}

/// Runs turns until the model is done and nothing is queued, or until an answer fails or is
/// aborted.
pub async fn agent_loop(input: LoopInput, host: &dyn LoopHost) {
    let LoopInput { prompts, stream, hooks, validators, cancel } = input;
    let run = Run { host, stream, hooks, validators, cancel };
    host.emit(AgentEvent::AgentStart).await;
    host.emit(AgentEvent::TurnStart).await;
    for message in prompts {
        run.record(message).await;
    }
    if !run.cancel.is_cancelled() {
        host.reserve_steering();
    }
    run.deliver().await;
    while let Flow::Next(messages) = run.turn().await {
        host.emit(AgentEvent::TurnStart).await;
        for message in messages {
            run.record(message).await;
        }
        run.deliver().await;
    }
    host.emit(AgentEvent::AgentEnd { messages: host.produced() }).await;
}

struct Run<'a> {
    host: &'a dyn LoopHost,
    stream: Arc<dyn StreamFn>,
    hooks: Arc<dyn LoopHooks>,
    validators: Arc<ToolValidators>,
    cancel: CancellationToken,
}

enum Flow {
    /// Another turn, which these messages open.
    Next(Vec<AgentMessage>),
    End,
}

impl Run<'_> {
    /// One answer and its tool calls.
    async fn turn(&self) -> Flow {
        let message = self.answer().await;
        if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
            self.end_turn(message, Vec::new()).await;
            return Flow::End;
        }
        let BatchOutcome { results, terminate } = self.run_tools(&message).await;
        let finish = self.end_turn(Arc::clone(&message), results.clone()).await;
        let more = !results.is_empty() && !terminate || finish.continues;
        self.after_turn(&message, &results, more).await
    }

    async fn after_turn(
        &self,
        message: &Arc<AssistantMessage>,
        results: &[Arc<ToolResultMessage>],
        more: bool,
    ) -> Flow {
        let mut messages = Vec::new();
        if !self.cancel.is_cancelled() {
            if self.hooks.should_stop_after_turn(message, results).await {
                return Flow::End;
            }
            if !more && !self.host.has_queued() {
                return Flow::End;
            }
            let mut change = self.hooks.prepare_next_turn().await;
            self.host.apply(&mut change);
            messages = change.messages;
        }
        if self.goes_on(more) {
            return Flow::Next(messages);
        }
        // The queue was cleared or the run aborted meanwhile: the hook's messages are kept anyway.
        for message in messages {
            self.record(message).await;
        }
        Flow::End
    }

    /// Whether another turn follows, setting aside what opens it. An aborted run goes on only to
    /// close off tool results with an empty aborted answer.
    fn goes_on(&self, more: bool) -> bool {
        if self.cancel.is_cancelled() && !more {
            return false;
        }
        let steered = self.host.reserve_steering();
        more || steered || self.host.reserve_follow_up()
    }

    async fn run_tools(&self, message: &AssistantMessage) -> BatchOutcome {
        let calls: Vec<_> = message.tool_calls().cloned().collect();
        if calls.is_empty() {
            return BatchOutcome::default();
        }
        let settings = self.host.settings();
        let batch = Batch {
            host: self.host,
            hooks: &self.hooks,
            tools: &settings.tools,
            validators: &self.validators,
            mode: settings.tool_execution,
            cancel: &self.cancel,
        };
        if message.stop_reason == StopReason::Length {
            batch.refuse_cut_off(calls).await
        } else {
            batch.run(calls).await
        }
    }

    async fn end_turn(
        &self,
        message: Arc<AssistantMessage>,
        tool_results: Vec<Arc<ToolResultMessage>>,
    ) -> TurnFinish {
        let finish = self.hooks.finish_turn(&message, &tool_results).await;
        self.host.emit(AgentEvent::TurnEnd { message, tool_results }).await;
        finish
    }

    async fn deliver(&self) {
        while let Some(message) = self.host.deliver().await {
            self.record(message).await;
        }
    }

    /// Adds a whole message to the transcript.
    async fn record(&self, message: AgentMessage) {
        self.host.emit(AgentEvent::MessageStart { message: message.clone() }).await;
        let message = finished(&*self.hooks, message).await;
        self.host.emit(AgentEvent::MessageEnd { message }).await;
    }
}

/// The message as the hooks want it told.
pub(crate) async fn finished(hooks: &dyn LoopHooks, message: AgentMessage) -> AgentMessage {
    let changed = hooks.finish_message(message.clone()).await;
    if changed.role() == message.role() { changed } else { message }
}
