//! Sessions that come from elsewhere and go elsewhere, as JSONL files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SessionDir;
use super::locate::read_header;
use crate::file_identity::is_same_file;
use crate::session::{FileStorage, Session, SessionError, SessionStorage};

/// Why a session was not brought in or out.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("File not found: {}", path.display())]
    NotFound { path: PathBuf },
    #[error("Nothing to export yet - start a conversation first")]
    Empty,
    #[error("A session cannot be exported over its own file: {}", path.display())]
    OwnFile { path: PathBuf },
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl SessionDir {
    /// Copies a session file, byte by byte, to where sessions of its directory are kept, and says where
    /// that is. Id and directory stay; one without a directory goes to those of `cwd`.
    ///
    /// Nothing is overwritten: when the name is taken, the copy gets a number. A file that lies there
    /// already, or was imported before and is still the same, is not copied again.
    ///
    /// # Errors
    /// The file is missing, cannot be read or is no session; the copy cannot be written. There is no
    /// copy then.
    pub fn import(&self, source: &Path, cwd: &Path) -> Result<PathBuf, TransferError> {
        let bytes = fs::read(source).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TransferError::NotFound { path: source.to_owned() },
            _ => SessionError::Read { path: source.to_owned(), source: error }.into(),
        })?;
        let not_a_session = || SessionError::NotASession { path: source.to_owned() };
        let header = read_header(source).ok_or_else(not_a_session)?;
        let cwd = if header.cwd.is_empty() { cwd } else { Path::new(&header.cwd) };
        let folder = self.for_cwd(cwd);
        if is_in(source, &folder) {
            return Ok(source.to_owned());
        }
        let stem = source.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let mut number = 1;
        loop {
            let name = if number == 1 {
                format!("{stem}.jsonl")
            } else {
                format!("{stem}-{number}.jsonl")
            };
            let path = folder.join(name);
            if fs::read(&path).is_ok_and(|there| there == bytes) {
                return Ok(path);
            }
            let written = FileStorage::new(&path).replace(&bytes);
            if written.map_err(|source| SessionError::Write { path: path.clone(), source })? {
                return Ok(path);
            }
            number += 1;
        }
    }
}

/// Writes the active branch of a session to `path`, as a session file of its own with the same id.
/// What is at `path` is replaced, completely or not at all.
///
/// # Errors
/// The branch is empty, the path is the session's own file, or it cannot be written.
pub fn export(session: &Session, path: &Path) -> Result<(), TransferError> {
    if session.leaf().is_none() {
        return Err(TransferError::Empty);
    }
    if session.path().is_some_and(|own| is_same_file(own, path)) {
        return Err(TransferError::OwnFile { path: path.to_owned() });
    }
    Ok(FileStorage::new(path).overwrite(session.branch_text()?.as_bytes())?)
}

/// The path in an argument that may be quoted, as shells and people write paths with blanks.
pub fn unquoted(argument: &str) -> &str {
    let argument = argument.trim();
    let inner = |quote| argument.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(argument)
}

fn is_in(file: &Path, folder: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(folder).is_some_and(|folder| real(file).is_some_and(|file| file.parent() == Some(&folder)))
}

#[cfg(test)]
mod tests;
