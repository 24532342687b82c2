//! Adding entries while others may do the same.

use std::io;
use std::sync::Arc;

use super::entry::{Entry, EntryBody};
use super::header::{Header, new_entry_id, now_iso};
use super::jsonl::{Problem, decode};
use super::load::{ATTEMPTS, busy, load};
use super::storage::Changes;
use super::tree::{EntryRef, Reading, Report, Tree};
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
            if let Some(added) = self.write(&line)? {
                self.tree.push(entry);
                self.read_added(added);
                return Ok(());
            }
            self.merge()?;
            // Whoever replaced the file may have carried the entry over.
            if self.tree.set_leaf(Some(&entry.id)) {
                return Ok(());
            }
        }
        Err(busy(self.path()))
    }

    /// Writes a line. Gives what others added meanwhile, with ours perhaps; `None` when ours went to
    /// something that is no longer there.
    fn write(&mut self, line: &str) -> Result<Option<Vec<u8>>, SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(None) };
        if !self.is_saved {
            let text = whole_text(&self.header, &self.tree)? + line;
            let replaced = storage.replace(&text);
            self.is_saved = replaced.map_err(|error| write_error(storage.path(), error))?;
            return Ok(self.is_saved.then(Vec::new));
        }
        let written = storage.append(line);
        written.map_err(|error| write_error(storage.path(), error))?;
        match storage.changes().map_err(|error| read_error(storage.path(), error))? {
            Changes::None => Ok(Some(Vec::new())),
            Changes::Added(bytes) => {
                // A writer that was cut off just before leaves half a line in front of ours.
                let is_whole =
                    bytes.split_inclusive(|byte| *byte == b'\n').any(|l| l == line.as_bytes());
                Ok(is_whole.then_some(bytes))
            }
            Changes::Replaced | Changes::Gone => Ok(None),
        }
    }

    /// Takes in lines that were added; those of this session are known.
    fn read_added(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let (text, _) = decode(bytes);
        let path = self.storage.as_ref().and_then(|storage| storage.path());
        let mut found = Vec::new();
        self.tree.read(text, Reading::Addition, &mut Report { path, found: &mut found });
        // Two that end the same line leave a blank one.
        found.retain(|diagnostic| diagnostic.problem != Problem::BlankLine);
        self.diagnostics.append(&mut found);
    }

    /// What is kept is another text now: takes over what it holds, and puts back what it lacks of the
    /// own branch.
    fn merge(&mut self) -> Result<(), SessionError> {
        let Some(storage) = &mut self.storage else { return Ok(()) };
        let begin = || whole_text(&self.header, &self.tree);
        // Of a session that was not saved yet, nobody else has the rest.
        let own: Vec<_> = match self.is_saved {
            true => self.tree.path_to(self.tree.leaf()),
            false => self.tree.entries().collect(),
        };
        for _ in 0..ATTEMPTS {
            let read = storage.read().map_err(|error| read_error(storage.path(), error))?;
            let loaded = load(storage.as_mut(), read.unwrap_or_default(), &begin)?;
            if loaded.header.id != self.header.id {
                let source = io::Error::other("it holds another session now");
                return Err(write_error(storage.path(), source));
            }
            let mut text = loaded.text.clone();
            let (header, mut tree, found) = loaded.into_tree(storage.path());
            let missing = lines_missing(&own, &tree);
            if !missing.is_empty() {
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&missing);
                let replaced = storage.replace(&text);
                if !replaced.map_err(|error| write_error(storage.path(), error))? {
                    continue;
                }
                let mut report = Report { path: storage.path(), found: &mut self.diagnostics };
                tree.read(missing, Reading::Addition, &mut report);
            }
            tree.set_leaf(self.tree.leaf().map(|leaf| leaf.id()));
            self.diagnostics.extend(found);
            (self.header, self.tree, self.is_saved) = (header, tree, true);
            return Ok(());
        }
        Err(busy(storage.path()))
    }
}

fn lines_missing(own: &[EntryRef<'_>], tree: &Tree) -> String {
    let mut lines = String::new();
    for entry in own.iter().filter(|entry| tree.get(entry.id()).is_none()) {
        lines.push_str(&entry.json());
        lines.push('\n');
    }
    lines
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
