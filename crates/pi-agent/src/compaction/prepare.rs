//! What a compaction would do at the leaf, before any model is asked.

use super::CompactionSettings;
use super::cut_point::{self, CutPoint};
use super::estimate::estimate_context;
use super::file_ops::FileOperations;
use super::span::{Span, SpanEntry};
use crate::message::AgentMessage;
use crate::session::{EntryKind, Session};

/// A compaction that only lacks its summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Preparation {
    /// Where the part that stays begins; `None`: nothing stays.
    pub first_kept_entry_id: Option<String>,
    /// Whole turns before the cut.
    pub messages_to_summarize: Vec<AgentMessage>,
    /// The beginning of the turn the cut goes through.
    pub turn_prefix_messages: Vec<AgentMessage>,
    pub is_split_turn: bool,
    /// Tokens of the context as it is.
    pub tokens_before: u64,
    /// Of the last compaction, file lists included.
    pub previous_summary: Option<String>,
    /// Of all that is summarised, and what the last compaction listed.
    pub file_operations: FileOperations,
    pub settings: CompactionSettings,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCompactable {
    /// A compaction is the newest entry.
    #[error("Already compacted")]
    AlreadyCompacted,
    /// Everything is recent, or there is nothing.
    #[error("Nothing to compact (session too small)")]
    TooSmall,
}

/// Decides what a compaction at the leaf summarises and keeps. Only the branch of the leaf counts,
/// with its context edits applied; nothing before the last compaction's kept part is parsed.
///
/// # Errors
/// There is nothing to summarise.
pub fn prepare(
    session: &Session,
    settings: &CompactionSettings,
) -> Result<Preparation, NotCompactable> {
    if session.leaf().is_some_and(|leaf| *leaf.kind() == EntryKind::Compaction) {
        return Err(NotCompactable::AlreadyCompacted);
    }
    let span = Span::at_leaf(session);
    let cut = cut_point::find(&span.entries, settings.keep_recent_tokens);
    let cut = cut.ok_or(NotCompactable::TooSmall)?;
    let CutPoint { first_kept, turn_start } = cut;
    let (before, kept) = span.entries.split_at(first_kept);
    let (history, prefix) = before.split_at(turn_start.unwrap_or(first_kept).min(first_kept));
    let (messages_to_summarize, turn_prefix_messages) = (messages(history), messages(prefix));
    if messages_to_summarize.is_empty() && turn_prefix_messages.is_empty() {
        return Err(NotCompactable::TooSmall);
    }
    let mut file_operations = FileOperations::default();
    let previous = span.previous();
    if let Some(previous) = previous.filter(|previous| previous.from_hook != Some(true)) {
        file_operations.add_details(previous.details.as_ref());
    }
    for message in messages_to_summarize.iter().chain(&turn_prefix_messages) {
        file_operations.add_message(message);
    }
    Ok(Preparation {
        first_kept_entry_id: kept.first().map(|kept| kept.entry.id().to_owned()),
        messages_to_summarize,
        is_split_turn: !turn_prefix_messages.is_empty(),
        turn_prefix_messages,
        tokens_before: estimate_context(session).tokens,
        previous_summary: previous.map(|previous| previous.summary.clone()),
        file_operations,
        settings: *settings,
    })
}

/// Without prompts: the compaction's entry carries those on.
fn messages(entries: &[SpanEntry<'_>]) -> Vec<AgentMessage> {
    let told = entries.iter().filter(|entry| entry.is_told());
    told.filter_map(|entry| entry.message.clone()).collect()
}
