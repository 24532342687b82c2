//! Messages a model reads and writes.

mod read;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::content::{AssistantBlock, InputBlock, TextContent};
use super::model::ThinkingLevel;
use super::tool::Tool;
use super::usage::Usage;
use crate::loose;

/// One message of a transcript. Cloning shares the body.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    System(Arc<SystemMessage>),
    User(Arc<UserMessage>),
    Assistant(Arc<AssistantMessage>),
    ToolResult(Arc<ToolResultMessage>),
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
        match role {
            "system" => SystemMessage::deserialize(value).map(|m| Self::System(Arc::new(m))),
            "user" => UserMessage::deserialize(value).map(|m| Self::User(Arc::new(m))),
            "assistant" => {
                AssistantMessage::deserialize(value).map(|m| Self::Assistant(Arc::new(m)))
            }
            "toolResult" => {
                ToolResultMessage::deserialize(value).map(|m| Self::ToolResult(Arc::new(m)))
            }
            other => Err(serde::de::Error::custom(format!("unknown message role {other:?}"))),
        }
        .map_err(serde::de::Error::custom)
    }
}

/// A state change of prompt and tools. The first one of a conversation is the whole prompt, later
/// ones are patches.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    #[serde(default, deserialize_with = "read::null_is_default")]
    pub content: SystemContent,
    /// Named prompt sections in order; `None` removes a section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<IndexMap<String, Option<String>>>,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_added: Option<Vec<Tool>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_removed: Option<Vec<ToolReference>>,
}

/// Text of a system message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SystemContent {
    Text(String),
    Blocks(Vec<SystemTextBlock>),
}

/// A text block inside a system message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct SystemTextBlock {
    #[serde(flatten)]
    pub text: TextContent,
}

impl Default for SystemContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl SystemContent {
    /// The text, blocks joined by newlines.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                blocks.iter().map(|b| b.text.text.as_str()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Names a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReference {
    pub name: String,
}

/// What the user said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    #[serde(default, deserialize_with = "read::null_is_default")]
    pub content: UserContent,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
}

/// Plain text or blocks. pi itself always writes blocks, text first, then images.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum UserContent {
    Text(String),
    Blocks(Vec<InputBlock>),
}

impl Default for UserContent {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl UserContent {
    /// All text, blocks joined by newlines.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                blocks.iter().filter_map(InputBlock::as_text).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct AssistantMessage {
    #[serde(default, deserialize_with = "read::blocks")]
    pub content: Vec<AssistantBlock>,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub api: String,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub provider: String,
    /// Id of the model asked for.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub model: String,
    #[serde(default, deserialize_with = "loose::record")]
    pub usage: Usage,
    #[serde(default, deserialize_with = "read::stop_reason")]
    pub stop_reason: StopReason,
    /// Unix time in milliseconds at which the request began.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub response_id: Option<String>,
    /// Concrete model that answered, when the provider names another than the one asked for.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub response_model: Option<String>,
    /// The provider's own word for the stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub raw_stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub error_message: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::if_readable"
    )]
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// Effort word that went over the wire, for models whose effort is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub provider_thinking_level: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub end_turn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Value>,
    /// Milliseconds from request to end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::word")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Wait the server asked for before a retry, in milliseconds. Only for the process that got
    /// the answer: never stored.
    #[serde(skip)]
    pub retry_after_ms: Option<u64>,
}

// `remote = "Self"` derives inherent functions of these names, to be called from the traits': reading
// needs the whole answer before it knows the stop reason.
impl Serialize for AssistantMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for AssistantMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer).map(Self::with_known_stop_reason)
    }
}

impl AssistantMessage {
    /// An empty answer of `model` that is still to come.
    pub fn pending(model: &super::Model, timestamp: i64) -> Self {
        Self {
            content: Vec::new(),
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage: Usage::default(),
            stop_reason: StopReason::Pending,
            timestamp,
            response_id: None,
            response_model: None,
            raw_stop_reason: None,
            error_message: None,
            diagnostics: None,
            provider_thinking_level: None,
            end_turn: None,
            deferred: None,
            duration_ms: None,
            thinking_level: None,
            retry_after_ms: None,
        }
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &super::ToolCall> {
        self.content.iter().filter_map(|block| match block {
            AssistantBlock::ToolCall(call) => Some(call),
            AssistantBlock::Text(_) | AssistantBlock::Thinking(_) => None,
        })
    }

    /// All visible text, blocks run together.
    pub fn text(&self) -> String {
        self.content
            .iter()
            .filter_map(|block| match block {
                AssistantBlock::Text(text) => Some(text.text.as_str()),
                AssistantBlock::Thinking(_) | AssistantBlock::ToolCall(_) => None,
            })
            .collect()
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// Still streaming; never stored.
    #[default]
    Pending,
    Stop,
    Length,
    ToolUse,
    Error,
    Aborted,
    Deferred,
}

/// Something noteworthy that happened on the way to an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    #[serde(rename = "type")]
    pub kind: String,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Error part of a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticError {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    pub tool_call_id: String,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub tool_name: String,
    #[serde(default, deserialize_with = "read::blocks")]
    pub content: Vec<InputBlock>,
    /// Tool-specific facts for people and programs; never sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::if_readable"
    )]
    pub usage: Option<Usage>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::if_readable"
    )]
    pub nested_calls: Option<NestedCalls>,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub is_error: bool,
    /// Milliseconds the tool ran; absent when it never started.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub duration_ms: Option<u64>,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
}

impl ToolResultMessage {
    /// Stands in for the result of a call that never got one; no provider takes a call without.
    pub fn missing(call: &super::ToolCall, timestamp: i64) -> Self {
        Self {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![InputBlock::text("No result provided")],
            details: None,
            usage: None,
            nested_calls: None,
            is_error: true,
            duration_ms: None,
            timestamp,
        }
    }
}

/// Calls a tool made to other tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NestedCalls {
    pub calls: Vec<NestedCall>,
    pub complete: bool,
}

/// One call inside [`NestedCalls`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NestedCall {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<u64>,
    pub status: NestedCallStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a nested call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NestedCallStatus {
    Ok,
    Error,
    Unfinished,
}
