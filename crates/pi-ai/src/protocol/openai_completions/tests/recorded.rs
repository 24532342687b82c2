//! Chat Completions against recordings of other programs and real hosts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::OpenAiCompletions;
use crate::event::{AssistantEvent, MessageBuilder};
use crate::protocol::{Decoder, HttpRequest, HttpWire};
use crate::transport::sse::SseParser;
use crate::transport::{HttpTransport, TransportConfig, settle};
use crate::types::Context;
use crate::types::{AssistantMessage, Message, Model, SimpleStreamOptions, StreamOptions};

fn shared(file: &str) -> Option<PathBuf> {
    let Some(dir) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return None;
    };
    Some(dir.join(file))
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn chat_models(path: &Path) -> BTreeMap<(String, String), Model> {
    let catalogue = read_json(path);
    let models = catalogue["models"].as_array().unwrap().iter();
    models
        .filter(|row| row["type"].as_str().unwrap_or("chat") == "chat")
        .map(|row| {
            let model: Model = serde_json::from_value(row.clone()).unwrap();
            ((model.provider.clone(), model.id.clone()), model)
        })
        .collect()
}

fn context(row: &Value) -> Context {
    Context {
        system_prompt: row["systemPrompt"].as_str().map(str::to_owned),
        messages: serde_json::from_value(row["messages"].clone()).unwrap(),
        tools: match &row["tools"] {
            Value::Null => Vec::new(),
            tools => serde_json::from_value(tools.clone()).unwrap(),
        },
    }
}

fn simple_options(row: &Value) -> SimpleStreamOptions {
    let word = |name: &str| row[name].as_str().map(|word| json!(word));
    SimpleStreamOptions {
        base: StreamOptions {
            api_key: Some("key".to_owned()),
            temperature: row["temperature"].as_f64(),
            max_tokens: row["maxTokens"].as_u64(),
            session_id: row["sessionId"].as_str().map(str::to_owned),
            cache_retention: word("cacheRetention")
                .map(|word| serde_json::from_value(word).unwrap())
                .unwrap_or_default(),
            ..StreamOptions::default()
        },
        reasoning: word("reasoning")
            .map(|word| serde_json::from_value(word).unwrap())
            .unwrap_or_default(),
        tool_choice: word("toolChoice").map(|word| serde_json::from_value(word).unwrap()),
        ..SimpleStreamOptions::default()
    }
}

fn build(model: &Model, context: &Context, options: SimpleStreamOptions) -> HttpRequest {
    let options = OpenAiCompletions.simple_options(model, context, options);
    OpenAiCompletions.request(model, context, &options).unwrap()
}

/// Hashes of shortened ids are each program's own.
fn without_id_hashes(body: &mut Value) {
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                let id = if matches!(name.as_str(), "id" | "tool_call_id") {
                    value.as_str().and_then(|id| id.strip_prefix("call_AbC____")).map(str::len)
                } else {
                    None
                };
                match id {
                    Some(length) => *value = json!(format!("hash of {length}")),
                    None => without_id_hashes(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_id_hashes),
        _ => {}
    }
}

#[test]
fn requests_equal_the_recorded_ones() {
    let (Some(requests), Some(models)) =
        (shared("providers/requests.jsonl"), shared("providers/models.json"))
    else {
        return;
    };
    let models = chat_models(&models);
    let mut differences = Vec::new();
    let mut compared = 0;
    for row in json_lines(&requests).iter().filter(|row| row["api"] == "openai-completions") {
        let name = format!("{} {} {}", row["provider"], row["case"], row["options"]);
        let key = |name: &str| row[name].as_str().unwrap().to_owned();
        let model = &models[&(key("provider"), key("model"))];
        let request = build(model, &context(&row["context"]), simple_options(&row["options"]));

        let mut expected = row["body"].clone();
        let mut body = request.body.to_value();
        without_id_hashes(&mut expected);
        without_id_hashes(&mut body);
        if body != expected {
            differences.push(format!("{name}\n  expected {expected}\n  built    {body}"));
        }
        // Neither key nor identity was recorded.
        let transport = HttpTransport::new(TransportConfig::default());
        let mut headers = settle(&request, model, &StreamOptions::default(), &transport).unwrap();
        headers.remove("authorization");
        if row["headers"].get("user-agent").is_none() {
            headers.remove("user-agent");
        }
        let expected: BTreeMap<&str, &str> = row["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let headers: BTreeMap<&str, &str> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        if headers != expected {
            differences.push(format!("{name}\n  expected {expected:?}\n  built    {headers:?}"));
        }
        // Placeholders in URLs are filled in before.
        let url = request.url.replace("{CLOUDFLARE_ACCOUNT_ID}", "acc");
        if url.replace("{CLOUDFLARE_GATEWAY_ID}", "gw") != row["url"].as_str().unwrap() {
            differences.push(format!("{name}\n  expected {}\n  built    {url}", row["url"]));
        }
        compared += 1;
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > 100, "{compared}");
}

/// Feeds a whole body through parser and decoder.
fn decode(model: &Arc<Model>, body: &[u8]) -> (Vec<AssistantEvent>, Arc<AssistantMessage>) {
    let mut decoder: Box<dyn Decoder> =
        OpenAiCompletions.decoder(model, &Context::default(), &StreamOptions::default());
    let mut out = MessageBuilder::new(AssistantMessage::pending(model, 0));
    let mut parser = SseParser::new();
    parser.push(body, |name, data| decoder.event(name, data, &mut out)).unwrap();
    parser.finish(|name, data| decoder.event(name, data, &mut out));
    decoder.end(&mut out);
    let events: Vec<AssistantEvent> = std::iter::from_fn(|| out.pop()).collect();
    let message = match events.last() {
        Some(
            AssistantEvent::Done { message, .. } | AssistantEvent::Error { error: message, .. },
        ) => Arc::clone(message),
        other => panic!("not a terminal event: {other:?}"),
    };
    (events, message)
}

/// Events as recorded: without what only one side tells.
fn comparable(event: &Value) -> Option<Value> {
    let mut event = event.clone();
    let members = event.as_object_mut().unwrap();
    // We drop empty deltas, tell id and name at the start of a call, and time is time.
    if members.get("delta").is_some_and(|delta| delta == "") {
        return None;
    }
    for name in ["id", "toolName"] {
        members.remove(name);
    }
    if let Some(message) = members.remove("error").filter(Value::is_object) {
        members.insert("message".into(), message);
    }
    if let Some(message) = members.get_mut("message").and_then(Value::as_object_mut) {
        message.remove("timestamp");
        message.entry("role").or_insert(json!("assistant"));
    }
    Some(event)
}

#[test]
fn recorded_streams_give_the_recorded_events() {
    let (Some(streams), Some(expected)) = (
        shared("providers/streams/openai-completions"),
        shared("providers/streams/expected/openai-completions"),
    ) else {
        return;
    };
    let mut compared = 0;
    for entry in std::fs::read_dir(expected).unwrap() {
        let path = entry.unwrap().path();
        let expected = read_json(&path);
        let stream = streams.join(path.file_stem().unwrap());
        let body = if stream.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(&stream).unwrap();
            let events: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
            (events + "data: [DONE]\n\n").into_bytes()
        } else {
            std::fs::read(&stream).unwrap()
        };
        let model: Model = serde_json::from_value(json!({
            "id": expected["model"], "name": "m", "api": expected["api"],
            "provider": expected["provider"], "cost": expected["cost"],
        }))
        .unwrap();
        let (events, _) = decode(&Arc::new(model), &body);
        let events: Vec<Value> = events
            .iter()
            .filter_map(|event| comparable(&serde_json::to_value(event).unwrap()))
            .collect();
        let expected: Vec<Value> =
            expected["events"].as_array().unwrap().iter().filter_map(comparable).collect();
        for (position, (event, expected)) in events.iter().zip(&expected).enumerate() {
            assert_eq!(event, expected, "{} event {position}", path.display());
        }
        assert_eq!(events.len(), expected.len(), "{}", path.display());
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn recorded_error_answers_give_the_recorded_texts() {
    let Some(errors) = shared("providers/streams/errors.jsonl") else { return };
    let model: Model = serde_json::from_value(
        json!({"id": "m", "name": "m", "api": "openai-completions", "provider": "p"}),
    )
    .unwrap();
    for row in json_lines(&errors).iter().filter(|row| row["api"] == "openai-completions") {
        let status = u16::try_from(row["status"].as_u64().unwrap()).unwrap();
        let text = OpenAiCompletions.error_text(&model, status, row["body"].as_str().unwrap());
        assert_eq!(text, row["expected"]["errorMessage"].as_str().unwrap());
    }
}

/// Bodies of the scenario recordings show only roles of prompts and names of tools' parameters.
fn outline(body: &Value) -> Value {
    let mut body = body.clone();
    for message in body["messages"].as_array_mut().unwrap() {
        if message["role"] == "system" {
            message.as_object_mut().unwrap().remove("content");
        }
    }
    if let Some(members) = body.as_object_mut() {
        members.remove("tools");
    }
    body
}

#[test]
fn bodies_equal_those_of_the_recorded_scenarios() {
    let Some(goldens) = shared("oracle/goldens/handed") else { return };
    for scenario in [
        "abort_stream",
        "bash_exit",
        "disconnect",
        "image_prompt",
        "invalid_args",
        "malformed_args",
        "retry_429",
        "thinking_text",
        "tool_error",
        "tool_read",
        "tools_parallel",
        "tools_sequential",
        "unicode_chunks",
    ] {
        let golden = read_json(&goldens.join(format!("{scenario}.openai.json")));
        for request in golden["requests"].as_array().unwrap() {
            let expected = outline(&request["body"]);
            let reasons = request["body"]["model"] == "m-think";
            let model: Model = serde_json::from_value(json!({
                "id": request["body"]["model"], "name": "m", "api": "openai-completions",
                "provider": "fx-openai", "baseUrl": "http://127.0.0.1:1/openai/v1",
                "reasoning": reasons,
                "input": if reasons { vec!["text", "image"] } else { vec!["text"] },
                "contextWindow": 200_000, "maxTokens": if reasons { 32_000 } else { 8192 },
            }))
            .unwrap();
            let wanted = expected["messages"].as_array().unwrap().len() - 1;
            let level = expected["reasoning_effort"].as_str().unwrap_or("off");
            let options = || SimpleStreamOptions {
                base: StreamOptions { api_key: Some("k".to_owned()), ..StreamOptions::default() },
                reasoning: level.parse().unwrap(),
                ..SimpleStreamOptions::default()
            };
            // The recording does not say which of its sessions a request belongs to.
            let sessions = golden["sessions"].as_array().unwrap().iter();
            let bodies: Vec<Value> = sessions
                .map(|session| {
                    let context = Context {
                        system_prompt: Some("prompt".to_owned()),
                        messages: sent_messages(session["entries"].as_array().unwrap(), wanted),
                        tools: Vec::new(),
                    };
                    outline(&build(&model, &context, options()).body.to_value())
                })
                .collect();
            assert!(bodies.contains(&expected), "{scenario}: {expected}\n{bodies:?}");
        }
    }
}

/// The first `count` messages of a recorded session that are sent: no prompts, no failed answers.
fn sent_messages(entries: &[Value], count: usize) -> Vec<Message> {
    entries
        .iter()
        .filter(|entry| entry["type"] == "message")
        .map(|entry| entry["message"].clone())
        .filter(|message| {
            message["role"] != "system"
                && !matches!(message["stopReason"].as_str(), Some("error" | "aborted"))
        })
        .take(count)
        .map(|mut message| {
            // Placeholders stand for times.
            let members = message.as_object_mut().unwrap();
            members.retain(|name, _| name != "timestamp" && name != "durationMs");
            serde_json::from_value(message).unwrap()
        })
        .collect()
}
