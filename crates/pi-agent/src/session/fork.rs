//! New sessions that begin with the past of another.
//!
//! Owns: what is taken over, and how the new file begins. Never: touches the session it takes from.

use std::path::{Path, PathBuf};

use super::append::{Kept, line};
use super::entry::{EntryBody, EntryKind};
use super::header::{Header, check_session_id};
use super::load::{ATTEMPTS, busy};
use super::storage::SessionStorage;
use super::tree::EntryRef;
use super::walk::text_of;
use super::{Session, SessionError, read_error, write_error};
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
    /// The new session belongs to the same directory. It is kept in what `storage` gives for its
    /// header (`None`: in memory): at once, unless it holds neither a user nor an assistant message;
    /// then from the first one on. See [`crate::session_dir::SessionDir::fork`] for a fork in a file.
    ///
    /// # Errors
    /// There is no such entry, or no such user message; nothing is saved yet; the id breaks the rule;
    /// the storage holds something, or cannot be written.
    pub fn fork(
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

    /// Begins a session of `cwd` with every entry, all branches, of this one, which was read from
    /// `source`. It is kept as that of [`Self::fork`].
    ///
    /// # Errors
    /// The id breaks the rule; the storage holds something, or cannot be written.
    pub(crate) fn fork_whole(
        self,
        source: &Path,
        cwd: &Path,
        id: String,
        storage: impl FnOnce(&Header) -> Option<Box<dyn SessionStorage>>,
    ) -> Result<Self, ForkError> {
        let header = Header { version: self.header.version, ..Header::new(cwd, id, Some(source)) };
        let copied = Copied::whole(&self);
        drop(self);
        begin(&header, copied, storage(&header))
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
pub(crate) mod samples;
#[cfg(test)]
mod tests;
