//! What the network may do to a stream.

use proptest::prelude::*;

use super::*;

/// A stream with everything in it.
fn rich() -> String {
    let call = |fields: Value| delta(json!({"tool_calls": [fields]}));
    delta(json!({"role": "assistant", "content": ""}))
        + &delta(json!({"reasoning": "Ich überlege… 🤔", "reasoning_details":
            [{"type": "reasoning.text", "text": "Ich überlege… 🤔"}]}))
        + ": keep-alive\r\n\r\n"
        + &delta(json!({"content": "漢字 \"quoted\" \\ 👩‍💻"}))
        + &call(
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"q\": \"ö"}}),
        )
        + &call(json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}}))
        + &call(json!({"index": 0, "function": {"arguments": "\"}"}}))
        + &sse(json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
        + &sse(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}))
        + "data: [DONE]\n\n"
}

fn is_terminal(event: &AssistantEvent) -> bool {
    matches!(event, AssistantEvent::Done { .. } | AssistantEvent::Error { .. })
}

#[test]
fn every_split_in_two_gives_the_same_events() {
    let body = rich().into_bytes();
    let whole = decode_with(model(json!({})), &Context::default(), [body.as_slice()]);
    assert_eq!(trace(&whole).last().unwrap(), "done toolUse");
    for split in 0..=body.len() {
        let pieces = [&body[..split], &body[split..]];
        let events = decode_with(model(json!({})), &Context::default(), pieces);
        assert_eq!(events, whole, "split at {split}");
    }
}

#[test]
fn a_stream_cut_anywhere_ends_exactly_once() {
    let body = rich();
    let told_reason = body.find("finish_reason").unwrap();
    for end in 0..body.len() {
        let events = decode_with(model(json!({})), &Context::default(), [&body.as_bytes()[..end]]);
        let terminal = events.iter().filter(|event| is_terminal(event)).count();
        assert_eq!(terminal, 1, "cut at {end}");
        assert!(events.last().is_some_and(is_terminal), "cut at {end}");
        if end < told_reason {
            assert!(matches!(events.last(), Some(AssistantEvent::Error { .. })), "cut at {end}");
        }
    }
}

proptest! {
    #[test]
    fn every_split_gives_the_same_events(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let body = rich().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = body.as_slice();
        let mut at = 0;
        for cut in cuts {
            let (piece, tail) = rest.split_at(cut - at);
            pieces.push(piece);
            rest = tail;
            at = cut;
        }
        pieces.push(rest);
        let whole = decode_with(model(json!({})), &Context::default(), [body.as_slice()]);
        prop_assert_eq!(decode_with(model(json!({})), &Context::default(), pieces), whole);
    }

    #[test]
    fn broken_json_gives_exactly_one_error(
        at in any::<prop::sample::Index>(),
        garbage in "[\\x00-\\x7f]{1,20}",
    ) {
        // Damages one chunk's data and leaves the framing alone.
        let good = delta(json!({"content": "a", "tool_calls": [{"index": 0, "id": "i"}]}));
        let data = good.trim_start_matches("data: ").trim_end();
        let damaged: String = data.chars().enumerate().map(|(position, c)| {
            if position == at.index(data.len()) { garbage.replace(['\n', '\r'], " ") } else { c.to_string() }
        }).collect();
        let body = delta(json!({"content": "before"})) + "data: " + &damaged + "\n\n" + &finish("stop");
        let events = decode(json!({}), &body);
        prop_assert_eq!(events.iter().filter(|event| is_terminal(event)).count(), 1);
        prop_assert!(is_terminal(events.last().unwrap()));
        if serde_json::from_str::<Value>(&damaged).is_err() && !damaged.trim_start().starts_with("[DONE]") {
            prop_assert!(matches!(events.last(), Some(AssistantEvent::Error { .. })), "{}", damaged);
        }
    }

    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let events = decode_with(model(json!({})), &Context::default(), [bytes.as_slice()]);
        prop_assert_eq!(events.iter().filter(|event| is_terminal(event)).count(), 1);
    }
}
