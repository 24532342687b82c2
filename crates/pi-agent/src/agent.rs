//! An agent: a transcript, a model, tools, and at most one run at a time.
//!
//! Owns: the state between runs, the queues, the listeners, starting and stopping runs. Never:
//! decides what happens inside a run ([`crate::agent_loop`]), stores anything, or retries.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, Model, SimpleStreamOptions, ThinkingLevel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent_loop::StreamFn;
use crate::event::AgentEvent;
use crate::hooks::{LoopHooks, NoHooks};
use crate::message::AgentMessage;
use crate::queue::{QueueKind, QueueMode, QueuedMessages, Queues};
use crate::tool::validate::ToolValidators;
use crate::tool::{ExecutionMode, Tool};

mod access;
mod fold;
mod host;
mod run;
#[cfg(test)]
mod tests;

/// What an agent is made of. Everything but the door to the model can be changed later.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    pub tools: Vec<Arc<dyn Tool>>,
    /// The transcript to go on from. System messages in it carry the prompt and the tools the model
    /// is told of.
    pub messages: Vec<AgentMessage>,
    pub stream: Arc<dyn StreamFn>,
    /// Template of the request options: key, headers, session id, timeouts, request hooks.
    pub options: SimpleStreamOptions,
    pub hooks: Arc<dyn LoopHooks>,
    pub tool_execution: ExecutionMode,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
}

impl AgentConfig {
    /// An agent with no tools, an empty transcript and default options.
    pub fn new(model: Arc<Model>, stream: Arc<dyn StreamFn>) -> Self {
        Self {
            model,
            thinking_level: ThinkingLevel::default(),
            tools: Vec::new(),
            messages: Vec::new(),
            stream,
            options: SimpleStreamOptions::default(),
            hooks: Arc::new(NoHooks),
            tool_execution: ExecutionMode::default(),
            steering_mode: QueueMode::default(),
            follow_up_mode: QueueMode::default(),
        }
    }
}

/// Hears of a run. Listeners are awaited one after the other, in the order they subscribed, so the
/// first one has stored a message before anyone else sees its `message_end`.
pub trait AgentListener: Send + Sync {
    fn on_event<'a>(&'a self, event: &'a AgentEvent) -> BoxFuture<'a, ()>;

    /// The queues changed: a message came in, is about to be delivered, or was cleared. Told with
    /// what waits now.
    fn on_queue_change<'a>(&'a self, _queued: &'a QueuedMessages) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Names a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerId(u64);

/// Why an agent did not do as told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error(
        "The agent is already running. Queue the message instead: steer delivers it after the current turn, followUp when the run is done."
    )]
    Busy,
    #[error("There is no message to continue from.")]
    NothingToContinue,
    #[error("Cannot continue from an assistant message while nothing is queued.")]
    AnswerLast,
}

/// A handle; clones share one agent.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

/// A handle that does not keep its agent alive, for what the agent itself owns (tools, hooks).
#[derive(Clone)]
pub struct WeakAgent {
    inner: Weak<Inner>,
}

impl WeakAgent {
    /// The agent, while somebody holds it.
    pub fn upgrade(&self) -> Option<Agent> {
        self.inner.upgrade().map(|inner| Agent { inner })
    }
}

impl fmt::Debug for WeakAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakAgent").finish_non_exhaustive()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Agent")
            .field("model", &state.model.id)
            .field("messages", &state.messages.len())
            .field("running", &state.cancel.is_some())
            .finish_non_exhaustive()
    }
}

struct Inner {
    stream: Arc<dyn StreamFn>,
    validators: Arc<ToolValidators>,
    state: Mutex<State>,
    running: watch::Sender<bool>,
}

struct State {
    model: Arc<Model>,
    thinking_level: ThinkingLevel,
    tools: Arc<[Arc<dyn Tool>]>,
    messages: Arc<Vec<AgentMessage>>,
    options: SimpleStreamOptions,
    hooks: Arc<dyn LoopHooks>,
    tool_execution: ExecutionMode,
    queues: Queues,
    listeners: Arc<[(ListenerId, Arc<dyn AgentListener>)]>,
    next_listener: u64,
    /// Set while a run is on.
    cancel: Option<CancellationToken>,
    /// What the current run has added.
    produced: Vec<AgentMessage>,
    streaming: Option<AssistantMessage>,
    pending_tool_calls: BTreeSet<String>,
    error_message: Option<String>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Agent {
    pub fn new(config: AgentConfig) -> Self {
        let state = State {
            model: config.model,
            thinking_level: config.thinking_level,
            tools: config.tools.into(),
            messages: Arc::new(config.messages),
            options: config.options,
            hooks: config.hooks,
            tool_execution: config.tool_execution,
            queues: Queues::new(config.steering_mode, config.follow_up_mode),
            listeners: Arc::new([]),
            next_listener: 0,
            cancel: None,
            produced: Vec::new(),
            streaming: None,
            pending_tool_calls: BTreeSet::new(),
            error_message: None,
        };
        Self {
            inner: Arc::new(Inner {
                stream: config.stream,
                validators: Arc::default(),
                state: Mutex::new(state),
                running: watch::Sender::new(false),
            }),
        }
    }

    /// A handle for parts of the agent.
    pub fn downgrade(&self) -> WeakAgent {
        WeakAgent { inner: Arc::downgrade(&self.inner) }
    }

    /// Adds the messages and runs until the model is done and nothing is queued. How it went is in
    /// the last message. Dropping the future cancels the run and leaves the agent idle.
    ///
    /// # Errors
    /// A run is on already.
    pub fn prompt(
        &self,
        messages: Vec<AgentMessage>,
    ) -> impl Future<Output = Result<(), AgentError>> + Send + 'static {
        self.run(move |_| Ok(messages))
    }

    /// Runs without a new message: answers the last one, or, where that is an answer already, goes
    /// on with what is queued.
    ///
    /// # Errors
    /// A run is on already, or there is nothing to answer.
    pub fn continue_run(&self) -> impl Future<Output = Result<(), AgentError>> + Send + 'static {
        self.continue_with(Vec::new())
    }

    /// The same, with messages that the model is told first.
    pub(crate) fn continue_with(
        &self,
        messages: Vec<AgentMessage>,
    ) -> impl Future<Output = Result<(), AgentError>> + Send + 'static {
        self.run(|state| match state.messages.iter().rfind(|message| message.is_turn()) {
            None => Err(AgentError::NothingToContinue),
            Some(AgentMessage::Assistant(_)) => go_on_with_queued(state, messages),
            Some(_) => Ok(messages),
        })
    }

    /// Adds the messages and goes on with what is queued, whatever came last.
    ///
    /// # Errors
    /// A run is on already, or nothing is queued.
    pub(crate) fn run_queued(
        &self,
        messages: Vec<AgentMessage>,
    ) -> impl Future<Output = Result<(), AgentError>> + Send + 'static {
        self.run(|state| go_on_with_queued(state, messages))
    }

    /// Queues a message for after the current turn.
    pub async fn steer(&self, message: AgentMessage) {
        self.enqueue(QueueKind::Steering, message).await;
    }

    /// Queues a message for when the run would end.
    pub async fn follow_up(&self, message: AgentMessage) {
        self.enqueue(QueueKind::FollowUp, message).await;
    }

    /// Empties the steering queue and gives back what was in it.
    pub async fn clear_steering(&self) -> Vec<AgentMessage> {
        let cleared = self.state().queues.clear(QueueKind::Steering);
        self.inner.tell_queue_change().await;
        cleared
    }

    /// Empties the follow-up queue and gives back what was in it.
    pub async fn clear_follow_up(&self) -> Vec<AgentMessage> {
        let cleared = self.state().queues.clear(QueueKind::FollowUp);
        self.inner.tell_queue_change().await;
        cleared
    }

    /// Empties both queues and gives back what was in them.
    pub async fn clear_queues(&self) -> QueuedMessages {
        let cleared = {
            let queues = &mut self.state().queues;
            QueuedMessages {
                steering: queues.clear(QueueKind::Steering),
                follow_up: queues.clear(QueueKind::FollowUp),
            }
        };
        self.inner.tell_queue_change().await;
        cleared
    }

    /// What waits in both queues.
    pub fn queued_messages(&self) -> QueuedMessages {
        self.state().queues.snapshot()
    }

    pub fn has_queued_messages(&self) -> bool {
        !self.state().queues.is_empty()
    }

    /// Cancels the current run, if there is one; queued messages stay. The run still tells how it
    /// ended: see [`Self::wait_for_idle`].
    pub fn abort(&self) {
        if let Some(cancel) = &self.state().cancel {
            cancel.cancel();
        }
    }

    /// The current run's cancellation, for work that must end with it.
    pub fn cancellation(&self) -> Option<CancellationToken> {
        self.state().cancel.clone()
    }

    /// Waits until no run is on and every listener has dealt with `agent_end`.
    pub async fn wait_for_idle(&self) {
        let mut running = self.inner.running.subscribe();
        // The sender lives as long as `self`: the wait cannot fail.
        drop(running.wait_for(|running| !running).await);
    }

    /// Adds a listener behind those that are there.
    pub fn subscribe(&self, listener: Arc<dyn AgentListener>) -> ListenerId {
        let mut state = self.state();
        let id = ListenerId(state.next_listener);
        state.next_listener += 1;
        state.listeners = state.listeners.iter().cloned().chain([(id, listener)]).collect();
        id
    }

    /// Removes a listener. It may still hear the event that is being told.
    pub fn unsubscribe(&self, id: ListenerId) {
        let mut state = self.state();
        state.listeners =
            state.listeners.iter().filter(|(other, _)| *other != id).cloned().collect();
    }

    /// Forgets transcript, queues and the last error.
    ///
    /// # Errors
    /// A run is on.
    pub async fn reset(&self) -> Result<(), AgentError> {
        let had_queued = {
            let mut state = self.state();
            if state.cancel.is_some() {
                return Err(AgentError::Busy);
            }
            state.messages = Arc::default();
            state.error_message = None;
            let had_queued = !state.queues.is_empty();
            state.queues.clear(QueueKind::Steering);
            state.queues.clear(QueueKind::FollowUp);
            had_queued
        };
        if had_queued {
            self.inner.tell_queue_change().await;
        }
        Ok(())
    }

    async fn enqueue(&self, kind: QueueKind, message: AgentMessage) {
        self.state().queues.push(kind, message);
        self.inner.tell_queue_change().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state()
    }
}

/// Steering messages are set aside by the run itself when it starts.
fn go_on_with_queued(
    state: &mut State,
    messages: Vec<AgentMessage>,
) -> Result<Vec<AgentMessage>, AgentError> {
    if state.queues.waits(QueueKind::Steering) || state.queues.reserve(QueueKind::FollowUp) {
        Ok(messages)
    } else {
        Err(AgentError::AnswerLast)
    }
}
