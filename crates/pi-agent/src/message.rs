//! What a conversation is made of, and the one border where it becomes what a model reads.

use std::fmt::Write as _;
use std::sync::Arc;

use pi_ai::{
    AssistantMessage, InputBlock, Message, SystemMessage, ToolResultMessage, UserContent,
    UserMessage,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

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
    #[serde(default)]
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
    #[serde(default)]
    pub timestamp: i64,
}

/// What happened on a branch the conversation came back from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryMessage {
    pub summary: String,
    pub from_id: String,
    /// Unix time in milliseconds.
    #[serde(default)]
    pub timestamp: i64,
}

/// What happened before the part that is still told in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummaryMessage {
    pub summary: String,
    pub tokens_before: u64,
    /// Unix time in milliseconds.
    #[serde(default)]
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

    /// Reads a message straight from JSON text: the role first, then the matching struct, without
    /// the intermediate tree that serde's tagged enums build.
    ///
    /// # Errors
    /// The text is no message of a known role.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Role<'a> {
            #[serde(borrow)]
            role: std::borrow::Cow<'a, str>,
        }
        let Role { role } = serde_json::from_str(text)?;
        Ok(match role.as_ref() {
            "system" => Self::System(serde_json::from_str(text)?),
            "user" => Self::User(serde_json::from_str(text)?),
            "assistant" => Self::Assistant(serde_json::from_str(text)?),
            "toolResult" => Self::ToolResult(serde_json::from_str(text)?),
            "bashExecution" => Self::BashExecution(serde_json::from_str(text)?),
            "custom" | "hookMessage" => Self::Custom(serde_json::from_str(text)?),
            "branchSummary" => Self::BranchSummary(serde_json::from_str(text)?),
            "compactionSummary" => Self::CompactionSummary(serde_json::from_str(text)?),
            other => return Err(unknown_role(other)),
        })
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(&value.to_string()).map_err(serde::de::Error::custom)
    }
}

/// Old files hold `null` where content belongs.
fn null_is_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UserContent, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn unknown_role(role: &str) -> serde_json::Error {
    serde::de::Error::custom(format!("unknown message role {role:?}"))
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
        AgentMessage::Custom(m) => Message::User(Arc::new(UserMessage {
            content: m.content.clone(),
            timestamp: m.timestamp,
        })),
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
