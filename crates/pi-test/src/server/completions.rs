//! A turn as OpenAI's chat completions stream it.

use serde_json::{Value, json};

use super::turn::{Block, Stop, Turn};

/// Framed events of `turn`, as answer `number` to a request for `model`.
pub(super) fn events(turn: &Turn, model: &str, number: usize) -> Vec<String> {
    let stream = Stream { model, number };
    let mut out = vec![stream.delta(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for block in &turn.blocks {
        match block {
            Block::Text(text) => {
                out.extend(turn.pieces(text).iter().map(|p| stream.delta(json!({"content": p}))));
            }
            Block::Thinking { text, .. } => {
                let delta = |piece: &&str| stream.delta(json!({"reasoning_content": piece}));
                out.extend(turn.pieces(text).iter().map(delta));
            }
            Block::Redacted(_) => {}
            Block::Tool { id, name, arguments } => {
                let function = json!({"name": name, "arguments": ""});
                let call =
                    json!({"index": calls, "id": id, "type": "function", "function": function});
                out.push(stream.delta(json!({"tool_calls": [call]})));
                for piece in turn.pieces(arguments) {
                    let call = json!({"index": calls, "function": {"arguments": piece}});
                    out.push(stream.delta(json!({"tool_calls": [call]})));
                }
                calls += 1;
            }
        }
    }
    let reason = match turn.ending() {
        Stop::End => Some("stop"),
        Stop::ToolUse => Some("tool_calls"),
        Stop::Length => Some("length"),
        Stop::Refusal => Some("content_filter"),
        Stop::Missing => None,
    };
    if let Some(reason) = reason {
        out.push(stream.chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}]), None));
        out.push(stream.chunk(json!([]), Some(usage(turn))));
    }
    out.push("data: [DONE]\n\n".to_owned());
    out
}

struct Stream<'a> {
    model: &'a str,
    number: usize,
}

impl Stream<'_> {
    #[expect(clippy::needless_pass_by_value, reason = "reads best with json! at the call")]
    fn delta(&self, delta: Value) -> String {
        self.chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads best with json! at the call")]
    fn chunk(&self, choices: Value, usage: Option<Value>) -> String {
        let mut data = json!({
            "id": format!("chatcmpl-{}", self.number), "object": "chat.completion.chunk",
            "created": 1_700_000_000, "model": self.model, "choices": choices,
        });
        if let (Value::Object(data), Some(usage)) = (&mut data, usage) {
            data.insert("usage".to_owned(), usage);
        }
        format!("data: {data}\n\n")
    }
}

fn usage(turn: &Turn) -> Value {
    let tokens = turn.tokens;
    let prompt = tokens.input + tokens.cache_read;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": tokens.output,
        "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    })
}
