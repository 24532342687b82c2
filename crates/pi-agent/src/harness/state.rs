//! What a harness remembers between events, and writing it to the session.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_ai::{AssistantMessage, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use super::verdict::Verdict;
use super::{HarnessError, Inner};
use crate::message::{AgentMessage, BashExecutionMessage};
use crate::retry::RetrySettings;
use crate::session::{Diagnostic, Entry, EntryBody, PromptState, SessionContext, SessionError};

pub(super) struct State {
    pub(super) retry: RetrySettings,
    /// Set while a prompt is on.
    pub(super) run: Option<RunTokens>,
    /// Attempts made after the first one that failed.
    pub(super) attempt: u32,
    /// What is to be done about the run that just ended.
    pub(super) verdict: Verdict,
    pub(super) last_answer: Option<Answer>,
    /// The prompt and tools the model has been told of.
    pub(super) prompt: PromptState,
    /// Commands the user ran while a prompt was on.
    pub(super) held: Vec<Arc<BashExecutionMessage>>,
    pub(super) diagnostics: Vec<Diagnostic>,
    recorded_model: Option<(String, String)>,
    recorded_level: Option<ThinkingLevel>,
    /// Entries that did not reach the disk, oldest first.
    unstored: VecDeque<EntryBody>,
    /// Set while there are some.
    pub(super) storage_error: Option<Arc<SessionError>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct RunTokens {
    /// Ends everything the prompt does.
    pub(super) cancel: CancellationToken,
    /// Ends the wait for a retry only.
    pub(super) wait: CancellationToken,
    /// Only the last listeners are still being told.
    pub(super) is_settling: bool,
}

/// An answer and its entry, if that is on disk.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) message: Arc<AssistantMessage>,
    pub(super) entry_id: Option<String>,
}

impl State {
    pub(super) fn new(retry: RetrySettings, context: SessionContext) -> Self {
        let mut state = Self {
            retry,
            run: None,
            attempt: 0,
            verdict: Verdict::Final,
            last_answer: None,
            prompt: PromptState::default(),
            held: Vec::new(),
            diagnostics: Vec::new(),
            recorded_model: None,
            recorded_level: None,
            unstored: VecDeque::new(),
            storage_error: None,
        };
        state.take_up(context);
        state
    }

    /// Goes on from a context of the session; gives back its messages.
    pub(super) fn take_up(&mut self, mut context: SessionContext) -> SessionContext {
        self.prompt = std::mem::take(&mut context.prompt);
        self.recorded_model = context.model.take();
        self.recorded_level = context.thinking_level;
        self.diagnostics.append(&mut context.diagnostics);
        context
    }

    fn failed(&mut self, error: SessionError) -> Arc<SessionError> {
        let error = Arc::new(error);
        self.storage_error = Some(Arc::clone(&error));
        error
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
}

impl Inner {
    /// Appends to the session. What cannot be written is kept, and written before anything later.
    pub(super) fn store(&self, body: EntryBody) -> Result<Arc<Entry>, Arc<SessionError>> {
        let mut state = self.state();
        let mut session = self.session();
        state.note(&body);
        while let Some(kept) = state.unstored.front().cloned() {
            if let Err(error) = session.append(kept) {
                state.unstored.push_back(body);
                return Err(state.failed(error));
            }
            state.unstored.pop_front();
        }
        let entry = session.append(body.clone()).map_err(|error| {
            state.unstored.push_back(body);
            state.failed(error)
        })?;
        state.storage_error = None;
        Ok(entry)
    }

    /// Like [`Self::store`], where the end of the prompt tells of a failure.
    pub(super) fn store_or_keep(&self, body: EntryBody) -> Option<Arc<Entry>> {
        self.store(body).ok()
    }

    /// Fails if something is still not on disk.
    pub(super) fn all_stored(&self) -> Result<(), HarnessError> {
        match &self.state().storage_error {
            Some(error) => Err(Arc::clone(error).into()),
            None => Ok(()),
        }
    }

    /// Records the agent's model unless the branch ends with it already.
    pub(super) fn record_model(&self) {
        let model = self.agent.model();
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

    /// Adds the commands that were held back.
    pub(super) fn flush_held(&self) {
        let held = std::mem::take(&mut self.state().held);
        for message in held {
            let message = AgentMessage::BashExecution(message);
            self.agent.append_message(message.clone());
            self.store_or_keep(EntryBody::Message { message });
        }
    }
}
