use serde_json::json;

use super::*;

fn message(json: Value) -> AgentMessage {
    serde_json::from_value(json).expect("message")
}

/// Role and text of what the model reads; `None` when it reads nothing.
fn told(json: Value) -> Option<(String, String)> {
    let told = convert_to_llm(&[message(json)]);
    assert!(told.len() <= 1);
    Some(match told.first()? {
        Message::System(m) => ("system".to_owned(), m.content.to_text()),
        Message::User(m) => ("user".to_owned(), m.content.to_text()),
        Message::Assistant(m) => ("assistant".to_owned(), m.text()),
        Message::ToolResult(m) => (
            "toolResult".to_owned(),
            m.content.iter().filter_map(InputBlock::as_text).collect::<String>(),
        ),
    })
}

#[test]
fn commands_become_text_of_the_user() {
    let cases = [
        (json!({"output": "out", "exitCode": 0}), "Ran `ls`\n```\nout\n```"),
        (json!({"output": "", "exitCode": 0}), "Ran `ls`\n(no output)"),
        (
            json!({"output": "out", "exitCode": 1}),
            "Ran `ls`\n```\nout\n```\n\nCommand exited with code 1",
        ),
        (
            json!({"output": "out", "cancelled": true}),
            "Ran `ls`\n```\nout\n```\n\n(command cancelled)",
        ),
        (
            json!({"output": "out", "exitCode": 0, "truncated": true, "fullOutputPath": "/tmp/o"}),
            "Ran `ls`\n```\nout\n```\n\n[Output truncated. Full output: /tmp/o]",
        ),
        (
            json!({"output": "", "exitCode": 2, "truncated": true, "fullOutputPath": "/tmp/o"}),
            "Ran `ls`\n(no output)\n\nCommand exited with code 2\n\n[Output truncated. Full output: /tmp/o]",
        ),
    ];
    for (mut fields, expected) in cases {
        fields["role"] = "bashExecution".into();
        fields["command"] = "ls".into();
        assert_eq!(told(fields.clone()), Some(("user".to_owned(), expected.to_owned())));
        fields["excludeFromContext"] = true.into();
        assert_eq!(told(fields), None);
    }
}

#[test]
fn summaries_stand_in_tags_after_one_sentence() {
    let branch = told(json!({"role": "branchSummary", "summary": "s", "fromId": "f"}));
    let (role, text) = branch.expect("told");
    assert_eq!(role, "user");
    assert_eq!(text.lines().count(), 4);
    assert!(text.ends_with("\n\n<summary>\ns</summary>"), "{text}");

    let compaction = told(json!({"role": "compactionSummary", "summary": "s", "tokensBefore": 1}));
    let (role, text) = compaction.expect("told");
    assert_eq!(role, "user");
    assert_eq!(text.lines().count(), 5);
    assert!(text.ends_with("\n\n<summary>\ns\n</summary>"), "{text}");
}

#[test]
fn what_a_model_knows_goes_to_it_as_it_is() {
    let block = json!([{"type": "text", "text": "t"}]);
    let cases = [
        (json!({"role": "system", "content": "t"}), "system"),
        (json!({"role": "user", "content": block}), "user"),
        (json!({"role": "assistant", "content": block, "stopReason": "stop"}), "assistant"),
        (json!({"role": "toolResult", "content": block, "toolCallId": "c"}), "toolResult"),
        (json!({"role": "custom", "customType": "x", "content": "t", "display": false}), "user"),
    ];
    for (json, role) in cases {
        assert_eq!(told(json), Some((role.to_owned(), "t".to_owned())));
    }
}

#[test]
fn text_of_an_extension_becomes_a_block() {
    let custom = json!({"role": "custom", "customType": "x", "content": "t", "display": false});
    let told = serde_json::to_value(convert_to_llm(&[message(custom)])).expect("JSON");
    assert_eq!(told[0]["content"], json!([{"type": "text", "text": "t"}]));
}

#[test]
fn a_message_needs_a_role_that_is_known() {
    for text in [
        r#"{"content":"x"}"#,
        r#"{"role":"alien","content":"x"}"#,
        r#"{"content":"x","role":"alien"}"#,
        r#"{"role":7}"#,
        "{}",
        "[]",
        "null",
    ] {
        assert!(serde_json::from_str::<AgentMessage>(text).is_err(), "{text}");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert!(serde_json::from_value::<AgentMessage>(value).is_err(), "{text}");
    }
}

#[test]
fn a_time_or_size_of_the_wrong_kind_does_not_lose_a_message() {
    for (odd, expected) in [(json!("now"), 0), (json!(7.5), 7), (json!(null), 0)] {
        for mut fields in [
            json!({"role": "bashExecution", "command": "ls"}),
            json!({"role": "custom", "customType": "x", "content": "t"}),
            json!({"role": "branchSummary", "summary": "s", "fromId": "f"}),
            json!({"role": "compactionSummary", "summary": "s"}),
        ] {
            fields["timestamp"] = odd.clone();
            fields["tokensBefore"] = odd.clone();
            let read = serde_json::to_value(message(fields)).expect("JSON");
            assert_eq!(read["timestamp"], expected, "{read}");
            let size = read.get("tokensBefore");
            assert!(size.is_none_or(|size| *size == expected), "{read}");
        }
    }
}
