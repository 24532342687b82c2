//! Changing a conversation outside of prompts. What is changed while one is on counts from the next
//! request.

use std::sync::Arc;

use pi_ai::{Model, RequestHooks, ThinkingLevel};

use super::patch::PatchingHooks;
use super::{CompactionPolicy, Harness, HarnessError, PromptBuilder, RetrySettings, SessionHooks};
use crate::event::SessionEvent;
use crate::hooks::LoopHooks;
use crate::message::{AgentMessage, BashExecutionMessage};
use crate::queue::QueueMode;
use crate::resources::Resources;
use crate::session::{Entry, EntryBody, EntryKind, clean_name};

/// The model and how it is asked.
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

    pub fn steering_mode(&self) -> QueueMode {
        self.inner.agent.steering_mode()
    }

    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.inner.agent.set_steering_mode(mode);
    }

    pub fn follow_up_mode(&self) -> QueueMode {
        self.inner.agent.follow_up_mode()
    }

    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.inner.agent.set_follow_up_mode(mode);
    }

    pub fn retry(&self) -> RetrySettings {
        self.inner.state().settings.retry
    }

    pub fn set_retry(&self, retry: RetrySettings) {
        self.inner.state().settings.retry = retry;
    }

    pub fn compaction(&self) -> CompactionPolicy {
        self.inner.state().settings.compaction.clone()
    }

    /// Counts from the next look at the size of the context.
    pub fn set_compaction(&self, policy: CompactionPolicy) {
        self.inner.state().settings.compaction = policy;
    }
}

/// The prompt, skills and prompt templates.
impl Harness {
    /// Counts from the next request: the model is told what has changed.
    pub fn set_prompt(&self, prompt: Arc<dyn PromptBuilder>) {
        self.inner.state().settings.prompt = prompt;
    }

    pub fn resources(&self) -> Option<Resources> {
        self.inner.state().settings.resources.clone()
    }

    /// Counts from the next text. What the prompt says of skills is the [`PromptBuilder`]'s.
    pub fn set_resources(&self, resources: Option<Resources>) {
        self.inner.state().settings.resources = resources;
    }
}

/// Hooks.
impl Harness {
    /// Replaces the loop's hooks; counts from the next prompt.
    pub fn set_hooks(&self, hooks: Arc<dyn LoopHooks>) {
        let inner = Arc::downgrade(&self.inner);
        self.inner.agent.set_hooks(Arc::new(PatchingHooks::new(inner, hooks)));
    }

    /// Replaces the hooks of requests; counts from the next one. Several are one
    /// [`pi_ai::RequestHookChain`].
    pub fn set_request_hooks(&self, hooks: Option<Arc<dyn RequestHooks>>) {
        let mut options = self.inner.agent.options();
        options.base.hooks = hooks;
        self.inner.agent.set_options(options);
    }

    /// Replaces the session's hooks.
    pub fn set_session_hooks(&self, hooks: Vec<Arc<dyn SessionHooks>>) {
        self.inner.state().settings.session_hooks = hooks.into();
    }
}

/// Entries.
impl Harness {
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

    /// Marks an entry, or takes its mark away: `None`, or a label of blanks.
    ///
    /// # Errors
    /// There is no such entry, or the label is not on disk yet.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), HarnessError> {
        self.with_session(|session| session.branch_to(entry_id).map(drop)).map_err(Arc::new)?;
        let label = label.map(clean_name).filter(|label| !label.is_empty());
        let body = EntryBody::Label { target_id: entry_id.to_owned(), label };
        Ok(self.inner.store(body).map(drop)?)
    }

    /// Adds an entry that says nothing to the model: of an extension, of usage, an edit of the
    /// context, of a type of one's own. Custom entries and edits are told as events; an edit counts
    /// from the next prompt. Messages are added with [`Self::add_message`], summaries with
    /// [`Self::compact`] and [`Self::navigate`].
    ///
    /// # Errors
    /// The entry would say something to the model, or is not on disk yet.
    pub async fn append(&self, body: EntryBody) -> Result<Arc<Entry>, HarnessError> {
        match body.kind() {
            kind @ (EntryKind::Message
            | EntryKind::CustomMessage
            | EntryKind::Compaction
            | EntryKind::BranchSummary) => return Err(HarnessError::NotAppended(kind)),
            EntryKind::ContextEdit => self.inner.state().is_stale = true,
            _ => {}
        }
        let entry = self.inner.store(body)?;
        if matches!(entry.kind, EntryKind::Custom | EntryKind::ContextEdit) {
            let entry = entry.as_ref().clone();
            self.inner.tell(SessionEvent::EntryAppended { entry }).await;
        }
        Ok(entry)
    }

    /// Adds a message without a run. While a prompt is on it is held back until that is settled.
    ///
    /// # Errors
    /// The entry is not on disk yet.
    pub fn add_message(&self, message: AgentMessage) -> Result<(), HarnessError> {
        self.inner.load();
        let is_idle = {
            let mut state = self.inner.state();
            state.held.push(message);
            state.ongoing.is_none()
        };
        if is_idle {
            self.inner.flush_held();
        }
        self.inner.all_stored()
    }

    /// Adds a command the user ran. While a prompt is on it is held back until that is settled.
    ///
    /// # Errors
    /// The entry is not on disk yet.
    pub fn record_bash(&self, message: BashExecutionMessage) -> Result<(), HarnessError> {
        self.add_message(AgentMessage::BashExecution(Arc::new(message)))
    }
}
