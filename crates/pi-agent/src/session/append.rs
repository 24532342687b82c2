//! Adding entries while others may do the same.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use super::entry::{Entry, EntryBody};
use super::header::{Header, new_entry_id, now_iso};
use super::jsonl::decode;
use super::load::{ATTEMPTS, load};
use super::storage::Changes;
use super::tree::{Reading, Report, Tree};
use super::{Session, SessionError, read_error, write_error};

impl Session {
    /// Adds an entry below the leaf and makes it the leaf. It is kept when this returns, unless the
    /// session is in memory or still waits for its first user or assistant message. A compaction
    /// that names no first entry to keep names itself: nothing is kept.
    ///
    /// Entries another process added are read first; ours then begins a branch beside them.
    ///
    /// # Errors
    /// The entry is not kept; the session is as it was.
    pub fn append(&mut self, body: EntryBody) -> Result<Arc<Entry>, SessionError> {
        self.catch_up()?;
        let entry = Arc::new(self.next_entry(body));
        self.keep(&entry)?;
        Ok(entry)
    }

    fn next_entry(&self, mut body: EntryBody) -> Entry {
        let id = new_entry_id(|id| self.tree.get(id).is_some());
        if let EntryBody::Compaction(compaction) = &mut body
            && compaction.first_kept_entry_id.is_empty()
        {
            compaction.first_kept_entry_id.clone_from(&id);
        }
        Entry {
            kind: body.kind(),
            id,
            parent_id: self.tree.leaf().map(|leaf| leaf.id().to_owned()),
            timestamp: now_iso(),
            body,
        }
    }

    /// Reads what others did to what is kept.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        let Some(storage) = self.storage.as_mut().filter(|_| self.is_saved) else { return Ok(()) };
        if !self.unsaved.is_empty() {
            // The last write failed, and a part of it may be there.
            return self.merge();
        }
        match storage.changes().map_err(|error| read_error(storage.path(), error))? {
            Changes::None => Ok(()),
            Changes::Added(bytes) => {
                self.read_added(bytes);
                Ok(())
            }
            Changes::Replaced | Changes::Gone => self.merge(),
        }
    }

    /// Writes an entry down and takes it into the tree, in this order.
    fn keep(&mut self, entry: &Arc<Entry>) -> Result<(), SessionError> {
        let waits = !self.is_saved && !entry.body.starts_file();
        if self.storage.is_none() || waits {
            self.tree.push(entry);
            return Ok(());
        }
        let line = line(entry.as_ref())?;
        for _ in 0..ATTEMPTS {
            if self.write(&line)? {
                self.tree.push(entry);
                return Ok(());
            }
            self.merge()?;
            // Whoever replaced the file may have carried the entry over.
            if self.tree.set_leaf(Some(&entry.id)) {
                return Ok(());
            }
        }
        let path = self.path();
        Err(write_error(path, io::Error::other("another process keeps replacing it")))
    }

    /// Writes a line and all that is still to be written; `false` when it went to something that is
    /// no longer there.
    fn write(&mut self, line: &str) -> Result<bool, SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(true) };
        if !self.is_saved {
            let text = whole_text(&self.header, &self.tree)? + line;
            let replaced = storage.replace(&text);
            self.is_saved = replaced.map_err(|error| write_error(storage.path(), error))?;
            return Ok(self.is_saved);
        }
        let lines = match self.unsaved.as_str() {
            "" => Cow::Borrowed(line),
            unsaved => Cow::Owned(unsaved.to_owned() + line),
        };
        let written = storage.append(&lines);
        written.map_err(|error| write_error(storage.path(), error))?;
        match storage.changes().map_err(|error| read_error(storage.path(), error))? {
            Changes::None => {}
            Changes::Added(bytes) => {
                // A writer that was cut off just before leaves half a line in front of ours.
                let first = lines.split_inclusive('\n').next().unwrap_or_default();
                let is_whole =
                    bytes.split_inclusive(|b| *b == b'\n').any(|l| l == first.as_bytes());
                self.read_added(bytes);
                if !is_whole {
                    return Ok(false);
                }
            }
            Changes::Replaced | Changes::Gone => return Ok(false),
        }
        self.unsaved.clear();
        Ok(true)
    }

    /// Takes in lines that were added; those of this session are known.
    fn read_added(&mut self, bytes: Vec<u8>) {
        let (text, _) = decode(bytes);
        let path = self.storage.as_ref().and_then(|storage| storage.path());
        let mut report = Report { path, found: &mut self.diagnostics };
        self.tree.read(text, Reading::Addition, &mut report);
    }

    /// What is kept is another text now: takes over what it holds, and keeps the own branch.
    fn merge(&mut self) -> Result<(), SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(()) };
        let bytes = storage.read().map_err(|error| read_error(storage.path(), error))?;
        let begin = || whole_text(&self.header, &self.tree);
        let loaded = load(storage.as_mut(), bytes.unwrap_or_default(), &begin)?;
        if loaded.header.id != self.header.id {
            let source = io::Error::other("it holds another session now");
            return Err(write_error(storage.path(), source));
        }
        let (header, mut tree, found) = loaded.into_tree(storage.path());
        let own = if self.is_saved { self.branch() } else { self.entries().collect() };
        let mut unsaved = String::new();
        for entry in own.iter().filter(|entry| tree.get(entry.id()).is_none()) {
            unsaved.push_str(&entry.json());
            unsaved.push('\n');
        }
        let path = self.path();
        let mut lost = Vec::new();
        tree.read(unsaved.clone(), Reading::Addition, &mut Report { path, found: &mut lost });
        tree.set_leaf(self.leaf().map(|leaf| leaf.id()));
        self.diagnostics.extend(found.into_iter().chain(lost));
        (self.header, self.tree, self.unsaved, self.is_saved) = (header, tree, unsaved, true);
        Ok(())
    }
}

/// One record as a line of the file.
pub(super) fn line<T: serde::Serialize>(record: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(record).map(|json| json + "\n")
}

fn whole_text(header: &Header, tree: &Tree) -> Result<String, serde_json::Error> {
    let mut text = line(header)?;
    for entry in tree.entries() {
        text.push_str(&entry.json());
        text.push('\n');
    }
    Ok(text)
}
