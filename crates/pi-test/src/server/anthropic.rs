//! A turn as Anthropic streams it.

use serde_json::{Value, json};

use super::turn::{Block, Stop, Turn};

/// Framed events of `turn`, as answer `number` to a request for `model`.
pub(super) fn events(turn: &Turn, model: &str, number: usize) -> Vec<String> {
    let mut out = vec![start(turn, model, number), event("ping", json!({}))];
    for (index, block) in turn.blocks.iter().enumerate() {
        let (shell, deltas) = parts(turn, block);
        out.push(event("content_block_start", json!({"index": index, "content_block": shell})));
        for delta in deltas {
            out.push(event("content_block_delta", json!({"index": index, "delta": delta})));
        }
        out.push(event("content_block_stop", json!({"index": index})));
    }
    let reason = match turn.ending() {
        Stop::End => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Refusal => "refusal",
        Stop::Missing => return out,
    };
    out.push(event(
        "message_delta",
        json!({
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": turn.tokens.output},
        }),
    ));
    out.push(event("message_stop", json!({})));
    out
}

fn start(turn: &Turn, model: &str, number: usize) -> String {
    let usage = json!({
        "input_tokens": turn.tokens.input,
        "cache_creation_input_tokens": turn.tokens.cache_write,
        "cache_read_input_tokens": turn.tokens.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": turn.tokens.cache_write,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": 1,
    });
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    event("message_start", json!({"message": message}))
}

/// The block as it opens, and its deltas.
fn parts(turn: &Turn, block: &Block) -> (Value, Vec<Value>) {
    match block {
        Block::Text(text) => {
            let delta = |piece| json!({"type": "text_delta", "text": piece});
            let deltas = turn.pieces(text).into_iter().map(delta).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Block::Thinking { text, signature } => {
            let delta = |piece| json!({"type": "thinking_delta", "thinking": piece});
            let mut deltas: Vec<_> = turn.pieces(text).into_iter().map(delta).collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        Block::Redacted(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
        Block::Tool { id, name, arguments } => {
            let delta = |piece| json!({"type": "input_json_delta", "partial_json": piece});
            let mut deltas = vec![delta("")];
            deltas.extend(turn.pieces(arguments).into_iter().map(delta));
            (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas)
        }
    }
}

fn event(name: &str, fields: Value) -> String {
    let mut data = json!({"type": name});
    if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
        data.extend(fields);
    }
    format!("event: {name}\ndata: {data}\n\n")
}
