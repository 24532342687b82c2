//! Events as records on standard output, one JSON object a line.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_agent::harness::SessionListener;
use pi_agent::{AgentEvent, SessionEvent};
use pi_ai::{AssistantEvent, Usage};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use super::Audience;
use super::output::LineWriter;
use crate::session_runtime::AgentSession;

/// Longest wait for a reader when the process is about to end.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(1);

/// Writes what a conversation tells.
pub(super) struct Recorder {
    writer: Arc<LineWriter>,
    /// Cancelled when nothing more is to be told.
    silent: CancellationToken,
    session: AgentSession,
    usage: WrittenUsage,
}

impl Recorder {
    /// Nothing is told any more once `silent` is cancelled.
    pub(super) fn new(
        writer: Arc<LineWriter>,
        session: AgentSession,
        silent: CancellationToken,
    ) -> Self {
        Self { writer, silent, session, usage: WrittenUsage::default() }
    }
}

impl Audience for Recorder {
    /// The reader is left with what led up to the signal. A record that still waits for it is given
    /// up, or a reader that stopped reading could hold up the end.
    fn fall_silent(&self) {
        self.silent.cancel();
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(flush_briefly(&self.writer))
    }
}

/// Gives a slow reader a moment for what is already written.
pub(super) async fn flush_briefly(writer: &LineWriter) {
    drop(tokio::time::timeout(LAST_WORDS, writer.flush()).await);
}

impl SessionListener for Recorder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if self.silent.is_cancelled() {
                return;
            }
            let update = match event {
                SessionEvent::Agent(AgentEvent::MessageUpdate {
                    usage,
                    assistant_message_event,
                }) => self
                    .usage
                    .written(usage)
                    .map(|usage| Update::new(usage, assistant_message_event)),
                _ => None,
            };
            let line = async {
                match &update {
                    Some(update) => self.writer.line(update).await,
                    None => self.writer.line(event).await,
                }
            };
            let written = tokio::select! {
                biased;
                written = line => written,
                () = self.silent.cancelled() => return,
            };
            if written.is_err() {
                self.fall_silent();
                self.session.stop();
            }
        })
    }
}

/// A `message_update` as the event itself is written, but for its usage being written already.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    r#type: &'static str,
    usage: Arc<RawValue>,
    assistant_message_event: &'a AssistantEvent,
}

impl<'a> Update<'a> {
    fn new(usage: Arc<RawValue>, assistant_message_event: &'a AssistantEvent) -> Self {
        Self { r#type: "message_update", usage, assistant_message_event }
    }
}

/// The usage written last. It is most of a delta's record and nearly always the same.
#[derive(Default)]
struct WrittenUsage(Mutex<Option<(Usage, Arc<RawValue>)>>);

impl WrittenUsage {
    /// `None` where it cannot be written, which plain numbers always can.
    fn written(&self, usage: &Usage) -> Option<Arc<RawValue>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref() {
            Some((same, text)) if same == usage => Some(Arc::clone(text)),
            _ => {
                let text: Arc<RawValue> = to_raw_value(usage).ok()?.into();
                *last = Some((usage.clone(), Arc::clone(&text)));
                Some(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_written_as_its_event_is() {
        let written = WrittenUsage::default();
        for input in [0, 7, 7] {
            let mut usage = Usage { input, ..Usage::default() };
            usage.cost.input = 0.1;
            let delta = AssistantEvent::TextDelta { content_index: 0, delta: "x".to_owned() };
            let update =
                serde_json::to_string(&Update::new(written.written(&usage).unwrap(), &delta));
            let event = SessionEvent::Agent(AgentEvent::MessageUpdate {
                usage,
                assistant_message_event: delta,
            });
            assert_eq!(update.unwrap(), serde_json::to_string(&event).unwrap());
        }
    }
}
