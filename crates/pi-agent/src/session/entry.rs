//! Entries of a session file.
//!
//! Format version 3. The envelope (`type`, `id`, `parentId`, `timestamp`) is typed; unknown types
//! and unknown fields stay as they came, because lines already written are never written again.

use std::fmt;
use std::sync::Arc;

use pi_ai::surrogates::repair_surrogates;
use pi_ai::{SystemMessage, ThinkingLevel, Usage, UserContent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
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
    /// Fields of a type this version does not know. Such entries are read, never made.
    Unknown(Map<String, Value>),
}

/// The `type` of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    Message,
    ModelChange,
    ThinkingLevelChange,
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
    #[serde(default)]
    pub first_kept_entry_id: String,
    #[serde(default)]
    pub tokens_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Reads one line of a session file.
    ///
    /// # Errors
    /// The line is no JSON object with `type` and `id`, or its fields do not fit its type.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        read(line).or_else(|error| match repair_surrogates(line) {
            Some(repaired) => read(&repaired),
            None => Err(error),
        })
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

/// The head first, then the body by its type: serde's tagged enums would build a tree in between
/// and cannot hold raw JSON.
fn read(line: &str) -> Result<Entry, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        r#type: String,
        id: String,
        parent_id: Option<String>,
        #[serde(default)]
        timestamp: String,
    }
    let Head { r#type, id, parent_id, timestamp } = serde_json::from_str(line)?;
    let kind = EntryKind::from(r#type.as_str());
    let body = read_body(&kind, line)?;
    Ok(Entry { kind, id, parent_id, timestamp, body })
}

fn read_body(kind: &EntryKind, line: &str) -> Result<EntryBody, serde_json::Error> {
    Ok(match kind {
        EntryKind::Message => {
            #[derive(Deserialize)]
            struct Fields<'a> {
                #[serde(borrow)]
                message: &'a RawValue,
            }
            let fields: Fields<'_> = serde_json::from_str(line)?;
            EntryBody::Message { message: AgentMessage::from_json(fields.message.get())? }
        }
        EntryKind::Compaction => EntryBody::Compaction(serde_json::from_str(line)?),
        EntryKind::BranchSummary => EntryBody::BranchSummary(serde_json::from_str(line)?),
        EntryKind::Other(_) => {
            let mut fields: Map<String, Value> = serde_json::from_str(line)?;
            fields.retain(|name, _| {
                !matches!(name.as_str(), "type" | "id" | "parentId" | "timestamp")
            });
            EntryBody::Unknown(fields)
        }
        EntryKind::ModelChange
        | EntryKind::ThinkingLevelChange
        | EntryKind::Custom
        | EntryKind::CustomMessage
        | EntryKind::ContextEdit
        | EntryKind::Usage
        | EntryKind::Label
        | EntryKind::SessionInfo => serde_json::from_str::<SmallBody>(line)?
            .into_body(kind)
            .ok_or_else(|| serde::de::Error::custom(format!("fields missing in {kind} entry")))?,
    })
}

/// Every field the small entry types carry; only the type decides which count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SmallBody {
    provider: Option<String>,
    model_id: Option<String>,
    thinking_level: Option<ThinkingLevel>,
    custom_type: Option<String>,
    data: Option<Value>,
    content: Option<UserContent>,
    display: Option<bool>,
    details: Option<Value>,
    target_id: Option<String>,
    replacement: Option<Replacement>,
    kind: Option<String>,
    model: Option<String>,
    #[serde(default, deserialize_with = "usage_or_none")]
    usage: Option<Usage>,
    note: Option<String>,
    label: Option<String>,
    name: Option<String>,
}

impl SmallBody {
    /// `None`: a field the type cannot do without is missing.
    fn into_body(self, kind: &EntryKind) -> Option<EntryBody> {
        Some(match kind {
            EntryKind::ModelChange => {
                EntryBody::ModelChange { provider: self.provider?, model_id: self.model_id? }
            }
            EntryKind::ThinkingLevelChange => {
                EntryBody::ThinkingLevelChange { thinking_level: self.thinking_level? }
            }
            EntryKind::Custom => {
                EntryBody::Custom { custom_type: self.custom_type?, data: self.data }
            }
            EntryKind::CustomMessage => EntryBody::CustomMessage {
                custom_type: self.custom_type?,
                content: self.content.unwrap_or_default(),
                display: self.display.unwrap_or_default(),
                details: self.details,
            },
            EntryKind::ContextEdit => {
                EntryBody::ContextEdit { target_id: self.target_id?, replacement: self.replacement }
            }
            EntryKind::Usage => EntryBody::Usage {
                kind: self.kind.unwrap_or_default(),
                provider: self.provider.unwrap_or_default(),
                model: self.model.unwrap_or_default(),
                usage: self.usage?,
                note: self.note,
            },
            EntryKind::Label => EntryBody::Label { target_id: self.target_id?, label: self.label },
            EntryKind::SessionInfo => EntryBody::SessionInfo { name: self.name },
            EntryKind::Message
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::Other(_) => return None,
        })
    }
}

/// Extensions put what they like under common names; only a `usage` entry needs the real thing.
fn usage_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Usage>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(Usage::deserialize(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line must come back byte for byte: same values, same key order.
    #[test]
    fn entries_round_trip_with_their_key_order() {
        let lines = [
            r#"{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-02T03:04:05.006Z","message":{"role":"user","content":[{"type":"text","text":"A"}],"timestamp":1}}"#,
            r#"{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z","provider":"p","modelId":"m"}"#,
            r#"{"type":"thinking_level_change","id":"00000002","parentId":"00000001","timestamp":"2026-01-02T03:04:05.006Z","thinkingLevel":"xhigh"}"#,
            r#"{"type":"compaction","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","summary":"s","firstKeptEntryId":"a","tokensBefore":7,"details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false,"systemMessage":{"role":"system","content":"","sections":{"a":"b"},"timestamp":1}}"#,
            r#"{"type":"branch_summary","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","fromId":"root","summary":"s","fromHook":true}"#,
            r#"{"type":"custom","customType":"st","data":{"n":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
            r#"{"type":"custom_message","customType":"cx","content":"text","display":true,"details":{"z":1},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.006Z"}"#,
            r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":null}"#,
            r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","replacement":{"content":"x"}}"#,
            r#"{"type":"usage","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","kind":"cache_warm","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}"#,
            r#"{"type":"label","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","targetId":"b","label":"mark"}"#,
            r#"{"type":"session_info","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","name":"n"}"#,
            r#"{"type":"weird","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:05.006Z","foo":{"b":1,"a":2}}"#,
        ];
        for line in lines {
            let entry = Entry::from_json(line).expect(line);
            assert_eq!(serde_json::to_string(&entry).expect("serializes"), line);
        }
    }

    #[test]
    fn null_content_reads_as_empty() {
        for role in ["user", "assistant", "toolResult", "custom"] {
            let line = format!(
                r#"{{"type":"message","id":"a","parentId":null,"timestamp":"","message":{{"role":"{role}","content":null,"stopReason":"stop","toolCallId":"c","customType":"x"}}}}"#
            );
            let entry = Entry::from_json(&line).expect(role);
            let json = serde_json::to_value(&entry).expect("serializes");
            assert_eq!(json["message"]["content"], serde_json::json!([]), "{role}");
        }
    }

    #[test]
    fn lone_surrogates_do_not_lose_the_entry() {
        let line = r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"x\ud83d","timestamp":1}}"#;
        let entry = Entry::from_json(line).expect("repaired");
        let EntryBody::Message { message: AgentMessage::User(message) } = entry.body else {
            panic!("not a user message")
        };
        assert_eq!(message.content.to_text(), "x\u{fffd}");
    }

    #[test]
    fn timestamps_read_as_milliseconds() {
        let line = r#"{"type":"label","id":"a","parentId":null,"timestamp":"1970-01-01T00:00:01.250Z","targetId":"b"}"#;
        assert_eq!(Entry::from_json(line).expect("label").timestamp_ms(), 1250);
    }
}
