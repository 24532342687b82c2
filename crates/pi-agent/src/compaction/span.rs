//! The part of the branch a compaction works on: from where the last one kept to the leaf.

use std::sync::Arc;

use crate::message::AgentMessage;
use crate::session::entry::CompactionEntry;
use crate::session::{Entry, EntryBody, EntryKind, EntryRef, Session};

/// Entries from the last kept boundary on, oldest first.
pub(super) struct Span<'a> {
    pub(super) entries: Vec<SpanEntry<'a>>,
    previous: Option<Arc<Entry>>,
}

/// An entry and what the model is told by it, edits applied.
pub(super) struct SpanEntry<'a> {
    pub(super) entry: EntryRef<'a>,
    /// `None`: nothing. Never a system message; the checkpoint of a compaction carries those on.
    pub(super) message: Option<AgentMessage>,
}

impl<'a> Span<'a> {
    /// Parses nothing before the boundary.
    pub(super) fn at_leaf(session: &'a Session) -> Self {
        let mut path = Vec::new();
        let mut up = session.walk_up();
        let mut previous = None;
        for entry in up.by_ref() {
            path.push(entry);
            if *entry.kind() == EntryKind::Compaction
                && let Ok(parsed) = entry.parse()
            {
                previous = Some(parsed);
                break;
            }
        }
        if let Some(previous) = &previous {
            add_kept(&mut path, up, previous);
        }
        path.reverse();
        let entries = with_messages(session, path, previous.as_deref());
        Self { entries, previous }
    }

    /// The compaction the span begins with.
    pub(super) fn previous(&self) -> Option<&CompactionEntry> {
        body(self.previous.as_deref()?)
    }
}

fn body(entry: &Entry) -> Option<&CompactionEntry> {
    match &entry.body {
        EntryBody::Compaction(body) => Some(body),
        _ => None,
    }
}

/// Adds what a compaction kept: the entries above it up to its boundary, if that is on the path.
fn add_kept<'a>(
    path: &mut Vec<EntryRef<'a>>,
    up: impl Iterator<Item = EntryRef<'a>>,
    compaction: &Entry,
) {
    let Some(body) = body(compaction) else { return };
    if body.first_kept_entry_id == compaction.id {
        return;
    }
    let without_kept = path.len();
    for entry in up {
        path.push(entry);
        if entry.id() == body.first_kept_entry_id {
            return;
        }
    }
    path.truncate(without_kept);
}

fn with_messages<'a>(
    session: &'a Session,
    path: Vec<EntryRef<'a>>,
    previous: Option<&Entry>,
) -> Vec<SpanEntry<'a>> {
    let told = session.context_entries_of(&path);
    let told = told.into_iter().filter(|(entry, message)| {
        *entry.kind() != EntryKind::Compaction && !matches!(message, AgentMessage::System(_))
    });
    let mut told = told.peekable();
    let with_message = path.into_iter().map(|entry| {
        let message = told.next_if(|(teller, _)| teller.id() == entry.id());
        SpanEntry { entry, message: message.map(|(_, message)| message) }
    });
    // Nothing kept: the compaction itself is not part of what comes after it.
    let is_boundary = |at: &SpanEntry<'_>| previous.is_some_and(|p| p.id == at.entry.id());
    let mut entries: Vec<_> = with_message.collect();
    if entries.first().is_some_and(is_boundary) {
        entries.remove(0);
    }
    entries
}
