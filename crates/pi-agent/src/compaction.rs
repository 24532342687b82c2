//! Making a long conversation short: when, from where on, and what is left of the rest.
//!
//! Owns: estimating tokens, the cut point, the summary's request and its text, the lists of files,
//! summaries of branches. Never: appends to a session, tells events, or decides when to look; that
//! is the harness's.

mod branch;
mod conversation;
mod cut_point;
mod estimate;
mod file_ops;
mod parts;
mod policy;
mod prepare;
mod prompts;
mod request;
mod span;
mod summarize;

pub use branch::{BranchPreparation, SummaryInstructions, prepare_branch, summarize_branch};
pub use estimate::{
    ContextEstimate, ContextUsage, context_usage, estimate_context, message_tokens, messages_tokens,
};
pub use file_ops::{FileLists, FileOperations};
pub use policy::{CompactionOverride, CompactionPolicy};
pub use prepare::{NotCompactable, Preparation, prepare};
pub use request::{Summarizer, SummaryError, SummaryListener, SummaryRetry};
pub use summarize::{Summary, summarize};

use pi_ai::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a conversation is compacted, for one model. Sizes are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Whether it happens by itself; on demand it always does.
    pub enabled: bool,
    /// Free room in the context window below which it happens.
    pub reserve_tokens: u64,
    /// About how much of the newest conversation stays word for word.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// How branches are summarised. Sizes are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// Part of the context window that the branch's messages must leave free.
    pub reserve_tokens: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384 }
    }
}

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    /// Somebody asked for it.
    Manual,
    /// The context came near the model's window.
    Threshold,
    /// The context was too long for the model.
    Overflow,
}

#[cfg(test)]
mod tests;

/// What a compaction left.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    pub summary: String,
    pub first_kept_entry_id: String,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context now, guessed from its length.
    pub estimated_tokens_after: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
