//! Lines of one session, made to stand in another.
//!
//! Bytes are copied; only where an entry is left out are the links that named it moved.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::session::append::line;
use crate::session::entry::{Entry, EntryBody, EntryKind};
use crate::session::header::new_entry_id;
use crate::session::labels::Label;
use crate::session::tree::EntryRef;
use crate::session::{Session, SessionError};

/// Lines below a header.
pub(super) struct Copied {
    pub(super) lines: String,
    /// Whether they hold what a session's file begins with: a user or an assistant message.
    pub(super) starts_file: bool,
}

impl Copied {
    /// Every entry, as it is.
    pub(super) fn whole(session: &Session) -> Self {
        let mut copied = Self { lines: String::new(), starts_file: false };
        for entry in session.entries() {
            copied.add(entry, &entry.json());
        }
        copied
    }

    /// The entries of a path but for its labels, then the labels its entries have.
    pub(super) fn path(session: &Session, path: &[EntryRef<'_>]) -> Result<Self, SessionError> {
        let mut copied = Self { lines: String::new(), starts_file: false };
        let mut kept: BTreeSet<&str> = BTreeSet::new();
        // What follows each label that was left out.
        let mut followers: BTreeMap<&str, &str> = BTreeMap::new();
        let mut left_out: Vec<&str> = Vec::new();
        let mut last: Option<&str> = None;
        for entry in path {
            if *entry.kind() == EntryKind::Label {
                left_out.push(entry.id());
                continue;
            }
            let is_moved = !left_out.is_empty();
            followers.extend(left_out.drain(..).map(|label| (label, entry.id())));
            let json = entry.json();
            let parent = is_moved.then_some(last);
            let is_compaction = *entry.kind() == EntryKind::Compaction;
            let linked =
                if is_moved || is_compaction { relinked(&json, parent, &followers)? } else { json };
            copied.add(*entry, &linked);
            kept.insert(entry.id());
            last = Some(entry.id());
        }
        copied.add_labels(session, &kept, last)?;
        Ok(copied)
    }

    fn add(&mut self, entry: EntryRef<'_>, json: &str) {
        self.lines.push_str(json);
        self.lines.push('\n');
        if !self.starts_file && *entry.kind() == EntryKind::Message {
            self.starts_file = entry.parse().is_ok_and(|entry| entry.body.starts_file());
        }
    }

    /// Gives the labels of the `kept` entries anew, each below the one before.
    fn add_labels(
        &mut self,
        session: &Session,
        kept: &BTreeSet<&str>,
        last: Option<&str>,
    ) -> Result<(), SessionError> {
        let mut taken: BTreeSet<String> = kept.iter().map(|id| (*id).to_owned()).collect();
        let mut parent_id = last.map(str::to_owned);
        for (target_id, Label { text, timestamp }) in session.labels() {
            if !kept.contains(target_id.as_str()) {
                continue;
            }
            let id = new_entry_id(|id| taken.contains(id));
            let body = EntryBody::Label { target_id, label: Some(text) };
            let kind = EntryKind::Label;
            let entry = Entry { kind, id: id.clone(), parent_id, timestamp, body };
            self.lines.push_str(&line(&entry)?);
            taken.insert(id.clone());
            parent_id = Some(id);
        }
        Ok(())
    }
}

/// The line with another `parentId`, if one is given, and a `firstKeptEntryId` that does not name an
/// entry which was left out. All other bytes stay.
fn relinked<'a>(
    json: &'a str,
    parent: Option<Option<&str>>,
    followers: &BTreeMap<&str, &str>,
) -> Result<Cow<'a, str>, SessionError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Links<'a> {
        #[serde(borrow)]
        parent_id: Option<&'a RawValue>,
        #[serde(borrow)]
        first_kept_entry_id: Option<&'a RawValue>,
    }
    let links: Links<'_> = serde_json::from_str(json)?;
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    if let (Some(parent), Some(raw)) = (parent, links.parent_id) {
        changes.push((range_in(json, raw), serde_json::to_string(&parent)?));
    }
    if let Some(raw) = links.first_kept_entry_id
        && let Ok(first) = serde_json::from_str::<String>(raw.get())
        && let Some(follower) = followers.get(first.as_str())
    {
        changes.push((range_in(json, raw), serde_json::to_string(follower)?));
    }
    changes.sort_by_key(|(range, _)| range.start);
    let mut text = Cow::Borrowed(json);
    // From the end, so that the ranges before stay right.
    for (range, value) in changes.into_iter().rev() {
        text.to_mut().replace_range(range, &value);
    }
    Ok(text)
}

/// Where a value that was read from `json` stands in it.
fn range_in(json: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr().saturating_sub(json.as_ptr().addr());
    start..start + value.get().len()
}
