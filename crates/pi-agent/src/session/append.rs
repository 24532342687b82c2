//! Adding entries while others may do the same.
//!
//! What is known about what is kept has three states ([`Kept`]):
//!
//! - `Nothing`. Entries wait in memory. The first user or assistant message looks first: where nothing
//!   is, all is written in one piece (to `Same`); where somebody else began this session, it is joined
//!   (merged, to `Same`); where another session lies, nothing is ever written.
//! - `Same`. Memory has all that is kept, and the other way round. Each write is preceded by a look at
//!   what others added, and followed by one that tells whether the line arrived.
//! - `Unsure`. A look or a write failed, or went to something that was replaced. Nothing is written
//!   before all of it was read again and merged (to `Same`).
//!
//! The rules that follow from it:
//!
//! 1. Whoever asks something of the storage leaves `Same` first and comes back with success only, so
//!    that an error at any point leads to a merge.
//! 2. A merge takes over what is kept, and puts back every entry it lacks: what was once in the tree
//!    is never removed.
//! 3. An entry is in the tree, and told of, once its line was seen to be kept, whole and in its place
//!    in the order of the file.
//! 4. An entry is known by its id. One whose write failed may be kept all the same: who tries again
//!    with the same [`Draft`] gets the one that is there.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::entry::{Entry, EntryBody};
use super::header::{Header, new_entry_id, now_iso};
use super::jsonl::{Problem, decode};
use super::load::{ATTEMPTS, busy, load};
use super::storage::Changes;
use super::tree::{EntryRef, Reading, Report, Tree};
use super::{Session, SessionError, read_error, write_error};

/// What is known about what is kept. Always `Nothing` in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing of this session is kept yet.
    Nothing,
    /// Some of it may be, and somebody else's entries too.
    Unsure,
    /// What is in memory.
    Same,
}

/// An entry that is to be added, until it is: however often that is tried, there will be one.
#[derive(Debug, Clone)]
pub struct Draft {
    id: String,
    body: EntryBody,
}

impl Session {
    /// Adds an entry below the leaf and makes it the leaf. It is kept when this returns, unless the
    /// session is in memory or still waits for its first user or assistant message. A compaction
    /// that names no first entry to keep names itself: nothing is kept.
    ///
    /// Entries another process added are read first; ours then begins a branch beside them.
    ///
    /// # Errors
    /// The entry is not known to be kept, and the leaf is where it was. Part of its line may have
    /// been written, or all of it: then it turns up later, beside the next entry. To try again, use
    /// a [`Draft`].
    pub fn append(&mut self, body: EntryBody) -> Result<Arc<Entry>, SessionError> {
        let Draft { id, body } = self.draft(body);
        self.keep(self.below_leaf(id, body))
    }

    /// An entry for [`Self::append_draft`].
    pub fn draft(&self, mut body: EntryBody) -> Draft {
        let id = new_entry_id(|id| self.tree.get(id).is_some());
        if let EntryBody::Compaction(compaction) = &mut body
            && compaction.first_kept_entry_id.is_empty()
        {
            compaction.first_kept_entry_id.clone_from(&id);
        }
        Draft { id, body }
    }

    /// Like [`Self::append`], and can be tried again after an error: when the entry was kept after
    /// all, that one becomes the leaf.
    ///
    /// # Errors
    /// As for [`Self::append`].
    pub fn append_draft(&mut self, draft: &Draft) -> Result<Arc<Entry>, SessionError> {
        self.keep(self.below_leaf(draft.id.clone(), draft.body.clone()))
    }

    fn below_leaf(&self, id: String, body: EntryBody) -> Arc<Entry> {
        Arc::new(Entry {
            kind: body.kind(),
            id,
            parent_id: self.tree.leaf().map(|leaf| leaf.id().to_owned()),
            timestamp: now_iso(),
            body,
        })
    }

    fn keep(&mut self, entry: Arc<Entry>) -> Result<Arc<Entry>, SessionError> {
        let waits = self.kept == Kept::Nothing && !entry.body.starts_file();
        if self.storage.is_none() || waits {
            self.tree.push(&entry);
            return Ok(entry);
        }
        let line = line(entry.as_ref())?;
        for _ in 0..ATTEMPTS {
            self.catch_up()?;
            // An earlier attempt got through, or whoever replaced the file carried it over.
            if self.tree.set_leaf(Some(&entry.id)) {
                let there = self.tree.leaf().and_then(|leaf| leaf.parse().ok());
                return Ok(there.unwrap_or(entry));
            }
            if self.write(&entry, &line)? {
                return Ok(entry);
            }
        }
        Err(busy(self.path()))
    }

    /// Takes over what others did. Then memory has all that is kept, if anything is.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        if self.kept != Kept::Same {
            return self.merge();
        }
        match self.look()? {
            Changes::None => {}
            Changes::Added(bytes) => self.read_added(bytes),
            Changes::Replaced | Changes::Gone => return self.merge(),
        }
        self.kept = Kept::Same;
        Ok(())
    }

    fn look(&mut self) -> Result<Changes, SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(Changes::None) };
        self.kept = Kept::Unsure;
        storage.changes().map_err(|error| read_error(storage.path(), error))
    }

    /// Writes a line and takes its entry into the tree; `false` when it went to something that is no
    /// longer there, or not there as one line.
    fn write(&mut self, entry: &Arc<Entry>, line: &str) -> Result<bool, SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(false) };
        if self.kept == Kept::Nothing {
            let text = session_text(&self.header, self.tree.entries())? + line;
            let replaced = storage.replace(text.as_bytes());
            if !replaced.map_err(|error| write_error(storage.path(), error))? {
                return Ok(false);
            }
            self.tree.push(entry);
            self.kept = Kept::Same;
            return Ok(true);
        }
        self.kept = Kept::Unsure;
        storage.append(line).map_err(|error| write_error(storage.path(), error))?;
        match self.look()? {
            Changes::None => self.tree.push(entry),
            Changes::Added(mut before) => {
                // A writer that was cut off just before leaves half a line in front of ours.
                let Some(start) = start_of(line, &before) else { return Ok(false) };
                let from_ours = before.split_off(start);
                self.read_added(before);
                self.tree.push(entry);
                self.read_added(from_ours);
            }
            Changes::Replaced | Changes::Gone => return Ok(false),
        }
        self.kept = Kept::Same;
        Ok(true)
    }

    /// Takes in lines that were added; those of this session are known.
    fn read_added(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let (text, raw) = decode(bytes);
        let path = self.storage.as_ref().and_then(|storage| storage.path());
        let mut found = Vec::new();
        let mut report = Report { path, found: &mut found };
        if raw.is_some() {
            report.add(None, Problem::NotUtf8);
        }
        self.tree.read(text, Reading::Addition, &mut report);
        // Two that end the same line leave a blank one.
        found.retain(|diagnostic| diagnostic.problem != Problem::BlankLine);
        self.diagnostics.append(&mut found);
    }

    /// Takes over what is kept, whatever it is now, and puts back what it lacks. Nothing is put where
    /// nothing is while nothing was.
    fn merge(&mut self) -> Result<(), SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(()) };
        let begin = || session_text(&self.header, self.tree.entries());
        for _ in 0..ATTEMPTS {
            let read = storage.read().map_err(|error| read_error(storage.path(), error))?;
            let bytes = read.unwrap_or_default();
            if bytes.is_empty() && self.kept == Kept::Nothing {
                return Ok(());
            }
            let mut loaded = load(storage.as_mut(), bytes, &begin)?;
            if loaded.header.id != self.header.id {
                let source = io::Error::other("it holds another session now");
                return Err(write_error(storage.path(), source));
            }
            let is_ended = loaded.text.ends_with('\n');
            let raw = loaded.raw.take();
            let (header, mut tree, found) = loaded.into_tree(storage.path());
            let missing = lines_missing(&self.tree, &tree);
            if !missing.is_empty() {
                let there = raw.as_deref().unwrap_or_else(|| tree.text_read_first().as_bytes());
                let end: &[u8] = if is_ended { b"" } else { b"\n" };
                let replaced = storage.replace(&[there, end, missing.as_bytes()].concat());
                if !replaced.map_err(|error| write_error(storage.path(), error))? {
                    continue;
                }
                let mut report = Report { path: storage.path(), found: &mut self.diagnostics };
                tree.read(missing, Reading::Addition, &mut report);
            } else if !is_ended {
                // An entry counts once nothing can be written onto its line any more.
                storage.append("").map_err(|error| write_error(storage.path(), error))?;
                continue;
            }
            tree.set_leaf(self.tree.leaf().map(|leaf| leaf.id()));
            self.diagnostics.extend(found);
            self.header = header.or_cwd(Path::new(&self.header.cwd));
            (self.tree, self.kept) = (tree, Kept::Same);
            return Ok(());
        }
        Err(busy(storage.path()))
    }
}

/// Where a line stands among others, as a whole.
fn start_of(line: &str, bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').find_map(|there| {
        let found = (there == line.as_bytes()).then_some(start);
        start += there.len();
        found
    })
}

/// The entries of `own` that are not in `tree`.
fn lines_missing(own: &Tree, tree: &Tree) -> String {
    let mut lines = String::new();
    for entry in own.entries().filter(|entry| tree.get(entry.id()).is_none()) {
        lines.push_str(&entry.json());
        lines.push('\n');
    }
    lines
}

/// One record as a line of the file.
pub(super) fn line<T: serde::Serialize>(record: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(record).map(|json| json + "\n")
}

/// The text of a session: header and entries as lines.
pub(super) fn session_text<'a>(
    header: &Header,
    entries: impl IntoIterator<Item = EntryRef<'a>>,
) -> Result<String, serde_json::Error> {
    let mut text = line(header)?;
    for entry in entries {
        text.push_str(&entry.json());
        text.push('\n');
    }
    Ok(text)
}
