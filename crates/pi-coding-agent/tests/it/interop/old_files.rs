//! Files of versions 1 and 2, brought up to date by either program.

use std::path::Path;

use pi_test::Normalizer;
use serde_json::{Value, json};

use super::bed::{Pair, SMALL, lines};
use super::view::{assert_same, assert_same_here, assert_same_messages};

fn message(role: &str, words: &str) -> Value {
    let mut message = json!({"role": role, "timestamp": 1_748_772_001_000_i64,
        "content": [{"type": "text", "text": words}]});
    let more = match role {
        "assistant" => json!({"api": "anthropic-messages", "provider": "fx-anthropic",
            "model": "m-small", "stopReason": "stop",
            "usage": {"input": 5, "output": 5, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": 10, "cost": {"input": 0.5, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.75}}}),
        "hookMessage" => json!({"customType": "remark", "display": true}),
        _ => json!({}),
    };
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"type": "message", "timestamp": "2025-06-01T10:00:01.000Z", "message": message})
}

fn header(cwd: &Path, version: Option<u64>) -> Value {
    let mut header = json!({"type": "session", "id": "11111111-2222-4333-8444-555555555555",
        "timestamp": "2025-06-01T10:00:00.000Z", "cwd": cwd, "provider": "fx-anthropic",
        "modelId": "m-small", "thinkingLevel": "off"});
    if let Some(version) = version {
        header["version"] = version.into();
    }
    header
}

/// The entries of a file of either version.
fn entries() -> Vec<Value> {
    let time = "2025-06-01T10:00:02.000Z";
    vec![
        message("user", "ALPHA"),
        message("assistant", "Answer alpha."),
        message("hookMessage", "REMARK"),
        message("user", "BETA"),
        json!({"type": "novelty", "timestamp": time, "n": 1}),
        message("assistant", "Answer beta."),
        json!({"type": "compaction", "timestamp": time, "summary": "OLD-SUMMARY",
            "tokensBefore": 5000}),
        json!({"type": "thinking_level_change", "timestamp": time, "thinkingLevel": "off"}),
        json!({"type": "model_change", "timestamp": time, "provider": "fx-anthropic",
            "modelId": "m-small"}),
        message("user", "GAMMA"),
        message("assistant", "Answer gamma."),
    ]
}

fn version_1(cwd: &Path) -> Vec<Value> {
    let mut lines = vec![header(cwd, None)];
    lines.extend(entries());
    lines[7]["firstKeptEntryIndex"] = json!(3);
    lines
}

fn version_2(cwd: &Path) -> Vec<Value> {
    let mut lines = vec![header(cwd, Some(2))];
    let mut parent = Value::Null;
    for (number, mut entry) in entries().into_iter().enumerate() {
        entry["parentId"] = parent;
        entry["id"] = json!(format!("{number:08x}"));
        parent = entry["id"].clone();
        lines.push(entry);
    }
    lines[7]["firstKeptEntryId"] = json!("00000002");
    lines
}

/// The lines with ids numbered in the order they come in.
fn normal(file: &Path) -> Value {
    let mut normalizer = Normalizer::new();
    lines(file).iter().map(|line| normalizer.json(line)).collect()
}

#[tokio::test]
async fn an_old_file_becomes_the_same_in_either() {
    let Some(pair) = Pair::new(SMALL[0], [""; 0]).await else { return };
    let ws = pair.bed.scratch.ws();
    let mut rpc = pair.rpc(&[]);
    for (version, old) in [(1, version_1(&ws)), (2, version_2(&ws))] {
        let old: String = old.iter().map(|line| format!("{line}\n")).collect();
        let write = |name: &str| pair.bed.scratch.write(format!("tmp/{name}"), &old).unwrap();
        let (ours, theirs) = (write("ours.jsonl"), write("theirs.jsonl"));
        rpc.switch(&theirs).await;
        assert_eq!(lines(&theirs)[0]["version"], 3, "{version}");
        assert_same_messages(&mut rpc, &pair.open(&ours)).await;
        assert_same("file", &normal(&theirs), &normal(&ours));
        assert_same_here(&mut rpc, &pair.open(&theirs)).await;
        rpc.switch(&ours).await;
        assert_same_here(&mut rpc, &pair.open(&ours)).await;
        let told = json!(pair.open(&theirs).context().messages).to_string();
        for (part, is_told) in [("ALPHA", false), ("OLD-SUMMARY", true), ("REMARK", true)] {
            assert_eq!(told.contains(part), is_told, "{version}, {part}: {told}");
        }
    }
    rpc.end().await;
}
