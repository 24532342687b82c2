//! The conversation on disk: an append-only JSONL file whose entries form a tree.
//!
//! Owns: where it is kept, the tree in memory, the leaf, what the model is told at a leaf. Never:
//! changes a line that is written, runs anything, knows who appends, or which other sessions there
//! are; directories of them are [`crate::session_dir`].

mod append;
mod context;
mod context_text;
pub mod entry;
mod file;
mod forest;
mod fork;
mod header;
mod jsonl;
mod labels;
mod load;
mod memory;
mod migrate;
mod prompt_state;
mod storage;
mod totals;
mod tree;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

pub use append::Draft;
pub use context::SessionContext;
pub use entry::{Entry, EntryBody, EntryKind};
pub use file::FileStorage;
pub use forest::Forest;
#[cfg(test)]
pub(crate) use fork::samples as fork_samples;
pub use fork::{ForkError, ForkPoint, Forked};
pub use header::{
    CURRENT_VERSION, Header, InvalidSessionId, check_session_id, clean_name, new_session_id,
};
pub use jsonl::{Diagnostic, Problem};
pub use labels::Label;
pub use memory::MemoryStorage;
pub use prompt_state::PromptState;
pub use storage::{Changes, SessionStorage};
pub use totals::{SessionTotals, TokenTotals};
pub use tree::EntryRef;
pub use walk::SelectedTarget;

use pi_ai::ThinkingLevel;

use append::{Kept, line, session_text};
use load::{Loaded, load};
use tree::Tree;

/// A conversation: its entries, its leaf, and where they are kept if they are.
#[derive(Debug)]
pub struct Session {
    header: Header,
    tree: Tree,
    /// `None`: in memory only.
    storage: Option<Box<dyn SessionStorage>>,
    kept: Kept,
    /// What later reads of other processes' lines found.
    diagnostics: Vec<Diagnostic>,
}

/// What can go wrong with a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("Session file is not a valid pi session: {}", path.display())]
    NotASession { path: PathBuf },
    #[error("The text is not a valid pi session")]
    NotASessionText,
    #[error("Cannot read session file {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("Cannot write session file {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The session is kept in something that is no file.
    #[error("Cannot reach what keeps the session: {source}")]
    Storage { source: io::Error },
    #[error("Entry {id} not found")]
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
    /// A session that is kept nowhere.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn in_memory(cwd: &Path, id: String) -> Result<Self, SessionError> {
        check_session_id(&id)?;
        Ok(Self::new(Header::new(cwd, id, None), None))
    }

    /// A session that is kept nowhere and begins with the text of another. An empty text gives a new
    /// session of `cwd`. See [`Self::keep_in`] to keep it after all.
    ///
    /// # Errors
    /// The first line of the text that can be parsed is no session header.
    pub fn from_text(text: String, cwd: &Path) -> Result<(Self, Vec<Diagnostic>), SessionError> {
        Self::from_bytes(text.into_bytes(), cwd)
    }

    /// Like [`Self::from_text`], for text that may hold what is not UTF-8.
    ///
    /// # Errors
    /// As for [`Self::from_text`].
    pub fn from_bytes(bytes: Vec<u8>, cwd: &Path) -> Result<(Self, Vec<Diagnostic>), SessionError> {
        let begin = || line(&Header::new(cwd, new_session_id(), None));
        let loaded = Loaded::of(bytes, None, &begin)?;
        Ok(Self::loaded(loaded, None, cwd))
    }

    /// A session whose file appears at `path`, where nothing is yet, with its first user or assistant
    /// message. See [`crate::session_dir::SessionDir::create`] for one among others.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn create(path: &Path, cwd: &Path, id: String) -> Result<Self, SessionError> {
        Self::with_storage(Header::new(cwd, id, None), Box::new(FileStorage::new(path)))
    }

    /// A session that is kept in `storage`, which holds nothing yet, from its first user or
    /// assistant message on.
    ///
    /// # Errors
    /// The id breaks the rule of [`check_session_id`].
    pub fn with_storage(
        header: Header,
        storage: Box<dyn SessionStorage>,
    ) -> Result<Self, SessionError> {
        check_session_id(&header.id)?;
        Ok(Self::new(header, Some(storage)))
    }

    /// Opens a file; the leaf is its last entry. A session that names no directory belongs to `cwd`
    /// while it is open. Files of older versions are rewritten in place. An
    /// empty file becomes a new session of `cwd`, header on disk. Unreadable lines are skipped and
    /// reported.
    ///
    /// # Errors
    /// The file cannot be read, or the first line that can be parsed is no session header; the file
    /// is then as it was.
    pub fn open(path: &Path, cwd: &Path) -> Result<(Self, Vec<Diagnostic>), SessionError> {
        let (session, diagnostics) = Self::open_storage(Box::new(FileStorage::new(path)), cwd)?;
        if session.is_saved() {
            return Ok((session, diagnostics));
        }
        Err(SessionError::Read { path: path.to_owned(), source: io::ErrorKind::NotFound.into() })
    }

    /// Like [`Self::open`], for a session kept in any way. A storage that holds nothing yet gets a
    /// new session of `cwd` with its first user or assistant message.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_storage(
        mut storage: Box<dyn SessionStorage>,
        cwd: &Path,
    ) -> Result<(Self, Vec<Diagnostic>), SessionError> {
        let new_header = || Header::new(cwd, new_session_id(), None);
        match storage.read().map_err(|error| read_error(storage.path(), error))? {
            None => Ok((Self::new(new_header(), Some(storage)), Vec::new())),
            Some(bytes) => {
                let loaded = load(storage.as_mut(), bytes, &|| line(&new_header()))?;
                Ok(Self::loaded(loaded, Some(storage), cwd))
            }
        }
    }

    /// Keeps a session that was in memory in `storage`, which holds nothing yet, from its next user
    /// or assistant message on.
    #[must_use]
    pub fn keep_in(self, storage: Box<dyn SessionStorage>) -> Self {
        Self { storage: Some(storage), kept: Kept::Nothing, ..self }
    }

    fn new(header: Header, storage: Option<Box<dyn SessionStorage>>) -> Self {
        Self {
            header,
            tree: Tree::default(),
            storage,
            kept: Kept::Nothing,
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
        self.storage.as_ref()?.path()
    }

    /// Whether the session is kept: in a file, as a rule. It is from the first user or assistant
    /// message on.
    pub fn is_saved(&self) -> bool {
        self.kept != Kept::Nothing
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

    /// The active branch as the text of a session of its own, which has the same id and begins now.
    ///
    /// # Errors
    /// The header cannot be written as JSON.
    pub fn branch_text(&self) -> Result<String, SessionError> {
        let header = Header { timestamp: header::now_iso(), ..self.header.clone() };
        Ok(session_text(&header, self.branch())?)
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

    /// How many messages [`Self::context`] has, without reading them.
    pub fn context_len(&self) -> usize {
        context_text::len(&self.branch())
    }

    /// Adds the messages of [`Self::context`] to a text, as a JSON array. Those of entries are as the
    /// file has them, unknown fields and ones that cannot be read included.
    pub fn add_context_json(&self, json: &mut String) {
        context_text::add_json(&self.branch(), json);
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
}

fn no_such_entry(id: &str) -> SessionError {
    SessionError::NoSuchEntry { id: id.to_owned() }
}

fn read_error(path: Option<&Path>, source: io::Error) -> SessionError {
    match path {
        Some(path) => SessionError::Read { path: path.to_owned(), source },
        None => SessionError::Storage { source },
    }
}

fn write_error(path: Option<&Path>, source: io::Error) -> SessionError {
    match path {
        Some(path) => SessionError::Write { path: path.to_owned(), source },
        None => SessionError::Storage { source },
    }
}

#[cfg(test)]
mod context_tests;
#[cfg(test)]
mod storage_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod walk_tests;
