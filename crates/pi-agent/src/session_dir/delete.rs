//! Throwing a session away.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::file_identity::is_same_file;

/// Where a deleted session went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// To the trash, from where people can get it back.
    Trashed,
    Removed,
}

/// Why a session was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("Cannot delete the currently active session")]
    Active,
    #[error("Cannot delete session file {}: {source}", path.display())]
    Remove { path: PathBuf, source: io::Error },
}

/// Deletes a session file: by the command `trash`, if one lies in the folders of `search_path` (the
/// variable `PATH`) and does it, else for good. `active` is the file of the session that is open; it
/// is refused under any name. May wait for the command.
///
/// # Errors
/// It is the active session's, or cannot be removed.
pub fn delete(
    path: &Path,
    active: Option<&Path>,
    search_path: Option<&OsStr>,
) -> Result<Deleted, DeleteError> {
    if active.is_some_and(|active| is_same_file(active, path)) {
        return Err(DeleteError::Active);
    }
    let commands = search_path.into_iter().flat_map(env::split_paths).map(|dir| dir.join("trash"));
    if commands.filter(|command| command.is_file()).any(|command| trash(&command, path)) {
        return Ok(Deleted::Trashed);
    }
    fs::remove_file(path)
        .map_err(|source| DeleteError::Remove { path: path.to_owned(), source })?;
    Ok(Deleted::Removed)
}

/// Whether the file is gone afterwards.
fn trash(command: &Path, path: &Path) -> bool {
    let quiet = Stdio::null;
    // Absolute, so that no name is taken for an option.
    let Ok(path) = std::path::absolute(path) else { return false };
    let run =
        Command::new(command).arg(&path).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
    run.is_ok_and(|status| status.success()) && fs::symlink_metadata(&path).is_err()
}
