//! What a conversation is taken to weigh.

use super::*;

fn usage(value: Value) -> Usage {
    serde_json::from_value(value).expect("usage")
}

#[test]
fn the_providers_total_counts_and_without_one_its_parts() {
    let parts = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4});
    assert_eq!(usage(parts).context_tokens(), 10);
    let total = json!({"input": 1, "output": 2, "totalTokens": 7});
    assert_eq!(usage(total).context_tokens(), 7);
    assert_eq!(Usage::default().context_tokens(), 0);
}

#[test]
fn a_message_weighs_a_quarter_of_its_utf_16_length_rounded_up() {
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let tool =
        json!({"name": "tt", "description": "d".repeat(100), "parameters": {"type": "object"}});
    let cases = [
        ("empty", user(0), 0),
        ("rounded up", says("12345"), 2),
        ("UTF-16, not bytes", says("éé漢漢"), 1),
        ("a pair is two", says("😀😀a"), 2),
        ("plain text", message(json!({"role": "user", "content": "12345678"})), 2),
        (
            "an image in a user message",
            message(json!({"role": "user", "content": [{"type": "text", "text": "1234"}, image]})),
            1201,
        ),
        (
            "an image in a result",
            message(json!({"role": "toolResult", "toolCallId": "c", "content": [image]})),
            1200,
        ),
        (
            "thinking, text and call: 4 + 4 + 4 + 15 units",
            assistant(
                json!([{"type": "thinking", "thinking": "1234"}, {"type": "text", "text": "1234"},
                    {"type": "toolCall", "id": "c", "name": "read",
                        "arguments": {"path": "é\"x"}}]),
                "toolUse",
                0,
            ),
            7,
        ),
        ("command and output", bash("ls", &"o".repeat(398), false), 100),
        ("a command kept from the model", bash("ls", &"o".repeat(398), true), 0),
        ("custom", custom("12345"), 2),
        ("a branch's summary", branch_summary("12345678"), 2),
        (
            "a prompt: 40 + 400 + 161 units",
            message(json!({"role": "system", "content": "c".repeat(40),
                "sections": {"a": "s".repeat(400), "b": null}, "toolsAdded": [tool]})),
            151,
        ),
    ];
    for (case, entry, expected) in cases {
        let session = session(&[entry]);
        let context = session.context();
        assert_eq!(context.messages.len(), 1, "{case}");
        assert_eq!(messages_tokens(&context.messages), expected, "{case}");
        assert_eq!(estimate_context(&session).tokens, expected, "{case}");
    }
}

#[test]
fn the_last_count_that_holds_is_the_base_and_later_messages_are_added() {
    // What it is, the entries, tokens, whether measured, what the window shows.
    let cases = [
        ("nothing", vec![], 0, false, Some(0)),
        ("no count", vec![user(50), answer(50)], 100, false, Some(100)),
        ("a count", vec![user(50), counted(50, 500), user(10)], 510, true, Some(510)),
        (
            "failed and aborted answers do not count, their text does",
            vec![
                user(50),
                counted(50, 500),
                user(10),
                assistant(text("part"), "error", 900),
                assistant(text("part"), "aborted", 900),
            ],
            512,
            true,
            Some(512),
        ),
        (
            "custom messages, commands and branch summaries are added",
            vec![counted(50, 500), custom("1234"), bash("ls", "oo", false), branch_summary("1234")],
            503,
            true,
            Some(503),
        ),
        (
            "an edit after the count",
            vec![user(50), counted(50, 500), user(10), failed(""), omit("e3")],
            110,
            false,
            Some(110),
        ),
        (
            "a count after the edit",
            vec![user(50), failed(""), omit("e1"), counted(50, 500), user(10)],
            510,
            true,
            Some(510),
        ),
        (
            "a compaction",
            vec![user(50), counted(50, 500), compaction(&tokens(20), "e1"), user(10)],
            80,
            false,
            None,
        ),
        (
            "no count since the compaction",
            vec![user(50), counted(50, 500), compaction(&tokens(20), "e1"), user(10), answer(1)],
            81,
            false,
            None,
        ),
        (
            "an edit since the compaction",
            vec![user(50), counted(50, 500), compaction(&tokens(20), "e1"), user(10), omit("e3")],
            70,
            false,
            None,
        ),
        (
            "a count since the compaction",
            vec![user(50), counted(50, 500), compaction("OLD", "e1"), user(10), counted(10, 77)],
            77,
            true,
            Some(77),
        ),
        (
            "a count and an edit since the compaction",
            vec![
                user(50),
                counted(50, 500),
                compaction("OLD!", "e1"),
                user(10),
                counted(10, 77),
                omit("e0"),
            ],
            71,
            false,
            Some(71),
        ),
        (
            "another branch's count is another's",
            vec![user(50), answer(50), counted(50, 9000), below("e1", user(10))],
            110,
            false,
            Some(110),
        ),
    ];
    for (case, entries, tokens, is_measured, shown) in cases {
        let session = session(&entries);
        assert_eq!(estimate_context(&session), ContextEstimate { tokens, is_measured }, "{case}");
        assert_eq!(context_usage(&session, 200_000).tokens, shown, "{case}");
    }
}

#[test]
fn the_share_of_the_window_is_null_when_it_is_unknown() {
    let usage = |entries: &[Value], window| {
        serde_json::to_value(context_usage(&session(entries), window)).expect("JSON")
    };
    assert_eq!(
        usage(&[counted(1, 1355)], 100_000),
        json!({"tokens": 1355, "contextWindow": 100_000, "percent": 1.355})
    );
    assert_eq!(
        usage(&[user(1), compaction("OLD", "e0")], 100_000),
        json!({"tokens": null, "contextWindow": 100_000, "percent": null})
    );
    assert_eq!(
        usage(&[counted(1, 5)], 0),
        json!({"tokens": 5, "contextWindow": 0, "percent": null})
    );
}

#[test]
fn the_limit_is_the_window_less_the_reserve_and_reaching_it_is_not_enough() {
    let settings = CompactionSettings::default();
    let cases = [
        (settings, 183_616, 200_000, false),
        (settings, 183_617, 200_000, true),
        (CompactionSettings { enabled: false, ..settings }, 999_999, 200_000, false),
        (settings, 1, 8000, true),
        (settings, 0, 8000, false),
        (settings, 999_999, 0, false),
    ];
    for (settings, tokens, window, expected) in cases {
        assert_eq!(settings.is_exceeded(tokens, window), expected, "{tokens} of {window}");
    }
}
