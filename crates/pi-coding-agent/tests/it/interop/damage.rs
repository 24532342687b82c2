//! Files that are not as they should be.

use std::path::Path;

use pi_agent::Session;
use serde_json::{Value, json};

use super::bed::{Pair, SMALL};
use super::view::assert_same_messages;

fn entry(id: &str, parent: Option<&str>, role: &str) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": role, "content": [{"type": "text", "text": format!("text {id}")}],
            "api": "anthropic-messages", "provider": "fx-anthropic", "model": "m-small",
            "stopReason": "stop", "timestamp": 1, "usage": {"input": 5, "output": 5,
                "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10, "cost": {"input": 0,
                    "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}}})
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
    let cases: [(&str, Damage); 12] = [
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
        ("content that is null", |lines| {
            let content = r#"[{"text":"text c","type":"text"}]"#;
            assert!(lines[4].contains(content), "{}", lines[4]);
            lines[4] = lines[4].replace(content, "null");
        }),
    ];
    for (what, damage) in cases {
        let mut lines = whole(&pair.bed.scratch.ws());
        damage(&mut lines);
        let file = pair.bed.scratch.write("tmp/damaged.jsonl", lines.join("\n")).unwrap();
        println!("{what}");
        let mut theirs = pair.theirs_on(&file);
        let (ours, _) = Session::open(&file, Path::new("/")).unwrap();
        assert_same_messages(&mut theirs, &ours).await;
        theirs.end().await;
    }
}
