//! Request bodies of recorded sessions, rebuilt from the sessions themselves.

use std::fs;

use serde_json::{Value, json};

use super::{model, simple, simple_request};
use crate::types::Context;
use crate::types::{CacheRetention, Message, Model, StreamOptions, ThinkingLevel};

const API: &str = "anthropic-messages";
/// Scenarios with requests that are no beginning of a stored session, each for its reason.
const NO_PREFIX: [(&str, &str); 11] = [
    ("compact_manual", "a summary stands for messages"),
    ("compact_split", "a summary stands for messages"),
    ("compact_threshold", "a summary stands for messages"),
    ("overflow_compact", "a summary stands for messages"),
    ("interop_continue", "a summary stands for messages"),
    ("navigate_ext", "the session branches"),
    ("rpc_bash", "commands of the user are told as messages"),
    ("grep_find_ls", "the session records results in sorted order"),
    ("plain_text", "one run stores no session"),
    ("session_resume", "one run stores no session"),
    ("slow_chunks", "no run stores a session"),
];

#[test]
fn bodies_equal_those_of_the_recorded_scenarios() {
    let Some(dir) = super::recorded::shared_dir() else { return };
    let mut compared = 0;
    for entry in fs::read_dir(dir.join("oracle/goldens/handed")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(scenario) = name.strip_suffix(".anthropic.json") else { continue };
        if NO_PREFIX.iter().any(|(left_out, _)| *left_out == scenario) {
            continue;
        }
        let golden = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let golden = with_long_texts(golden);
        let candidates: Vec<_> = golden["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|session| prefixes(session["entries"].as_array().unwrap()))
            .collect();
        for request in golden["requests"].as_array().unwrap() {
            // Summaries are recorded without their body.
            let Some(body) = request.get("body").filter(|_| request["api"] == API) else {
                continue;
            };
            let expected = outline(body);
            let model = recorded_model(body);
            let level = level_of(body);
            let options = || StreamOptions {
                api_key: Some("k".into()),
                cache_retention: CacheRetention::Short,
                ..StreamOptions::default()
            };
            let is_match = |context: &Context| {
                let request = simple_request(&model, context, simple(options(), level)).unwrap();
                outline(&request.body.to_value()) == expected
            };
            assert!(candidates.iter().any(is_match), "{scenario}: {expected}");
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} requests");
}

/// Long texts are recorded by their digest; that stands for the text here.
fn with_long_texts(value: Value) -> Value {
    match value {
        Value::Object(map) if map.contains_key("$long") => map["sha"].clone(),
        Value::Object(map) => {
            map.into_iter().map(|(name, value)| (name, with_long_texts(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(with_long_texts).collect(),
        other => other,
    }
}

/// What a recording keeps of a body, without prompt and tools.
fn outline(body: &Value) -> Value {
    let mut body = body.clone();
    let members = body.as_object_mut().unwrap();
    members.retain(|name, _| name != "system" && name != "tools");
    body
}

fn recorded_model(body: &Value) -> Model {
    let limit = body["max_tokens"].clone();
    let is_plain = body["max_tokens"] != 32_000;
    model(json!({
        "id": body["model"], "provider": "fx-anthropic", "reasoning": !is_plain,
        "baseUrl": "http://127.0.0.1:1/anthropic", "maxTokens": limit,
        "input": if is_plain { vec!["text"] } else { vec!["text", "image"] },
    }))
}

fn level_of(body: &Value) -> ThinkingLevel {
    match body["thinking"]["budget_tokens"].as_u64() {
        Some(2048) => ThinkingLevel::Low,
        Some(8192) => ThinkingLevel::Medium,
        Some(16_384) => ThinkingLevel::High,
        _ => ThinkingLevel::Off,
    }
}

/// Contexts of every length a session's messages give.
fn prefixes(entries: &[Value]) -> Vec<Context> {
    let messages: Vec<Message> = entries
        .iter()
        .filter(|entry| entry["type"] == "message")
        .filter_map(|entry| {
            let mut message = entry["message"].clone();
            // Placeholders stand for times and for prompts.
            let members = message.as_object_mut()?;
            members.retain(|name, _| {
                !["timestamp", "durationMs", "sections", "toolsAdded", "details", "toolsRemoved"]
                    .contains(&name.as_str())
            });
            serde_json::from_value(message).ok()
        })
        .collect();
    (1..=messages.len())
        .map(|length| Context {
            messages: messages.iter().take(length).cloned().collect(),
            ..Context::default()
        })
        .collect()
}
