//! How many tokens a conversation takes: what the provider last counted, and an estimate of what
//! came after.
//!
//! Never: tokenises, or decides what follows from the number.

use std::io;

use pi_ai::{
    AssistantBlock, AssistantMessage, InputBlock, StopReason, SystemMessage, Usage, UserContent,
};
use serde::Serialize;

use super::CompactionSettings;
use crate::message::AgentMessage;
use crate::session::{EntryBody, EntryKind, EntryRef, Session};

/// UTF-16 units one token is taken for.
const UNITS_PER_TOKEN: u64 = 4;

/// Tokens an image is taken for.
const IMAGE_TOKENS: u64 = 1200;

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

/// Tokens a provider counted for a request and its answer.
pub fn context_tokens(usage: &Usage) -> u64 {
    if usage.total_tokens > 0 {
        return usage.total_tokens;
    }
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Tokens of one message by its length; 0 for one the model is not told of.
pub fn message_tokens(message: &AgentMessage) -> u64 {
    let units = match message {
        AgentMessage::System(m) => system_units(m),
        AgentMessage::User(m) => content_units(&m.content),
        AgentMessage::Assistant(m) => m.content.iter().map(answer_units).sum(),
        AgentMessage::ToolResult(m) => blocks_units(&m.content),
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
        let limit = context_window.saturating_sub(self.reserve_tokens);
        self.enabled && context_window > 0 && tokens > limit
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
    Some(context_tokens(&answer.usage)).filter(|tokens| *tokens > 0 && !failed)
}

fn system_units(message: &SystemMessage) -> u64 {
    let sections = message.sections.iter().flatten();
    let sections: u64 = sections.filter_map(|(_, text)| text.as_deref()).map(text_units).sum();
    let tools: u64 = message.tools_added.iter().flatten().map(json_units).sum();
    text_units(&message.content.to_text()) + sections + tools
}

fn content_units(content: &UserContent) -> u64 {
    match content {
        UserContent::Text(text) => text_units(text),
        UserContent::Blocks(blocks) => blocks_units(blocks),
    }
}

fn blocks_units(blocks: &[InputBlock]) -> u64 {
    let units = |block: &InputBlock| match block {
        InputBlock::Text(text) => text_units(&text.text),
        InputBlock::Image(_) => IMAGE_TOKENS * UNITS_PER_TOKEN,
    };
    blocks.iter().map(units).sum()
}

fn answer_units(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text(text) => text_units(&text.text),
        AssistantBlock::Thinking(thinking) => text_units(&thinking.thinking),
        AssistantBlock::ToolCall(call) => text_units(&call.name) + json_units(&call.arguments),
    }
}

/// Length of a text in UTF-16 units.
pub(super) fn text_units(text: &str) -> u64 {
    bytes_units(text.as_bytes())
}

fn json_units<T: Serialize>(value: &T) -> u64 {
    let mut counter = UnitCounter(0);
    // Counting cannot fail, and what fails to serialise ends where it is.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0
}

/// Counts what is written to it in UTF-16 units.
struct UnitCounter(u64);

impl io::Write for UnitCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes_units(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// UTF-16 units of UTF-8: one for each sequence, and one more for each of four bytes.
fn bytes_units(bytes: &[u8]) -> u64 {
    let units = |byte: &u8| u64::from((byte & 0xC0) != 0x80) + u64::from(*byte >= 0xF0);
    bytes.iter().map(units).sum()
}
