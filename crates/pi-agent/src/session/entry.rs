//! Entries of a session file.
//!
//! Format version 3. The envelope (`type`, `id`, `parentId`, `timestamp`) is typed; unknown types
//! and unknown fields stay as they came, because lines already written are never written again.

mod read;

use std::fmt;
use std::sync::Arc;

use pi_ai::{SystemMessage, ThinkingLevel, Usage, UserContent, loose};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::message::{AgentMessage, CustomMessage};

/// One entry, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub kind: EntryKind,
    pub id: String,
    pub parent_id: Option<String>,
    /// ISO 8601, UTC, milliseconds.
    pub timestamp: String,
    pub body: EntryBody,
}

/// What an entry says. JSON names are those of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum EntryBody {
    Message {
        message: AgentMessage,
    },
    ModelChange {
        provider: String,
        model_id: String,
    },
    ThinkingLevelChange {
        thinking_level: ThinkingLevel,
    },
    /// Written by programs that keep tools apart from the prompt; pi writes system messages.
    ActiveToolsChange {
        active_tool_names: Vec<String>,
    },
    Compaction(Box<CompactionEntry>),
    BranchSummary(BranchSummaryEntry),
    Custom {
        custom_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    CustomMessage {
        custom_type: String,
        content: UserContent,
        display: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    ContextEdit {
        target_id: String,
        /// `None` drops the target from the context.
        replacement: Option<Replacement>,
    },
    Usage {
        kind: String,
        provider: String,
        model: String,
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Label {
        target_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    SessionInfo {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Fields of a type, or of a shape of `active_tools_change`, that this version does not know.
    /// Such entries are read, never made.
    Unknown(Map<String, Value>),
}

/// The `type` of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    Message,
    ModelChange,
    ThinkingLevelChange,
    ActiveToolsChange,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    ContextEdit,
    Usage,
    Label,
    SessionInfo,
    Other(Box<str>),
}

/// Body of a `compaction` entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    /// Its own id, or one that is not on the path: nothing before it is kept.
    #[serde(default, deserialize_with = "loose::scalar")]
    pub first_kept_entry_id: String,
    #[serde(default, deserialize_with = "loose::scalar")]
    pub tokens_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::if_readable"
    )]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    /// Prompt and tools at this point, played together.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "with_role")]
    pub system_message: Option<Arc<SystemMessage>>,
}

/// Body of a `branch_summary` entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryEntry {
    pub from_id: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::if_readable"
    )]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
}

/// New content of an edited entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    pub content: Value,
}

impl Entry {
    /// The message of a message entry.
    pub fn message(&self) -> Option<&AgentMessage> {
        match &self.body {
            EntryBody::Message { message } => Some(message),
            _ => None,
        }
    }

    /// Unix time in milliseconds of the timestamp; 0 when it is unreadable.
    pub fn timestamp_ms(&self) -> i64 {
        self.timestamp.parse().map_or(0, |time: jiff::Timestamp| time.as_millisecond())
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct HeadFirst<'a> {
            r#type: &'a str,
            id: &'a str,
            parent_id: Option<&'a str>,
            timestamp: &'a str,
            #[serde(flatten)]
            body: &'a EntryBody,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct HeadLast<'a> {
            r#type: &'a str,
            #[serde(flatten)]
            body: &'a EntryBody,
            id: &'a str,
            parent_id: Option<&'a str>,
            timestamp: &'a str,
        }
        let Self { kind, id, parent_id, timestamp, body } = self;
        let (r#type, parent_id) = (kind.as_str(), parent_id.as_deref());
        // Extension entries have their head last in every file seen; other tools read both.
        if matches!(kind, EntryKind::Custom | EntryKind::CustomMessage) {
            HeadLast { r#type, body, id, parent_id, timestamp }.serialize(serializer)
        } else {
            HeadFirst { r#type, id, parent_id, timestamp, body }.serialize(serializer)
        }
    }
}

impl EntryBody {
    /// The `type` the body is written under.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Message { .. } => EntryKind::Message,
            Self::ModelChange { .. } => EntryKind::ModelChange,
            Self::ThinkingLevelChange { .. } => EntryKind::ThinkingLevelChange,
            Self::ActiveToolsChange { .. } => EntryKind::ActiveToolsChange,
            Self::Compaction(_) => EntryKind::Compaction,
            Self::BranchSummary(_) => EntryKind::BranchSummary,
            Self::Custom { .. } => EntryKind::Custom,
            Self::CustomMessage { .. } => EntryKind::CustomMessage,
            Self::ContextEdit { .. } => EntryKind::ContextEdit,
            Self::Usage { .. } => EntryKind::Usage,
            Self::Label { .. } => EntryKind::Label,
            Self::SessionInfo { .. } => EntryKind::SessionInfo,
            Self::Unknown(_) => EntryKind::Other("unknown".into()),
        }
    }

    /// Whether this is what a session waits for before its file is made.
    pub(super) fn starts_file(&self) -> bool {
        matches!(
            self,
            Self::Message { message: AgentMessage::User(_) | AgentMessage::Assistant(_) }
        )
    }
}

/// A message as it is kept: those of extensions have an entry type of their own, which has the time.
impl From<AgentMessage> for EntryBody {
    fn from(message: AgentMessage) -> Self {
        match message {
            AgentMessage::Custom(message) => {
                let CustomMessage { custom_type, content, display, details, .. } =
                    Arc::unwrap_or_clone(message);
                Self::CustomMessage { custom_type, content, display, details }
            }
            message => Self::Message { message },
        }
    }
}

impl EntryKind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Message => "message",
            Self::ModelChange => "model_change",
            Self::ThinkingLevelChange => "thinking_level_change",
            Self::ActiveToolsChange => "active_tools_change",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch_summary",
            Self::Custom => "custom",
            Self::CustomMessage => "custom_message",
            Self::ContextEdit => "context_edit",
            Self::Usage => "usage",
            Self::Label => "label",
            Self::SessionInfo => "session_info",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for EntryKind {
    fn from(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "active_tools_change" => Self::ActiveToolsChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "context_edit" => Self::ContextEdit,
            "usage" => Self::Usage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Written as the message it is, role included.
#[expect(clippy::ref_option, reason = "serde's signature")]
fn with_role<S: Serializer>(
    message: &Option<Arc<SystemMessage>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    message.clone().map(AgentMessage::System).serialize(serializer)
}

#[cfg(test)]
mod tests;
