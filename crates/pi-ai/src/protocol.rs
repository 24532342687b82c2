//! Wire protocols. Each folder holds a pure request builder and a pure decoder; the driver in
//! [`crate::transport`] does the I/O between them.

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;

use crate::event::MessageBuilder;
use crate::stream::AssistantStream;
use crate::transport::{HttpProtocol, HttpTransport};
use crate::types::{Context, Model, SimpleStreamOptions, StreamOptions};

pub mod anthropic_messages;
pub mod openai_completions;
mod registry;

mod body;
mod declared;
mod error_body;
mod headers;
mod own_options;
mod request_body;
mod strict_schema;
mod vendor;

pub use request_body::RequestBody;

pub use registry::Protocols;

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

    /// A fresh decoder for the answer to this request.
    fn decoder(
        &self,
        model: &Arc<Model>,
        context: &Context,
        options: &StreamOptions,
    ) -> Box<dyn Decoder>;

    /// The message text for a failed HTTP answer. Its form is part of error classification.
    fn error_text(&self, model: &Model, status: u16, body: &str) -> String;

    /// A second request to try once after this answer, if the protocol has one. `request` is the
    /// first as it was built, before any hook changed it.
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

/// One HTTP request.
///
/// Who wins where several places name a header, low to high: identity of the client,
/// [`Self::default_headers`], headers of the model, [`Self::conversation_headers`], headers of the
/// request's options. The driver puts them together.
///
/// Its `Debug` form shows no header values and no query of the URL.
#[derive(Clone, PartialEq)]
pub struct HttpRequest {
    pub url: String,
    /// What every request of the protocol carries, and the key.
    pub default_headers: HeaderMap,
    /// What this conversation asks for, such as session affinity.
    pub conversation_headers: HeaderMap,
    pub body: RequestBody,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |headers: &HeaderMap| -> Vec<String> {
            headers.keys().map(|name| name.as_str().to_owned()).collect()
        };
        f.debug_struct("HttpRequest")
            .field("url", &shown_url(&self.url))
            .field("default_headers", &names(&self.default_headers))
            .field("conversation_headers", &names(&self.conversation_headers))
            .field("body", &self.body)
            .finish()
    }
}

/// A URL without the parts that may hold a secret: user, password, query and fragment.
pub(crate) fn shown_url(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// Turns events of the wire into events of the message. Pure state machine: recorded streams test
/// it. It must call `finish` or `fail` on the builder by the end of [`Self::end`] at the latest.
pub trait Decoder: Send {
    /// One server-sent event: its `event:` name, if any, and its data.
    fn event(&mut self, name: Option<&str>, data: &str, out: &mut MessageBuilder);

    /// The body ended.
    fn end(&mut self, out: &mut MessageBuilder);

    /// Whether nothing but closing marks is missing, so that a server that never closes its answer
    /// need not be waited for.
    fn is_whole(&self) -> bool {
        false
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn debug_output_of_a_request_holds_no_secret() {
        let secret: HeaderMap =
            [(http::header::AUTHORIZATION, http::HeaderValue::from_static("sk-1"))]
                .into_iter()
                .collect();
        let request = HttpRequest {
            url: "https://me:sk-2@host:1/v1/x?key=sk-3#sk-4".to_owned(),
            default_headers: secret.clone(),
            conversation_headers: secret,
            body: Value::Null.into(),
        };
        let text = format!("{request:?}");
        assert!(text.contains("https://host:1/v1/x\"") && !text.contains("sk-"), "{text}");
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (url, shown) in [
            ("nonsense/talk", "nonsense/talk"),
            ("http://h", "http://h"),
            ("http://a@b@h/x@y?z", "http://h/x@y"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
