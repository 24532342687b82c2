//! Every kind of answer, from payloads of our own making.

use serde_json::{Value, json};

use super::{Decoded, decode, decode_payloads, frame, model, plain};
use crate::event::AssistantEvent as Event;
use crate::protocol::anthropic_messages::Options;
use crate::types::{StopReason, StreamOptions};

pub(super) fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude-test",
           "usage": {"input_tokens": 10, "output_tokens": 1}}})
}

pub(super) fn block_start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub(super) fn delta(index: u64, kind: &str, field: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}})
}

pub(super) fn block_stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

pub(super) fn stop_reason(word: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 5}})
}

pub(super) fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

pub(super) fn text(index: u64, content: &str) -> Vec<Value> {
    vec![
        block_start(index, &json!({"type": "text", "text": ""})),
        delta(index, "text_delta", "text", content),
        block_stop(index),
    ]
}

/// A whole answer around `payloads`.
fn answer(payloads: &[Value]) -> Vec<Value> {
    let mut all = vec![start()];
    all.extend_from_slice(payloads);
    all.extend([stop_reason("end_turn"), message_stop()]);
    all
}

fn run(payloads: &[Value]) -> Decoded {
    decode_payloads(&model(json!({})), payloads)
}

fn blocks(decoded: &Decoded) -> Value {
    serde_json::to_value(&decoded.message.content).unwrap()
}

/// The terminal event's reason and error text; there is exactly one, last.
pub(super) fn ending(decoded: &Decoded) -> (StopReason, Option<&str>) {
    let is_terminal = |event: &&Event| matches!(event, Event::Done { .. } | Event::Error { .. });
    assert_eq!(decoded.events.iter().filter(is_terminal).count(), 1);
    match decoded.events.last() {
        Some(Event::Done { reason, message }) => {
            assert_eq!(message.stop_reason, *reason);
            (*reason, None)
        }
        Some(Event::Error { reason, error }) => {
            assert_eq!(error.stop_reason, *reason);
            (*reason, decoded.message.error_message.as_deref())
        }
        other => panic!("{other:?} is no end"),
    }
}

#[test]
fn stop_reasons_map_to_ours() {
    let failed = StopReason::Error;
    let cases = [
        ("end_turn", StopReason::Stop, None),
        ("pause_turn", StopReason::Stop, None),
        ("stop_sequence", StopReason::Stop, None),
        ("max_tokens", StopReason::Length, None),
        ("tool_use", StopReason::ToolUse, None),
        ("refusal", failed, Some("The model declined to answer this request")),
        ("sensitive", failed, Some("Provider stopped with: sensitive")),
        (
            "model_context_window_exceeded",
            failed,
            Some("Unhandled stop reason: model_context_window_exceeded"),
        ),
        ("weird", failed, Some("Unhandled stop reason: weird")),
    ];
    for (word, reason, text) in cases {
        let mut payloads = vec![start()];
        payloads.extend(self::text(0, "a"));
        payloads.extend([stop_reason(word), message_stop()]);
        let decoded = run(&payloads);
        assert_eq!(ending(&decoded), (reason, text), "{word}");
        assert_eq!(decoded.message.raw_stop_reason.as_deref(), Some(word));
        assert_eq!(decoded.message.text(), "a", "what arrived stays");
    }
}

#[test]
fn a_refusal_gives_its_explanation() {
    for (details, text) in [
        (json!({"type": "refusal", "explanation": "Because."}), "Because."),
        (json!({"explanation": ""}), "The model declined to answer this request"),
        (json!({"explanation": null}), "The model declined to answer this request"),
        (Value::Null, "The model declined to answer this request"),
    ] {
        let refusal = json!({"type": "message_delta",
            "delta": {"stop_reason": "refusal", "stop_details": details}});
        let decoded = run(&[start(), refusal, message_stop()]);
        assert_eq!(ending(&decoded), (StopReason::Error, Some(text)));
    }
}

#[test]
fn an_answer_that_breaks_off_is_an_error() {
    let before = "Anthropic stream ended before message_stop";
    let without = "Anthropic stream ended without a stop reason";
    let opened = [start(), block_start(0, &json!({"type": "text", "text": ""}))];
    let cases = [
        (vec![], without),
        (vec![start()], before),
        (opened.to_vec(), before),
        (vec![start(), stop_reason("end_turn")], before),
        (vec![start(), message_stop()], without),
        (
            vec![
                start(),
                json!({"type": "message_delta", "delta": {"stop_reason": null}}),
                message_stop(),
            ],
            without,
        ),
    ];
    for (payloads, text) in cases {
        let decoded = run(&payloads);
        assert_eq!(ending(&decoded), (StopReason::Error, Some(text)), "{payloads:?}");
        let is_end = |event: &Event| matches!(event, Event::TextEnd { .. });
        assert!(!decoded.events.iter().any(is_end), "open blocks are not ended");
    }
}

#[test]
fn an_error_event_is_shown_as_it_came() {
    let raw =
        r#"{"type": "error",  "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
    let error = format!("event: error\ndata: {raw}\n\n");
    let body = [frame(&[start()]), error, frame(&answer(&text(0, "late")))].concat();
    let decoded = decode(&model(json!({})), &plain(), &[body.as_bytes()]);
    assert_eq!(ending(&decoded), (StopReason::Error, Some(raw)));
    assert!(decoded.message.content.is_empty(), "nothing counts after the end");

    let first = decode(&model(json!({})), &plain(), &[b"event: error\ndata: plain text\n\n"]);
    assert_eq!(first.events.len(), 1, "an error may come alone");
    assert_eq!(ending(&first), (StopReason::Error, Some("plain text")));
}

#[test]
fn what_a_block_begins_with_is_kept() {
    let decoded = run(&answer(&[
        block_start(0, &json!({"type": "thinking", "thinking": "T0", "signature": "S0"})),
        delta(0, "thinking_delta", "thinking", "T1"),
        delta(0, "signature_delta", "signature", "S1"),
        delta(0, "signature_delta", "signature", "S2"),
        block_stop(0),
        block_start(1, &json!({"type": "text", "text": "init"})),
        delta(1, "text_delta", "text", ""),
        delta(1, "text_delta", "text", "x"),
        block_stop(1),
        block_start(2, &json!({"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}})),
        block_stop(2),
    ]));
    assert_eq!(
        blocks(&decoded),
        json!([
            {"type": "thinking", "thinking": "T0T1", "thinkingSignature": "S0S1S2"},
            {"type": "text", "text": "initx"},
            {"type": "toolCall", "id": "t1", "name": "read", "arguments": {"a": 1}},
        ])
    );
    let text: String = decoded
        .events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(text, "initx", "the deltas add up to the text");
}

#[test]
fn redacted_thinking_is_complete_from_its_start() {
    let decoded = run(&answer(&[
        block_start(0, &json!({"type": "redacted_thinking", "data": "DATA"})),
        block_stop(0),
    ]));
    let events: Vec<_> = decoded.events.iter().take(3).collect();
    assert_eq!(
        events,
        [
            &Event::Start,
            &Event::ThinkingStart { content_index: 0 },
            &Event::ThinkingEnd { content_index: 0, content: "[Reasoning redacted]".into() },
        ]
    );
    assert_eq!(
        blocks(&decoded),
        json!([{"type": "thinking", "thinking": "[Reasoning redacted]",
                "thinkingSignature": "DATA", "redacted": true}])
    );
}

#[test]
fn tool_input_is_read_from_its_deltas() {
    let cases = [
        (vec![], json!({}), false),
        (vec![""], json!({}), false),
        (vec!["{\"a\"", ": [1,", "2]}"], json!({"a": [1, 2]}), false),
        (vec!["{\"a\":\"x\ty\"}"], json!({"a": "x\ty"}), false),
        (vec!["{\"a\":"], json!({}), true),
        (vec!["[1]"], json!({}), true),
    ];
    for (deltas, arguments, is_broken) in cases {
        let mut payloads = vec![block_start(
            0,
            &json!({"type": "tool_use", "id": "t1", "name": "read", "input": {}}),
        )];
        payloads.extend(deltas.iter().map(|d| delta(0, "input_json_delta", "partial_json", d)));
        payloads.push(block_stop(0));
        let decoded = run(&answer(&payloads));
        let call = decoded.message.tool_calls().next().unwrap();
        assert_eq!(Value::Object(call.arguments.clone()), arguments);
        assert_eq!(call.arguments_error.is_some(), is_broken, "{deltas:?}");
    }
}

#[test]
fn unknown_events_blocks_and_deltas_are_passed_over() {
    let odd = json!({"type": "odd_block", "text": 5, "id": [1, {}], "name": {"a": [null]}, "data": null, "signature": true, "thinking": -1.5});
    let mut payloads = vec![
        json!({"type": "ping"}),
        json!({"type": "done"}),
        block_start(0, &json!({"type": "server_tool_use", "id": "x", "name": "w", "input": {}})),
        delta(0, "input_json_delta", "partial_json", "{}"),
        block_stop(0),
        block_start(1, &odd),
        block_stop(1),
        block_start(2, &json!({"type": "text", "text": ""})),
        json!({"type": "content_block_delta", "index": 2,
               "delta": {"type": "citations_delta", "citation": {"text": "c"}}}),
        delta(2, "thinking_delta", "thinking", "wrong kind"),
        delta(9, "text_delta", "text", "no such block"),
        block_stop(9),
        delta(2, "text_delta", "text", "a"),
        block_stop(2),
        block_stop(2),
        delta(2, "text_delta", "text", "late"),
    ];
    payloads.extend(text(2, "same index again"));
    let decoded = run(&answer(&payloads));
    assert_eq!(ending(&decoded), (StopReason::Stop, None));
    assert_eq!(
        blocks(&decoded),
        json!([{"type": "text", "text": "a"}, {"type": "text", "text": "same index again"}])
    );
}

#[test]
fn events_without_names_are_told_by_their_type() {
    let body: String =
        answer(&text(0, "a")).iter().map(|payload| format!("data: {payload}\n\n")).collect();
    let decoded = decode(&model(json!({})), &plain(), &[body.as_bytes()]);
    assert_eq!(ending(&decoded), (StopReason::Stop, None));
    assert_eq!(decoded.message.text(), "a");
    let odd = decode(&model(json!({})), &plain(), &[b"data: [DONE]\n\n"]);
    assert_eq!(ending(&odd).0, StopReason::Error);
}

#[test]
fn slightly_broken_events_are_mended_and_others_end_the_answer() {
    let broken = |data: &str| {
        let opening = [start(), block_start(0, &json!({"type": "text", "text": ""}))];
        let ending = [block_stop(0), stop_reason("end_turn"), message_stop()];
        let event = format!("event: content_block_delta\ndata: {data}\n\n");
        let body = [frame(&opening), event, frame(&ending)].concat();
        decode(&model(json!({})), &plain(), &[body.as_bytes()])
    };
    let mended = broken(
        "{\"type\":\"content_block_delta\",\"index\":0,\
         \"delta\":{\"type\":\"text_delta\",\"text\":\"a\tb\\q\"}}",
    );
    assert_eq!(mended.message.text(), "a\tb\\q");
    assert_eq!(ending(&mended), (StopReason::Stop, None));
    for data in ["{\"type\":", "[]", "5", "", "{\"index\":0}", "{\"index\":-1,\"delta\":{}}"] {
        let decoded = broken(data);
        let (reason, text) = ending(&decoded);
        assert_eq!(reason, StopReason::Error, "{data}");
        let text = text.unwrap();
        assert!(
            text.starts_with("Could not parse Anthropic event content_block_delta: "),
            "{text}"
        );
    }
}

#[test]
fn usage_is_counted_from_the_start_and_corrected_at_the_end() {
    let start = json!({"type": "message_start", "message": {"id": "m", "model": "claude-test",
        "usage": {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 3,
                  "cache_creation_input_tokens": 4,
                  "cache_creation": {"ephemeral_1h_input_tokens": 3}}}});
    let end = |usage: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
    let no_usage = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let cases = [
        (no_usage, json!([10, 1, 3, 4, 3, null, 18])),
        (end(json!({"output_tokens": 7})), json!([10, 7, 3, 4, 3, null, 24])),
        (
            end(json!({"input_tokens": 20, "output_tokens": 7, "cache_read_input_tokens": null,
                       "cache_creation_input_tokens": 9,
                       "cache_creation": {"ephemeral_1h_input_tokens": 9},
                       "output_tokens_details": {"thinking_tokens": 2}})),
            json!([20, 7, 3, 9, 9, 2, 39]),
        ),
    ];
    for (end, expected) in cases {
        let decoded = run(&[start.clone(), end, message_stop()]);
        let usage = &decoded.message.usage;
        assert_eq!(
            json!([
                usage.input,
                usage.output,
                usage.cache_read,
                usage.cache_write,
                usage.cache_write_1h,
                usage.reasoning,
                usage.total_tokens
            ]),
            expected
        );
        assert!(usage.cost.total > 0.0);
    }
    let bare = json!({"type": "message_start", "message": {"id": "m"}});
    let decoded = run(&[bare, stop_reason("end_turn"), message_stop()]);
    assert_eq!(decoded.message.usage.cache_write_1h, Some(0));
    assert_eq!(decoded.message.usage.total_tokens, 5);
}

#[test]
fn usage_is_there_before_the_first_content() {
    use std::sync::Arc;
    let model = Arc::new(model(json!({})));
    let mut decoder = crate::protocol::HttpWire::decoder(
        &crate::protocol::anthropic_messages::AnthropicMessages::new(),
        &model,
        &crate::types::Context::default(),
        &plain(),
    );
    let message = crate::types::AssistantMessage::pending(&model, 1);
    let mut out = crate::event::MessageBuilder::new(message);
    decoder.event(Some("message_start"), &start().to_string(), &mut out);
    assert_eq!(out.pop(), Some(Event::Start));
    assert_eq!(out.message().usage.input, 10);
    assert_eq!(out.message().response_id.as_deref(), Some("msg_1"));
}

#[test]
fn another_model_that_answers_is_named_and_priced() {
    let fable = model(json!({"compat": {"allowedFallbackModels":
        [{"model": "cheaper", "cost": {"input": 0.5, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}));
    let million = |model: &str| {
        json!({"type": "message_start", "message": {"id": "m", "model": model,
               "usage": {"input_tokens": 1_000_000, "output_tokens": 0}}})
    };
    let fallback = |model: &str| {
        block_start(0, &json!({"type": "fallback", "from": {"model": "x"}, "to": {"model": model}}))
    };
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let cases = [
        (vec![million("claude-test")], None, 1.0),
        (vec![million("claude-test-2026")], Some("claude-test-2026"), 1.0),
        (vec![million("cheaper")], Some("cheaper"), 0.5),
        (vec![million("claude-test"), fallback("cheaper")], Some("cheaper"), 0.5),
        (vec![million("claude-test"), fallback("unknown")], None, 1.0),
    ];
    for (mut payloads, response_model, cost) in cases {
        payloads.extend([block_stop(0), end.clone(), message_stop()]);
        let decoded = decode_payloads(&fable, &payloads);
        assert_eq!(decoded.message.response_model.as_deref(), response_model);
        assert!((decoded.message.usage.cost.total - cost).abs() < 1e-12, "{response_model:?}");
        assert_eq!(decoded.message.model, "claude-test");
    }
    let mut late = vec![start()];
    late.extend(text(0, "a"));
    late.push(fallback("cheaper"));
    let decoded = decode_payloads(&fable, &late);
    let text = "Anthropic changed the model in the middle of an answer";
    assert_eq!(ending(&decoded), (StopReason::Error, Some(text)));
}

#[test]
fn managed_effort_is_recorded_with_the_answer() {
    let managed = model(json!({"thinkingLevelMap": {"off": null},
                               "compat": {"supportsMidConvoEffort": true}}));
    for (effort, recorded) in [(Some("medium"), "medium"), (None, "high")] {
        let own = Options {
            thinking_enabled: Some(true),
            effort: effort.map(str::to_owned),
            ..Options::default()
        };
        let options = StreamOptions { protocol: own.into(), ..plain() };
        let body = frame(&answer(&[]));
        let decoded = decode(&managed, &options, &[body.as_bytes()]);
        assert_eq!(decoded.message.provider_thinking_level.as_deref(), Some(recorded));
    }
    assert_eq!(run(&answer(&[])).message.provider_thinking_level, None);
}

#[test]
fn dropped_input_is_a_diagnostic() {
    let mut start = start();
    start["message"]["input_transformations"] = json!([{"type": "x"}]);
    let decoded = run(&[start, stop_reason("end_turn"), message_stop()]);
    let diagnostics = decoded.message.diagnostics.unwrap();
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].kind, "anthropic_input_transformations");
    assert_eq!(diagnostics[0].details, Some(json!({"transformations": [{"type": "x"}]})));
    assert_eq!(run(&answer(&[])).message.diagnostics, None);
}

#[test]
fn an_open_call_keeps_what_could_be_read() {
    let decoded = run(&[
        start(),
        block_start(0, &json!({"type": "tool_use", "id": "t", "name": "n", "input": {}})),
        delta(0, "input_json_delta", "partial_json", "{\"a\":\"b"),
    ]);
    let Some(Event::Error { error, .. }) = decoded.events.last() else { panic!("an error") };
    assert_eq!(serde_json::to_value(&error.content[0]).unwrap()["arguments"], json!({"a": "b"}));
}
