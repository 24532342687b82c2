//! Walking a tree, folder by folder.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{DirEntry, EnvError, ExecutionEnv, FileKind};

/// Where to go and when to stop.
#[derive(Clone, Copy)]
pub struct WalkOptions<'a> {
    /// Most entries to give.
    pub limit: usize,
    /// Asked for every entry, by its full path; what it says no to is left out, a folder with
    /// everything in it.
    pub keep: &'a (dyn Fn(&Path, FileKind) -> bool + Send + Sync),
}

impl WalkOptions<'_> {
    /// Everything, up to `limit` entries.
    pub fn all(limit: usize) -> Self {
        Self { limit, keep: &|_, _| true }
    }
}

impl fmt::Debug for WalkOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalkOptions").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// What a walk has found.
#[derive(Debug, Default)]
pub struct Walk {
    /// Full paths, each folder before what is in it. The root is not among them.
    pub entries: Vec<(PathBuf, FileKind)>,
    /// There was more than the limit allows.
    pub is_cut: bool,
    /// Folders below the root that could not be listed.
    pub problems: Vec<EnvError>,
}

/// # Errors
/// The root cannot be listed.
pub(super) async fn walk<E: ExecutionEnv + ?Sized>(
    env: &E,
    root: &Path,
    options: WalkOptions<'_>,
) -> Result<Walk, EnvError> {
    let mut walk = Walk::default();
    // What is still to be told, last first.
    let mut open = Vec::new();
    push(&mut open, root, env.list(root).await?);
    while let Some((path, kind)) = open.pop() {
        if !(options.keep)(&path, kind) {
            continue;
        }
        if walk.entries.len() >= options.limit {
            walk.is_cut = true;
            break;
        }
        if kind == FileKind::Directory {
            match env.list(&path).await {
                Ok(entries) => push(&mut open, &path, entries),
                Err(problem) => walk.problems.push(problem),
            }
        }
        walk.entries.push((path, kind));
    }
    Ok(walk)
}

fn push(open: &mut Vec<(PathBuf, FileKind)>, folder: &Path, entries: Vec<DirEntry>) {
    open.extend(entries.into_iter().rev().map(|entry| (folder.join(entry.name), entry.kind)));
}
