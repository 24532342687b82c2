use super::*;

/// Every line must come back byte for byte: same values, same key order.
#[test]
fn entries_round_trip_with_their_key_order() {
    let lines = [
        r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-02T03:04:05.006Z","message":{"role":"user","content":[{"type":"text","text":"A"}],"timestamp":1}}"#,
        r#"{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z","provider":"p","modelId":"m"}"#,
        r#"{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2026-01-02T03:04:05.006Z","thinkingLevel":"xhigh"}"#,
        r#"{"type":"compaction","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false,"systemMessage":{"role":"system","content":"","sections":{"a":"b"},"timestamp":1}}"#,
        r#"{"type":"branch_summary","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","fromId":"root","summary":"s","fromHook":true}"#,
        r#"{"type":"custom","customType":"st","data":{"n":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
        r#"{"type":"custom_message","customType":"cx","content":"text","display":true,"details":{"z":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
        r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":null}"#,
        r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":{"content":"x"}}"#,
        r#"{"type":"usage","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","kind":"cache_warm","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}"#,
        r#"{"type":"label","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","label":"mark"}"#,
        r#"{"type":"session_info","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","name":"n"}"#,
        r#"{"type":"weird","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","foo":{"b":1,"a":2}}"#,
    ];
    for line in lines {
        let entry = Entry::from_json(line).expect(line);
        assert_eq!(serde_json::to_string(&entry).expect("serializes"), line);
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
