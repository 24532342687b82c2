//! Sessions that come from elsewhere and go elsewhere, as JSONL files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::append::line;
use super::header::{Header, now_iso};
use super::load::{ATTEMPTS, busy};
use super::locate::{SessionDir, read_header};
use super::storage::SessionStorage;
use super::{FileStorage, Session, SessionError};
use crate::file_identity::is_same_file;

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

/// Copies a session file, byte by byte, to where sessions of its directory are kept, and says where that is. Id and
/// directory stay; one without a directory goes to those of `cwd`.
///
/// Nothing is overwritten: when the name is taken, the copy gets a number. A file that lies there
/// already, or was imported before and is still the same, is not copied again.
///
/// # Errors
/// The file is missing, cannot be read or is no session; the copy cannot be written. There is no
/// copy then.
pub fn import(source: &Path, dir: &SessionDir, cwd: &Path) -> Result<PathBuf, TransferError> {
    let bytes = fs::read(source).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => TransferError::NotFound { path: source.to_owned() },
        _ => SessionError::Read { path: source.to_owned(), source: error }.into(),
    })?;
    let not_a_session = || SessionError::NotASession { path: source.to_owned() };
    let header = read_header(source).ok_or_else(not_a_session)?;
    let cwd = if header.cwd.is_empty() { cwd } else { Path::new(&header.cwd) };
    let folder = dir.for_cwd(cwd);
    if is_in(source, &folder) {
        return Ok(source.to_owned());
    }
    let stem = source.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let mut number = 1;
    loop {
        let name =
            if number == 1 { format!("{stem}.jsonl") } else { format!("{stem}-{number}.jsonl") };
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

fn is_in(file: &Path, folder: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(folder).is_some_and(|folder| real(file).is_some_and(|file| file.parent() == Some(&folder)))
}

/// The path in an argument that may be quoted, as shells and people write paths with blanks.
pub fn unquoted(argument: &str) -> &str {
    let argument = argument.trim();
    let inner = |quote| argument.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(argument)
}

impl Session {
    /// Writes the active branch to `path`, as a session file of its own with the same id. What is at
    /// `path` is replaced, completely or not at all.
    ///
    /// # Errors
    /// The branch is empty, the path is the session's own file, or it cannot be written.
    pub fn export_jsonl(&self, path: &Path) -> Result<(), TransferError> {
        let branch = self.branch();
        if branch.is_empty() {
            return Err(TransferError::Empty);
        }
        if self.path().is_some_and(|own| is_same_file(own, path)) {
            return Err(TransferError::OwnFile { path: path.to_owned() });
        }
        let header = Header { timestamp: now_iso(), ..self.header().clone() };
        let mut text = line(&header).map_err(SessionError::from)?;
        for entry in branch {
            text.push_str(&entry.json());
            text.push('\n');
        }
        Ok(put(path, &text)?)
    }
}

fn put(path: &Path, text: &str) -> Result<(), SessionError> {
    let failed = |source| SessionError::Write { path: path.to_owned(), source };
    let mut storage = FileStorage::new(path);
    for _ in 0..ATTEMPTS {
        storage.read().map_err(failed)?;
        if storage.replace(text.as_bytes()).map_err(failed)? {
            return Ok(());
        }
    }
    Err(busy(Some(path)))
}

#[cfg(test)]
mod tests;
