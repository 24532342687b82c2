//! Where a conversation is cut: what comes before is summarised, what comes after stays.
//!
//! A cut never stands between a tool call and its result, and never after something the model has
//! not been asked about yet.

use pi_ai::StopReason;

use super::estimate::message_tokens;
use super::span::SpanEntry;
use crate::message::AgentMessage;
use crate::session::{EntryBody, EntryKind, EntryRef};

/// A place in a span. Indexes are those of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CutPoint {
    /// The first entry that stays: the first kept message, or the bookkeeping right before it.
    pub(super) first_kept: usize,
    /// Where the turn begins that the cut goes through, if it goes through one.
    pub(super) turn_start: Option<usize>,
}

/// Keeps about `keep_recent_tokens` of the newest messages, up to one message more. `None`: they
/// are fewer, or there is no place to cut.
pub(super) fn find(entries: &[SpanEntry<'_>], keep_recent_tokens: u64) -> Option<CutPoint> {
    let reached = newest_worth(entries, keep_recent_tokens)?;
    let tail = Tail::of(entries);
    let at_or_after = (reached..entries.len()).find(|at| opens(entries, *at));
    if let Some(end) = tail.abandoned
        && at_or_after.is_none_or(|at| at == reached && at + 1 == end)
    {
        return Some(CutPoint { first_kept: end, turn_start: None });
    }
    let at = match (at_or_after, tail.unsent) {
        (Some(at), Some(unsent)) if at > unsent => last_opening(entries, unsent)?,
        (Some(at), _) => at,
        (None, unsent) => last_opening(entries, unsent.unwrap_or(reached))?,
    };
    let turn_start = if begins_turn(entries, at) { None } else { turn_start(entries, at) };
    Some(CutPoint { first_kept: with_bookkeeping(entries, at), turn_start })
}

/// The entry at which the newest messages, counted backwards, come to `tokens`.
fn newest_worth(entries: &[SpanEntry<'_>], tokens: u64) -> Option<usize> {
    let mut sum = 0_u64;
    let messages = entries.iter().enumerate().rev();
    for (at, message) in messages.filter_map(|(at, e)| Some((at, e.message.as_ref()?))) {
        sum = sum.saturating_add(message_tokens(message));
        if sum >= tokens {
            return Some(at);
        }
    }
    None
}

/// What stands at the end of a span and restrains the cut.
struct Tail {
    /// The first message that no request has carried.
    unsent: Option<usize>,
    /// Where the model is told nothing any more although it was asked: behind the last message,
    /// when an attempt to answer it follows that was taken out of the context.
    abandoned: Option<usize>,
}

impl Tail {
    fn of(entries: &[SpanEntry<'_>]) -> Self {
        let silent = entries.iter().rposition(|e| e.message.is_some()).map_or(0, |at| at + 1);
        let (told, suffix) = entries.split_at(silent);
        if let Some(attempt) = suffix.iter().rposition(|e| is_attempt(e.entry)) {
            let later = suffix.iter().skip(attempt);
            let is_replaced = later.map(|e| e.entry).any(|edit| replaces_one_of(edit, told));
            return Self { unsent: None, abandoned: (!is_replaced).then_some(silent) };
        }
        let asked = told.iter().rposition(|e| e.message.as_ref().is_some_and(is_reply));
        let asked = asked.map_or(0, |at| at + 1);
        let later = told.iter().skip(asked).position(|e| e.message.is_some());
        Self { unsent: later.map(|offset| asked + offset), abandoned: None }
    }
}

/// An answer, whatever became of it.
fn is_attempt(entry: EntryRef<'_>) -> bool {
    if *entry.kind() != EntryKind::Message {
        return false;
    }
    let Ok(entry) = entry.parse() else { return false };
    matches!(&entry.body, EntryBody::Message { message: AgentMessage::Assistant(_) })
}

/// Whether an edit gives one of these entries other content, which the last attempt then never saw.
fn replaces_one_of(edit: EntryRef<'_>, entries: &[SpanEntry<'_>]) -> bool {
    if *edit.kind() != EntryKind::ContextEdit {
        return false;
    }
    let Ok(edit) = edit.parse() else { return false };
    match &edit.body {
        EntryBody::ContextEdit { target_id, replacement: Some(_) } => {
            entries.iter().any(|e| e.entry.id() == target_id)
        }
        _ => false,
    }
}

/// An answer that proves its request arrived: not one that failed before its first word.
fn is_reply(message: &AgentMessage) -> bool {
    let AgentMessage::Assistant(answer) = message else { return false };
    let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    !failed || !answer.content.is_empty()
}

/// Whether the kept part may begin with this entry's message.
fn opens(entries: &[SpanEntry<'_>], at: usize) -> bool {
    let message = entries.get(at).and_then(|e| e.message.as_ref());
    message.is_some_and(|message| match message {
        AgentMessage::ToolResult(_) | AgentMessage::System(_) => false,
        AgentMessage::User(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::Custom(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_) => true,
    })
}

fn last_opening(entries: &[SpanEntry<'_>], at: usize) -> Option<usize> {
    (0..=at).rev().find(|at| opens(entries, *at))
}

/// Whether the entry's message is one the model reads as the user's.
fn begins_turn(entries: &[SpanEntry<'_>], at: usize) -> bool {
    let message = entries.get(at).and_then(|e| e.message.as_ref());
    opens(entries, at) && !matches!(message, Some(AgentMessage::Assistant(_)))
}

fn turn_start(entries: &[SpanEntry<'_>], at: usize) -> Option<usize> {
    (0..at).rev().find(|at| begins_turn(entries, *at))
}

/// Goes back over entries that are no messages: changes of model and level, labels, edits.
fn with_bookkeeping(entries: &[SpanEntry<'_>], at: usize) -> usize {
    let before = entries.iter().take(at).rev();
    at - before.take_while(|e| is_bookkeeping(e.entry.kind())).count()
}

fn is_bookkeeping(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::ModelChange
        | EntryKind::ThinkingLevelChange
        | EntryKind::ActiveToolsChange
        | EntryKind::Custom
        | EntryKind::ContextEdit
        | EntryKind::Usage
        | EntryKind::Label
        | EntryKind::SessionInfo
        | EntryKind::Other(_) => true,
        EntryKind::Message
        | EntryKind::Compaction
        | EntryKind::BranchSummary
        | EntryKind::CustomMessage => false,
    }
}
