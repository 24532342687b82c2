//! What every test stands on: a scratch home whose models are those of a scripted server.

use std::path::PathBuf;

use pi_test::{ModelServer, Program, Reply, Scratch};
use serde_json::{Value, json};

/// One model of each wire format.
pub(crate) const WIRES: [&str; 2] = ["fx-anthropic/m-plain", "fx-openai/m-plain"];

pub(crate) struct Bed {
    pub(crate) scratch: Scratch,
    pub(crate) server: ModelServer,
}

impl Bed {
    /// A home in which `fx-anthropic/m-plain` is the default model and retries do not wait.
    pub(crate) async fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let server = ModelServer::start(replies).await;
        let scratch = Scratch::new().unwrap();
        scratch.write_models(&server).unwrap();
        let bed = Self { scratch, server };
        bed.settings(&json!({}));
        bed
    }

    /// Like [`Self::new`], for a run that makes no request.
    pub(crate) async fn idle() -> Self {
        Self::new(Vec::<Reply>::new()).await
    }

    /// Adds to the settings, key by key.
    pub(crate) fn settings(&self, more: &Value) {
        let mut settings = json!({
            "defaultProvider": "fx-anthropic",
            "defaultModel": "m-plain",
            "retry": {"baseDelayMs": 1},
        });
        for (key, value) in more.as_object().unwrap() {
            settings[key] = value.clone();
        }
        self.scratch.write_settings(&settings).unwrap();
    }

    pub(crate) fn pi<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        pi(&self.scratch).args(args)
    }

    /// The bodies of all requests.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.server.requests().iter().map(pi_test::Request::json).collect()
    }

    /// The one session file there is.
    pub(crate) fn session_file(&self) -> PathBuf {
        let files = self.scratch.session_files().unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// Lines of the one session file there is; every line must be whole.
    pub(crate) fn session(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.session_file()).unwrap();
        assert!(text.ends_with('\n'), "{text}");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn pi(scratch: &Scratch) -> Program {
    Program::new(env!("CARGO_BIN_EXE_pi"), scratch)
}

/// What each session line is, messages by their role.
pub(crate) fn kinds(session: &[Value]) -> Vec<&str> {
    session
        .iter()
        .map(|line| line["message"]["role"].as_str().or(line["type"].as_str()).unwrap())
        .collect()
}

/// What each record of JSON mode is: messages with their role, updates by what they update.
pub(crate) fn events(records: &[Value]) -> Vec<String> {
    let name = |record: &Value| {
        let kind = record["type"].as_str().unwrap();
        match (record["assistantMessageEvent"]["type"].as_str(), &record["message"]["role"]) {
            (Some(update), _) => update.to_owned(),
            (None, Value::String(role)) if kind.starts_with("message_") => format!("{kind} {role}"),
            _ => kind.to_owned(),
        }
    };
    records.iter().map(name).collect()
}

/// The same without what depends on how output happens to arrive.
pub(crate) fn without_updates(records: &[Value]) -> Vec<String> {
    let is_update = |record: &&Value| record["type"].as_str().unwrap().ends_with("_update");
    let rest: Vec<Value> = records.iter().filter(|record| !is_update(record)).cloned().collect();
    events(&rest)
}

/// The roles of a request's messages.
pub(crate) fn roles(body: &Value) -> Vec<&str> {
    body["messages"].as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect()
}

/// All text of a message, in either wire format or as stored.
pub(crate) fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The text of the last message with this role.
pub(crate) fn last_text(body: &Value, role: &str) -> String {
    let messages = body["messages"].as_array().unwrap();
    text(messages.iter().rfind(|message| message["role"] == role).unwrap())
}

/// The system prompt, in either wire format.
pub(crate) fn system_prompt(body: &Value) -> String {
    match &body["system"] {
        Value::Null => last_text(body, "system"),
        system => text(&json!({"content": system})),
    }
}

/// Names of the tools a request offers, in either wire format.
pub(crate) fn tool_names(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().map(|t| t["name"].as_str().or(t["function"]["name"].as_str()).unwrap()).collect()
}
