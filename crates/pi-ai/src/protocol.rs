//! Wire protocols. Each folder holds a pure request builder and a pure decoder; the driver in
//! [`crate::transport`] does the I/O between them.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::Value;

use crate::event::MessageBuilder;
use crate::stream::{AssistantStream, Context, Protocols};
use crate::transport::{HttpProtocol, HttpTransport};
use crate::types::{Model, SimpleStreamOptions, StreamOptions};

pub mod anthropic_messages;
pub mod openai_completions;
pub mod strict_schema;
pub mod vendor;
pub mod vendor_headers;

/// The protocols of this crate, over one transport. They are registered like anyone's: add to the
/// result, or replace what is in it.
pub fn builtin(transport: &Arc<HttpTransport>) -> Protocols {
    let mut protocols = Protocols::empty();
    let anthropic =
        HttpProtocol::new(anthropic_messages::AnthropicMessages::default(), Arc::clone(transport));
    let completions =
        HttpProtocol::new(openai_completions::OpenAiCompletions, Arc::clone(transport));
    protocols.register(anthropic_messages::API, Arc::new(anthropic));
    protocols.register(openai_completions::API, Arc::new(completions));
    protocols
}

/// Speaks one wire protocol. Two doors: `stream` takes the protocol's own options, `stream_simple`
/// translates the unified ones.
pub trait Protocol: Send + Sync + fmt::Debug {
    fn stream(
        &self,
        model: Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream;

    fn stream_simple(
        &self,
        model: Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream;
}

/// A protocol that is one HTTP POST answered by server-sent events. Pure: no I/O.
pub trait HttpWire: Send + Sync + fmt::Debug {
    /// Puts unified options into the protocol's own words.
    fn simple_options(
        &self,
        model: &Model,
        context: &Context,
        options: SimpleStreamOptions,
    ) -> StreamOptions;

    /// Builds the request.
    ///
    /// # Errors
    /// A sentence for the user: no key, a schema that cannot be strict, an option out of range.
    fn request(
        &self,
        model: &Model,
        context: &Context,
        options: &StreamOptions,
    ) -> Result<HttpRequest, String>;

    /// A fresh decoder for the answer.
    fn decoder(&self, model: &Arc<Model>, options: &StreamOptions) -> Box<dyn Decoder>;

    /// The message text for a failed HTTP answer. Its form is part of error classification.
    fn error_text(&self, model: &Model, status: u16, body: &str) -> String;

    /// A second request to try once after this answer, if the protocol has one.
    fn fallback(
        &self,
        _model: &Model,
        _options: &StreamOptions,
        _request: &HttpRequest,
        _status: u16,
        _body: &str,
    ) -> Option<HttpRequest> {
        None
    }
}

/// One HTTP request, body as JSON so that hooks can change it.
///
/// Its `Debug` form shows no header values.
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    pub url: String,
    /// The protocol's defaults, then those of the model, then key and session affinity. The driver
    /// puts the client's identity below them and the headers of the request's options above.
    pub headers: HeaderMap,
    pub body: Value,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(http::HeaderName::as_str).collect();
        f.debug_struct("HttpRequest")
            .field("url", &self.url)
            .field("headers", &headers)
            .field("body", &self.body)
            .finish()
    }
}

/// Turns events of the wire into events of the message. Pure state machine: recorded streams test
/// it. It must call `finish` or `fail` on the builder by the end of [`Self::end`] at the latest.
pub trait Decoder: Send {
    /// One server-sent event: its `event:` name, if any, and its data.
    fn event(&mut self, name: Option<&str>, data: &str, out: &mut MessageBuilder);

    /// The body ended.
    fn end(&mut self, out: &mut MessageBuilder);

    /// The stream stopped before its end; close what the protocol closes in that case. The driver
    /// ends the message afterwards.
    fn interrupted(&mut self, _how: Interruption, _out: &mut MessageBuilder) {}
}

/// Why a stream stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The caller cancelled.
    Aborted,
    /// The connection broke or fell silent.
    Broken,
}
