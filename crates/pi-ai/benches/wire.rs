//! Cost of the wire: decoding a long answer, and building the request of a long conversation.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_ai::protocol::HttpWire;
use pi_ai::protocol::anthropic_messages::AnthropicMessages;
use pi_ai::protocol::openai_completions::OpenAiCompletions;
use pi_ai::transport::sse::SseParser;
use pi_ai::{
    AssistantBlock, AssistantMessage, Context, InputBlock, Message, MessageBuilder, Model,
    StopReason, StreamOptions, TextContent, Tool, ToolCall, ToolResultMessage, UserContent,
    UserMessage,
};
use serde_json::{Map, Value, json};

const DELTAS: usize = 20_000;
const CHUNK_BYTES: usize = 16 * 1024;
/// Long enough that memory, not instructions, decides.
/// A long day's conversation, and one far beyond.
const MESSAGES: [usize; 2] = [1_000, 10_000];

fn wires() -> [(&'static str, Box<dyn HttpWire>, String); 2] {
    [
        ("anthropic-messages", Box::new(AnthropicMessages::new()), anthropic_body()),
        ("openai-completions", Box::new(OpenAiCompletions), completions_body()),
    ]
}

fn decode(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode a stream of 20,000 deltas");
    for (api, wire, body) in wires() {
        let model = Arc::new(model(api));
        group.throughput(Throughput::Elements(DELTAS as u64));
        group.bench_function(api, |b| {
            b.iter(|| {
                let mut decoder =
                    wire.decoder(&model, &Context::default(), &StreamOptions::default());
                let mut builder = MessageBuilder::new(AssistantMessage::pending(&model, 0));
                let mut parser = SseParser::new();
                for chunk in body.as_bytes().chunks(CHUNK_BYTES) {
                    _ = parser.push(chunk, |name, data| decoder.event(name, data, &mut builder));
                    while let Some(event) = builder.pop() {
                        black_box(event);
                    }
                }
                decoder.end(&mut builder);
                black_box(builder.message().stop_reason)
            });
        });
    }
    group.finish();
}

fn request(c: &mut Criterion) {
    for messages in MESSAGES {
        let mut group = c.benchmark_group(format!("build a request of {messages} messages"));
        for (api, wire, _) in wires() {
            let model = model(api);
            let context = history(&model, messages);
            let options =
                StreamOptions { api_key: Some("key".to_owned()), ..StreamOptions::default() };
            group.bench_function(api, |b| {
                b.iter(|| {
                    let request = wire.request(&model, &context, &options);
                    black_box(request.map(|request| request.body.bytes().len()))
                });
            });
        }
        group.finish();
    }
}

fn model(api: &str) -> Model {
    let model = json!({
        "id": "bench", "name": "Bench", "api": api, "provider": "bench",
        "baseUrl": "http://127.0.0.1", "input": ["text"],
        "contextWindow": 1_000_000_000, "maxTokens": 16_384,
    });
    serde_json::from_value(model).unwrap_or_else(|error| unreachable!("a fixed model: {error}"))
}

fn history(model: &Model, length: usize) -> Context {
    let mut messages = Vec::with_capacity(length);
    for n in 0..length / 4 {
        messages.push(Message::User(Arc::new(UserMessage {
            content: UserContent::Blocks(vec![InputBlock::text("Look into the next file.")]),
            timestamp: 1,
        })));
        let id = format!("call_{n}");
        let arguments = Map::from_iter([("command".to_owned(), Value::from("cat src/lib.rs"))]);
        let call =
            ToolCall { id: id.clone(), name: "bash".into(), arguments, ..Default::default() };
        messages.push(answer(model, AssistantBlock::ToolCall(call), StopReason::ToolUse));
        messages.push(Message::ToolResult(Arc::new(ToolResultMessage {
            tool_call_id: id,
            tool_name: "bash".into(),
            content: vec![InputBlock::text("x".repeat(1_200))],
            details: None,
            usage: None,
            nested_calls: None,
            is_error: false,
            duration_ms: None,
            timestamp: 1,
        })));
        let text =
            TextContent::new("It holds **what you expect**.\n\n```rust\nfn main() {}\n```\n");
        messages.push(answer(model, AssistantBlock::Text(text), StopReason::Stop));
    }
    let parameters = json!({
        "type": "object", "required": ["command"],
        "properties": { "command": { "type": "string" } },
    });
    let tool = Tool {
        name: "bash".into(),
        description: "Runs a command.".into(),
        parameters,
        constrained_sampling: None,
    };
    Context { system_prompt: Some("Be brief.".into()), messages, tools: vec![tool] }
}

fn answer(model: &Model, block: AssistantBlock, stop_reason: StopReason) -> Message {
    let mut message = AssistantMessage::pending(model, 1);
    message.content.push(block);
    message.stop_reason = stop_reason;
    Message::Assistant(Arc::new(message))
}

fn anthropic_body() -> String {
    let mut body = String::new();
    let mut event = |name: &str, data: &Value| {
        _ = write!(body, "event: {name}\ndata: {data}\n\n");
    };
    event(
        "message_start",
        &json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "bench",
        "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
    );
    event(
        "content_block_start",
        &json!({ "type": "content_block_start", "index": 0,
        "content_block": { "type": "text", "text": "" } }),
    );
    for _ in 0..DELTAS {
        event(
            "content_block_delta",
            &json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": "word " } }),
        );
    }
    event("content_block_stop", &json!({ "type": "content_block_stop", "index": 0 }));
    event(
        "message_delta",
        &json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
        "usage": { "output_tokens": DELTAS } }),
    );
    event("message_stop", &json!({ "type": "message_stop" }));
    body
}

fn completions_body() -> String {
    let mut body = String::new();
    for n in 0..=DELTAS {
        let (delta, finish) = if n < DELTAS {
            (json!({ "content": "word " }), None)
        } else {
            (json!({}), Some("stop"))
        };
        let chunk = json!({ "id": "c1", "object": "chat.completion.chunk", "model": "bench",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        _ = write!(body, "data: {chunk}\n\n");
    }
    body.push_str("data: [DONE]\n\n");
    body
}

criterion_group!(benches, decode, request);
criterion_main!(benches);
