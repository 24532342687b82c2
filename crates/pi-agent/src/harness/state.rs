//! What a harness remembers between events, and writing it to the session.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_ai::{AssistantMessage, ThinkingLevel};

use super::operation::Ongoing;
use super::session_hooks::SessionHooks;
use super::tools::ToolRegistry;
use super::verdict::Verdict;
use super::{HarnessError, Inner, PromptBuilder};
use crate::compaction::{BranchSummarySettings, CompactionPolicy};
use crate::message::AgentMessage;
use crate::resources::Resources;
use crate::retry::RetrySettings;
use crate::session::{Diagnostic, Draft, Entry, EntryBody, PromptState, Session, SessionError};

pub(super) struct State {
    pub(super) settings: Settings,
    pub(super) tools: ToolRegistry,
    /// Set while something is on.
    pub(super) ongoing: Option<Ongoing>,
    /// Of the prompt that is on, or was last.
    pub(super) progress: Progress,
    /// Size of the context when it was first measured after the last compaction of this process, in
    /// tokens. `None`: there was none. `Some(None)`: not measured yet.
    pub(super) size_after_compaction: Option<Option<u64>>,
    /// The prompt and tools the model has been told of.
    pub(super) prompt: PromptState,
    /// Messages that came beside a prompt and wait for its end.
    pub(super) held: Vec<AgentMessage>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Those of the session's entries that have been told; every reading finds them again.
    told_diagnostics: Vec<Diagnostic>,
    /// Whether the agent holds the session's conversation. A session that is only looked at is
    /// never read through.
    is_loaded: bool,
    /// Whether the session has changed beside the agent.
    pub(super) is_stale: bool,
    recorded_model: Option<(String, String)>,
    recorded_level: Option<ThinkingLevel>,
    /// Entries that did not reach the disk, oldest first.
    unstored: VecDeque<Draft>,
    /// Set while there are some.
    pub(super) storage_error: Option<Arc<SessionError>>,
}

/// What can be changed at any time.
pub(super) struct Settings {
    pub(super) retry: RetrySettings,
    pub(super) compaction: CompactionPolicy,
    pub(super) branch_summary: BranchSummarySettings,
    pub(super) session_hooks: Arc<[Arc<dyn SessionHooks>]>,
    pub(super) resources: Option<Resources>,
    pub(super) prompt: Arc<dyn PromptBuilder>,
}

/// How far a prompt is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Attempts made after the first one that failed.
    pub(super) attempt: u32,
    /// What is to be done about the run that just ended.
    pub(super) verdict: Verdict,
    pub(super) last_answer: Option<Answer>,
    /// Whether a compaction by itself has failed.
    pub(super) has_failed_compaction: bool,
    /// Whether a context that was too long has been made shorter.
    pub(super) has_recovered: bool,
    /// Why one that was too long has not.
    pub(super) unrecovered: Option<String>,
}

/// An answer and its entry, if that is on disk.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) message: Arc<AssistantMessage>,
    pub(super) entry_id: Option<String>,
}

impl State {
    pub(super) fn new(session: &Session, tools: ToolRegistry, settings: Settings) -> Self {
        Self {
            settings,
            tools,
            ongoing: None,
            progress: Progress::default(),
            size_after_compaction: None,
            prompt: PromptState::default(),
            held: Vec::new(),
            diagnostics: Vec::new(),
            told_diagnostics: Vec::new(),
            is_loaded: false,
            is_stale: false,
            recorded_model: session.last_model(),
            recorded_level: session.last_thinking_level(),
            unstored: VecDeque::new(),
            storage_error: None,
        }
    }

    fn note(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Message { message: AgentMessage::System(message) } => {
                self.prompt.apply(message);
            }
            EntryBody::Message { message: AgentMessage::Assistant(answer) } => {
                self.recorded_model = Some((answer.provider.clone(), answer.model.clone()));
            }
            EntryBody::ModelChange { provider, model_id } => {
                self.recorded_model = Some((provider.clone(), model_id.clone()));
            }
            EntryBody::ThinkingLevelChange { thinking_level } => {
                self.recorded_level = Some(*thinking_level);
            }
            _ => {}
        }
    }

    fn failed(&mut self, error: SessionError) -> Arc<SessionError> {
        let error = Arc::new(error);
        self.storage_error = Some(Arc::clone(&error));
        error
    }

    /// Writes what is kept. One whose writing failed may be on disk all the same, so it is the same
    /// draft that is tried again.
    fn store_kept(&mut self, session: &mut Session) -> Result<(), Arc<SessionError>> {
        while let Some(draft) = self.unstored.front() {
            if let Err(error) = session.append_draft(draft) {
                return Err(self.failed(error));
            }
            self.unstored.pop_front();
        }
        self.storage_error = None;
        Ok(())
    }
}

impl Inner {
    /// Gives the agent the session's conversation, unless it has it already.
    pub(super) fn load(&self) {
        let mut state = self.state();
        if !state.is_loaded {
            self.read_session(&mut state);
        }
    }

    /// What `look` finds in the session, as long as the agent does not hold the conversation.
    pub(super) fn unread<T>(&self, look: impl FnOnce(&Session) -> T) -> Option<T> {
        let state = self.state();
        (!state.is_loaded).then(|| look(&self.session()))
    }

    /// Like [`Self::load`], also when the session has changed since. For the beginning of an operation: what
    /// is on would lose a message that is not stored yet. What cannot be stored even now keeps the
    /// agent from reading again.
    pub(super) fn bring_up_to_date(&self) {
        let is_stored = self.store_kept().is_ok();
        let mut state = self.state();
        if !state.is_loaded || state.is_stale && is_stored {
            self.read_session(&mut state);
        }
    }

    /// Gives the agent the conversation as the session has it at its leaf.
    pub(super) fn reload(&self) {
        self.read_session(&mut self.state());
    }

    fn read_session(&self, state: &mut State) {
        let mut context = self.session().context();
        self.agent.set_messages(std::mem::take(&mut context.messages));
        state.prompt = context.prompt;
        state.recorded_model = context.model;
        state.recorded_level = context.thinking_level;
        for found in context.diagnostics {
            if !state.told_diagnostics.contains(&found) {
                state.told_diagnostics.push(found.clone());
                state.diagnostics.push(found);
            }
        }
        state.is_stale = false;
        if !std::mem::replace(&mut state.is_loaded, true)
            && let Some(active) = state.tools.restore(context.active_tools.as_deref())
        {
            self.agent.set_tools(active);
        }
    }

    /// Appends to the session. What cannot be written is kept, and written before anything later.
    pub(super) fn store(&self, body: EntryBody) -> Result<Arc<Entry>, Arc<SessionError>> {
        let mut state = self.state();
        let mut session = self.session();
        state.note(&body);
        let draft = session.draft(body);
        let stored = match state.store_kept(&mut session) {
            Ok(()) => session.append_draft(&draft).map_err(|error| state.failed(error)),
            Err(error) => Err(error),
        };
        if stored.is_err() {
            state.unstored.push_back(draft);
        }
        stored
    }

    /// Like [`Self::store`], where the end of the prompt tells of a failure.
    pub(super) fn store_or_keep(&self, body: EntryBody) -> Option<Arc<Entry>> {
        self.store(body).ok()
    }

    /// Writes what could not be written before.
    pub(super) fn store_kept(&self) -> Result<(), Arc<SessionError>> {
        self.state().store_kept(&mut self.session())
    }

    /// Changes the session once everything kept is in it, so that nothing older comes behind the
    /// change.
    pub(super) fn change_session<T>(
        &self,
        change: impl FnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Result<T, Arc<SessionError>> {
        let mut state = self.state();
        let mut session = self.session();
        state.store_kept(&mut session)?;
        change(&mut session).map_err(Arc::new)
    }

    /// Fails if something is still not on disk.
    pub(super) fn all_stored(&self) -> Result<(), HarnessError> {
        match &self.state().storage_error {
            Some(error) => Err(Arc::clone(error).into()),
            None => Ok(()),
        }
    }

    /// Records the agent's model unless the branch ends with it already, or nobody has chosen one.
    pub(super) fn record_model(&self) {
        let model = self.agent.model();
        if model.is_unknown() {
            return;
        }
        let (provider, model_id) = (model.provider.clone(), model.id.clone());
        let recorded = self.state().recorded_model.clone();
        if recorded.as_ref() != Some(&(provider.clone(), model_id.clone())) {
            self.store_or_keep(EntryBody::ModelChange { provider, model_id });
        }
    }

    /// Records the agent's thinking level unless the branch ends with it already.
    pub(super) fn record_thinking_level(&self) {
        let thinking_level = self.agent.thinking_level();
        let recorded = self.state().recorded_level;
        if recorded != Some(thinking_level) {
            self.store_or_keep(EntryBody::ThinkingLevelChange { thinking_level });
        }
    }

    /// Adds the messages that were held back.
    pub(super) fn flush_held(&self) {
        let held = std::mem::take(&mut self.state().held);
        for message in held {
            self.agent.append_message(message.clone());
            self.store_or_keep(message.into());
        }
    }
}
