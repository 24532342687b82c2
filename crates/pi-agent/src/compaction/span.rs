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
    /// `None`: nothing. It may also be a prompt, or something only people see.
    pub(super) message: Option<AgentMessage>,
}

impl SpanEntry<'_> {
    /// Whether the model takes it as part of the conversation, not of the prompt.
    pub(super) fn is_told(&self) -> bool {
        self.message.as_ref().is_some_and(AgentMessage::is_turn)
    }
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
    // The last compaction comes first there, whatever it kept.
    let told = told.into_iter().filter(|(entry, _)| *entry.kind() != EntryKind::Compaction);
    let mut told = told.peekable();
    // A compaction that kept nothing is no part of what came after it.
    let is_previous = |entry: &EntryRef<'_>| previous.is_some_and(|p| p.id == entry.id());
    let skipped = usize::from(path.first().is_some_and(is_previous));
    let entries = path.into_iter().skip(skipped).map(|entry| {
        let message = told.next_if(|(teller, _)| *teller == entry);
        SpanEntry { entry, message: message.map(|(_, message)| message) }
    });
    entries.collect()
}
