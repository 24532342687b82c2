//! Sessions in notation. An entry's place is its id (`e0`, `e1`, …) and the time of its message.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::message::AgentMessage;
use crate::session::Session;

mod branches;
mod cuts;
mod estimates;
mod histories;
mod parts;
mod recordings;
mod requests;
mod summaries;
mod texts;

/// A session of these entries, each the child of the one before unless it names a parent.
fn session(entries: &[Value]) -> Session {
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#.to_owned();
    for (index, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = format!("e{index}").into();
        if entry.get("parentId").is_none() {
            entry["parentId"] = index.checked_sub(1).map(|parent| format!("e{parent}")).into();
        }
        entry["timestamp"] = format!("1970-01-01T00:00:00.{index:03}Z").into();
        if let Some(message) = entry.get_mut("message") {
            message["timestamp"] = index.into();
        }
        text = format!("{text}\n{entry}");
    }
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).expect("write");
    Session::open(&path, Path::new("/w")).expect("opens").0
}

/// Places of the entries these messages stem from.
fn places(messages: &[AgentMessage]) -> Vec<i64> {
    let place = |message: &AgentMessage| match message {
        AgentMessage::System(m) => m.timestamp,
        AgentMessage::User(m) => m.timestamp,
        AgentMessage::Assistant(m) => m.timestamp,
        AgentMessage::ToolResult(m) => m.timestamp,
        AgentMessage::BashExecution(m) => m.timestamp,
        AgentMessage::Custom(m) => m.timestamp,
        AgentMessage::BranchSummary(m) => m.timestamp,
        AgentMessage::CompactionSummary(m) => m.timestamp,
    };
    messages.iter().map(place).collect()
}

/// Text the estimate takes for so many tokens.
fn tokens(count: usize) -> String {
    "x".repeat(4 * count)
}

fn message(message: impl Into<Value>) -> Value {
    json!({"type": "message", "message": message.into()})
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn user(count: usize) -> Value {
    says(&tokens(count))
}

fn says(words: &str) -> Value {
    message(json!({"role": "user", "content": text(words)}))
}

fn answer(count: usize) -> Value {
    answers(&tokens(count))
}

fn answers(words: &str) -> Value {
    assistant(text(words), "stop", 0)
}

/// An answer with which the provider counted `total` tokens.
fn counted(count: usize, total: u64) -> Value {
    assistant(text(&tokens(count)), "stop", total)
}

fn assistant(content: impl Into<Value>, stop_reason: &str, total: u64) -> Value {
    message(json!({"role": "assistant", "content": content.into(), "stopReason": stop_reason,
        "usage": {"totalTokens": total}}))
}

fn failed(words: &str) -> Value {
    let content = if words.is_empty() { json!([]) } else { text(words) };
    assistant(content, "error", 0)
}

/// Calls `read` on a file of the call's name.
fn call(id: &str) -> Value {
    calls(id, "read", json!({"path": id}))
}

fn calls(id: &str, tool: &str, arguments: impl Into<Value>) -> Value {
    let arguments = arguments.into();
    let call = json!({"type": "toolCall", "id": id, "name": tool, "arguments": arguments});
    assistant(json!([call]), "toolUse", 0)
}

fn result(id: &str, count: usize) -> Value {
    results(id, &tokens(count))
}

fn results(id: &str, words: &str) -> Value {
    message(json!({"role": "toolResult", "toolCallId": id, "toolName": "read",
        "content": text(words), "isError": false}))
}

fn bash(command: &str, output: &str, hidden: bool) -> Value {
    message(json!({"role": "bashExecution", "command": command, "output": output, "exitCode": 0,
        "cancelled": false, "truncated": false, "excludeFromContext": hidden}))
}

fn system(content: &str) -> Value {
    message(json!({"role": "system", "content": content}))
}

fn custom(words: &str) -> Value {
    json!({"type": "custom_message", "customType": "q", "content": words, "display": true})
}

fn branch_summary(words: &str) -> Value {
    json!({"type": "branch_summary", "fromId": "root", "summary": words,
        "details": {"readFiles": ["branch.txt"], "modifiedFiles": ["changed.txt"]}})
}

fn compaction(summary: &str, first_kept: &str) -> Value {
    json!({"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept,
        "tokensBefore": 9, "fromHook": false,
        "details": {"readFiles": ["old.txt"], "modifiedFiles": ["made.txt"]}})
}

fn edit(target: &str, replacement: impl Into<Value>) -> Value {
    json!({"type": "context_edit", "targetId": target, "replacement": replacement.into()})
}

fn omit(target: &str) -> Value {
    edit(target, Value::Null)
}

fn model_change() -> Value {
    json!({"type": "model_change", "provider": "p", "modelId": "m"})
}

fn label() -> Value {
    json!({"type": "label", "targetId": "e0", "label": "x"})
}

/// The entry below another than the one before it.
fn below(parent: &str, mut entry: Value) -> Value {
    entry["parentId"] = parent.into();
    entry
}

fn keeping(keep_recent_tokens: u64) -> CompactionSettings {
    CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() }
}
