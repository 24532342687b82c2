//! What a conversation is made of, and the one border where it becomes what a model reads.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use pi_ai::{
    AssistantMessage, InputBlock, Message, StopReason, SystemMessage, ToolResultMessage,
    UserContent, UserMessage, loose,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation. Cloning shares the body.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum AgentMessage {
    System(Arc<SystemMessage>),
    User(Arc<UserMessage>),
    Assistant(Arc<AssistantMessage>),
    ToolResult(Arc<ToolResultMessage>),
    BashExecution(Arc<BashExecutionMessage>),
    Custom(Arc<CustomMessage>),
    BranchSummary(Arc<BranchSummaryMessage>),
    CompactionSummary(Arc<CompactionSummaryMessage>),
}

/// A command the user ran beside the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecutionMessage {
    pub command: String,
    #[serde(default)]
    pub output: String,
    /// Absent when the command was killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
}

/// A message of an extension; the model reads it as the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    pub custom_type: String,
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: UserContent,
    #[serde(default)]
    pub display: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
}

/// What happened on a branch the conversation came back from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    pub summary: String,
    pub from_id: String,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
}

/// What happened before the part that is still told in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    pub summary: String,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub tokens_before: u64,
    /// Unix time in milliseconds.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub timestamp: i64,
}

impl BashExecutionMessage {
    /// Whether the model is told of it.
    fn is_told(&self) -> bool {
        self.exclude_from_context != Some(true)
    }
}

impl AgentMessage {
    /// A user message made of blocks.
    pub fn user(blocks: Vec<InputBlock>, timestamp: i64) -> Self {
        Self::User(Arc::new(UserMessage { content: UserContent::Blocks(blocks), timestamp }))
    }

    /// Whether the model takes it as a turn of the conversation: neither part of the prompt nor
    /// kept from it.
    pub(crate) fn is_turn(&self) -> bool {
        match self {
            Self::System(_) => false,
            Self::BashExecution(m) => m.is_told(),
            Self::User(_)
            | Self::Assistant(_)
            | Self::ToolResult(_)
            | Self::Custom(_)
            | Self::BranchSummary(_)
            | Self::CompactionSummary(_) => true,
        }
    }

    /// The role's JSON name.
    pub fn role(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::BashExecution(_) => "bashExecution",
            Self::Custom(_) => "custom",
            Self::BranchSummary(_) => "branchSummary",
            Self::CompactionSummary(_) => "compactionSummary",
        }
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MessageVisitor)
    }
}

/// The role stands first in every message pi wrote; its struct then takes the other fields as they
/// come. serde's tagged enums would build a tree of all of them in between.
struct MessageVisitor;

impl<'de> Visitor<'de> for MessageVisitor {
    type Value = AgentMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message with a role")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AgentMessage, A::Error> {
        let mut name = fields.next_key::<Name>()?;
        if let Some(Name::Role) = name {
            let role: Role = fields.next_value()?;
            return role.read(MapAccessDeserializer::new(fields));
        }
        let (mut role, mut gathered) = (None, Map::new());
        while let Some(known) = name {
            match known {
                Name::Role => role = Some(fields.next_value::<Role>()?),
                Name::Other(name) => drop(gathered.insert(name, fields.next_value()?)),
            }
            name = fields.next_key()?;
        }
        let role = role.ok_or_else(|| A::Error::missing_field("role"))?;
        role.read(Value::Object(gathered)).map_err(A::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Name {
    Role,
    Other(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Role {
    System,
    User,
    Assistant,
    ToolResult,
    BashExecution,
    #[serde(alias = "hookMessage")]
    Custom,
    BranchSummary,
    CompactionSummary,
}

impl Role {
    fn read<'de, D: Deserializer<'de>>(&self, fields: D) -> Result<AgentMessage, D::Error> {
        Ok(match self {
            Self::System => AgentMessage::System(Deserialize::deserialize(fields)?),
            Self::User => AgentMessage::User(Deserialize::deserialize(fields)?),
            Self::Assistant => AgentMessage::Assistant(Deserialize::deserialize(fields)?),
            Self::ToolResult => AgentMessage::ToolResult(Deserialize::deserialize(fields)?),
            Self::BashExecution => AgentMessage::BashExecution(Deserialize::deserialize(fields)?),
            Self::Custom => AgentMessage::Custom(Deserialize::deserialize(fields)?),
            Self::BranchSummary => AgentMessage::BranchSummary(Deserialize::deserialize(fields)?),
            Self::CompactionSummary => {
                AgentMessage::CompactionSummary(Deserialize::deserialize(fields)?)
            }
        })
    }
}

/// Old files hold `null` where content belongs.
fn null_is_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UserContent, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl From<Message> for AgentMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::System(m) => Self::System(m),
            Message::User(m) => Self::User(m),
            Message::Assistant(m) => Self::Assistant(m),
            Message::ToolResult(m) => Self::ToolResult(m),
        }
    }
}

/// Turns a conversation into what the model reads. Messages only people see drop out; summaries,
/// custom messages and commands become user messages.
pub fn convert_to_llm(messages: &[AgentMessage]) -> Vec<Message> {
    messages.iter().filter_map(to_llm).collect()
}

fn to_llm(message: &AgentMessage) -> Option<Message> {
    Some(match message {
        AgentMessage::System(m) => Message::System(Arc::clone(m)),
        AgentMessage::User(m) => Message::User(Arc::clone(m)),
        AgentMessage::Assistant(m) => Message::Assistant(Arc::clone(m)),
        AgentMessage::ToolResult(m) => Message::ToolResult(Arc::clone(m)),
        AgentMessage::BashExecution(m) => {
            if !m.is_told() {
                return None;
            }
            user_text(bash_execution_text(m), m.timestamp)
        }
        AgentMessage::Custom(m) => match &m.content {
            UserContent::Text(text) => user_text(text.clone(), m.timestamp),
            content @ UserContent::Blocks(_) => Message::User(Arc::new(UserMessage {
                content: content.clone(),
                timestamp: m.timestamp,
            })),
        },
        AgentMessage::BranchSummary(m) => user_text(
            format!("{BRANCH_SUMMARY_INTRO}\n\n<summary>\n{}</summary>", m.summary),
            m.timestamp,
        ),
        AgentMessage::CompactionSummary(m) => user_text(
            format!("{COMPACTION_SUMMARY_INTRO}\n\n<summary>\n{}\n</summary>", m.summary),
            m.timestamp,
        ),
    })
}

/// Results for the calls of the last answer that have none. Calls of an answer that failed are never
/// run.
pub(crate) fn missing_results(messages: &[AgentMessage]) -> Vec<ToolResultMessage> {
    let mut answered = BTreeSet::new();
    for message in messages.iter().rev() {
        match message {
            AgentMessage::ToolResult(result) => {
                answered.insert(result.tool_call_id.as_str());
            }
            AgentMessage::Assistant(answer) => {
                let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                let calls = answer.tool_calls().filter(|_| !failed);
                let open = calls.filter(|call| !answered.contains(call.id.as_str()));
                return open
                    .map(|call| ToolResultMessage::missing(call, pi_ai::now_ms()))
                    .collect();
            }
            AgentMessage::User(_) => break,
            _ => {}
        }
    }
    Vec::new()
}

const BRANCH_SUMMARY_INTRO: &str = "The conversation went down another branch before it returned to this point. What happened there:";
const COMPACTION_SUMMARY_INTRO: &str =
    "Everything before this point was compacted. This summary stands in its place:";

fn user_text(text: String, timestamp: i64) -> Message {
    let content = UserContent::Blocks(vec![InputBlock::text(text)]);
    Message::User(Arc::new(UserMessage { content, timestamp }))
}

fn bash_execution_text(m: &BashExecutionMessage) -> String {
    let mut text = format!("Ran `{}`\n", m.command);
    if m.output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str("```\n");
        text.push_str(&m.output);
        text.push_str("\n```");
    }
    if m.cancelled {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = m.exit_code.filter(|code| *code != 0) {
        _ = write!(text, "\n\nCommand exited with code {code}");
    }
    if let Some(path) = m.full_output_path.as_ref().filter(|_| m.truncated) {
        _ = write!(text, "\n\n[Output truncated. Full output: {path}]");
    }
    text
}

#[cfg(test)]
mod tests;
