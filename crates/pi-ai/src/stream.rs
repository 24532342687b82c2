//! The stream a caller reads, and the one door that opens it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::event::{AssistantEvent, MessageBuilder};
use crate::protocol::Protocol;
use crate::types::{
    AssistantMessage, Message, Model, SimpleStreamOptions, StopReason, StreamOptions, Tool,
};

/// What is sent to a model. The system prompt and the tools may also stand in `system` messages of
/// the transcript; both forms are folded together when the request is built.
#[derive(Debug, Clone, Default)]
pub struct Context {
    pub system_prompt: Option<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
}

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

/// Protocols by the name models carry in `api`. The built-in ones are registered the same way as
/// an embedder's own.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    by_api: BTreeMap<String, Arc<dyn Protocol>>,
}

impl Protocols {
    /// No protocol at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a protocol, replacing one of the same name.
    pub fn register(&mut self, api: impl Into<String>, protocol: Arc<dyn Protocol>) {
        self.by_api.insert(api.into(), protocol);
    }

    pub fn get(&self, api: &str) -> Option<&Arc<dyn Protocol>> {
        self.by_api.get(api)
    }

    /// Streams an answer with options in the protocol's own words.
    pub fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        match self.get(&model.api) {
            Some(protocol) => protocol.stream(Arc::clone(model), context, options),
            None => AssistantStream::failed(model, unknown_api(model)),
        }
    }

    /// Streams an answer with unified options.
    pub fn stream_simple(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream {
        match self.get(&model.api) {
            Some(protocol) => protocol.stream_simple(Arc::clone(model), context, options),
            None => AssistantStream::failed(model, unknown_api(model)),
        }
    }
}

fn unknown_api(model: &Model) -> String {
    format!(
        "Protocol {:?} of model {}/{} is not supported by this build of pi",
        model.api, model.provider, model.id
    )
}
