//! The stream a caller reads.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::event::{AssistantEvent, MessageBuilder};
use crate::types::{AssistantMessage, Model, StopReason};

/// Produces the events of one answer. Implement it to add a protocol of your own; a
/// [`MessageBuilder`] does the bookkeeping.
pub trait EventSource: Send {
    /// The next event that is already here.
    fn pop(&mut self) -> Option<AssistantEvent>;

    /// Waits until there is more to pop. `false`: the stream is over.
    fn advance(&mut self) -> BoxFuture<'_, bool>;

    /// The answer so far; it may be ahead of the events popped.
    fn partial(&self) -> &AssistantMessage;
}

/// Events of one answer. Dropping it closes the connection.
pub struct AssistantStream {
    source: Box<dyn EventSource>,
    result: Option<Arc<AssistantMessage>>,
}

impl fmt::Debug for AssistantStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssistantStream").field("partial", self.partial()).finish_non_exhaustive()
    }
}

impl AssistantStream {
    pub fn new(source: impl EventSource + 'static) -> Self {
        Self { source: Box::new(source), result: None }
    }

    /// A stream that holds nothing but an error.
    pub fn failed(model: &Model, error_message: impl Into<String>) -> Self {
        let mut builder = MessageBuilder::new(AssistantMessage::pending(model, crate::now_ms()));
        builder.fail(StopReason::Error, error_message);
        Self::new(Ready(builder))
    }

    /// The next event; `None` after the terminal one.
    pub async fn next(&mut self) -> Option<AssistantEvent> {
        if self.result.is_some() {
            return None;
        }
        loop {
            if let Some(event) = self.source.pop() {
                if let AssistantEvent::Done { message, .. }
                | AssistantEvent::Error { error: message, .. } = &event
                {
                    self.result = Some(Arc::clone(message));
                }
                return Some(event);
            }
            if !self.source.advance().await {
                return None;
            }
        }
    }

    /// The answer so far.
    pub fn partial(&self) -> &AssistantMessage {
        self.source.partial()
    }

    /// Reads to the end and gives the final message, whatever its stop reason.
    pub async fn result(mut self) -> Arc<AssistantMessage> {
        while self.next().await.is_some() {}
        match self.result {
            Some(message) => message,
            None => Arc::new(self.source.partial().clone()),
        }
    }
}

struct Ready(MessageBuilder);

impl EventSource for Ready {
    fn pop(&mut self) -> Option<AssistantEvent> {
        self.0.pop()
    }

    fn advance(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    fn partial(&self) -> &AssistantMessage {
        self.0.message()
    }
}
