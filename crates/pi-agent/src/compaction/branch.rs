//! The summary of a branch that is left for another.

use std::sync::Arc;

use super::estimate::message_tokens;
use super::file_ops::FileOperations;
use super::request::{Reply, Summarizer, SummaryError};
use super::summarize::Summary;
use super::{conversation, prompts};
use crate::message::{AgentMessage, CompactionSummaryMessage};
use crate::session::{EntryBody, EntryKind, EntryRef, Session, SessionError};

/// A branch that is about to be left.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchPreparation {
    /// The entry gone to; `None`: before every entry.
    pub target_id: Option<String>,
    /// Where it is.
    pub old_leaf_id: Option<String>,
    /// The deepest entry on both ways from the root.
    pub common_ancestor_id: Option<String>,
    /// All entries that are left, oldest first.
    pub entry_ids: Vec<String>,
    /// What is to be summarised of them, oldest first. Empty: nothing.
    pub messages: Vec<AgentMessage>,
    /// Of all entries that are left.
    pub file_operations: FileOperations,
}

/// What the model is told to do with a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryInstructions<'a> {
    Usual,
    /// The usual, and what to look at most.
    Focus(&'a str),
    /// This instead of the usual.
    Replace(&'a str),
}

/// Finds what is left when somebody goes to the entry `target`, or before all of them. The newest
/// messages that fit into `token_budget` are taken; 0 takes all.
///
/// # Errors
/// The target is not in the session.
pub fn prepare_branch(
    session: &Session,
    target: Option<&str>,
    token_budget: u64,
) -> Result<BranchPreparation, SessionError> {
    if let Some(target) = target {
        session.branch_to(target)?;
    }
    let leaf = session.leaf();
    let ancestor =
        leaf.zip(target).and_then(|(leaf, target)| session.common_ancestor(leaf.id(), target));
    let mut left: Vec<_> = session.walk_up().take_while(|entry| Some(*entry) != ancestor).collect();
    left.reverse();
    let mut messages = messages(session, &left);
    let file_operations = file_operations(&left, &messages);
    messages.retain(is_summarized);
    let messages = newest_within(messages, token_budget);
    Ok(BranchPreparation {
        target_id: target.map(str::to_owned),
        old_leaf_id: leaf.map(|leaf| leaf.id().to_owned()),
        common_ancestor_id: ancestor.map(|ancestor| ancestor.id().to_owned()),
        entry_ids: left.iter().map(|entry| entry.id().to_owned()).collect(),
        messages,
        file_operations,
    })
}

/// Has the summary of a branch written, in one request. Its text begins with where it comes from.
///
/// # Errors
/// It was cancelled, or the model gave no whole summary.
pub async fn summarize_branch(
    preparation: &BranchPreparation,
    instructions: SummaryInstructions<'_>,
    summarizer: &Summarizer,
) -> Result<Summary, SummaryError> {
    let text = conversation::to_text(&preparation.messages);
    let instruction = match instructions {
        SummaryInstructions::Usual => prompts::branch(),
        SummaryInstructions::Focus(focus) => prompts::with_focus(prompts::branch(), Some(focus)),
        SummaryInstructions::Replace(instruction) => instruction.to_owned(),
    };
    let prompt = format!("<conversation>\n{text}\n</conversation>\n\n{instruction}");
    let Reply { text, usage } = summarizer.ask(&prompt).await?;
    let text = format!("{}\n\n{text}", prompts::BRANCH_PREAMBLE);
    Ok(Summary::new(text, usage, &preparation.file_operations))
}

/// What the entries say, edits applied; a compaction says its summary.
fn messages(session: &Session, left: &[EntryRef<'_>]) -> Vec<AgentMessage> {
    let is_compaction = |entry: &EntryRef<'_>| *entry.kind() == EntryKind::Compaction;
    let others: Vec<_> = left.iter().copied().filter(|entry| !is_compaction(entry)).collect();
    let mut told = session.context_entries_of(&others).into_iter().peekable();
    let mut messages = Vec::new();
    for entry in left {
        if is_compaction(entry) {
            messages.extend(compaction_summary(*entry));
        } else if let Some((_, message)) = told.next_if(|(teller, _)| teller == entry) {
            messages.push(message);
        }
    }
    messages
}

/// Tool results are long, and their calls say what was done.
fn is_summarized(message: &AgentMessage) -> bool {
    !matches!(message, AgentMessage::ToolResult(_)) && message.is_turn()
}

fn compaction_summary(entry: EntryRef<'_>) -> Option<AgentMessage> {
    let entry = entry.parse().ok()?;
    let EntryBody::Compaction(body) = &entry.body else { return None };
    Some(AgentMessage::CompactionSummary(Arc::new(CompactionSummaryMessage {
        summary: body.summary.clone(),
        tokens_before: body.tokens_before,
        timestamp: entry.timestamp_ms(),
    })))
}

fn newest_within(mut messages: Vec<AgentMessage>, budget: u64) -> Vec<AgentMessage> {
    if budget == 0 {
        return messages;
    }
    let mut sum = 0_u64;
    let fitting = messages.iter().rev().take_while(|message| {
        sum = sum.saturating_add(message_tokens(message));
        sum <= budget
    });
    let fitting = fitting.count();
    messages.split_off(messages.len() - fitting)
}

/// What the calls of `messages` touched, and what branch summaries among the entries listed.
fn file_operations(left: &[EntryRef<'_>], messages: &[AgentMessage]) -> FileOperations {
    let mut operations = FileOperations::default();
    for message in messages {
        operations.add_message(message);
    }
    let summaries = left.iter().filter(|entry| *entry.kind() == EntryKind::BranchSummary);
    for entry in summaries.filter_map(|entry| entry.parse().ok()) {
        if let EntryBody::BranchSummary(body) = &entry.body
            && body.from_hook != Some(true)
        {
            operations.add_details(body.details.as_ref());
        }
    }
    operations
}
