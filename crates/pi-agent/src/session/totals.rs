//! What a session has come to: messages counted, tokens and cost summed.
//!
//! Over every entry of the file, also on branches that were left and before compactions: all of it
//! was paid for.

use std::borrow::Cow;
use std::fmt;

use pi_ai::Usage;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::entry::EntryKind;
use super::jsonl::Text;
use super::{EntryRef, Session};

/// Sums over a whole session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionTotals {
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Calls in the answers, whether they were run or not.
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Entries that are messages, of any role.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// US dollars.
    pub cost: f64,
}

/// Tokens of answers, tools, summaries and `usage` entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl TokenTotals {
    /// All four. Not the sum of the totals providers report, which some count otherwise.
    pub fn total(&self) -> u64 {
        let cache = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(self.output).saturating_add(cache)
    }

    fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.cache_write = self.cache_write.saturating_add(usage.cache_write);
    }
}

impl Session {
    /// Counts and sums every entry; bodies are skimmed, not built.
    pub fn totals(&self) -> SessionTotals {
        let mut totals = SessionTotals::default();
        for entry in self.entries() {
            totals.add(entry);
        }
        totals
    }
}

impl SessionTotals {
    fn add(&mut self, entry: EntryRef<'_>) {
        match entry.kind() {
            EntryKind::Message => {
                self.total_messages += 1;
                if let Ok(Line { message }) = serde_json::from_str(&entry.json()) {
                    self.add_message(&message);
                }
            }
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Usage => {
                if let Ok(Spent { usage }) = serde_json::from_str(&entry.json()) {
                    self.add_usage(usage);
                }
            }
            EntryKind::ModelChange
            | EntryKind::ThinkingLevelChange
            | EntryKind::ActiveToolsChange
            | EntryKind::Custom
            | EntryKind::CustomMessage
            | EntryKind::ContextEdit
            | EntryKind::Label
            | EntryKind::SessionInfo
            | EntryKind::Other(_) => {}
        }
    }

    fn add_message(&mut self, message: &Message<'_>) {
        match message.role.0.as_ref() {
            "user" => self.user_messages += 1,
            "assistant" => {
                self.assistant_messages += 1;
                self.tool_calls += message.content.0;
                self.add_usage(message.usage);
            }
            "toolResult" => {
                self.tool_results += 1;
                self.add_usage(message.usage);
            }
            _ => {}
        }
    }

    fn add_usage(&mut self, usage: Option<&RawValue>) {
        let Some(usage) = usage else { return };
        let Ok(usage) = serde_json::from_str::<Usage>(usage.get()) else { return };
        self.tokens.add(&usage);
        self.cost += usage.cost.total;
    }
}

/// What counts of a line whose type is `message`.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(default)]
    content: ToolCalls,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// What counts of other lines.
#[derive(Deserialize)]
struct Spent<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// How many tool calls a content holds.
#[derive(Default)]
struct ToolCalls(u64);

impl<'de> Deserialize<'de> for ToolCalls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolCallVisitor)
    }
}

struct ToolCallVisitor;

impl<'de> Visitor<'de> for ToolCallVisitor {
    type Value = ToolCalls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, blocks or null")
    }

    fn visit_unit<E: Error>(self) -> Result<ToolCalls, E> {
        Ok(ToolCalls(0))
    }

    fn visit_str<E: Error>(self, _text: &str) -> Result<ToolCalls, E> {
        Ok(ToolCalls(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<ToolCalls, A::Error> {
        let mut calls = 0;
        while let Some(block) = blocks.next_element::<Block<'de>>()? {
            calls += u64::from(block.r#type.as_deref() == Some("toolCall"));
        }
        Ok(ToolCalls(calls))
    }
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
}
