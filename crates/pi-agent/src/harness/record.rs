//! Every event of a run: written down if it is a finished message, then told as an event of the
//! session.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, StopReason};

use super::Inner;
use super::state::Answer;
use super::verdict::{Circumstances, Verdict, judge};
use crate::agent::AgentListener;
use crate::event::{AgentEvent, SessionEvent};
use crate::message::AgentMessage;
use crate::queue::QueuedMessages;
use crate::session::Entry;

pub(super) struct Recorder {
    inner: Weak<Inner>,
}

impl Recorder {
    pub(super) fn new(inner: Weak<Inner>) -> Self {
        Self { inner }
    }
}

impl AgentListener for Recorder {
    fn on_event<'a>(&'a self, event: &'a AgentEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(inner) = self.inner.upgrade() else { return };
            // An abort that came before the run began, which could not hear of it.
            if matches!(event, AgentEvent::AgentStart) && inner.cancellation().is_cancelled() {
                inner.agent.abort();
            }
            match event {
                AgentEvent::MessageEnd { message } => inner.message_ended(message).await,
                AgentEvent::AgentEnd { messages } => inner.run_ended(messages.clone()).await,
                other => inner.tell(SessionEvent::Agent(other.clone())).await,
            }
        })
    }

    fn on_queue_change<'a>(&'a self, queued: &'a QueuedMessages) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(inner) = self.inner.upgrade() else { return };
            let steering = queued.steering.iter().map(text_of).collect();
            let follow_up = queued.follow_up.iter().map(text_of).collect();
            inner.tell(SessionEvent::QueueUpdate { steering, follow_up }).await;
        })
    }
}

impl Inner {
    async fn message_ended(&self, message: &AgentMessage) {
        let event = SessionEvent::Agent(AgentEvent::MessageEnd { message: message.clone() });
        let announced = Announced { inner: self, message: Some(message) };
        self.listeners.before(&event).await;
        let entry = announced.store();
        if let AgentMessage::Assistant(answer) = message {
            self.state().progress.last_answer = Some(Answer {
                message: Arc::clone(answer),
                entry_id: entry.map(|entry| entry.id.clone()),
            });
        }
        self.listeners.tell(&event).await;
        if let AgentMessage::Assistant(answer) = message
            && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        {
            self.end_retry(None).await;
        }
    }

    async fn run_ended(&self, messages: Vec<AgentMessage>) {
        let model = self.agent.model();
        let limit = self.agent.options().base.max_tokens.unwrap_or(model.max_tokens);
        let (verdict, answer) = {
            let mut state = self.state();
            let progress = &state.progress;
            let answer = progress.last_answer.as_ref().map(|answer| Arc::clone(&answer.message));
            let now = Circumstances {
                model: &model,
                retry: state.settings.retry,
                attempt: progress.attempt,
                may_recover: state.settings.compaction.settings.enabled && !progress.has_recovered,
                max_output: limit.min(model.max_tokens),
            };
            let is_cancelled =
                state.ongoing.as_ref().is_some_and(|ongoing| ongoing.tokens.cancel.is_cancelled());
            let verdict = match &answer {
                Some(answer) if !is_cancelled => judge(answer, &now),
                _ => Verdict::Final,
            };
            state.progress.attempt += u32::from(matches!(verdict, Verdict::Retry { .. }));
            state.progress.verdict.clone_from(&verdict);
            (verdict, answer)
        };
        let will_retry = matches!(verdict, Verdict::Retry { .. });
        self.tell(SessionEvent::AgentEnd { messages, will_retry }).await;
        if !will_retry {
            let error = answer.map(|answer| error_text(&answer)).unwrap_or_default();
            self.end_retry(Some(error)).await;
        }
    }

    /// Tells how the attempts ended, if there were any, and counts anew. `None`: well.
    pub(super) async fn end_retry(&self, final_error: Option<String>) {
        let attempt = std::mem::take(&mut self.state().progress.attempt);
        if attempt > 0 {
            let success = final_error.is_none();
            self.tell(SessionEvent::AutoRetryEnd { success, attempt, final_error }).await;
        }
    }
}

/// A message that is in the transcript and still to be stored. That happens also when nobody waits
/// for its announcement any more: the file would lack what the model is told.
struct Announced<'a> {
    inner: &'a Inner,
    message: Option<&'a AgentMessage>,
}

impl Announced<'_> {
    fn store(mut self) -> Option<Arc<Entry>> {
        let message = self.message.take()?;
        self.inner.store_or_keep(message.clone().into())
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            self.inner.store_or_keep(message.clone().into());
        }
    }
}

/// What a failed answer says.
pub(super) fn error_text(answer: &AssistantMessage) -> String {
    answer.error_message.clone().unwrap_or_else(|| "Unknown error".to_owned())
}

fn text_of(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(message) => message.content.to_text(),
        AgentMessage::Custom(message) => message.content.to_text(),
        _ => String::new(),
    }
}
