//! Where a conversation is cut: what comes before is summarised, what comes after stays.
//!
//! A cut never stands between a tool call and its result, and never after something the model has
//! not answered yet: a summary in its place would be all the model ever learns of it.

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

/// Keeps about `keep_recent_tokens` of the newest messages, up to one message more, and all that is
/// unanswered. `None`: they are fewer, or there is no place to cut.
pub(super) fn find(entries: &[SpanEntry<'_>], keep_recent_tokens: u64) -> Option<CutPoint> {
    let reached = newest_worth(entries, keep_recent_tokens)?;
    let tail = Tail::of(entries);
    let next = (reached..entries.len()).find(|at| opens(entries, *at));
    if let Tail::Abandoned { end } = tail
        && next.is_some_and(|next| next + 1 == end)
    {
        return Some(CutPoint { first_kept: end, turn_start: turn_start(entries, end) });
    }
    let at = match (next, tail) {
        (Some(next), Tail::Unanswered { first }) if next > first => last_opening(entries, first)?,
        (Some(next), _) => next,
        (None, Tail::Unanswered { first }) => last_opening(entries, first)?,
        (None, _) => last_opening(entries, reached)?,
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

/// What stands at the end of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// The last message is an answer.
    Answered,
    /// From this message on the model has answered none, whether a request carried them or not.
    Unanswered { first: usize },
    /// The last message is an answer, and the attempts to go on from it were taken out of the
    /// context; they stand from `end` on, where no message is left.
    Abandoned { end: usize },
}

impl Tail {
    fn of(entries: &[SpanEntry<'_>]) -> Self {
        let end = entries.iter().rposition(SpanEntry::is_told).map_or(0, |last| last + 1);
        let (told, rest) = entries.split_at(end);
        let answered = told.iter().rposition(|e| e.message.as_ref().is_some_and(is_reply));
        let answered = answered.map_or(0, |reply| reply + 1);
        if let Some(offset) = told.iter().skip(answered).position(SpanEntry::is_told) {
            return Self::Unanswered { first: answered + offset };
        }
        let was_tried = rest.iter().any(|e| is_answer(e.entry));
        let is_replaced = rest.iter().any(|e| replaces_one_of(e.entry, told));
        if was_tried && !is_replaced { Self::Abandoned { end } } else { Self::Answered }
    }
}

/// An answer, whatever became of it.
fn is_answer(entry: EntryRef<'_>) -> bool {
    if *entry.kind() != EntryKind::Message {
        return false;
    }
    let Ok(entry) = entry.parse() else { return false };
    matches!(&entry.body, EntryBody::Message { message: AgentMessage::Assistant(_) })
}

/// Whether the entry gives one of these other content, which the attempt to answer may not have
/// seen.
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
    let entry = entries.get(at).filter(|entry| entry.is_told());
    entry.is_some_and(|entry| !matches!(entry.message, Some(AgentMessage::ToolResult(_))))
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
    !matches!(
        kind,
        EntryKind::Message
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::CustomMessage
    )
}
