//! An agent whose conversation lives in a session.
//!
//! Owns: writing every finished message down before anyone else hears of it, the prompt's changes
//! as system messages, automatic retry, when a prompt is settled. Never: knows which tools or
//! prompt sections exist, reads settings, expands input, or renders.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use pi_ai::{InputBlock, Model, ThinkingLevel};
use tokio::sync::watch;

use crate::agent::{Agent, AgentConfig, AgentError};
use crate::event::SessionEvent;
use crate::hooks::LoopHooks;
use crate::message::{AgentMessage, BashExecutionMessage};
use crate::queue::QueuedMessages;
use crate::session::{
    Diagnostic, Entry, EntryBody, EntryKind, Session, SessionContext, SessionError, clean_name,
};
use crate::tool::Tool;

mod command;
mod front_matter;
pub mod input;
mod listener;
mod patch;
pub mod prompt_templates;
mod record;
mod resource_diagnostic;
mod resource_files;
mod run;
pub mod skills;
mod state;
#[cfg(test)]
mod tests;
mod verdict;

pub use crate::retry::RetrySettings;
pub use input::{Expanded, expand};
pub use listener::{SessionListener, SessionListenerId};
pub use prompt_templates::{PromptTemplate, PromptTemplates};
pub use resource_diagnostic::{ResourceDiagnostic, ResourceProblem};
pub use run::RunOutcome;
pub use skills::{Skill, Skills};

use listener::Listeners;
use patch::PatchingHooks;
use record::Recorder;
use state::State;

/// What a harness is made of.
pub struct HarnessConfig {
    /// Its `messages` are replaced by those of the session.
    pub agent: AgentConfig,
    pub session: Session,
    pub prompt: Arc<dyn PromptBuilder>,
    pub retry: RetrySettings,
}

impl fmt::Debug for HarnessConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarnessConfig")
            .field("agent", &self.agent)
            .field("session", &self.session.id())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Says what the prompt should be. Asked before every prompt and every further turn, so it must be
/// quick; what it reads from disk it keeps.
pub trait PromptBuilder: Send + Sync {
    /// Named sections in order, for these active tools.
    fn sections(&self, tools: &[Arc<dyn Tool>]) -> IndexMap<String, String>;
}

impl<F> PromptBuilder for F
where
    F: Fn(&[Arc<dyn Tool>]) -> IndexMap<String, String> + Send + Sync,
{
    fn sections(&self, tools: &[Arc<dyn Tool>]) -> IndexMap<String, String> {
        self(tools)
    }
}

/// Why a harness did not do as told.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    #[error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    )]
    Busy,
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Something is not on disk. It is kept, and written before whatever comes next.
    #[error(transparent)]
    Session(#[from] Arc<SessionError>),
}

/// A handle; clones share one conversation.
#[derive(Clone)]
pub struct Harness {
    inner: Arc<Inner>,
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("agent", &self.inner.agent).finish_non_exhaustive()
    }
}

struct Inner {
    agent: Agent,
    session: Mutex<Session>,
    prompt: Arc<dyn PromptBuilder>,
    listeners: Listeners,
    state: Mutex<State>,
    busy: watch::Sender<bool>,
}

impl Harness {
    /// Takes up the conversation of the session where its leaf is. A new session gets the model and
    /// the thinking level as its first entries; an older one the level, if it has another.
    pub fn new(config: HarnessConfig) -> Self {
        let HarnessConfig { agent: mut agent_config, session, prompt, retry } = config;
        let is_new = session.leaf().is_none();
        let mut context = session.context();
        agent_config.messages = std::mem::take(&mut context.messages);
        let inner = Arc::new_cyclic(|inner| {
            agent_config.hooks =
                Arc::new(PatchingHooks::new(inner.clone(), Arc::clone(&agent_config.hooks)));
            let agent = Agent::new(agent_config);
            agent.subscribe(Arc::new(Recorder::new(inner.clone())));
            Inner {
                agent,
                session: Mutex::new(session),
                prompt,
                listeners: Listeners::default(),
                state: Mutex::new(State::new(retry, context)),
                busy: watch::Sender::new(false),
            }
        });
        if is_new {
            inner.record_model();
        }
        inner.record_thinking_level();
        Self { inner }
    }

    /// Sends a user message and resolves once everything it set off is settled: the run, retries,
    /// queued messages. Dropping the future cancels it, with every tool call answered on disk.
    /// A listener that wants to prompt spawns a task for it: the prompt it hears of must end first.
    ///
    /// # Errors
    /// A prompt is on already. A failed answer is no error, nor is a session file that cannot be
    /// written: both are in the outcome.
    pub async fn prompt(&self, blocks: Vec<InputBlock>) -> Result<RunOutcome, HarnessError> {
        self.prompt_with(vec![AgentMessage::user(blocks, pi_ai::now_ms())]).await
    }

    /// Like [`Self::prompt`], with several messages that belong together.
    ///
    /// # Errors
    /// As for [`Self::prompt`].
    pub async fn prompt_with(
        &self,
        messages: Vec<AgentMessage>,
    ) -> Result<RunOutcome, HarnessError> {
        Box::pin(run::prompt(Arc::clone(&self.inner), messages)).await
    }

    /// Queues a message for after the current turn. While idle it waits for the next prompt.
    pub async fn steer(&self, message: AgentMessage) {
        self.inner.agent.steer(message).await;
    }

    /// Queues a message for when the run would end.
    pub async fn follow_up(&self, message: AgentMessage) {
        self.inner.agent.follow_up(message).await;
    }

    /// Empties both queues and gives back what was in them.
    pub async fn clear_queues(&self) -> QueuedMessages {
        self.inner.agent.clear_queues().await
    }

    /// Cancels what the current prompt is doing, a wait for a retry included. Queued messages stay.
    /// See [`Self::wait_for_idle`] for its end.
    pub fn abort(&self) {
        if let Some(run) = &self.inner.state().run {
            run.cancel.cancel();
        }
    }

    /// Gives up waiting for the next attempt; the failed answer is then final.
    pub fn abort_retry(&self) {
        if let Some(run) = &self.inner.state().run {
            run.wait.cancel();
        }
    }

    /// Whether a prompt is on.
    pub fn is_busy(&self) -> bool {
        *self.inner.busy.borrow()
    }

    /// Waits until no prompt is on and every listener has dealt with `agent_settled`.
    pub async fn wait_for_idle(&self) {
        let mut busy = self.inner.busy.subscribe();
        // The sender lives as long as `self`: the wait cannot fail.
        drop(busy.wait_for(|busy| !busy).await);
    }

    /// Adds a listener behind those that are there.
    pub fn subscribe(&self, listener: Arc<dyn SessionListener>) -> SessionListenerId {
        self.inner.listeners.add(listener)
    }

    /// Removes a listener. It may still hear the event that is being told.
    pub fn unsubscribe(&self, id: SessionListenerId) {
        self.inner.listeners.remove(id);
    }

    /// The agent below, to read its state. Change model, level, tools and hooks through the
    /// harness, or the session does not learn of it.
    pub fn agent(&self) -> &Agent {
        &self.inner.agent
    }

    /// Looks at the session, or moves its leaf; after that call [`Self::reload_context`]. Messages
    /// are stored under the same lock: keep it short, and call nothing of the harness inside.
    pub fn with_session<T>(&self, look: impl FnOnce(&mut Session) -> T) -> T {
        look(&mut self.inner.session())
    }

    /// What was wrong with entries of the session since this was last asked.
    pub fn take_diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = std::mem::take(&mut self.inner.state().diagnostics);
        diagnostics.extend(self.inner.session().take_diagnostics());
        diagnostics
    }
}

/// Changing the conversation outside of prompts. What is changed while one is on counts from the
/// next request.
impl Harness {
    /// Switches the model and records it; the thinking level follows if the model lacks it.
    pub async fn set_model(&self, model: Arc<Model>) {
        self.inner.agent.set_model(model);
        self.inner.record_model();
        self.set_thinking_level(self.inner.agent.thinking_level()).await;
    }

    /// Sets the thinking level, or the nearest one the model has, and gives what it became. A level
    /// that is set already is not recorded again.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> ThinkingLevel {
        let level = pi_ai::thinking::clamp_level(&self.inner.agent.model(), level);
        if level != self.inner.agent.thinking_level() {
            self.inner.agent.set_thinking_level(level);
            self.inner.record_thinking_level();
            self.inner.tell(SessionEvent::ThinkingLevelChanged { level }).await;
        }
        level
    }

    /// Sets the active tools. Tools that stay keep their place; the model is told with the next
    /// request.
    pub fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) {
        let current = self.inner.agent.tools();
        let place = |tool: &Arc<dyn Tool>| {
            let name = &tool.definition().name;
            current.iter().position(|t| t.definition().name == *name).unwrap_or(usize::MAX)
        };
        let mut tools = tools;
        tools.sort_by_key(place);
        self.inner.agent.set_tools(tools);
    }

    /// Replaces the loop's hooks; counts from the next prompt.
    pub fn set_hooks(&self, hooks: Arc<dyn LoopHooks>) {
        let inner = Arc::downgrade(&self.inner);
        self.inner.agent.set_hooks(Arc::new(PatchingHooks::new(inner, hooks)));
    }

    pub fn set_retry(&self, retry: RetrySettings) {
        self.inner.state().retry = retry;
    }

    /// Names the session; a name of blanks clears it.
    ///
    /// # Errors
    /// The name is not on disk yet.
    pub async fn set_name(&self, name: &str) -> Result<(), HarnessError> {
        let name = Some(clean_name(name)).filter(|name| !name.is_empty());
        let stored = self.inner.store(EntryBody::SessionInfo { name: name.clone() });
        self.inner.tell(SessionEvent::SessionInfoChanged { name }).await;
        Ok(stored.map(drop)?)
    }

    /// Adds an entry that is no message of a run. Custom entries and context edits are told as
    /// events. What the model is told changes with [`Self::reload_context`].
    ///
    /// # Errors
    /// The entry is not on disk yet.
    pub async fn append(&self, body: EntryBody) -> Result<Arc<Entry>, HarnessError> {
        let entry = self.inner.store(body)?;
        if matches!(entry.kind, EntryKind::Custom | EntryKind::ContextEdit) {
            let entry = entry.as_ref().clone();
            self.inner.tell(SessionEvent::EntryAppended { entry }).await;
        }
        Ok(entry)
    }

    /// Adds a command the user ran. While a prompt is on it is held back until that is settled.
    ///
    /// # Errors
    /// The entry is not on disk yet.
    pub fn record_bash(&self, message: BashExecutionMessage) -> Result<(), HarnessError> {
        self.inner.state().held.push(Arc::new(message));
        if !self.is_busy() {
            self.inner.flush_held();
        }
        self.inner.all_stored()
    }

    /// Takes up the conversation at the session's leaf, after that was moved.
    ///
    /// # Errors
    /// A prompt is on.
    pub fn reload_context(&self) -> Result<(), HarnessError> {
        if self.is_busy() {
            return Err(HarnessError::Busy);
        }
        let context = self.inner.session().context();
        let SessionContext { messages, .. } = self.inner.state().take_up(context);
        self.inner.agent.set_messages(messages);
        Ok(())
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells an event that has nothing to store.
    async fn tell(&self, event: SessionEvent) {
        self.listeners.before(&event).await;
        self.listeners.tell(&event).await;
    }
}
