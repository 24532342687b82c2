//! The one door of skills and prompt templates to files.

use std::path::{Path, PathBuf};

use futures_util::stream::{self, Stream, StreamExt as _};

use super::diagnostic::{ResourceDiagnostic, ResourceProblem};
use crate::env::{EnvError, EnvErrorKind, ExecutionEnv, FileKind};

/// Bytes; far more than a model would read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// Files that are read at the same time.
const READ_AHEAD: usize = 8;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    /// Of what it leads to.
    pub(super) kind: FileKind,
    pub(super) is_link: bool,
}

/// A file that may hold a skill or a template, or a directory on the way to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceFile {
    /// Where it was met.
    pub path: PathBuf,
    /// The one path it has, all links followed.
    pub real_path: PathBuf,
}

impl ResourceFile {
    pub(super) async fn new(env: &dyn ExecutionEnv, path: &Path) -> Self {
        Self { path: path.to_owned(), real_path: real_path(env, path).await }
    }

    /// What is in this directory. Asks for the one path only where a link makes it another.
    pub(super) async fn inside(&self, env: &dyn ExecutionEnv, entry: &Entry) -> Self {
        let real_path = match entry.path.file_name() {
            Some(name) if !entry.is_link => self.real_path.join(name),
            _ => real_path(env, &entry.path).await,
        };
        Self { path: entry.path.clone(), real_path }
    }
}

/// What a path leads to, links followed.
pub(super) async fn kind(
    env: &dyn ExecutionEnv,
    path: &Path,
) -> Result<FileKind, ResourceDiagnostic> {
    let stat = env.stat(path).await.map_err(|error| unreadable(path, &error))?;
    Ok(stat.kind)
}

/// What is in a directory, in the order of the names' bytes; links that lead nowhere are left out.
/// A directory that does not exist has nothing.
pub(super) async fn list(
    env: &dyn ExecutionEnv,
    directory: &Path,
) -> Result<Vec<Entry>, ResourceDiagnostic> {
    let names = match env.list(directory).await {
        Err(error) if error.kind == EnvErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| unreadable(directory, &error))?,
    };
    let mut entries = Vec::with_capacity(names.len());
    for entry in names {
        let path = directory.join(entry.name);
        let is_link = entry.kind == FileKind::Link;
        let kind = if is_link {
            let Ok(target) = env.stat(&path).await else { continue };
            target.kind
        } else {
            entry.kind
        };
        entries.push(Entry { path, kind, is_link });
    }
    Ok(entries)
}

/// A file's text; bytes that are not UTF-8 are replaced.
pub(super) async fn read(
    env: &dyn ExecutionEnv,
    path: &Path,
) -> Result<String, ResourceDiagnostic> {
    let read = env.read_file(path, MAX_FILE).await;
    let (bytes, _) = read.map_err(|error| unreadable(path, &error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The texts of several files, in order.
pub(super) fn read_each(
    env: &dyn ExecutionEnv,
    paths: Vec<PathBuf>,
) -> impl Stream<Item = (PathBuf, Result<String, ResourceDiagnostic>)> + Send {
    stream::iter(paths)
        .map(move |path| async move {
            let text = read(env, &path).await;
            (path, text)
        })
        .buffered(READ_AHEAD)
}

/// The one path of a file that may have many.
async fn real_path(env: &dyn ExecutionEnv, path: &Path) -> PathBuf {
    env.real_path(path).await.unwrap_or_else(|_| path.to_owned())
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// A file's name without its last extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn unreadable(path: &Path, error: &EnvError) -> ResourceDiagnostic {
    let problem = match error.kind {
        EnvErrorKind::NotFound => ResourceProblem::Missing,
        _ => ResourceProblem::Unreadable(error.cause()),
    };
    ResourceDiagnostic::new(path, problem)
}
