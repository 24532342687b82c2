//! The bytes of an answer may come in any pieces, and stop anywhere.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answers::{block_start, block_stop, delta, ending, message_stop, start, stop_reason};
use super::{Decoded, decode, frame, model, plain};
use crate::types::StopReason;

/// Thinking, text beyond ASCII, and a call.
fn whole_answer() -> Vec<Value> {
    vec![
        start(),
        block_start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "thinking", "Hm – \"wohl\"\n"),
        delta(0, "signature_delta", "signature", "c2ln"),
        block_stop(0),
        json!({"type": "ping"}),
        block_start(1, &json!({"type": "text", "text": ""})),
        delta(1, "text_delta", "text", "Olá 👋\u{2028}"),
        delta(1, "text_delta", "text", "🏳️‍🌈"),
        block_stop(1),
        block_start(2, &json!({"type": "tool_use", "id": "t", "name": "n", "input": {}})),
        delta(2, "input_json_delta", "partial_json", "{\"päth\": \"a"),
        delta(2, "input_json_delta", "partial_json", "\\u00e9\"}"),
        block_stop(2),
        stop_reason("tool_use"),
        message_stop(),
    ]
}

fn decode_pieces(pieces: &[&[u8]]) -> Decoded {
    decode(&model(json!({})), &plain(), pieces)
}

#[test]
fn framing_makes_no_difference() {
    let lf = frame(&whole_answer());
    let expected = decode_pieces(&[lf.as_bytes()]);
    assert_eq!(ending(&expected), (StopReason::ToolUse, None));
    let crlf = lf.replace('\n', "\r\n");
    let cr = lf.replace('\n', "\r");
    let commented = lf.replace("data: ", ": note\nid: 1\ndata:");
    for body in [crlf, cr, commented] {
        assert_eq!(decode_pieces(&[body.as_bytes()]), expected);
    }
}

#[test]
fn every_split_in_two_gives_the_same() {
    let body = frame(&whole_answer());
    let expected = decode_pieces(&[body.as_bytes()]);
    for at in 0..=body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        assert_eq!(decode_pieces(&[head, tail]), expected, "at {at}");
    }
}

#[test]
fn an_answer_cut_at_any_byte_ends_once_in_an_error() {
    let body = frame(&whole_answer());
    // Without the last two line ends the last event is still whole.
    let last_event = body.trim_end().len();
    for at in 0..body.len() {
        let decoded = decode_pieces(&[&body.as_bytes()[..at]]);
        let (reason, text) = ending(&decoded);
        if at >= last_event {
            assert_eq!(reason, StopReason::ToolUse);
        } else {
            assert_eq!(reason, StopReason::Error, "at {at}");
            assert!(text.is_some_and(|text| !text.is_empty()));
        }
    }
}

proptest! {
    #[test]
    fn any_pieces_give_the_same(cuts in prop::collection::vec(0usize..4096, 0..40)) {
        let body = frame(&whole_answer());
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % body.len()).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut rest = body.as_bytes();
        let mut done = 0;
        for cut in cuts {
            let (piece, tail) = rest.split_at(cut - done);
            pieces.push(piece);
            rest = tail;
            done = cut;
        }
        pieces.push(rest);
        prop_assert_eq!(decode_pieces(&pieces), decode_pieces(&[body.as_bytes()]));
    }

    #[test]
    fn damaged_bytes_never_break_the_rules(
        at in 0usize..4096, bytes in prop::collection::vec(any::<u8>(), 1..6)
    ) {
        let mut body = frame(&whole_answer()).into_bytes();
        let at = at % body.len();
        let end = (at + bytes.len()).min(body.len());
        body.splice(at..end, bytes);
        ending(&decode_pieces(&[&body]));
    }
}
