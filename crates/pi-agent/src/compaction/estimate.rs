//! How many tokens a conversation takes: what the provider last counted, and an estimate of what
//! came after.
//!
//! Never: tokenises, or decides what follows from the number.

use pi_ai::utf16::{answer_units, content_units, input_units, json_units, text_units};
use pi_ai::{AssistantMessage, StopReason, SystemMessage};
use serde::Serialize;

use super::CompactionSettings;
use crate::message::AgentMessage;
use crate::session::{EntryBody, EntryKind, EntryRef, Session};

/// UTF-16 units one token is taken for.
const UNITS_PER_TOKEN: u64 = 4;

/// Size of a conversation in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextEstimate {
    pub tokens: u64,
    /// It starts from a provider's count, which includes prompt and tools.
    pub is_measured: bool,
}

/// How full the context window is. What is not known is `null`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// `None` after a compaction, until the next answer.
    pub tokens: Option<u64>,
    pub context_window: u64,
    /// Of the window, 0 to 100 and beyond; `None` also when the window is unknown.
    pub percent: Option<f64>,
}

/// Tokens of one message by its length; 0 for one the model is not told of.
pub fn message_tokens(message: &AgentMessage) -> u64 {
    let units = match message {
        AgentMessage::System(m) => system_units(m),
        AgentMessage::User(m) => content_units(&m.content),
        AgentMessage::Assistant(m) => m.content.iter().map(answer_units).sum(),
        AgentMessage::ToolResult(m) => input_units(&m.content),
        AgentMessage::BashExecution(m) if !message.is_turn() => return 0,
        AgentMessage::BashExecution(m) => text_units(&m.command) + text_units(&m.output),
        AgentMessage::Custom(m) => content_units(&m.content),
        AgentMessage::BranchSummary(m) => text_units(&m.summary),
        AgentMessage::CompactionSummary(m) => text_units(&m.summary),
    };
    units.div_ceil(UNITS_PER_TOKEN)
}

/// Tokens of messages, each rounded up.
pub fn messages_tokens(messages: &[AgentMessage]) -> u64 {
    messages.iter().map(message_tokens).sum()
}

/// Tokens the model would read at the leaf. Parses no more entries than it takes to find the last
/// count; without a count that still holds, the whole context.
pub fn estimate_context(session: &Session) -> ContextEstimate {
    match last_count(session) {
        LastCount::Holds { tokens } => ContextEstimate { tokens, is_measured: true },
        LastCount::Compacted | LastCount::None => ContextEstimate {
            tokens: messages_tokens(&session.context().messages),
            is_measured: false,
        },
    }
}

/// How full a window of `context_window` tokens is at the leaf.
pub fn context_usage(session: &Session, context_window: u64) -> ContextUsage {
    let tokens = match last_count(session) {
        LastCount::Holds { tokens } => Some(tokens),
        LastCount::Compacted => None,
        LastCount::None => Some(messages_tokens(&session.context().messages)),
    };
    #[expect(clippy::cast_precision_loss, reason = "a share for people to look at")]
    let percent = tokens
        .filter(|_| context_window > 0)
        .map(|tokens| tokens as f64 / context_window as f64 * 100.0);
    ContextUsage { tokens, context_window, percent }
}

impl CompactionSettings {
    /// Whether a conversation of `tokens` is to be compacted by itself. A window of 0 is unknown
    /// and never exceeded.
    pub fn is_exceeded(&self, tokens: u64, context_window: u64) -> bool {
        self.enabled && context_window > 0 && tokens > self.room_in(context_window)
    }

    /// Tokens a conversation may have in a window.
    pub(crate) fn room_in(&self, context_window: u64) -> u64 {
        context_window.saturating_sub(self.reserve_tokens)
    }
}

/// What the newest count on the way up from the leaf is worth.
enum LastCount {
    /// It holds: with what came after, so many tokens.
    Holds { tokens: u64 },
    /// A compaction came after it.
    Compacted,
    /// There is none, or an edit of the context came after it.
    None,
}

fn last_count(session: &Session) -> LastCount {
    let mut later = 0_u64;
    let mut is_edited = false;
    for entry in session.walk_up() {
        match entry.kind() {
            EntryKind::Compaction => return LastCount::Compacted,
            EntryKind::ContextEdit => is_edited = true,
            _ => {}
        }
        match told_by(entry) {
            Told::Count(_) if is_edited => return LastCount::None,
            Told::Count(tokens) => {
                return LastCount::Holds { tokens: tokens.saturating_add(later) };
            }
            Told::Tokens(tokens) => later = later.saturating_add(tokens),
        }
    }
    LastCount::None
}

/// What an entry adds to the context.
enum Told {
    /// A provider's count of all up to here.
    Count(u64),
    Tokens(u64),
}

fn told_by(entry: EntryRef<'_>) -> Told {
    let says_something = matches!(
        entry.kind(),
        EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary
    );
    let parsed = if says_something { entry.parse().ok() } else { None };
    let Some(entry) = parsed else { return Told::Tokens(0) };
    match &entry.body {
        EntryBody::Message { message: AgentMessage::Assistant(answer) } => match count(answer) {
            Some(count) => Told::Count(count),
            None => Told::Tokens(message_tokens(&AgentMessage::Assistant(answer.clone()))),
        },
        EntryBody::Message { message } => Told::Tokens(message_tokens(message)),
        EntryBody::CustomMessage { content, .. } => {
            Told::Tokens(content_units(content).div_ceil(UNITS_PER_TOKEN))
        }
        EntryBody::BranchSummary(body) => {
            Told::Tokens(text_units(&body.summary).div_ceil(UNITS_PER_TOKEN))
        }
        _ => Told::Tokens(0),
    }
}

/// Tokens the provider counted with this answer, if it did.
fn count(answer: &AssistantMessage) -> Option<u64> {
    let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
    Some(answer.usage.context_tokens()).filter(|tokens| *tokens > 0 && !failed)
}

fn system_units(message: &SystemMessage) -> u64 {
    let sections = message.sections.iter().flatten();
    let sections: u64 = sections.filter_map(|(_, text)| text.as_deref()).map(text_units).sum();
    let tools: u64 = message.tools_added.iter().flatten().map(json_units).sum();
    text_units(&message.content.to_text()) + sections + tools
}
