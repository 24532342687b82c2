//! New sessions that begin with the past of another.
//!
//! Owns: what is taken over, and how the new file begins. Never: touches the session it takes from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::append::{Kept, line};
use super::entry::{EntryBody, EntryKind};
use super::header::{Header, check_session_id};
use super::jsonl::Diagnostic;
use super::load::{ATTEMPTS, busy};
use super::storage::SessionStorage;
use super::tree::EntryRef;
use super::walk::text_of;
use super::{FileStorage, Session, SessionError, read_error, write_error};
use crate::message::AgentMessage;

mod copy;

use copy::Copied;

/// Up to where a session is taken over. Every entry of the file can be named, also one that is not
/// on the active branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkPoint<'a> {
    /// Up to the entry before this user message, whose text somebody wants to write anew.
    Before(&'a str),
    /// Up to and including this entry.
    At(&'a str),
    /// The whole active branch.
    Leaf,
}

/// A session that was forked.
#[derive(Debug)]
pub struct Forked {
    pub session: Session,
    /// Text of the user message it was forked before.
    pub text: Option<String>,
}

/// Why a session cannot be forked.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error("Invalid entry ID for forking")]
    InvalidEntry,
    #[error("Nothing of this session is saved yet; it can be forked after the first message")]
    NotSaved,
    #[error("Cannot fork: source session file is empty or invalid: {}", path.display())]
    InvalidSource { path: PathBuf },
    #[error("Session already exists with id '{id}'")]
    Exists { id: String },
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Session {
    /// Begins a session with the path to `point`. Entries keep their ids and bytes; labels are taken
    /// out of the path and given again, with their times, behind it.
    ///
    /// The new session belongs to the same directory. Its file in `dir` is written at once, unless it
    /// holds neither a user nor an assistant message: then it waits for one, as any new session. A
    /// session in memory is forked in memory.
    ///
    /// # Errors
    /// There is no such entry, or no such user message; nothing is saved yet; the id is taken or
    /// breaks the rule; the file cannot be written.
    pub fn fork(&self, point: ForkPoint<'_>, dir: &Path, id: String) -> Result<Forked, ForkError> {
        self.fork_into(point, id, |header| {
            self.storage.as_ref()?;
            Some(Box::new(FileStorage::in_dir(dir, header)))
        })
    }

    /// Like [`Self::fork`], kept in what `storage` gives for the header of the new session; `None`:
    /// in memory.
    ///
    /// # Errors
    /// As for [`Self::fork`]. The id is taken when the storage holds anything.
    pub fn fork_into(
        &self,
        point: ForkPoint<'_>,
        id: String,
        storage: impl FnOnce(&Header) -> Option<Box<dyn SessionStorage>>,
    ) -> Result<Forked, ForkError> {
        let (path, text) = self.path_to_point(point).ok_or(ForkError::InvalidEntry)?;
        if self.storage.is_some() && !self.is_saved() {
            return Err(ForkError::NotSaved);
        }
        let header =
            Header { version: self.header.version, ..Header::new(self.cwd(), id, self.path()) };
        let session = begin(&header, Copied::path(self, &path)?, storage(&header))?;
        Ok(Forked { session, text })
    }

    fn path_to_point(&self, point: ForkPoint<'_>) -> Option<(Vec<EntryRef<'_>>, Option<String>)> {
        match point {
            ForkPoint::Leaf => Some((self.branch(), None)),
            ForkPoint::At(id) => Some((self.branch_to(id).ok()?, None)),
            ForkPoint::Before(id) => {
                let mut path = self.branch_to(id).ok()?;
                let text = user_text(path.pop()?)?;
                Some((path, Some(text)))
            }
        }
    }
}

/// When the file of a fork is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkFile {
    AtOnce,
    /// With the next user or assistant message, so that nothing is left of a run that cannot begin.
    WithNextMessage,
}

/// Begins a session of `cwd` with everything that is in a file, all branches. The file may be of an
/// older version; it stays as it is. Lines that cannot be read are left out and reported.
///
/// # Errors
/// The file is missing, empty or no session; the id is taken or breaks the rule; the new file cannot
/// be written.
pub fn fork_file(
    source: &Path,
    dir: &Path,
    cwd: &Path,
    id: String,
    when: ForkFile,
) -> Result<(Session, Vec<Diagnostic>), ForkError> {
    let invalid = || ForkError::InvalidSource { path: source.to_owned() };
    let bytes = match fs::read(source) {
        Ok(bytes) if bytes.is_empty() => return Err(invalid()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(invalid()),
        read => {
            read.map_err(|error| SessionError::Read { path: source.to_owned(), source: error })?
        }
    };
    let (old, mut diagnostics) = Session::from_bytes(bytes, cwd).map_err(|error| match error {
        SessionError::NotASessionText => invalid(),
        other => other.into(),
    })?;
    for diagnostic in &mut diagnostics {
        diagnostic.path = Some(source.to_owned());
    }
    let header = Header { version: old.header.version, ..Header::new(cwd, id, Some(source)) };
    let mut copied = Copied::whole(&old);
    copied.starts_file &= when == ForkFile::AtOnce;
    drop(old);
    let storage = FileStorage::in_dir(dir, &header);
    Ok((begin(&header, copied, Some(Box::new(storage)))?, diagnostics))
}

/// Makes the session, and has it kept if it is to be by now.
fn begin(
    header: &Header,
    copied: Copied,
    mut storage: Option<Box<dyn SessionStorage>>,
) -> Result<Session, ForkError> {
    check_session_id(&header.id).map_err(SessionError::InvalidId)?;
    let mut text = copied.lines;
    text.insert_str(0, &line(header).map_err(SessionError::from)?);
    let mut kept = Kept::Nothing;
    if let Some(storage) = &mut storage {
        let first = copied.starts_file.then_some(text.as_str());
        if !put_where_nothing_is(storage.as_mut(), first)? {
            return Err(ForkError::Exists { id: header.id.clone() });
        }
        if first.is_some() {
            kept = Kept::Same;
        }
    }
    let (session, _) = Session::from_text(text, Path::new(&header.cwd))?;
    Ok(Session { storage, kept, ..session })
}

/// `false` when something is there already.
fn put_where_nothing_is(
    storage: &mut dyn SessionStorage,
    text: Option<&str>,
) -> Result<bool, SessionError> {
    for _ in 0..ATTEMPTS {
        let there = storage.read().map_err(|error| read_error(storage.path(), error))?;
        let (None, Some(text)) = (&there, text) else { return Ok(there.is_none()) };
        let replaced = storage.replace(text.as_bytes());
        if replaced.map_err(|error| write_error(storage.path(), error))? {
            return Ok(true);
        }
    }
    Err(busy(storage.path()))
}

/// All text of a user message; `None` for anything else.
fn user_text(entry: EntryRef<'_>) -> Option<String> {
    if *entry.kind() != EntryKind::Message {
        return None;
    }
    match &entry.parse().ok()?.body {
        EntryBody::Message { message: AgentMessage::User(user) } => Some(text_of(&user.content)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
