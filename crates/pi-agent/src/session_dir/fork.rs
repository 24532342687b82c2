//! Forks that go to a directory of sessions.

use std::fs;
use std::io;
use std::path::Path;

use super::SessionDir;
use crate::session::{Diagnostic, ForkError, ForkPoint, Forked, Session, SessionError};

/// When the file of a fork is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkFile {
    AtOnce,
    /// With the next user or assistant message, so that nothing is left of a run that cannot begin.
    WithNextMessage,
}

impl SessionDir {
    /// Begins a session with the path to `point`, as [`Session::fork`] does. Its file is written at
    /// once, unless it holds neither a user nor an assistant message: then it waits for one, as any
    /// new session. A session in memory is forked in memory.
    ///
    /// # Errors
    /// There is no such entry, or no such user message; nothing is saved yet; the id is taken or
    /// breaks the rule; the file cannot be written.
    pub fn fork(
        &self,
        session: &Session,
        point: ForkPoint<'_>,
        id: String,
    ) -> Result<Forked, ForkError> {
        let storage = |header: &_| session.is_saved().then(|| self.storage_for(header));
        let forked = session.fork(point, id, storage)?;
        self.refuse_taken(&forked.session)?;
        Ok(forked)
    }

    /// Begins a session of `cwd` with everything that is in a file, all branches. The file may be of
    /// an older version; it stays as it is. Lines that cannot be read are left out and reported.
    ///
    /// # Errors
    /// The file is missing, empty or no session; the id is taken or breaks the rule; the new file
    /// cannot be written.
    pub fn fork_file(
        &self,
        source: &Path,
        cwd: &Path,
        id: String,
        when: ForkFile,
    ) -> Result<(Session, Vec<Diagnostic>), ForkError> {
        let (old, diagnostics) = read(source, cwd)?;
        let is_now = when == ForkFile::AtOnce;
        let storage = |header: &_| is_now.then(|| self.storage_for(header));
        let mut session = old.fork_whole(source, cwd, id, storage)?;
        if !is_now {
            let storage = self.storage_for(session.header());
            session = session.keep_in(storage);
        }
        self.refuse_taken(&session)?;
        Ok((session, diagnostics))
    }

    /// A session that waits for its first message has not looked yet whether its id is free.
    fn refuse_taken(&self, session: &Session) -> Result<(), ForkError> {
        let waits = session.path().is_some() && !session.is_saved();
        if waits && self.by_exact_id(session.id(), session.cwd()).is_some() {
            return Err(ForkError::Exists { id: session.id().to_owned() });
        }
        Ok(())
    }
}

/// What is in a file, which stays as it is.
fn read(source: &Path, cwd: &Path) -> Result<(Session, Vec<Diagnostic>), ForkError> {
    let invalid = || ForkError::InvalidSource { path: source.to_owned() };
    let bytes = match fs::read(source) {
        Ok(bytes) if bytes.is_empty() => return Err(invalid()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(invalid()),
        read => {
            read.map_err(|error| SessionError::Read { path: source.to_owned(), source: error })?
        }
    };
    let (session, mut diagnostics) =
        Session::from_bytes(bytes, cwd).map_err(|error| match error {
            SessionError::NotASessionText => invalid(),
            other => other.into(),
        })?;
    for diagnostic in &mut diagnostics {
        diagnostic.path = Some(source.to_owned());
    }
    Ok((session, diagnostics))
}

#[cfg(test)]
mod tests;
