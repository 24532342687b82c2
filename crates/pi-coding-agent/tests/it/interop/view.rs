//! What either program makes of a session, in a form that can be compared.

use std::path::Path;

use pi_agent::Session;
use pi_test::json_differences;
use serde_json::{Value, json};

use super::bed::{Pair, Rpc};

/// Asserts that the other program reads the same out of files as we do.
pub(super) async fn assert_same_view(pair: &Pair, files: &[&Path]) {
    let mut theirs = pair.rpc(&[]);
    for file in files {
        theirs.switch(file).await;
        assert_same_here(&mut theirs, &pair.open(file)).await;
    }
    theirs.end().await;
}

/// The same for the session it has open.
pub(super) async fn assert_same_here(theirs: &mut Rpc, ours: &Session) {
    assert_same_messages(theirs, ours).await;
    assert_same_tree(theirs, ours).await;
    assert_same_totals(theirs, ours).await;
}

/// The conversation at the leaf.
pub(super) async fn assert_same_messages(theirs: &mut Rpc, ours: &Session) {
    let context = ours.context();
    assert_eq!(context.diagnostics, []);
    let ours = json!({"messages": context.messages});
    assert_same("messages", &theirs.get("messages").await, &ours);
}

/// Entries, the leaf, and how everything hangs together, with its labels.
pub(super) async fn assert_same_tree(theirs: &mut Rpc, ours: &Session) {
    let leaf = ours.leaf().map(|leaf| leaf.id());
    let entries: Vec<Value> =
        ours.entries().map(|entry| serde_json::from_str(&entry.json()).unwrap()).collect();
    let entries = json!({"entries": entries, "leafId": leaf});
    assert_same("entries", &theirs.get("entries").await, &entries);
    let tree: Value = serde_json::from_str(&ours.tree().to_json()).unwrap();
    assert_same("tree", &theirs.get("tree").await, &json!({"tree": tree, "leafId": leaf}));
}

/// What everything has cost.
pub(super) async fn assert_same_totals(theirs: &mut Rpc, ours: &Session) {
    let totals = ours.totals();
    let mut stats = theirs.get("session_stats").await;
    stats.as_object_mut().unwrap().remove("contextUsage");
    // Sums of the same numbers in another order.
    let cost = stats["cost"].as_f64().unwrap();
    assert!((cost - totals.cost).abs() < 1e-9, "{cost} and {}", totals.cost);
    let tokens = totals.tokens;
    let ours = json!({
        "sessionFile": ours.path(),
        "sessionId": ours.id(),
        "userMessages": totals.user_messages,
        "assistantMessages": totals.assistant_messages,
        "toolCalls": totals.tool_calls,
        "toolResults": totals.tool_results,
        "totalMessages": totals.total_messages,
        "tokens": {
            "input": tokens.input,
            "output": tokens.output,
            "cacheRead": tokens.cache_read,
            "cacheWrite": tokens.cache_write,
            "total": tokens.total(),
        },
        "cost": cost,
    });
    assert_same("totals", &stats, &ours);
}

pub(super) fn assert_same(what: &str, theirs: &Value, ours: &Value) {
    let differences = json_differences(theirs, ours);
    assert!(differences.is_empty(), "{what}: {}", differences.join("\n"));
}

/// The conversation a request tells, without what each program words in its own way: its prompt, and
/// the sentence in front of a summary.
pub(super) fn told(body: &Value) -> Value {
    let messages = body["messages"].as_array().unwrap().iter();
    let messages = messages.filter(|message| message["role"] != "system").cloned();
    messages.map(without_wording).collect()
}

fn without_wording(mut message: Value) -> Value {
    match &mut message {
        Value::String(text) => {
            if let Some((_, summary)) = text.split_once("\n\n<summary>\n") {
                *text = format!("intro\n\n<summary>\n{summary}");
            }
            message
        }
        Value::Array(items) => items.drain(..).map(without_wording).collect(),
        Value::Object(fields) => {
            let fields = std::mem::take(fields).into_iter();
            fields.map(|(name, value)| (name, without_wording(value))).collect()
        }
        _ => message,
    }
}
