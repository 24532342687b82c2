//! The context as JSON, made of the lines of a session as they stand.
//!
//! Owns: counting and copying its messages without building them: a long conversation as values takes
//! ten times as long. Never: knows rules of its own; wherever edits changed something, the messages
//! are built.

use std::borrow::Cow;

use serde::Deserialize;

use super::context::{as_message, compaction_messages, last_compaction, told};
use super::entry::{EntryBody, EntryKind};
use super::tree::EntryRef;
use crate::message::AgentMessage;

/// Bytes for what somebody puts around it.
const ROOM: usize = 4096;

/// A message of the context.
enum Told<'a> {
    /// As its entry has it.
    Stored(EntryRef<'a>),
    Made(AgentMessage),
}

pub(super) fn len(path: &[EntryRef<'_>]) -> usize {
    plain(path).map_or_else(|| told(path, &mut Vec::new()).len(), |told| told.len())
}

/// Behind what is in `json` already.
pub(super) fn add_json(path: &[EntryRef<'_>], json: &mut String) {
    let all = plain(path).unwrap_or_else(|| {
        let built = told(path, &mut Vec::new());
        built.into_iter().map(|(_, message)| Told::Made(message)).collect()
    });
    // Growing means copying, and there may be a lot.
    json.reserve(all.iter().map(|told| told.size() + 1).sum::<usize>() + ROOM);
    json.push('[');
    for (position, text) in all.iter().filter_map(Told::json).enumerate() {
        if position > 0 {
            json.push(',');
        }
        json.push_str(&text);
    }
    json.push(']');
}

/// `None` where edits have changed messages or taken some away.
fn plain<'a>(path: &[EntryRef<'a>]) -> Option<Vec<Told<'a>>> {
    if path.iter().any(|entry| *entry.kind() == EntryKind::ContextEdit) {
        return None;
    }
    let mut all = Vec::new();
    let Some((at, _, parsed)) = last_compaction(path, &mut Vec::new()) else {
        add(path, &mut all);
        return Some(all);
    };
    let (before, rest) = path.split_at(at);
    if let EntryBody::Compaction(compaction) = &parsed.body {
        all.extend(compaction_messages(&parsed, compaction).map(Told::Made));
        if let Some(start) = before.iter().position(|e| e.id() == compaction.first_kept_entry_id) {
            let mut kept = Vec::new();
            add(before.split_at(start).1, &mut kept);
            all.extend(kept.into_iter().filter(|told| !told.is_system()));
        }
    }
    add(rest, &mut all);
    Some(all)
}

fn add<'a>(entries: &[EntryRef<'a>], all: &mut Vec<Told<'a>>) {
    for entry in entries {
        match entry.kind() {
            EntryKind::Message => all.push(Told::Stored(*entry)),
            EntryKind::BranchSummary | EntryKind::CustomMessage => {
                let message = entry.parse().ok().and_then(|entry| as_message(&entry));
                all.extend(message.map(Told::Made));
            }
            _ => {}
        }
    }
}

impl Told<'_> {
    /// Bytes, as far as they are known.
    fn size(&self) -> usize {
        match self {
            Self::Stored(entry) => entry.message_len(),
            Self::Made(_) => 0,
        }
    }

    fn json(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Stored(entry) => entry.message_json(),
            Self::Made(message) => serde_json::to_string(message).ok().map(Cow::Owned),
        }
    }

    fn is_system(&self) -> bool {
        #[derive(Deserialize)]
        struct Role<'a> {
            #[serde(borrow)]
            role: Cow<'a, str>,
        }
        match self {
            Self::Made(message) => matches!(message, AgentMessage::System(_)),
            Self::Stored(_) => self.json().is_some_and(|json| {
                serde_json::from_str(&json).is_ok_and(|Role { role }| role == "system")
            }),
        }
    }
}
