//! Recorded requests and answers, from the shared folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{decode, plain, sent_headers, simple_request};
use crate::event::AssistantEvent;
use crate::protocol::HttpRequest;
use crate::types::Context;
use crate::types::{
    CacheRetention, Message, Model, SimpleStreamOptions, SimpleToolChoice, StreamOptions,
    SystemContent, SystemMessage, ThinkingLevel, Tool,
};

/// Server-side threads are out of our scope: we never ask for them.
const THREADS_BETA: &str = "message-threads-2026-08-12";

pub(super) fn shared_dir() -> Option<PathBuf> {
    let dir = pi_test::shared_dir();
    if dir.is_none() {
        println!("left out: no shared folder");
    }
    dir
}

fn catalogue(dir: &Path) -> Vec<Model> {
    let text = fs::read_to_string(dir.join("providers/models.json")).unwrap();
    let rows = text.lines().map(|line| line.trim_end_matches(','));
    rows.filter(|row| row.contains("\"api\":\"anthropic-messages\""))
        .map(|row| serde_json::from_str(row).unwrap())
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedContext {
    system_prompt: Option<String>,
    #[serde(default)]
    tools: Vec<Tool>,
    messages: Vec<Message>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct RecordedOptions {
    reasoning: ThinkingLevel,
    session_id: Option<String>,
    cache_retention: CacheRetention,
    tool_choice: Option<SimpleToolChoice>,
    temperature: Option<f64>,
    max_tokens: Option<u64>,
    metadata: Option<Map<String, Value>>,
}

impl RecordedOptions {
    fn unified(self) -> SimpleStreamOptions {
        SimpleStreamOptions {
            base: StreamOptions {
                api_key: Some("sk-test".into()),
                session_id: self.session_id,
                cache_retention: self.cache_retention,
                temperature: self.temperature,
                max_tokens: self.max_tokens,
                metadata: self.metadata,
                ..StreamOptions::default()
            },
            reasoning: self.reasoning,
            tool_choice: self.tool_choice,
            ..SimpleStreamOptions::default()
        }
    }
}

#[test]
fn requests_equal_the_recorded_ones() {
    let Some(dir) = shared_dir() else { return };
    let models = catalogue(&dir);
    let rows = fs::read_to_string(dir.join("providers/requests.jsonl")).unwrap();
    let mut compared = 0;
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        if row["api"] != "anthropic-messages" {
            continue;
        }
        compared += 1;
        let model = models
            .iter()
            .find(|model| row["provider"] == *model.provider && row["model"] == *model.id)
            .unwrap();
        let options = RecordedOptions::deserialize(&row["options"]).unwrap().unified();
        let recorded = RecordedContext::deserialize(&row["context"]).unwrap();
        let context = Context {
            system_prompt: recorded.system_prompt.clone(),
            tools: recorded.tools.clone(),
            messages: recorded.messages.clone(),
        };
        let request = simple_request(model, &context, options.clone()).unwrap();
        let case = format!("{} {} {}", row["case"], row["model"], row["options"]);
        compare_request(&case, &request, model, &row);

        // The same with prompt and tools in a leading system message, as sessions hold them.
        let lead = SystemMessage {
            content: SystemContent::Text(recorded.system_prompt.unwrap_or_default()),
            tools_added: Some(recorded.tools),
            ..SystemMessage::default()
        };
        let mut messages = vec![Message::System(lead.into())];
        messages.extend(recorded.messages);
        let context = Context { messages, ..Context::default() };
        let from_transcript = simple_request(model, &context, options).unwrap();
        assert_eq!(from_transcript.body.to_value(), request.body.to_value(), "{case}");
    }
    assert!(compared > 50, "{compared} rows");
}

fn compare_request(case: &str, request: &HttpRequest, model: &Model, row: &Value) {
    assert_eq!(request.url, row["url"], "{case}");
    let mut expected_body = row["body"].clone();
    expected_body.as_object_mut().unwrap().remove("thread");
    assert_eq!(request.body.to_value(), expected_body, "{case}");

    let expected: BTreeMap<String, String> = row["headers"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), without_threads(value.as_str().unwrap())))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let mut headers = sent_headers(request, model);
    if !expected.contains_key("user-agent") {
        // Recorded without the client's identity.
        headers.remove("user-agent");
    }
    assert_eq!(headers, expected, "{case}");
}

fn without_threads(value: &str) -> String {
    value.split(',').filter(|part| *part != THREADS_BETA).collect::<Vec<_>>().join(",")
}

#[test]
fn answers_equal_the_recorded_ones() {
    let Some(dir) = shared_dir() else { return };
    let models = catalogue(&dir);
    let streams = dir.join("providers/streams");
    let mut compared = 0;
    for entry in fs::read_dir(streams.join("expected/anthropic-messages")).unwrap() {
        let entry = entry.unwrap();
        let expected: Value =
            serde_json::from_str(&fs::read_to_string(entry.path()).unwrap()).unwrap();
        let name = entry.file_name().into_string().unwrap();
        let recording = streams.join("anthropic-messages").join(name.trim_end_matches(".json"));
        let mut model = models.iter().find(|model| expected["model"] == *model.id).unwrap().clone();
        model.cost = serde_json::from_value(expected["cost"].clone()).unwrap();
        let body = framed(&recording);
        let decoded = decode(&model, &plain(), &[body.as_bytes()]);
        assert_eq!(
            decoded.events.iter().map(comparable).collect::<Vec<_>>(),
            expected["events"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|event| event["delta"] != "")
                .cloned()
                .map(plain_numbers)
                .collect::<Vec<_>>(),
            "{name}"
        );
        compared += 1;
    }
    assert!(compared >= 9, "{compared} recordings");
}

/// A recording as it came over the wire.
fn framed(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "sse") {
        return text;
    }
    let payloads = text.lines().filter(|line| !line.trim().is_empty());
    super::frame(&payloads.map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>())
}

/// An event in the words of the recordings: they tell neither time nor what a call begins with.
fn comparable(event: &AssistantEvent) -> Value {
    let mut value = serde_json::to_value(event).unwrap();
    let fields = value.as_object_mut().unwrap();
    if let AssistantEvent::ToolCallStart { .. } = event {
        fields.remove("id");
        fields.remove("toolName");
    }
    if let AssistantEvent::ToolCallEnd { .. } = event {
        fields["toolCall"]["type"] = json!("toolCall");
    }
    if let Some(message) = fields.remove("message").or_else(|| fields.remove("error")) {
        let mut message = message;
        message["role"] = json!("assistant");
        message.as_object_mut().unwrap().remove("timestamp");
        fields.insert("message".into(), message);
    }
    plain_numbers(value)
}

/// Whole floats as integers, as JavaScript writes them.
fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => json!(float),
            _ => Value::Number(number),
        },
        Value::Array(list) => Value::Array(list.into_iter().map(plain_numbers).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, plain_numbers(value))).collect())
        }
        other => other,
    }
}

#[test]
fn error_texts_equal_the_recorded_ones() {
    let Some(dir) = shared_dir() else { return };
    let rows = fs::read_to_string(dir.join("providers/streams/errors.jsonl")).unwrap();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        if row["api"] == "anthropic-messages" {
            let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
            let text = super::super::error_text::error_text(status, row["body"].as_str().unwrap());
            assert_eq!(text, row["expected"]["errorMessage"]);
        }
    }
}
