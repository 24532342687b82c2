//! What the model is told: the path to the leaf, with compactions and edits applied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pi_ai::{
    AssistantBlock, AssistantMessage, InputBlock, TextContent, ThinkingLevel, ToolResultMessage,
    UserContent, UserMessage,
};
use serde::Deserialize;
use serde_json::Value;

use super::entry::{CompactionEntry, Entry, EntryBody, EntryKind, Replacement};
use super::jsonl::{Diagnostic, Problem};
use super::prompt_state::PromptState;
use super::tree::{EntryRef, Report};
use crate::message::{AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage};

/// A conversation at one point of its tree.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionContext {
    pub messages: Vec<AgentMessage>,
    /// Provider and id of the model last chosen or last heard.
    pub model: Option<(String, String)>,
    /// `None`: never recorded, which counts as off.
    pub thinking_level: Option<ThinkingLevel>,
    /// Where the system messages among `messages` lead.
    pub prompt: PromptState,
    /// Names of the tools that are on, as recorded last: by the prompt's declarations or by an
    /// `active_tools_change`. `None`: never recorded.
    pub active_tools: Option<Vec<String>>,
    /// Entries that had to be left out.
    pub diagnostics: Vec<Diagnostic>,
}

/// Builds the context of a path from root to leaf.
pub(super) fn build(path: &[EntryRef<'_>]) -> SessionContext {
    let mut context = SessionContext {
        model: last_model(path.iter().rev().copied()),
        thinking_level: last_thinking_level(path.iter().rev().copied()),
        ..SessionContext::default()
    };
    let told = told(path, &mut context.diagnostics);
    // The last entry whose system message says which tools there are. The first says so even
    // without naming any: it is the whole prompt.
    let mut declared = None;
    for (entry, message) in &told {
        let AgentMessage::System(message) = message else { continue };
        if declared.is_none() || message.tools_added.is_some() || message.tools_removed.is_some() {
            declared = Some(*entry);
        }
        context.prompt.apply(message);
    }
    context.active_tools = active_tools(path, declared, &context.prompt);
    context.messages = told.into_iter().map(|(_, message)| message).collect();
    context
}

/// The messages the path comes to, each with the entry it stems from; a compaction can bring two.
/// Entries that cannot be read are left out and reported.
pub(super) fn told<'a>(
    path: &[EntryRef<'a>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(EntryRef<'a>, AgentMessage)> {
    let edits = last_edits(path, diagnostics);
    let compaction = last_compaction(path, diagnostics);
    let mut teller =
        Teller { edits, dropped_calls: BTreeSet::new(), told: Vec::new(), diagnostics };
    match compaction {
        None => teller.add_all(path, With::SystemMessages),
        Some((at, entry, compaction)) => {
            let (before, rest) = path.split_at(at);
            teller.add_compaction(entry, &compaction);
            let EntryBody::Compaction(body) = &compaction.body else { return teller.told };
            if let Some(start) = before.iter().position(|e| e.id() == body.first_kept_entry_id) {
                teller.add_all(before.split_at(start).1, With::NoSystemMessages);
            }
            teller.add_all(rest, With::SystemMessages);
        }
    }
    teller.told
}

/// Provider and id of the model last chosen or last heard, seen from the leaf upwards.
pub(super) fn last_model<'a>(
    upwards: impl Iterator<Item = EntryRef<'a>>,
) -> Option<(String, String)> {
    let telling =
        upwards.filter(|e| matches!(e.kind(), EntryKind::ModelChange | EntryKind::Message));
    telling.filter_map(|entry| entry.parse().ok()).find_map(|entry| match &entry.body {
        EntryBody::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
        EntryBody::Message { message: AgentMessage::Assistant(answer) } => {
            Some((answer.provider.clone(), answer.model.clone()))
        }
        _ => None,
    })
}

/// The thinking level last chosen, seen from the leaf upwards.
pub(super) fn last_thinking_level<'a>(
    upwards: impl Iterator<Item = EntryRef<'a>>,
) -> Option<ThinkingLevel> {
    let mut changes = upwards.filter(|e| *e.kind() == EntryKind::ThinkingLevelChange);
    changes.find_map(|entry| match entry.parse().ok()?.body {
        EntryBody::ThinkingLevelChange { thinking_level } => Some(thinking_level),
        _ => None,
    })
}

/// What was said last of the tools that are on. `declared`: the last entry of the prompt that did.
fn active_tools(
    path: &[EntryRef<'_>],
    declared: Option<EntryRef<'_>>,
    prompt: &PromptState,
) -> Option<Vec<String>> {
    path.iter().rev().find_map(|entry| {
        if Some(*entry) == declared {
            return Some(prompt.tools.keys().cloned().collect());
        }
        if *entry.kind() != EntryKind::ActiveToolsChange {
            return None;
        }
        match &entry.parse().ok()?.body {
            EntryBody::ActiveToolsChange { active_tool_names } => Some(active_tool_names.clone()),
            _ => None,
        }
    })
}

/// The newest edit of each target. Those that cannot be read edit nothing and are reported.
fn last_edits(
    path: &[EntryRef<'_>],
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<String, Option<Replacement>> {
    let edits = path.iter().filter(|entry| *entry.kind() == EntryKind::ContextEdit);
    edits
        .filter_map(|entry| match &parsed(*entry, diagnostics)?.body {
            EntryBody::ContextEdit { target_id, replacement } => {
                Some((target_id.clone(), replacement.clone()))
            }
            _ => None,
        })
        .collect()
}

/// The newest compaction that can be read, and where it stands. Newer ones that cannot are reported.
pub(super) fn last_compaction<'a>(
    path: &[EntryRef<'a>],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(usize, EntryRef<'a>, Arc<Entry>)> {
    let mut compactions =
        path.iter().enumerate().rev().filter(|(_, e)| *e.kind() == EntryKind::Compaction);
    compactions.find_map(|(at, entry)| Some((at, *entry, parsed(*entry, diagnostics)?)))
}

fn parsed(entry: EntryRef<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Arc<Entry>> {
    entry.parse().map_err(|error| report_unreadable(entry, &error, diagnostics)).ok()
}

fn report_unreadable(
    entry: EntryRef<'_>,
    error: &serde_json::Error,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (id, error) = (entry.id().to_owned(), error.to_string());
    let mut report = Report { path: None, found: diagnostics };
    report.add(None, Problem::UnreadableEntry { id, error });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    SystemMessages,
    NoSystemMessages,
}

struct Teller<'a, 'd> {
    edits: BTreeMap<String, Option<Replacement>>,
    /// Tool calls that edits took away; their results go with them.
    dropped_calls: BTreeSet<String>,
    told: Vec<(EntryRef<'a>, AgentMessage)>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl<'a> Teller<'a, '_> {
    fn add_compaction(&mut self, entry: EntryRef<'a>, parsed: &Entry) {
        let EntryBody::Compaction(compaction) = &parsed.body else { return };
        // The format lets edits name messages only; the original drops any kind of entry.
        if self.edits.get(&parsed.id) == Some(&None) {
            return;
        }
        let messages = compaction_messages(parsed, compaction);
        self.told.extend(messages.map(|message| (entry, message)));
    }

    fn add_all(&mut self, entries: &[EntryRef<'a>], with: With) {
        for entry in entries {
            match read_message(*entry) {
                None => {}
                Some(Ok(message)) => self.add(*entry, message, with),
                Some(Err(error)) => report_unreadable(*entry, &error, self.diagnostics),
            }
        }
    }

    fn add(&mut self, entry: EntryRef<'a>, message: AgentMessage, with: With) {
        if with == With::NoSystemMessages && matches!(message, AgentMessage::System(_)) {
            return;
        }
        let edit = self.edits.get(entry.id());
        if let (Some(_), AgentMessage::Assistant(answer)) = (edit, &message) {
            self.dropped_calls.extend(answer.tool_calls().map(|call| call.id.clone()));
        }
        let message = match edit {
            None => message,
            Some(None) => return,
            Some(Some(replacement)) => replaced(&message, &replacement.content).unwrap_or(message),
        };
        match &message {
            AgentMessage::Assistant(answer) => {
                for call in answer.tool_calls() {
                    self.dropped_calls.remove(&call.id);
                }
            }
            AgentMessage::ToolResult(result)
                if self.dropped_calls.contains(&result.tool_call_id) =>
            {
                return;
            }
            _ => {}
        }
        self.told.push((entry, message));
    }
}

/// What stands for all that a compaction took away.
pub(super) fn compaction_messages(
    entry: &Entry,
    compaction: &CompactionEntry,
) -> impl Iterator<Item = AgentMessage> {
    let system = compaction.system_message.clone().map(AgentMessage::System);
    let summary = CompactionSummaryMessage {
        summary: compaction.summary.clone(),
        tokens_before: compaction.tokens_before,
        timestamp: entry.timestamp_ms(),
    };
    system.into_iter().chain([AgentMessage::CompactionSummary(Arc::new(summary))])
}

/// What an entry says by itself; `None`: nothing.
fn read_message(entry: EntryRef<'_>) -> Option<Result<AgentMessage, serde_json::Error>> {
    match entry.kind() {
        EntryKind::Message => Some(entry.message()),
        EntryKind::BranchSummary | EntryKind::CustomMessage => {
            entry.parse().map(|entry| as_message(&entry)).transpose()
        }
        _ => None,
    }
}

pub(super) fn as_message(entry: &Entry) -> Option<AgentMessage> {
    let timestamp = entry.timestamp_ms();
    Some(match &entry.body {
        EntryBody::BranchSummary(body) => {
            AgentMessage::BranchSummary(Arc::new(BranchSummaryMessage {
                summary: body.summary.clone(),
                from_id: body.from_id.clone(),
                timestamp,
            }))
        }
        EntryBody::CustomMessage { custom_type, content, display, details } => {
            AgentMessage::Custom(Arc::new(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                timestamp,
            }))
        }
        _ => return None,
    })
}

/// The message with other content. `None` when the content does not suit it.
fn replaced(message: &AgentMessage, content: &Value) -> Option<AgentMessage> {
    Some(match message {
        AgentMessage::User(m) => AgentMessage::User(Arc::new(UserMessage {
            content: UserContent::deserialize(content).ok()?,
            ..m.as_ref().clone()
        })),
        AgentMessage::Custom(m) => AgentMessage::Custom(Arc::new(CustomMessage {
            content: UserContent::deserialize(content).ok()?,
            ..m.as_ref().clone()
        })),
        AgentMessage::Assistant(m) => {
            let content = match content {
                Value::String(text) => vec![AssistantBlock::Text(TextContent::new(text))],
                blocks => Vec::deserialize(blocks).ok()?,
            };
            AgentMessage::Assistant(Arc::new(AssistantMessage { content, ..m.as_ref().clone() }))
        }
        AgentMessage::ToolResult(m) => {
            let content = match content {
                Value::String(text) => vec![InputBlock::text(text)],
                blocks => Vec::deserialize(blocks).ok()?,
            };
            AgentMessage::ToolResult(Arc::new(ToolResultMessage { content, ..m.as_ref().clone() }))
        }
        AgentMessage::System(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_) => return None,
    })
}
