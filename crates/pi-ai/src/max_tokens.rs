//! How many tokens an answer may have in what is left of the window.
//!
//! The size of a conversation is estimated, not counted: the usage the last answer reported, plus
//! what was said since. Linear in the messages since then, so asking before every request is cheap.

use crate::thinking::MIN_ANSWER_TOKENS;
use crate::types::{Context, Message, Model, StopReason, SystemMessage, Tool};
use crate::utf16::{answer_units, content_units, input_units, json_units, text_units};

/// Text length per token, halved to stay in integers: 3.5 UTF-16 units.
const HALF_UNITS_PER_TOKEN: u64 = 7;
/// Least number of tokens kept free beside the estimate, where the window is large enough.
const MIN_MARGIN: u64 = 4096;
/// Part of a small window that is kept free instead: a seventh, which is less than [`MIN_MARGIN`]
/// below 28,672 tokens.
const SMALL_WINDOW_MARGIN: u64 = 7;
/// Part of a small window that is asked for at least: a sixteenth, which is less than
/// [`MIN_ANSWER_TOKENS`] below 16,384 tokens.
const SMALL_WINDOW_FLOOR: u64 = 16;
/// Part of the estimate kept free because it may be wrong.
const MARGIN_PERCENT: u64 = 15;
/// A room below this gives up the percentage margin.
const COMFORTABLE_ROOM: u64 = 32_768;

/// The output limit to send: the smaller of what was asked for (or the model's own limit) and the
/// room the window leaves. At least 1; unlimited where the model's numbers are unknown (0).
///
/// However full the window is, the room counts as enough for a short answer (1,024 tokens, or a
/// sixteenth of a smaller window): a provider that cannot fit it says so, and the conversation is
/// compacted, while an answer cut off after a few tokens is of no use to anybody.
pub fn output_limit(model: &Model, context: &Context, asked: Option<u64>) -> u64 {
    let asked = asked.unwrap_or(model.max_tokens);
    if model.context_window == 0 {
        return asked;
    }
    let window = model.context_window;
    let room = room(window, estimate(context)).max(floor(window));
    asked.min(room).max(1)
}

/// Tokens `context` takes in a request, estimated.
pub fn estimate(context: &Context) -> u64 {
    let messages = &context.messages;
    let Some((anchor, reported)) = last_reported_usage(messages) else {
        let head = prompt_tokens(context.system_prompt.as_deref(), &context.tools);
        return head.saturating_add(messages.iter().map(message_tokens).sum());
    };
    reported.saturating_add(messages.iter().skip(anchor + 1).map(message_tokens).sum())
}

fn floor(window: u64) -> u64 {
    MIN_ANSWER_TOKENS.min(window / SMALL_WINDOW_FLOOR)
}

/// Length of the longest text that is estimated at so many tokens, in UTF-16 units.
pub fn longest_text(tokens: u64) -> u64 {
    tokens.saturating_mul(HALF_UNITS_PER_TOKEN) / 2
}

fn room(window: u64, estimate: u64) -> u64 {
    let min_margin = MIN_MARGIN.min(window / SMALL_WINDOW_MARGIN);
    let margin = estimate.saturating_mul(MARGIN_PERCENT).div_ceil(100).max(min_margin);
    let room = window.saturating_sub(estimate).saturating_sub(margin);
    if room >= COMFORTABLE_ROOM {
        return room;
    }
    COMFORTABLE_ROOM.min(window.saturating_sub(estimate).saturating_sub(min_margin))
}

/// Index and total tokens of the last answer whose report still describes what precedes it.
///
/// An answer older than a message before it was moved there by a compaction or an edit: its count
/// belongs to another conversation.
fn last_reported_usage(messages: &[Message]) -> Option<(usize, u64)> {
    let mut newest = i64::MIN;
    let mut found = None;
    for (index, message) in messages.iter().enumerate() {
        if let Message::Assistant(answer) = message
            && answer.timestamp >= newest
            && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        {
            let total = answer.usage.context_tokens();
            if total > 0 {
                found = Some((index, total));
            }
        }
        newest = newest.max(timestamp(message));
    }
    found
}

fn timestamp(message: &Message) -> i64 {
    match message {
        Message::System(message) => message.timestamp,
        Message::User(message) => message.timestamp,
        Message::Assistant(message) => message.timestamp,
        Message::ToolResult(message) => message.timestamp,
    }
}

fn prompt_tokens(system_prompt: Option<&str>, tools: &[Tool]) -> u64 {
    tokens(system_prompt.map_or(0, text_units) + tools_units(tools))
}

fn message_tokens(message: &Message) -> u64 {
    tokens(match message {
        Message::System(message) => system_units(message),
        Message::User(message) => content_units(&message.content),
        Message::Assistant(message) => message.content.iter().map(answer_units).sum(),
        Message::ToolResult(message) => input_units(&message.content),
    })
}

fn system_units(message: &SystemMessage) -> u64 {
    let sections: u64 = message
        .sections
        .iter()
        .flatten()
        .map(|(name, text)| text_units(name) + 1 + text.as_deref().map_or(0, text_units))
        .sum();
    let added = message.tools_added.as_deref().map_or(0, tools_units);
    let removed = message.tools_removed.as_ref().map_or(0, json_units);
    text_units(&message.content.to_text()) + sections + added + removed
}

fn tools_units(tools: &[Tool]) -> u64 {
    if tools.is_empty() { 0 } else { json_units(&tools) }
}

fn tokens(units: u64) -> u64 {
    (units * 2).div_ceil(HALF_UNITS_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn model(context_window: u64, max_tokens: u64) -> Model {
        serde_json::from_value(json!({
            "id": "m", "name": "m", "api": "a", "provider": "p",
            "contextWindow": context_window, "maxTokens": max_tokens,
        }))
        .unwrap()
    }

    fn context(system_prompt: &str, messages: Value) -> Context {
        Context {
            system_prompt: Some(system_prompt.to_owned()),
            messages: serde_json::from_value(messages).unwrap(),
            tools: Vec::new(),
        }
    }

    fn user(text: &str, timestamp: i64) -> Value {
        json!({"role": "user", "content": text, "timestamp": timestamp})
    }

    fn answer(text: &str, stop_reason: &str, total: u64, timestamp: i64) -> Value {
        json!({"role": "assistant", "content": [{"type": "text", "text": text}],
            "usage": {"totalTokens": total}, "stopReason": stop_reason, "timestamp": timestamp})
    }

    #[test]
    fn every_message_is_rounded_up_at_3_5_units_a_token() {
        let context = context("You are helpful.", json!([user("Hello", 2)]));
        assert_eq!(estimate(&context), 5 + 2);
        assert_eq!(text_units("aé漢😀"), 1 + 1 + 1 + 2);
    }

    #[test]
    fn so_many_tokens_are_so_much_text() {
        for count in [0, 1, 2, 3, 1000] {
            let longest = longest_text(count);
            assert_eq!((tokens(longest), tokens(longest + 1)), (count, count + 1));
        }
        assert_eq!(longest_text(u64::MAX), u64::MAX / 2);
    }

    #[test]
    fn the_last_trustworthy_usage_replaces_everything_before_it() {
        let cases = [
            (
                "plain",
                json!([user("long question", 2), answer("a", "stop", 15, 3), user("go", 6)]),
                16,
            ),
            (
                "an aborted answer reports nothing",
                json!([
                    answer("foreign", "toolUse", 15, 3),
                    answer("partial", "aborted", 99, 4),
                    user("continue", 6)
                ]),
                15 + 2 + 3,
            ),
            (
                "an answer older than what precedes it is stale",
                json!([
                    answer("a", "stop", 15, 3),
                    user("go", 6),
                    answer("b", "stop", 99, 3),
                    user("end", 9)
                ]),
                15 + 1 + 1 + 1,
            ),
            (
                "no total: the parts count",
                json!([{"role": "assistant", "content": [], "stopReason": "stop",
                "usage": {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 2}}]),
                18,
            ),
        ];
        for (case, messages, expected) in cases {
            assert_eq!(estimate(&context("S", messages)), expected, "{case}");
        }
    }

    #[test]
    fn images_and_tool_changes_count() {
        let image = json!({"role": "toolResult", "toolCallId": "t", "isError": true, "timestamp": 4,
            "content": [{"type": "text", "text": "boom"}, {"type": "image", "data": "aaaa", "mimeType": "image/png"}]});
        assert_eq!(estimate(&context("", json!([image]))), 1373);
        let change = json!({"role": "system", "content": "Extra rule.", "sections": {"env": "<env>1</env>"},
            "toolsRemoved": [{"name": "read"}], "timestamp": 5});
        assert_eq!(estimate(&context("", json!([change]))), (44_u64 * 2).div_ceil(7));
    }

    #[test]
    fn the_limit_leaves_room_in_a_shared_window() {
        let hello = context("You are helpful.", json!([user("Hello", 2)]));
        let full = |total| context("", json!([answer("a", "stop", total, 3)]));
        let cases = [
            ("own limit fits", model(200_000, 8192), &hello, None, 8192),
            ("asked for less", model(200_000, 8192), &hello, Some(100), 100),
            ("limit as large as the window", model(262_144, 262_144), &hello, None, 258_041),
            ("15 % of a large estimate", model(200_000, 200_000), &full(100_000), None, 85_000),
            ("near the end 32,768 at most", model(200_000, 200_000), &full(150_000), None, 32_768),
            ("at the end what is left", model(200_000, 200_000), &full(190_000), None, 5904),
            ("unknown window", model(0, 4096), &full(250_000), None, 4096),
        ];
        for (case, model, context, asked, expected) in cases {
            assert_eq!(output_limit(&model, context, asked), expected, "{case}");
        }
    }
    #[test]
    fn small_windows_keep_a_part_of_themselves_free() {
        let full = |total| context("", json!([answer("a", "stop", total, 3)]));
        let cases = [
            (32_768, 16_384, 8192, "own limit"),
            (32_768, 28_574, 1024, "the margin is that of large windows"),
            (32_000, 20_000, 7904, "the margin is that of large windows"),
            (28_672, 20_000, 4576, "the margin is that of large windows"),
            (16_384, 8000, 6044, "2,340 tokens stay free"),
            (8192, 4000, 3022, "1,170 tokens stay free"),
            (4096, 2000, 1511, "585 tokens stay free"),
        ];
        for (window, total, expected, case) in cases {
            let limit = output_limit(&model(window, 8192), &full(total), None);
            assert_eq!(limit, expected, "{window}: {case}");
        }
    }

    #[test]
    fn a_full_window_still_asks_for_a_short_answer() {
        let full = |total| context("", json!([answer("a", "stop", total, 3)]));
        let cases = [(200_000, 1024), (32_768, 1024), (16_384, 1024), (8192, 512), (4096, 256)];
        for (window, expected) in cases {
            for total in [window, window * 2, u64::MAX] {
                let limit = |own, asked| output_limit(&model(window, own), &full(total), asked);
                assert_eq!(limit(8192, None), expected, "{window} {total}");
                assert_eq!(limit(200, None), 200, "{window} {total}: the model's own is less");
                assert_eq!(limit(8192, Some(100)), 100, "{window} {total}: asked for less");
            }
        }
        assert_eq!(output_limit(&model(8, 8192), &full(9), None), 1);
    }
}
