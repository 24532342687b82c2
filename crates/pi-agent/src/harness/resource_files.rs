//! The one door to the file system for skills and prompt templates.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::resource_diagnostic::{ResourceDiagnostic, ResourceProblem};

/// What a path leads to, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    File,
    Directory,
    /// A device, a pipe, a socket.
    Other,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
}

/// `None` if it leads nowhere.
pub(super) fn kind(path: &Path) -> Option<FileKind> {
    let metadata = fs::metadata(path).ok()?;
    Some(if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    })
}

/// What is in a directory, in the order of the names' bytes; links that lead nowhere are left out.
/// A directory that does not exist has nothing.
pub(super) fn list(directory: &Path) -> Result<Vec<Entry>, ResourceDiagnostic> {
    let paths = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut paths = match paths {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| unreadable(directory, &error))?,
    };
    paths.sort();
    let entries = paths.into_iter().filter_map(|path| Some(Entry { kind: kind(&path)?, path }));
    Ok(entries.collect())
}

/// A file's text; bytes that are not UTF-8 are replaced.
pub(super) fn read(path: &Path) -> Result<String, ResourceDiagnostic> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The one path of a file that may have many.
pub(super) fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// A file's name without its last extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn unreadable(path: &Path, error: &io::Error) -> ResourceDiagnostic {
    ResourceDiagnostic::new(path, ResourceProblem::Unreadable(error.to_string()))
}
