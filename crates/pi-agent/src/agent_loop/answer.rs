//! One answer of the model: builds the request, tells of the stream, seals the message.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_ai::{
    AssistantEvent, AssistantMessage, AssistantStream, Context, StopReason, ThinkingLevel,
};

use super::{ABORTED, Run, TurnSettings, finished};
use crate::event::AgentEvent;
use crate::message::{AgentMessage, convert_to_llm};

/// How long a cancelled stream may take to end by itself before it is cut.
const ABORT_GRACE: Duration = Duration::from_secs(2);

const NO_END: &str = "The answer's stream ended without a final event";

impl Run<'_> {
    /// Asks the model and gives its finished answer, which is in the transcript by then.
    pub(super) async fn answer(&self) -> Arc<AssistantMessage> {
        let began = Instant::now();
        let settings = self.host.settings();
        let level =
            if settings.model.reasoning { settings.thinking_level } else { ThinkingLevel::Off };
        let pending = AssistantMessage::pending(&settings.model, pi_ai::now_ms());
        let (started, message) = match self.request(settings, level).await {
            Some(stream) => self.follow(stream, &pending).await,
            None => (false, Arc::new(aborted(pending))),
        };
        let mut message = Arc::unwrap_or_clone(message);
        message.thinking_level = Some(level);
        message.duration_ms = Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        let mut message = Arc::new(message);
        if !started {
            self.start_message(Arc::clone(&message)).await;
        }
        message = self.finish_answer(message).await;
        let ended = AgentMessage::Assistant(Arc::clone(&message));
        self.host.emit(AgentEvent::MessageEnd { message: ended }).await;
        message
    }

    async fn finish_answer(&self, answer: Arc<AssistantMessage>) -> Arc<AssistantMessage> {
        let message = AgentMessage::Assistant(Arc::clone(&answer));
        match finished(&*self.hooks, message).await {
            AgentMessage::Assistant(changed) => changed,
            _ => answer,
        }
    }

    /// Opens the stream; `None` when the run was cancelled before a request went out.
    async fn request(
        &self,
        settings: TurnSettings,
        level: ThinkingLevel,
    ) -> Option<AssistantStream> {
        let TurnSettings { model, mut options, .. } = settings;
        let prepare = async {
            let messages = self.host.messages().as_ref().clone();
            let messages = self.hooks.transform_context(messages).await;
            (messages, self.hooks.get_api_key(&model).await)
        };
        let (messages, key) = self.cancel.run_until_cancelled(prepare).await?;
        options.base.cancel = self.cancel.clone();
        options.base.api_key = key.or(options.base.api_key);
        options.reasoning = level;
        let context = Context { messages: convert_to_llm(&messages), ..Context::default() };
        self.cancel.run_until_cancelled(self.stream.stream(&model, context, options)).await
    }

    /// Reads the stream to its end. The flag tells whether `message_start` went out.
    async fn follow(
        &self,
        mut stream: AssistantStream,
        pending: &AssistantMessage,
    ) -> (bool, Arc<AssistantMessage>) {
        let mut overdue = pin!(async {
            self.cancel.cancelled().await;
            tokio::time::sleep(ABORT_GRACE).await;
        });
        let mut started = false;
        loop {
            let event = tokio::select! {
                biased;
                event = stream.next() => event,
                () = &mut overdue => return (started, Arc::new(aborted(stream.partial().clone()))),
            };
            match event {
                Some(AssistantEvent::Start) => {
                    started = true;
                    self.start_message(Arc::new(opening(pending, stream.partial()))).await;
                }
                Some(
                    AssistantEvent::Done { message, .. }
                    | AssistantEvent::Error { error: message, .. },
                ) => return (started, message),
                Some(event) => {
                    if !started {
                        started = true;
                        self.start_message(Arc::new(opening(pending, stream.partial()))).await;
                    }
                    let usage = stream.partial().usage.clone();
                    let update =
                        AgentEvent::MessageUpdate { usage, assistant_message_event: event };
                    self.host.emit(update).await;
                }
                None => return (started, Arc::new(unfinished(stream.partial()))),
            }
        }
    }

    async fn start_message(&self, message: Arc<AssistantMessage>) {
        let message = AgentMessage::Assistant(message);
        self.host.emit(AgentEvent::MessageStart { message }).await;
    }
}

/// What `message_start` shows: nothing has been told yet, however far the stream is.
fn opening(pending: &AssistantMessage, partial: &AssistantMessage) -> AssistantMessage {
    AssistantMessage { timestamp: partial.timestamp, ..pending.clone() }
}

fn aborted(message: AssistantMessage) -> AssistantMessage {
    AssistantMessage {
        stop_reason: StopReason::Aborted,
        error_message: Some(ABORTED.to_owned()),
        ..message
    }
}

fn unfinished(partial: &AssistantMessage) -> AssistantMessage {
    AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some(NO_END.to_owned()),
        ..partial.clone()
    }
}
