//! An agent whose conversation lives in a session.
//!
//! Owns: writing every finished message down before anyone else hears of it, the prompt's changes
//! as system messages, which tools are active, automatic retry, compaction, moving in the tree,
//! when a prompt is settled. Never: knows what the tools do or what the prompt says, reads
//! settings, or renders.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use indexmap::IndexMap;
use pi_ai::InputBlock;
use tokio::sync::watch;

use crate::agent::{Agent, AgentConfig, AgentError};
use crate::compaction::{BranchSummarySettings, CompactionPolicy};
use crate::event::SessionEvent;
use crate::message::AgentMessage;
use crate::queue::QueuedMessages;
use crate::resources::{ResourceDiagnostic, Resources};
use crate::session::{Diagnostic, EntryKind, Session, SessionError};
use crate::tool::Tool;

mod change;
mod compact;
mod listener;
mod navigate;
mod operation;
mod patch;
mod record;
mod run;
mod session_hooks;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod tools;
mod verdict;

pub use crate::compaction::{CompactionResult, ContextUsage};
pub use crate::retry::RetrySettings;
pub use compact::CompactionFailure;
pub use listener::{SessionListener, SessionListenerId};
pub use navigate::{NavigateOptions, Navigation, NavigationFailure};
pub use operation::Operation;
pub use run::{Reservation, Run, RunOutcome};
pub use session_hooks::{
    BeforeCompact, BeforeNavigate, CompactDecision, CompactFailed, Compacted, NavigateDecision,
    Navigated, SessionHooks, SuppliedCompaction,
};
pub use snapshot::{Conversation, HarnessState};
pub use tools::ActiveTools;

use listener::Listeners;
use patch::PatchingHooks;
use record::Recorder;
use state::{Settings, State};
use tools::ToolRegistry;

/// What a harness is made of.
pub struct HarnessConfig {
    /// Its `messages` are replaced by those of the session, its `tools` are the registry: which of
    /// them are active is said by `active_tools`.
    pub agent: AgentConfig,
    pub session: Session,
    pub active_tools: ActiveTools,
    pub prompt: Arc<dyn PromptBuilder>,
    pub retry: RetrySettings,
    pub compaction: CompactionPolicy,
    pub branch_summary: BranchSummarySettings,
    pub session_hooks: Vec<Arc<dyn SessionHooks>>,
    /// Skills and prompt templates that texts may call.
    pub resources: Option<Resources>,
}

impl HarnessConfig {
    /// Every tool active, no prompt, and the usual settings.
    pub fn new(agent: AgentConfig, session: Session) -> Self {
        let names = agent.tools.iter().map(|tool| tool.definition().name.clone()).collect();
        Self {
            agent,
            session,
            active_tools: ActiveTools::Restored(names),
            prompt: Arc::new(|_: &[Arc<dyn Tool>]| IndexMap::new()),
            retry: RetrySettings::default(),
            compaction: CompactionPolicy::default(),
            branch_summary: BranchSummarySettings::default(),
            session_hooks: Vec::new(),
            resources: None,
        }
    }
}

impl fmt::Debug for HarnessConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HarnessConfig")
            .field("agent", &self.agent)
            .field("session", &self.session.id())
            .field("active_tools", &self.active_tools)
            .field("retry", &self.retry)
            .field("compaction", &self.compaction)
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
    /// A prompt cannot begin meanwhile; see [`Harness::operation`].
    #[error("Agent is already processing")]
    Busy,
    /// A compaction or a navigation cannot begin meanwhile.
    #[error("Another operation is on: {0}")]
    Occupied(Operation),
    #[error("Entries of type {0} are not appended; they are made by what they record")]
    NotAppended(EntryKind),
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Something is not on disk. It is kept, and written before whatever comes next.
    #[error(transparent)]
    Session(#[from] Arc<SessionError>),
    /// What the text calls cannot be had; nothing was sent.
    #[error("{0}")]
    Resource(ResourceDiagnostic),
    #[error(transparent)]
    Compaction(#[from] CompactionFailure),
    #[error(transparent)]
    Navigation(#[from] NavigationFailure),
}

/// A handle; clones share one conversation.
#[derive(Clone)]
pub struct Harness {
    inner: Arc<Inner>,
}

/// See [`Harness::downgrade`].
#[derive(Clone)]
pub struct WeakHarness {
    inner: Weak<Inner>,
}

impl WeakHarness {
    /// The harness, while somebody holds it.
    pub fn upgrade(&self) -> Option<Harness> {
        self.inner.upgrade().map(|inner| Harness { inner })
    }
}

impl fmt::Debug for WeakHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakHarness").finish_non_exhaustive()
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("agent", &self.inner.agent).finish_non_exhaustive()
    }
}

struct Inner {
    this: Weak<Self>,
    agent: Agent,
    session: Mutex<Session>,
    listeners: Listeners,
    state: Mutex<State>,
    busy: watch::Sender<bool>,
}

impl Harness {
    /// Takes up the conversation of the session where its leaf is; it is read when it is first
    /// needed. A new session gets the model and the thinking level as its first entries; an older
    /// one the level, if it has another.
    pub fn new(config: HarnessConfig) -> Self {
        let HarnessConfig { agent: mut agent_config, session, active_tools, prompt, .. } = config;
        let is_new = session.leaf().is_none();
        let tools = ToolRegistry::new(std::mem::take(&mut agent_config.tools), active_tools);
        agent_config.messages = Vec::new();
        agent_config.tools = tools.default_active();
        let settings = Settings {
            retry: config.retry,
            compaction: config.compaction,
            branch_summary: config.branch_summary,
            session_hooks: config.session_hooks.into(),
            resources: config.resources,
            prompt,
        };
        let state = State::new(&session, tools, settings);
        let inner = Arc::new_cyclic(|this| {
            agent_config.hooks =
                Arc::new(PatchingHooks::new(this.clone(), Arc::clone(&agent_config.hooks)));
            let agent = Agent::new(agent_config);
            agent.subscribe(Arc::new(Recorder::new(this.clone())));
            Inner {
                this: this.clone(),
                agent,
                session: Mutex::new(session),
                listeners: Listeners::default(),
                state: Mutex::new(state),
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
    /// compactions, queued messages. Dropping the future cancels it, with every tool call answered
    /// on disk. A listener that wants to prompt spawns a task for it: the prompt it hears of must
    /// end first.
    ///
    /// # Errors
    /// Something else is on. A failed answer is no error, nor is a session file that cannot be
    /// written: both are in the outcome.
    pub async fn prompt(&self, blocks: Vec<InputBlock>) -> Result<RunOutcome, HarnessError> {
        self.begin(vec![AgentMessage::user(blocks, pi_ai::now_ms())]).await?.await
    }

    /// Like [`Self::prompt`], with a text as it was typed: see [`Self::user_message`].
    ///
    /// # Errors
    /// As for both.
    pub async fn prompt_text(&self, text: &str) -> Result<RunOutcome, HarnessError> {
        let reservation = self.reserve().await?;
        let message = self.user_message(text, Vec::new()).await?;
        reservation.begin(vec![message]).await
    }

    /// The message that a typed text becomes, with what it calls put in its place: a skill or a
    /// prompt template. `images` stand behind the text.
    ///
    /// # Errors
    /// The file of the skill cannot be read.
    pub async fn user_message(
        &self,
        text: &str,
        images: Vec<InputBlock>,
    ) -> Result<AgentMessage, HarnessError> {
        let resources = self.inner.state().settings.resources.clone();
        let text = match resources {
            Some(resources) => {
                let expanded = resources.expand(text).await;
                let text = expanded.diagnostic.map_or(Ok(expanded.text), Err);
                text.map_err(HarnessError::Resource)?
            }
            None => text.to_owned(),
        };
        let blocks = std::iter::once(InputBlock::text(text)).chain(images).collect();
        Ok(AgentMessage::user(blocks, pi_ai::now_ms()))
    }

    /// Takes a prompt of messages that belong together; what it gives is to be awaited. Whoever
    /// has to say that a prompt was accepted can say so in between.
    ///
    /// # Errors
    /// Something else is on.
    pub async fn begin(&self, messages: Vec<AgentMessage>) -> Result<Run, HarnessError> {
        Ok(self.reserve().await?.begin(messages))
    }

    /// Takes the next prompt before what it says is known: while handlers change it, or files are
    /// read.
    ///
    /// # Errors
    /// Something else is on.
    pub async fn reserve(&self) -> Result<Reservation, HarnessError> {
        Reservation::take(Arc::clone(&self.inner)).await
    }

    /// Delivers what was queued while no prompt was on; `None` when nothing is.
    ///
    /// # Errors
    /// As for [`Self::prompt`].
    pub async fn run_queued(&self) -> Result<Option<RunOutcome>, HarnessError> {
        if !self.inner.agent.has_queued_messages() {
            return Ok(None);
        }
        self.begin(Vec::new()).await?.await.map(Some)
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

    /// Cancels what is on: a prompt with its tools, its wait for a retry, a compaction, a
    /// navigation. Queued messages stay. See [`Self::wait_for_idle`] for its end.
    pub fn abort(&self) {
        if let Some(ongoing) = &self.inner.state().ongoing {
            ongoing.tokens.cancel.cancel();
        }
    }

    /// Gives up waiting for the next attempt; the failed answer is then final.
    pub fn abort_retry(&self) {
        self.inner.end_wait();
    }

    /// Whether a prompt, a compaction or a navigation is on.
    pub fn is_busy(&self) -> bool {
        *self.inner.busy.borrow()
    }

    /// Waits until nothing is on and every listener has dealt with `agent_settled`.
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

    /// A handle that does not keep the harness alive, for what the harness itself owns (tools,
    /// hooks, listeners).
    pub fn downgrade(&self) -> WeakHarness {
        WeakHarness { inner: Arc::downgrade(&self.inner) }
    }

    /// The conversation as the model is told it; a message that is still arriving is not in it.
    pub fn messages(&self) -> Arc<Vec<AgentMessage>> {
        self.inner.load();
        self.inner.agent.messages()
    }

    /// How many messages the model is told. Does not read a conversation that was not read yet.
    pub fn message_count(&self) -> usize {
        self.inner.unread(Session::context_len).unwrap_or_else(|| self.messages().len())
    }

    /// Adds the messages the model is told to a text, as a JSON array. Those of a conversation that
    /// was not read yet are copied from the session.
    pub fn add_messages_json(&self, json: &mut String) {
        let copied = self.inner.unread(|session| session.add_context_json(json));
        if copied.is_none() {
            // Messages are plain data, whose serialisation has no failing case.
            json.push_str(&serde_json::to_string(&*self.messages()).unwrap_or_default());
        }
    }

    /// Looks at the session. Messages are stored under the same lock: keep it short, and call
    /// nothing of the harness inside.
    pub fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        look(&self.inner.session())
    }

    /// What was wrong with entries of the session since this was last asked.
    pub fn take_diagnostics(&self) -> Vec<Diagnostic> {
        let mut diagnostics = std::mem::take(&mut self.inner.state().diagnostics);
        diagnostics.extend(self.inner.session().take_diagnostics());
        diagnostics
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session_hooks(&self) -> Arc<[Arc<dyn SessionHooks>]> {
        Arc::clone(&self.state().settings.session_hooks)
    }

    /// Tells an event that has nothing to store.
    async fn tell(&self, event: SessionEvent) {
        self.listeners.before(&event).await;
        self.listeners.tell(&event).await;
    }
}
