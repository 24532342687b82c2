//! Requests and answers, one behaviour a test. Recordings of real providers are read from the
//! shared folder; what they cover is also covered by our own tables.

mod answers;
mod conversation;
mod recorded;
mod requests;
mod scenarios;
mod stream_splits;
mod strict_tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::AnthropicMessages;
use crate::event::{AssistantEvent, MessageBuilder};
use crate::protocol::{HttpRequest, HttpWire};
use crate::transport::sse::SseParser;
use crate::transport::{HttpTransport, TransportConfig, settle};
use crate::types::Context;
use crate::types::{
    AssistantMessage, CacheRetention, Message, Model, SimpleStreamOptions, StreamOptions,
    ThinkingLevel,
};

/// A reasoning model by budget on Anthropic's own host, with `fields` on top.
fn model(fields: Value) -> Model {
    let mut model = json!({
        "id": "claude-test", "name": "T", "api": "anthropic-messages", "provider": "anthropic",
        "baseUrl": "https://api.anthropic.com", "reasoning": true, "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
        "contextWindow": 200_000, "maxTokens": 64_000,
    });
    if let (Some(model), Value::Object(fields)) = (model.as_object_mut(), fields) {
        model.extend(fields);
    }
    serde_json::from_value(model).unwrap()
}

fn messages(value: Value) -> Vec<Message> {
    serde_json::from_value(value).unwrap()
}

fn context(value: Value) -> Context {
    Context { messages: messages(value), ..Context::default() }
}

fn question() -> Context {
    context(json!([{"role": "user", "content": "q"}]))
}

/// Options with a key and no cache markers.
fn plain() -> StreamOptions {
    StreamOptions {
        api_key: Some("sk-test".into()),
        cache_retention: CacheRetention::None,
        ..StreamOptions::default()
    }
}

fn simple(base: StreamOptions, reasoning: ThinkingLevel) -> SimpleStreamOptions {
    SimpleStreamOptions { base, reasoning, ..SimpleStreamOptions::default() }
}

/// The request unified options give.
fn simple_request(
    model: &Model,
    context: &Context,
    options: SimpleStreamOptions,
) -> Result<HttpRequest, String> {
    let wire = AnthropicMessages::new();
    let options = wire.simple_options(model, context, options);
    wire.request(model, context, &options)
}

/// The messages a request without cache markers carries.
fn sent(model: &Model, context: &Context) -> Value {
    let wire = AnthropicMessages::new();
    wire.request(model, context, &plain()).unwrap().body.to_value()["messages"].clone()
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let value = request.default_headers.get(name).or(request.conversation_headers.get(name));
    value.map(|value| value.to_str().unwrap())
}

/// The headers a request goes out with.
fn sent_headers(request: &HttpRequest, model: &Model) -> BTreeMap<String, String> {
    let transport = HttpTransport::new(TransportConfig::default());
    settle(request, model, &StreamOptions::default(), &transport)
        .unwrap()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect()
}

/// Events and last state of an answer given as raw body, in pieces.
fn decode(model: &Model, options: &StreamOptions, pieces: &[&[u8]]) -> Decoded {
    let model = Arc::new(model.clone());
    let mut decoder = AnthropicMessages::new().decoder(&model, &Context::default(), options);
    let mut out = MessageBuilder::new(AssistantMessage::pending(&model, 1));
    let mut parser = SseParser::new();
    for piece in pieces {
        parser.push(piece, |name, data| decoder.event(name, data, &mut out)).unwrap();
    }
    parser.finish(|name, data| decoder.event(name, data, &mut out));
    decoder.end(&mut out);
    let events = std::iter::from_fn(|| out.pop()).collect();
    Decoded { events, message: out.message().clone() }
}

#[derive(Debug, PartialEq)]
struct Decoded {
    events: Vec<AssistantEvent>,
    message: AssistantMessage,
}

/// Frames payloads the way Anthropic does.
fn frame(payloads: &[Value]) -> String {
    payloads
        .iter()
        .map(|payload| {
            let name = payload["type"].as_str().unwrap();
            format!("event: {name}\ndata: {payload}\n\n")
        })
        .collect()
}

fn decode_payloads(model: &Model, payloads: &[Value]) -> Decoded {
    decode(model, &plain(), &[frame(payloads).as_bytes()])
}
