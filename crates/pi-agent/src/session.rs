//! The conversation on disk: an append-only JSONL file whose entries form a tree.
//!
//! Owns: the file, the tree in memory, the leaf, what the model is told at a leaf, and finding
//! sessions. Never: changes a line that is written, runs anything, or knows who appends.

mod context;
pub mod entry;
mod file;
mod forest;
mod header;
mod jsonl;
mod labels;
mod locate;
mod migrate;
mod prompt_state;
mod totals;
mod tree;
mod walk;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use context::SessionContext;
pub use entry::{Entry, EntryBody, EntryKind};
pub use forest::Forest;
pub use header::{
    CURRENT_VERSION, Header, InvalidSessionId, check_session_id, clean_name, new_session_id,
};
pub use jsonl::{Diagnostic, Problem};
pub use labels::Label;
pub use locate::{Found, SessionDir, encode_cwd, file_name, looks_like_path, read_header};
pub use prompt_state::PromptState;
pub use totals::{SessionTotals, TokenTotals};
pub use tree::EntryRef;
pub use walk::SelectedTarget;

use pi_ai::ThinkingLevel;
use serde::de::IgnoredAny;

use file::{Change, SessionFile};
use tree::{Reading, Report, Tree};

/// A conversation: its entries, its leaf, and the file behind them if there is one.
#[derive(Debug)]
pub struct Session {
    header: Header,
    tree: Tree,
    store: Store,
    /// Lines of the own branch that another process's rewrite lost; the next write adds them.
    unsaved: String,
    /// What later reads of other processes' lines found.
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
enum Store {
    Memory,
    /// Made with the first user or assistant message.
    Deferred(PathBuf),
    File(SessionFile),
}

/// What can go wrong with a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("Session file is not a valid pi session: {}", path.display())]
    NotASession { path: PathBuf },
    #[error("Cannot read session file {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("Cannot write session file {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("Entry {id} is not in the session")]
    NoSuchEntry { id: String },
    #[error("Entry cannot be written as JSON: {source}")]
    Encode {
        #[from]
        source: serde_json::Error,
    },
    #[error(transparent)]
    InvalidId(#[from] InvalidSessionId),
}

impl Session {
    /// A session that never touches the disk.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn in_memory(cwd: &Path, id: String) -> Result<Self, SessionError> {
        check_session_id(&id)?;
        Ok(Self::new(Header::new(cwd, id, None), Store::Memory))
    }

    /// A session whose file appears in `dir` with its first user or assistant message. `parent` is
    /// the file it was started from.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn create(
        dir: &Path,
        cwd: &Path,
        id: String,
        parent: Option<&Path>,
    ) -> Result<Self, SessionError> {
        check_session_id(&id)?;
        let header = Header::new(cwd, id, parent);
        let path = dir.join(file_name(&header.timestamp, &header.id));
        Ok(Self::new(header, Store::Deferred(path)))
    }

    /// Like [`Self::create`], for a file that somebody named and that is not there yet.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn create_at(path: PathBuf, cwd: &Path, id: String) -> Result<Self, SessionError> {
        check_session_id(&id)?;
        Ok(Self::new(Header::new(cwd, id, None), Store::Deferred(path)))
    }

    /// Opens a file; the leaf is its last entry. Files of older versions are rewritten in place. An
    /// empty file becomes a new session of `cwd`, header on disk. Unreadable lines are skipped and
    /// reported.
    ///
    /// # Errors
    /// The file cannot be read, or the first line that can be parsed is no session header; the file
    /// is then as it was.
    pub fn open(path: &Path, cwd: &Path) -> Result<(Self, Vec<Diagnostic>), SessionError> {
        let (mut file, bytes) = SessionFile::read(path).map_err(read_error(path))?;
        if bytes.is_empty() {
            let header = Header::new(cwd, new_session_id(), None);
            let file = SessionFile::replace(path, &line(&header)?).map_err(write_error(path))?;
            return Ok((Self::new(header, Store::File(file)), Vec::new()));
        }
        let mut diagnostics = Vec::new();
        let mut report = Report { path: Some(path), found: &mut diagnostics };
        let (mut text, is_utf8) = jsonl::decode(bytes);
        if !is_utf8 {
            report.add(None, Problem::NotUtf8);
        }
        let header = find_header(&text);
        let mut header = header.ok_or_else(|| SessionError::NotASession { path: path.into() })?;
        if header.version < CURRENT_VERSION {
            text = migrate::migrate(&text, header.version, &mut report)?;
            file = SessionFile::replace(path, &text).map_err(write_error(path))?;
            header.version = CURRENT_VERSION;
        }
        let mut session = Self::new(header, Store::File(file));
        session.tree.read(text, Reading::Whole, &mut report);
        if let Some((id, parent)) = session.missing_parent() {
            report.add(None, Problem::MissingParent { id, parent });
        }
        Ok((session, diagnostics))
    }

    /// The branch's first entry and its parent, where that is not there.
    fn missing_parent(&self) -> Option<(String, String)> {
        let first = self.walk_up().last()?.parse().ok()?;
        Some((first.id.clone(), first.parent_id.clone()?))
    }

    fn new(header: Header, store: Store) -> Self {
        Self {
            header,
            tree: Tree::default(),
            store,
            unsaved: String::new(),
            diagnostics: Vec::new(),
        }
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn id(&self) -> &str {
        &self.header.id
    }

    /// The directory the session belongs to.
    pub fn cwd(&self) -> &Path {
        Path::new(&self.header.cwd)
    }

    /// The file, whether it is there yet or not; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.store {
            Store::Memory => None,
            Store::Deferred(path) => Some(path),
            Store::File(file) => Some(file.path()),
        }
    }

    /// Whether the session has a file on disk.
    pub fn is_saved(&self) -> bool {
        matches!(self.store, Store::File(_))
    }

    /// All entries, in file order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = EntryRef<'_>> {
        self.tree.entries()
    }

    pub fn entry(&self, id: &str) -> Option<EntryRef<'_>> {
        self.tree.get(id)
    }

    /// Where the next entry will hang; `None`: it becomes a root.
    pub fn leaf(&self) -> Option<EntryRef<'_>> {
        self.tree.leaf()
    }

    /// The entries from the root to the leaf.
    pub fn branch(&self) -> Vec<EntryRef<'_>> {
        self.tree.path_to(self.tree.leaf())
    }

    /// The entries from the root to `id`.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn branch_to(&self, id: &str) -> Result<Vec<EntryRef<'_>>, SessionError> {
        let entry = self.entry(id).ok_or_else(|| no_such_entry(id))?;
        Ok(self.tree.path_to(Some(entry)))
    }

    /// The name given last, if it was not cleared.
    pub fn name(&self) -> Option<String> {
        let named = self.entries().rev().find(|e| *e.kind() == EntryKind::SessionInfo)?;
        match &named.parse().ok()?.body {
            EntryBody::SessionInfo { name } => name.clone().filter(|name| !name.is_empty()),
            _ => None,
        }
    }

    /// Provider and id of the model last chosen or last heard on the branch; reads no more of it
    /// than needed.
    pub fn last_model(&self) -> Option<(String, String)> {
        context::last_model(self.walk_up())
    }

    /// The thinking level last chosen on the branch.
    pub fn last_thinking_level(&self) -> Option<ThinkingLevel> {
        context::last_thinking_level(self.walk_up())
    }

    /// What the model is told at the leaf.
    pub fn context(&self) -> SessionContext {
        let mut context = context::build(&self.branch());
        for diagnostic in &mut context.diagnostics {
            diagnostic.path = self.path().map(Path::to_path_buf);
        }
        context
    }

    /// What was wrong with lines other processes added while this one had the file open.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.diagnostics)
    }

    /// Goes to an entry, or before every entry; nothing is written.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn set_leaf(&mut self, id: Option<&str>) -> Result<(), SessionError> {
        if self.tree.set_leaf(id) { Ok(()) } else { Err(no_such_entry(id.unwrap_or_default())) }
    }

    /// Adds an entry below the leaf and makes it the leaf. It is on disk when this returns, unless
    /// the session has no file or still waits for its first user or assistant message.
    ///
    /// Entries another process added are read first; ours then begins a branch beside them.
    ///
    /// # Errors
    /// The entry did not reach the disk; the session is as it was.
    pub fn append(&mut self, body: EntryBody) -> Result<Arc<Entry>, SessionError> {
        let mut handle = self.catch_up()?;
        let entry = Arc::new(Entry {
            kind: body.kind(),
            id: header::new_entry_id(|id| self.tree.get(id).is_some()),
            parent_id: self.tree.leaf().map(|leaf| leaf.id().to_owned()),
            timestamp: header::now_iso(),
            body,
        });
        match &mut self.store {
            Store::Memory => {}
            Store::Deferred(_) if !entry.body.starts_file() => {}
            Store::Deferred(path) => {
                let text = whole_text(&self.header, &self.tree)? + &line(entry.as_ref())?;
                let file = SessionFile::create(path, &text).map_err(write_error(path))?;
                self.store = Store::File(file);
            }
            Store::File(file) => {
                let lines = self.unsaved.clone() + &line(entry.as_ref())?;
                if let Some(handle) = &mut handle {
                    let written = file.append(handle, &lines);
                    written.map_err(write_error(file.path()))?;
                }
                self.unsaved.clear();
            }
        }
        self.tree.push(&entry);
        Ok(entry)
    }

    /// Reads what other processes did to the file, and opens it for adding if there is one.
    fn catch_up(&mut self) -> Result<Option<File>, SessionError> {
        let Store::File(file) = &mut self.store else { return Ok(None) };
        let path = file.path().to_owned();
        match file.look().map_err(read_error(&path))? {
            Change::None(handle) => Ok(Some(handle)),
            Change::Grown(handle, bytes) => {
                let (text, _) = jsonl::decode(bytes);
                let mut report = Report { path: Some(&path), found: &mut self.diagnostics };
                self.tree.read(text, Reading::Addition, &mut report);
                Ok(Some(handle))
            }
            Change::Gone => {
                let text = whole_text(&self.header, &self.tree)?;
                *file = SessionFile::replace(&path, &text).map_err(write_error(&path))?;
                self.unsaved.clear();
                self.reopen(&path)
            }
            Change::Replaced => {
                self.reload(&path)?;
                self.reopen(&path)
            }
        }
    }

    /// The file is another one now: takes over what it holds, and keeps the own branch.
    fn reload(&mut self, path: &Path) -> Result<(), SessionError> {
        let (mut other, diagnostics) = Self::open(path, self.cwd())?;
        if other.id() != self.id() {
            let source = io::Error::other("it holds another session now");
            return Err(SessionError::Write { path: path.to_owned(), source });
        }
        for entry in self.branch() {
            if other.entry(entry.id()).is_none() {
                other.unsaved.push_str(&entry.json());
                other.unsaved.push('\n');
            }
        }
        other.diagnostics = std::mem::take(&mut self.diagnostics);
        other.diagnostics.extend(diagnostics);
        let mut report = Report { path: Some(path), found: &mut other.diagnostics };
        other.tree.read(other.unsaved.clone(), Reading::Addition, &mut report);
        other.set_leaf(self.leaf().map(|leaf| leaf.id()))?;
        *self = other;
        Ok(())
    }

    fn reopen(&mut self, path: &Path) -> Result<Option<File>, SessionError> {
        let Store::File(file) = &mut self.store else { return Ok(None) };
        match file.look().map_err(read_error(path))? {
            Change::None(handle) => Ok(Some(handle)),
            Change::Grown(..) | Change::Gone | Change::Replaced => {
                let source = io::Error::other("another process keeps replacing it");
                Err(SessionError::Write { path: path.to_owned(), source })
            }
        }
    }
}

/// The first line that is JSON at all must be the header.
fn find_header(text: &str) -> Option<Header> {
    let mut contents = jsonl::lines(text).filter_map(|line| text.get(line.range));
    let first = contents.find(|line| serde_json::from_str::<IgnoredAny>(line).is_ok())?;
    Header::from_json(first)
}

fn line<T: serde::Serialize>(record: &T) -> Result<String, serde_json::Error> {
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

fn no_such_entry(id: &str) -> SessionError {
    SessionError::NoSuchEntry { id: id.to_owned() }
}

fn read_error(path: &Path) -> impl Fn(io::Error) -> SessionError + '_ {
    |source| SessionError::Read { path: path.to_owned(), source }
}

fn write_error(path: &Path) -> impl Fn(io::Error) -> SessionError + '_ {
    |source| SessionError::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod context_tests;
#[cfg(test)]
mod locate_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod walk_tests;
