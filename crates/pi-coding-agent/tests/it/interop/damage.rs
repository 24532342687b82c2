//! Files that are not as they should be.

use std::path::Path;

use pi_agent::Session;
use serde_json::{Value, json};

use super::bed::{Pair, SIDES, SMALL};
use super::view::{assert_same, assert_same_messages, told};

fn entry(id: &str, parent: Option<&str>, role: &str) -> Value {
    let mut message = json!({"role": role, "timestamp": 1,
        "content": [{"type": "text", "text": format!("text {id}")}]});
    if role == "assistant" {
        let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
        message["usage"] = json!({"input": 5, "output": 5, "cacheRead": 0, "cacheWrite": 0,
            "totalTokens": 10, "cost": cost});
        for (field, value) in [
            ("api", "anthropic-messages"),
            ("provider", "fx-anthropic"),
            ("model", "m-small"),
            ("stopReason", "stop"),
        ] {
            message[field] = json!(value);
        }
    }
    json!({"type": "message", "id": id, "parentId": parent, "message": message,
        "timestamp": "2026-01-01T00:00:00.000Z"})
}

/// Four messages behind a header.
fn whole(cwd: &Path) -> Vec<String> {
    let header = json!({"type": "session", "version": 3, "id": "damaged", "cwd": cwd,
        "timestamp": "2026-01-01T00:00:00.000Z"});
    let level = json!({"type": "thinking_level_change", "id": "0", "parentId": null,
        "timestamp": "2026-01-01T00:00:00.000Z", "thinkingLevel": "off"});
    let lines = [
        header,
        level,
        entry("a", Some("0"), "user"),
        entry("b", Some("a"), "assistant"),
        entry("c", Some("b"), "user"),
        entry("d", Some("c"), "assistant"),
    ];
    lines.iter().map(Value::to_string).collect()
}

type Damage = fn(&mut Vec<String>);

#[tokio::test]
async fn damaged_files_read_the_same_in_both() {
    let Some(pair) = Pair::new(SMALL[0], [""; 0]).await else { return };
    let cases: [(&str, Damage); 21] = [
        ("a torn last line", |lines| lines.push(r#"{"type":"message","id":"e","#.to_owned())),
        ("a blank line", |lines| lines.insert(3, String::new())),
        ("a line of blanks", |lines| lines.insert(3, "  \t ".to_owned())),
        ("a line that is no JSON", |lines| lines.insert(3, "}{".to_owned())),
        ("a type nobody knows", |lines| {
            lines[4] = lines[4].replacen("\"message\"", "\"novelty\"", 1);
        }),
        ("a type nobody knows at the end", |lines| {
            lines.push(r#"{"type":"novelty","id":"e","parentId":"d","timestamp":"t"}"#.to_owned());
        }),
        ("a child before its parent", |lines| lines.swap(3, 4)),
        ("lines in reverse", |lines| lines[1..].reverse()),
        ("a parent that is missing", |lines| drop(lines.remove(3))),
        ("carriage returns", |lines| lines.iter_mut().for_each(|line| line.push('\r'))),
        ("a line twice", |lines| lines.insert(3, lines[2].clone())),
        ("another line with a known id", |lines| {
            lines.insert(4, lines[3].replace("text b", "text b, again"));
        }),
        ("another last line with a known id", |lines| {
            lines.push(lines[3].replace("text b", "text b, again"));
        }),
        ("a second header", |lines| lines.insert(3, lines[0].clone())),
        ("a header at the end", |lines| lines.push(lines[0].clone())),
        ("rubbish before the header", |lines| lines.insert(0, "rubbish".to_owned())),
        ("a blank line before the header", |lines| lines.insert(0, String::new())),
        ("a line that is null", |lines| lines.insert(3, "null".to_owned())),
        ("no parent named", |lines| {
            lines[4] = lines[4].replace("\"parentId\":\"b\",", "");
        }),
        ("no time", |lines| {
            lines[4] = lines[4].replace("\"timestamp\":\"", "\"then\":\"");
        }),
        ("content that is null", |lines| {
            let content = r#"[{"type":"text","text":"text c"}]"#;
            assert!(lines[4].contains(content), "{}", lines[4]);
            lines[4] = lines[4].replace(content, "null");
        }),
    ];
    let mut theirs = pair.rpc(&[]);
    for (what, damage) in cases {
        let mut lines = whole(&pair.bed.scratch.ws());
        damage(&mut lines);
        let file = pair.bed.scratch.write(format!("tmp/{what}.jsonl"), lines.join("\n")).unwrap();
        println!("{what}");
        theirs.switch(&file).await;
        let (ours, _) = Session::open(&file, Path::new("/")).unwrap();
        assert_same_messages(&mut theirs, &ours).await;
    }
    theirs.end().await;
}

/// What a request must not tell as it stands in the file.
fn unfinished(cwd: &Path) -> Vec<Value> {
    let mut lines: Vec<Value> =
        whole(cwd).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "a.txt"}});
    lines[5]["message"]["content"] = json!([call("call_1"), call("call_2")]);
    lines[5]["message"]["stopReason"] = json!("toolUse");
    let mut result = entry("e", Some("d"), "toolResult");
    result["message"]["toolCallId"] = json!("call_1");
    result["message"]["toolName"] = json!("read");
    result["message"]["isError"] = json!(false);
    let mut failed = entry("f", Some("e"), "assistant");
    failed["message"]["stopReason"] = json!("error");
    failed["message"]["errorMessage"] = json!("overloaded");
    let mut aborted = entry("h", Some("g"), "assistant");
    aborted["message"]["stopReason"] = json!("aborted");
    let mut plain = entry("i", Some("h"), "user");
    plain["message"]["content"] = json!("plain text");
    let mut bash = entry("j", Some("i"), "bashExecution");
    bash["message"] = json!({"role": "bashExecution", "command": "make", "output": "long",
        "exitCode": 2, "cancelled": false, "truncated": true, "fullOutputPath": "/tmp/out",
        "timestamp": 1});
    lines.extend([result, failed, entry("g", Some("f"), "user"), aborted, plain, bash]);
    lines
}

#[tokio::test]
async fn what_was_never_finished_is_told_alike_by_both() {
    for model in SMALL {
        let Some(pair) = Pair::new(model, ["On.", "On."]).await else { return };
        let lines = unfinished(&pair.bed.scratch.ws());
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut requests = Vec::new();
        for side in SIDES {
            let name = format!("tmp/{side:?}.jsonl");
            let file = pair.bed.scratch.write(name, &text).unwrap();
            let args = ["--session", file.to_str().unwrap(), "--model", model, "-p", "on"];
            pair.run(side, &args).await;
            requests.push(told(&pair.last_body()));
        }
        assert_same("request", &requests[0], &requests[1]);
        let request = requests[0].to_string();
        for (part, is_told) in [
            ("call_2", true),
            ("No result provided", true),
            ("text f", false),
            ("text h", false),
            ("plain text", true),
            ("Command exited with code 2", true),
        ] {
            assert_eq!(request.contains(part), is_told, "{part}: {request}");
        }
    }
}
