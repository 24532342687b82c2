//! Marks people put on entries.
//!
//! A mark belongs to the whole session, on whichever branch it was set.

use indexmap::IndexMap;

use super::entry::{EntryBody, EntryKind};
use super::{EntryRef, Session};

/// A mark on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub text: String,
    /// When it was set: ISO 8601, UTC, milliseconds.
    pub timestamp: String,
}

impl Session {
    /// The mark of an entry, if it has one.
    pub fn label(&self, id: &str) -> Option<Label> {
        let newest_first = self.entries().rev().filter_map(read);
        newest_first.filter(|(target, _)| target == id).map(|(_, label)| label).next().flatten()
    }

    /// All marks, by the id of what they are on. The newest of each entry counts; an empty one takes
    /// the mark away. They come in the order they were set in; one that is changed keeps its place.
    pub fn labels(&self) -> IndexMap<String, Label> {
        let mut labels = IndexMap::new();
        for (target, label) in self.entries().filter_map(read) {
            match label {
                Some(label) => drop(labels.insert(target, label)),
                None => drop(labels.shift_remove(&target)),
            }
        }
        labels
    }
}

/// The target of a label entry, and its new mark.
fn read(entry: EntryRef<'_>) -> Option<(String, Option<Label>)> {
    if *entry.kind() != EntryKind::Label {
        return None;
    }
    let entry = entry.parse().ok()?;
    let EntryBody::Label { target_id, label } = &entry.body else { return None };
    let text = label.clone().filter(|text| !text.is_empty());
    let label = text.map(|text| Label { text, timestamp: entry.timestamp.clone() });
    Some((target_id.clone(), label))
}
