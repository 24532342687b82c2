//! Session files in folders: which there are, each once, and the order they are looked at.
//!
//! Never: opens one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file that may be a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// When the file was last written to.
    pub(super) touched: SystemTime,
}

/// The `.jsonl` files in `dirs`, the one touched last first. A file that links lead to as well is
/// named once.
pub(super) fn candidates<D: AsRef<Path>>(dirs: impl IntoIterator<Item = D>) -> Vec<Candidate> {
    candidates_that(dirs, |_| true)
}

/// Those of [`candidates`] whose path is one that is wanted.
pub(super) fn candidates_that<D: AsRef<Path>>(
    dirs: impl IntoIterator<Item = D>,
    is_wanted: impl Fn(&Path) -> bool,
) -> Vec<Candidate> {
    let mut found: Vec<(bool, PathBuf, Candidate)> =
        dirs.into_iter().flat_map(|dir| files_in(dir.as_ref(), &is_wanted)).collect();
    // The file itself before a link to it.
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| a.2.path.cmp(&b.2.path)));
    let mut seen = BTreeSet::new();
    found.retain(|(_, real, _)| seen.insert(real.clone()));
    let mut files: Vec<Candidate> = found.into_iter().map(|(_, _, file)| file).collect();
    files.sort_unstable_by(|a, b| (b.touched, &b.path).cmp(&(a.touched, &a.path)));
    files
}

/// The folders in `root`, each once even when links lead to it too.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = entries(root)
        .filter_map(|item| fs::canonicalize(item.path()).ok())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Whether it is a link, where the file really lies, and the file.
fn files_in<'a, F: Fn(&Path) -> bool>(
    dir: &Path,
    is_wanted: &'a F,
) -> impl Iterator<Item = (bool, PathBuf, Candidate)> + use<'a, F> {
    let real_dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    entries(dir).filter_map(move |item| {
        let path = item.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") || !is_wanted(&path) {
            return None;
        }
        let is_link = item.file_type().is_ok_and(|kind| kind.is_symlink());
        let real =
            if is_link { fs::canonicalize(&path).ok()? } else { real_dir.join(item.file_name()) };
        let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let touched = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some((is_link, real, Candidate { path, touched }))
    })
}

fn entries(dir: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten()
}
