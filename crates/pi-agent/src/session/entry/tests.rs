use proptest::prelude::*;

use super::*;

const LINES: &[&str] = &[
    r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-02T03:04:05.006Z","message":{"role":"user","content":[{"type":"text","text":"A"}],"timestamp":1}}"#,
    r#"{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z","provider":"p","modelId":"m"}"#,
    r#"{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2026-01-02T03:04:05.006Z","thinkingLevel":"xhigh"}"#,
    r#"{"type":"active_tools_change","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","activeToolNames":["read","bash"]}"#,
    r#"{"type":"active_tools_change","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","tools":[{"name":"read"}],"more":1}"#,
    r#"{"type":"compaction","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false,"systemMessage":{"role":"system","content":"","sections":{"a":"b"},"timestamp":1}}"#,
    r#"{"type":"branch_summary","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","fromId":"root","summary":"s","fromHook":true}"#,
    r#"{"type":"custom","customType":"st","data":{"n":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
    r#"{"type":"custom_message","customType":"cx","content":"text","display":true,"details":{"z":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
    r#"{"type":"custom_message","customType":"cx","content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}],"display":false,"id":"00000000-0000-7000-8000-000000000000","parentId":"any text","timestamp":"2026-01-02T03:04:05.006Z"}"#,
    r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":null}"#,
    r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":{"content":"x"}}"#,
    r#"{"type":"usage","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","kind":"cache_warm","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}"#,
    r#"{"type":"label","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","label":"mark"}"#,
    r#"{"type":"session_info","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","name":"n"}"#,
    r#"{"type":"weird","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","foo":{"b":1,"a":2}}"#,
];

/// Every line must come back byte for byte: same values, same key order.
#[test]
fn entries_round_trip_with_their_key_order() {
    for line in LINES {
        let entry = Entry::from_json(line).expect(line);
        assert_eq!(serde_json::to_string(&entry).expect("serializes"), *line);
    }
}

#[test]
fn null_content_reads_as_empty() {
    for role in ["user", "assistant", "toolResult", "custom"] {
        let line = format!(
            r#"{{"type":"message","id":"a","parentId":null,"timestamp":"","message":{{"role":"{role}","content":null,"stopReason":"stop","toolCallId":"c","customType":"x"}}}}"#
        );
        let entry = Entry::from_json(&line).expect(role);
        let json = serde_json::to_value(&entry).expect("serializes");
        assert_eq!(json["message"]["content"], serde_json::json!([]), "{role}");
    }
}

#[test]
fn lone_surrogates_do_not_lose_the_entry() {
    let line = r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"x\ud83d","timestamp":1}}"#;
    let entry = Entry::from_json(line).expect("repaired");
    let EntryBody::Message { message: AgentMessage::User(message) } = entry.body else {
        panic!("not a user message")
    };
    assert_eq!(message.content.to_text(), "x\u{fffd}");
}

#[test]
fn timestamps_read_as_milliseconds() {
    let line = r#"{"type":"label","id":"a","parentId":null,"timestamp":"1970-01-01T00:00:01.250Z","targetId":"b"}"#;
    assert_eq!(Entry::from_json(line).expect("label").timestamp_ms(), 1250);
}

#[test]
fn all_thinking_levels_are_known() {
    for level in ["off", "minimal", "low", "medium", "high", "xhigh", "max"] {
        let line = format!(
            r#"{{"type":"thinking_level_change","id":"a","parentId":null,"timestamp":"","thinkingLevel":"{level}"}}"#
        );
        let entry = Entry::from_json(&line).expect(level);
        assert_eq!(serde_json::to_string(&entry).expect("JSON"), line);
    }
}

#[test]
fn active_tools_of_an_unusual_shape_are_kept_as_they_came() {
    for (line, known) in LINES.iter().filter(|l| l.contains("active_tools")).zip([true, false]) {
        let entry = Entry::from_json(line).expect(line);
        assert_eq!(entry.kind, EntryKind::ActiveToolsChange);
        assert_eq!(matches!(entry.body, EntryBody::ActiveToolsChange { .. }), known, "{line}");
        assert_eq!(matches!(entry.body, EntryBody::Unknown(_)), !known, "{line}");
    }
}

#[test]
fn what_is_no_entry_is_refused() {
    for line in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"type":"label","parentId":null,"targetId":"x"}"#,
        r#"{"id":"a","parentId":null,"targetId":"x"}"#,
        r#"{"type":7,"id":"a"}"#,
        r#"{"type":"label","id":"a","parentId":7,"targetId":"x"}"#,
        r#"{"type":"label","id":"a","parentId":null}"#,
        r#"{"type":"message","id":"a","parentId":null}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"content":"no role"}}"#,
        r#"{"type":"weird","id":"a","parentId":null} more"#,
    ] {
        assert!(Entry::from_json(line).is_err(), "{line}");
    }
}

/// Messages with every field a role can have.
const MESSAGES: &[&str] = &[
    r#"{"role":"system","content":[{"type":"text","text":"a"}],"sections":{"a":"b","c":null},"timestamp":1,"toolsAdded":[{"name":"t","description":"d","parameters":{"type":"object"}}],"toolsRemoved":[{"name":"u"}]}"#,
    r#"{"role":"user","content":"plain","timestamp":1}"#,
    r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}],"timestamp":1}"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"s","redacted":true},{"type":"text","text":"x","textSignature":"y"},{"type":"toolCall","id":"c","name":"n","arguments":{"b":1,"a":[null,1.50]},"thoughtSignature":"z","namespace":"ns"}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cacheWrite1h":1,"reasoning":1,"totalTokens":10,"cost":{"input":0.1,"output":0.2,"cacheRead":0,"cacheWrite":0,"total":0.30000000000000004,"totalFromProvider":true}},"stopReason":"deferred","timestamp":1,"responseId":"r","responseModel":"rm","rawStopReason":"raw","errorMessage":"e","diagnostics":[{"type":"d","timestamp":1}],"providerThinkingLevel":"high","endTurn":false,"deferred":{"k":1},"durationMs":5,"thinkingLevel":"max"}"#,
    r#"{"role":"toolResult","toolCallId":"c","toolName":"n","content":[{"type":"text","text":"a"}],"details":{"k":[1]},"usage":{"input":1,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":1,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"nestedCalls":{"calls":[{"id":"i","name":"n","status":"ok"}],"complete":true},"isError":true,"durationMs":7,"timestamp":1}"#,
    r#"{"role":"bashExecution","command":"c","output":"o","exitCode":1,"cancelled":false,"truncated":true,"fullOutputPath":"/p","timestamp":1,"excludeFromContext":true}"#,
    r#"{"role":"custom","customType":"x","content":"c","display":false,"details":{"k":1},"timestamp":1}"#,
    r#"{"role":"branchSummary","summary":"s","fromId":"f","timestamp":1}"#,
    r#"{"role":"compactionSummary","summary":"s","tokensBefore":9,"timestamp":1}"#,
];

#[test]
fn every_message_keeps_every_field() {
    for line in MESSAGES {
        let message: AgentMessage = serde_json::from_str(line).expect(line);
        let (line, again): (Value, Value) = (
            serde_json::from_str(line).expect("JSON"),
            serde_json::to_value(&message).expect(line),
        );
        assert_eq!(line, again);
        assert_eq!(again["role"], message.role());
    }
}

#[test]
fn all_stop_reasons_are_known_and_old_usage_is_enough() {
    for reason in ["stop", "length", "toolUse", "error", "aborted", "deferred"] {
        let line = format!(
            r#"{{"role":"assistant","content":[],"usage":{{"input":3,"output":4}},"stopReason":"{reason}"}}"#
        );
        let message: AgentMessage = serde_json::from_str(&line).expect(reason);
        let AgentMessage::Assistant(answer) = message else { panic!("{reason}") };
        assert_eq!((answer.usage.input, answer.usage.total_tokens), (3, 0));
    }
}

#[test]
fn the_old_role_of_custom_messages_still_reads() {
    let line = r#"{"role":"hookMessage","customType":"x","content":"c","display":true}"#;
    let message: AgentMessage = serde_json::from_str(line).expect(line);
    assert_eq!(message.role(), "custom");
}

#[test]
fn odd_numbers_of_a_compaction_do_not_lose_it() {
    for (tokens_before, expected) in
        [("7.9", 7), ("-7", 0), ("\"7\"", 0), ("null", 0), ("[7]", 0), ("1e30", u64::MAX)]
    {
        let line = format!(
            r#"{{"type":"compaction","id":"a","parentId":"b","timestamp":"","summary":"s","firstKeptEntryId":null,"tokensBefore":{tokens_before},"usage":7}}"#
        );
        let entry = Entry::from_json(&line).expect(tokens_before);
        let EntryBody::Compaction(body) = entry.body else { panic!("{tokens_before}") };
        assert_eq!((body.tokens_before, body.usage), (expected, None), "{tokens_before}");
        assert_eq!((body.summary.as_str(), body.first_kept_entry_id.as_str()), ("s", ""));
    }
}

/// The same fields in an order made of these numbers.
fn shuffled(value: &Value, order: &[usize]) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| order[name.len() % order.len()]);
    let fields = fields.into_iter().map(|(name, value)| (name.clone(), shuffled(value, order)));
    Value::Object(fields.collect())
}

fn shuffling() -> impl Strategy<Value = Vec<usize>> {
    Just((0..7).collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entries_read_the_same_in_any_order_of_fields_from_text_and_from_values(
        line in prop::sample::select(LINES),
        order in shuffling(),
    ) {
        let expected = Entry::from_json(line).expect(line);
        let value = shuffled(&serde_json::from_str(line).expect("JSON"), &order);
        prop_assert_eq!(&Entry::from_json(&value.to_string()).expect(line), &expected);
        prop_assert_eq!(&serde_json::from_value::<Entry>(value).expect(line), &expected);
    }

    #[test]
    fn messages_read_the_same_in_any_order_of_fields_from_text_and_from_values(
        line in prop::sample::select(MESSAGES),
        order in shuffling(),
    ) {
        let expected: AgentMessage = serde_json::from_str(line).expect(line);
        let value = shuffled(&serde_json::from_str(line).expect("JSON"), &order);
        let from_text: AgentMessage = serde_json::from_str(&value.to_string()).expect(line);
        prop_assert_eq!(&from_text, &expected);
        prop_assert_eq!(&serde_json::from_value::<AgentMessage>(value).expect(line), &expected);
    }
}
