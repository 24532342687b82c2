//! Entries of a session file.
//!
//! Format version 3. The envelope (`type`, `id`, `parentId`, `timestamp`) is typed; unknown types
//! and unknown fields stay as they came, because lines already written are never written again.

use pi_ai::{SystemMessage, ThinkingLevel, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::message::AgentMessage;

/// One entry, whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub id: String,
    #[serde(rename = "parentId")]
    pub parent_id: Option<String>,
    /// ISO 8601, UTC, milliseconds.
    pub timestamp: String,
    #[serde(flatten)]
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
        content: pi_ai::UserContent,
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
}

/// Body of a `compaction` entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionEntry {
    pub summary: String,
    pub first_kept_entry_id: String,
    #[serde(default)]
    pub tokens_before: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_hook: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
