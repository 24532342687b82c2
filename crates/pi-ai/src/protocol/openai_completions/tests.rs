//! Behaviour of the protocol, statement by statement.
#![expect(clippy::needless_pass_by_value, reason = "values come from json! at every call")]

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{OpenAiCompletions, Options};
use crate::event::{AssistantEvent, MessageBuilder};
use crate::protocol::{HttpRequest, HttpWire};
use crate::transport::sse::SseParser;
use crate::types::Context;
use crate::types::{
    AssistantMessage, Model, ProtocolOptions, SimpleStreamOptions, StreamOptions, ThinkingLevel,
};

mod body;
mod conversation;
mod recorded;
mod robustness;
mod stream;
mod thinking_fields;

/// A custom provider's model, with the fields of `over` laid over it.
pub(super) fn model(over: Value) -> Model {
    let mut model = json!({
        "id": "m", "name": "M", "api": "openai-completions", "provider": "custom",
        "baseUrl": "http://host.test/v1", "reasoning": false, "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
        "contextWindow": 200_000, "maxTokens": 8192,
    });
    model.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    serde_json::from_value(model).unwrap()
}

/// A context of prompt, tools and messages.
fn context(parts: Value) -> Context {
    Context {
        system_prompt: parts["systemPrompt"].as_str().map(str::to_owned),
        messages: match &parts["messages"] {
            Value::Null => {
                vec![serde_json::from_value(json!({"role": "user", "content": "hi"})).unwrap()]
            }
            messages => serde_json::from_value(messages.clone()).unwrap(),
        },
        tools: match &parts["tools"] {
            Value::Null => Vec::new(),
            tools => serde_json::from_value(tools.clone()).unwrap(),
        },
    }
}

fn with_key() -> StreamOptions {
    StreamOptions { api_key: Some("k".to_owned()), ..StreamOptions::default() }
}

fn simple(level: &str) -> SimpleStreamOptions {
    let reasoning: ThinkingLevel = level.parse().unwrap();
    SimpleStreamOptions { base: with_key(), reasoning, ..SimpleStreamOptions::default() }
}

/// Through the door of unified options.
fn request(
    model: &Model,
    context: &Context,
    options: SimpleStreamOptions,
) -> Result<HttpRequest, String> {
    let options = OpenAiCompletions.simple_options(model, context, options);
    OpenAiCompletions.request(model, context, &options)
}

/// The body without what most tests do not look at.
fn rest_of(mut body: Value) -> Value {
    let members = body.as_object_mut().unwrap();
    for name in ["model", "messages", "stream", "stream_options", "store", "max_completion_tokens"]
    {
        members.shift_remove(name);
    }
    body
}

/// Body fields beside the usual ones.
fn extras(over: Value, level: &str) -> Value {
    rest_of(request(&model(over), &context(json!({})), simple(level)).unwrap().body.to_value())
}

/// Through the protocol's own door, without a token limit.
fn direct(over: Value, own: Options) -> Value {
    let options = StreamOptions { protocol: ProtocolOptions::from(own), ..with_key() };
    OpenAiCompletions.request(&model(over), &context(json!({})), &options).unwrap().body.to_value()
}

/// One `data:` event.
fn sse(data: Value) -> String {
    format!("data: {data}\n\n")
}

/// A chunk with one choice.
fn delta(delta: Value) -> String {
    sse(json!({"id": "r1", "model": "m", "choices": [{"index": 0, "delta": delta}]}))
}

fn finish(reason: &str) -> String {
    sse(json!({"id": "r1", "choices": [{"delta": {}, "finish_reason": reason}]}))
        + "data: [DONE]\n\n"
}

/// Decodes a body given in pieces.
fn decode_with<'a>(
    model: Model,
    context: &Context,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<AssistantEvent> {
    let model = Arc::new(model);
    let mut decoder = OpenAiCompletions.decoder(&model, context, &StreamOptions::default());
    let mut out = MessageBuilder::new(AssistantMessage::pending(&model, 0));
    let mut parser = SseParser::new();
    for piece in pieces {
        parser.push(piece, |name, data| decoder.event(name, data, &mut out)).unwrap();
    }
    parser.finish(|name, data| decoder.event(name, data, &mut out));
    decoder.end(&mut out);
    std::iter::from_fn(|| out.pop()).collect()
}

fn decode(over: Value, body: &str) -> Vec<AssistantEvent> {
    decode_with(model(over), &Context::default(), [body.as_bytes()])
}

/// The terminal message.
fn message(events: &[AssistantEvent]) -> &AssistantMessage {
    match events.last() {
        Some(
            AssistantEvent::Done { message, .. } | AssistantEvent::Error { error: message, .. },
        ) => message,
        other => panic!("not a terminal event: {other:?}"),
    }
}

/// Events as short lines.
fn trace(events: &[AssistantEvent]) -> Vec<String> {
    let name = |reason: &crate::types::StopReason| json!(reason).as_str().unwrap().to_owned();
    events
        .iter()
        .map(|event| match event {
            AssistantEvent::Start => "start".to_owned(),
            AssistantEvent::TextStart { content_index } => format!("{content_index} text"),
            AssistantEvent::TextDelta { content_index, delta }
            | AssistantEvent::ThinkingDelta { content_index, delta }
            | AssistantEvent::ToolCallDelta { content_index, delta } => {
                format!("{content_index} + {delta}")
            }
            AssistantEvent::TextEnd { content_index, content }
            | AssistantEvent::ThinkingEnd { content_index, content } => {
                format!("{content_index} = {content}")
            }
            AssistantEvent::ThinkingStart { content_index } => format!("{content_index} thinking"),
            AssistantEvent::ToolCallStart { content_index, id, tool_name } => {
                format!("{content_index} call {id} {tool_name}")
            }
            AssistantEvent::ToolCallEnd { content_index, tool_call } => {
                let arguments = Value::Object(tool_call.arguments.clone());
                let error = if tool_call.arguments_error.is_some() { " broken" } else { "" };
                format!("{content_index} = {} {} {arguments}{error}", tool_call.id, tool_call.name)
            }
            AssistantEvent::Done { reason, .. } => format!("done {}", name(reason)),
            AssistantEvent::Error { reason, error } => {
                let text = error.error_message.as_deref().unwrap_or_default();
                format!("{} {text}", name(reason))
            }
        })
        .collect()
}

/// A tool with one required and one optional property.
fn tool(name: &str) -> Value {
    json!({"name": name, "description": "D", "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "number"}},
        "required": ["path"],
    }})
}

/// `object` with `members` laid over it.
fn with(mut object: Value, members: Value) -> Value {
    let members: Map<String, Value> = members.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(members);
    object
}
