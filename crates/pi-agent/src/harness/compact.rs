//! Making the conversation shorter: on demand, near the window's end, or because it did not fit.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_ai::{Model, SystemContent, SystemMessage};
use tokio_util::sync::CancellationToken;

use super::operation::{Kind, Operation, Scope};
use super::session_hooks::{
    BeforeCompact, CompactDecision, CompactFailed, Compacted, SuppliedCompaction,
};
use super::{Harness, HarnessError, Inner};
use crate::compaction::{
    CompactionReason, CompactionResult, ContextEstimate, NotCompactable, Preparation, Summarizer,
    SummaryError, SummaryListener, SummaryRetry, estimate_context, messages_tokens, prepare,
    summarize,
};
use crate::event::{SessionEvent, SummarySource};
use crate::message::AgentMessage;
use crate::session::entry::CompactionEntry;
use crate::session::{Entry, EntryBody, PromptState, SessionError};

/// Why the conversation is as long as it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompactionFailure {
    #[error("Compaction cancelled")]
    Cancelled,
    #[error(transparent)]
    NotCompactable(#[from] NotCompactable),
    /// No summary could be had.
    #[error("{0}")]
    Summary(String),
    /// A hook wants to keep from an entry on that the branch does not have, or that is the result
    /// of a call before it.
    #[error("The conversation cannot be kept from entry {0} on")]
    FirstKept(String),
    #[error(transparent)]
    Session(Arc<SessionError>),
}

impl Harness {
    /// Summarises the older part of the conversation. A prompt that is on is aborted first and does
    /// not go on afterwards: whoever is asked or told something by that prompt must not wait for
    /// this. `instructions` say what the summary should look at.
    ///
    /// # Errors
    /// Another compaction or a navigation is on, there is nothing to summarise, or there is no
    /// summary. The session is then as it was.
    pub async fn compact(
        &self,
        instructions: Option<&str>,
    ) -> Result<CompactionResult, HarnessError> {
        let scope = loop {
            match Scope::begin(Arc::clone(&self.inner), Kind::Compaction).await {
                Ok(scope) => break scope,
                Err(HarnessError::Occupied(_)) if self.inner.abort_prompt() => {
                    self.wait_for_idle().await;
                }
                Err(error) => return Err(error),
            }
        };
        self.inner.bring_up_to_date();
        let model = self.inner.agent.model();
        let job = Job {
            reason: CompactionReason::Manual,
            instructions,
            will_retry: false,
            model: &model,
            cancel: &scope.tokens.cancel,
        };
        Ok(self.inner.compact(&job).await?)
    }
}

/// One compaction.
pub(super) struct Job<'a> {
    pub(super) reason: CompactionReason,
    pub(super) instructions: Option<&'a str>,
    pub(super) will_retry: bool,
    /// Who summarises, and whose window it is for.
    pub(super) model: &'a Arc<Model>,
    pub(super) cancel: &'a CancellationToken,
}

impl Inner {
    /// Compacts if the context has come near the window's end. A failure is told as an event.
    pub(super) async fn compact_if_needed(&self, model: &Arc<Model>, cancel: &CancellationToken) {
        let settings = self.state().settings.compaction.for_model(model);
        let window = model.context_window;
        if !settings.enabled || window == 0 || cancel.is_cancelled() {
            return;
        }
        let estimate = estimate_context(&self.session());
        if !self.is_worth_compacting(estimate, settings.room_in(window))
            || !settings.is_exceeded(estimate.tokens, window)
        {
            return;
        }
        let reason = CompactionReason::Threshold;
        let job = Job { reason, instructions: None, will_retry: false, model, cancel };
        let outcome = self.compact(&job).await;
        let has_failed = !matches!(outcome, Ok(_) | Err(CompactionFailure::NotCompactable(_)));
        self.state().progress.has_failed_compaction |= has_failed;
    }

    /// A summary that failed is not asked for again by the same prompt. Where prompt, summary and
    /// what is kept alone are too much for a small window, it has to grow by an eighth of its room
    /// before the next compaction, or there would be one at every turn.
    fn is_worth_compacting(&self, estimate: ContextEstimate, room: u64) -> bool {
        let mut state = self.state();
        if state.progress.has_failed_compaction {
            return false;
        }
        let Some(after) = &mut state.size_after_compaction else { return true };
        if after.is_none() && estimate.is_measured {
            *after = Some(estimate.tokens);
        }
        after.is_none_or(|after| after <= room || estimate.tokens >= after + room / 8)
    }

    /// Prepares, summarises, stores, and goes on from the shorter context. Tells of it, unless it
    /// happens by itself and there is nothing to do.
    pub(super) async fn compact(
        &self,
        job: &Job<'_>,
    ) -> Result<CompactionResult, CompactionFailure> {
        let reason = job.reason;
        let settings = self.state().settings.compaction.for_model(job.model);
        // The new context is read from the session: all of the old one must be there.
        let stored = self.store_kept();
        let prepared = prepare(&self.session(), &settings);
        if let (Err(nothing), true) = (&prepared, reason != CompactionReason::Manual) {
            return Err((*nothing).into());
        }
        let before = self.operation();
        self.enter(Operation::Compaction { reason });
        self.tell(SessionEvent::CompactionStart { reason }).await;
        let outcome = match (stored, prepared) {
            (Ok(()), Ok(preparation)) => self.replace_history(job, &preparation).await,
            (Ok(()), Err(nothing)) => Err((nothing.into(), false)),
            (Err(error), _) => Err((CompactionFailure::Session(error), false)),
        };
        let (result, failure) = match outcome {
            Ok(result) => (Some(result), None),
            Err((failure, from_hook)) => {
                let told = CompactFailed { reason, failure: &failure, from_hook };
                for hooks in self.session_hooks().iter() {
                    hooks.compact_failed(told).await;
                }
                (None, Some(failure))
            }
        };
        let aborted = matches!(failure, Some(CompactionFailure::Cancelled));
        let error_message =
            failure.as_ref().filter(|_| !aborted).map(|failure| failed_text(reason, failure));
        self.enter(before);
        self.tell(SessionEvent::CompactionEnd {
            reason,
            result: result.clone(),
            aborted,
            will_retry: result.is_some() && job.will_retry,
            error_message,
        })
        .await;
        result.ok_or(failure.unwrap_or(CompactionFailure::Cancelled))
    }

    /// Whether a compaction would find something to summarise.
    pub(super) fn can_be_compacted(&self) -> bool {
        let settings = self.state().settings.compaction.for_model(&self.agent.model());
        prepare(&self.session(), &settings).is_ok()
    }

    /// The flag of a failure tells whether a hook had supplied the summary.
    async fn replace_history(
        &self,
        job: &Job<'_>,
        preparation: &Preparation,
    ) -> Result<CompactionResult, (CompactionFailure, bool)> {
        let (supplied, from_hook) = match self.ask_before_compact(job, preparation).await {
            CompactDecision::Cancel => return Err((CompactionFailure::Cancelled, false)),
            CompactDecision::Use(supplied) => {
                self.check_first_kept(&supplied).map_err(|failure| (failure, true))?;
                (*supplied, true)
            }
            CompactDecision::Proceed => {
                let made = self.ask_model(job, preparation).await;
                (made.map_err(|failure| (failure, false))?, false)
            }
        };
        if job.cancel.is_cancelled() {
            return Err((CompactionFailure::Cancelled, from_hook));
        }
        let entry = self.append_compaction(&supplied, from_hook);
        let entry = entry.map_err(|error| (CompactionFailure::Session(error), from_hook))?;
        self.reload();
        let compacted =
            Compacted { entry: &entry, from_hook, reason: job.reason, will_retry: job.will_retry };
        for hooks in self.session_hooks().iter() {
            hooks.after_compact(compacted).await;
        }
        Ok(CompactionResult {
            summary: supplied.summary,
            first_kept_entry_id: supplied.first_kept_entry_id.unwrap_or_else(|| entry.id.clone()),
            tokens_before: supplied.tokens_before,
            estimated_tokens_after: messages_tokens(&self.agent.messages()),
            usage: supplied.usage,
            details: supplied.details,
        })
    }

    async fn ask_before_compact(
        &self,
        job: &Job<'_>,
        preparation: &Preparation,
    ) -> CompactDecision {
        for hooks in self.session_hooks().iter() {
            let asked = BeforeCompact {
                preparation,
                instructions: job.instructions,
                reason: job.reason,
                will_retry: job.will_retry,
                cancel: job.cancel,
            };
            let answer = job.cancel.run_until_cancelled(hooks.before_compact(asked)).await;
            match answer {
                Some(CompactDecision::Proceed) => {}
                Some(decision) => return decision,
                None => return CompactDecision::Cancel,
            }
        }
        CompactDecision::Proceed
    }

    fn check_first_kept(&self, supplied: &SuppliedCompaction) -> Result<(), CompactionFailure> {
        let Some(id) = &supplied.first_kept_entry_id else { return Ok(()) };
        let session = self.session();
        let entry = session.walk_up().find(|entry| entry.id() == id);
        let parsed = entry.and_then(|entry| entry.parse().ok());
        match parsed.as_ref().map(|entry| entry.message()) {
            None | Some(Some(AgentMessage::ToolResult(_))) => {
                Err(CompactionFailure::FirstKept(id.clone()))
            }
            Some(_) => Ok(()),
        }
    }

    async fn ask_model(
        &self,
        job: &Job<'_>,
        preparation: &Preparation,
    ) -> Result<SuppliedCompaction, CompactionFailure> {
        let source = SummarySource::Compaction { reason: job.reason };
        let summarizer = self.summarizer(source, job.model, job.cancel).await;
        let summarizer = summarizer.ok_or(CompactionFailure::Cancelled)?;
        let summary = summarize(preparation, job.instructions, &summarizer).await;
        let summary = summary.map_err(|error| match error {
            SummaryError::Cancelled => CompactionFailure::Cancelled,
            SummaryError::Failed(text) => CompactionFailure::Summary(text),
        })?;
        Ok(SuppliedCompaction {
            summary: summary.text,
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            tokens_before: preparation.tokens_before,
            usage: summary.usage,
            details: summary.details,
        })
    }

    fn append_compaction(
        &self,
        supplied: &SuppliedCompaction,
        from_hook: bool,
    ) -> Result<Arc<Entry>, Arc<SessionError>> {
        let supplied = supplied.clone();
        let body = EntryBody::Compaction(Box::new(CompactionEntry {
            summary: supplied.summary,
            // The session puts the entry's own id in the place of an empty one.
            first_kept_entry_id: supplied.first_kept_entry_id.unwrap_or_default(),
            tokens_before: supplied.tokens_before,
            details: supplied.details,
            usage: supplied.usage,
            from_hook: Some(from_hook),
            system_message: self.checkpoint().map(Arc::new),
        }));
        let entry = self.change_session(|session| session.append(body))?;
        self.state().size_after_compaction = Some(None);
        Ok(entry)
    }

    /// Prompt and tools as the model knows them now; `None` when it knows of none.
    fn checkpoint(&self) -> Option<SystemMessage> {
        let state = self.state();
        let prompt = &state.prompt;
        let tools: Vec<_> = prompt.tools.values().cloned().collect();
        let checkpoint = PromptState::default().patch_to(&prompt.sections, &tools);
        if prompt.text.is_empty() {
            return checkpoint;
        }
        let content = SystemContent::Text(prompt.text.clone());
        Some(SystemMessage { content, ..checkpoint.unwrap_or_default() })
    }

    /// Asks the model, with its key. `None`: cancelled before the key was there.
    pub(super) async fn summarizer(
        &self,
        source: SummarySource,
        model: &Arc<Model>,
        cancel: &CancellationToken,
    ) -> Option<Summarizer> {
        let mut options = self.agent.options();
        let key = cancel.run_until_cancelled(self.agent.hooks().get_api_key(model)).await?;
        options.base.api_key = key.or(options.base.api_key);
        Some(Summarizer {
            stream: self.agent.stream(),
            model: Arc::clone(model),
            thinking_level: self.agent.thinking_level(),
            options,
            retry: self.state().settings.retry,
            cancel: cancel.clone(),
            listener: Arc::new(RetryTeller { inner: self.this.clone(), source }),
        })
    }
}

fn failed_text(reason: CompactionReason, failure: &CompactionFailure) -> String {
    let what = match reason {
        CompactionReason::Manual => "Compaction failed",
        CompactionReason::Threshold => "Auto-compaction failed",
        CompactionReason::Overflow => "Context overflow recovery failed",
    };
    format!("{what}: {failure}")
}

/// Tells of a summary that is tried again.
struct RetryTeller {
    inner: Weak<Inner>,
    source: SummarySource,
}

impl SummaryListener for RetryTeller {
    fn on_retry(&self, retry: SummaryRetry) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(inner) = self.inner.upgrade() else { return };
            let event = match retry {
                SummaryRetry::Scheduled { attempt, max_attempts, delay_ms, error_message } => {
                    SessionEvent::SummarizationRetryScheduled {
                        attempt,
                        max_attempts,
                        delay_ms,
                        error_message,
                    }
                }
                SummaryRetry::AttemptStart => {
                    SessionEvent::SummarizationRetryAttemptStart { source: self.source }
                }
                SummaryRetry::Finished => SessionEvent::SummarizationRetryFinished,
            };
            inner.tell(event).await;
        })
    }
}
