//! Writing a file so that a reader sees the old or the new content, never half of it.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Access;

use super::Refusal;
use super::real_path::real_path;
use crate::env::EnvErrorKind;

mod attributes;

/// Puts `content` at `path`, following symbolic links. An existing file keeps its mode, owner and
/// extended attributes.
///
/// A rename is impossible, and the file is written in place, when it has other hard links or an
/// access control list, when a new file gets such a list from its folder, when owner or attributes
/// cannot be kept, when something is mounted on it, or when its folder takes no new file.
///
/// # Errors
/// Those of the operating system; `before_commit` refused. The old content is intact then, also
/// where the disk is full, and nothing is left beside it. Killed meanwhile, this process leaves the
/// old or the new content (maybe a mixture where it is written in place), and maybe a file `.pi-…`.
pub(super) fn replace_file(
    stages: &Stages,
    path: &Path,
    content: &[u8],
    before_commit: impl FnOnce() -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let path = real_path(path);
    let old = match fs::metadata(&path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(old) = &old {
        check_writable(&path, old)?;
    }
    match stages.begin(|| staged(&path, old.as_ref()))? {
        Some((mut stage, _listed)) => {
            stage.write_all(content)?;
            before_commit()?;
            match stage.persist(&path) {
                Ok(_) => {}
                // Containers mount single files.
                Err(failed) if failed.error.kind() == io::ErrorKind::ResourceBusy => {
                    write_in_place(&path, content)?;
                }
                Err(failed) => return Err(failed.error.into()),
            }
        }
        None => {
            before_commit()?;
            write_in_place(&path, content)?;
        }
    }
    Ok(())
}

/// New files that are being written. Clones share the list.
#[derive(Debug, Clone, Default)]
pub(super) struct Stages(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    paths: BTreeSet<PathBuf>,
    /// No further one may begin.
    is_closed: bool,
}

/// One of them, as long as this lives.
struct Listed<'a> {
    stages: &'a Stages,
    path: PathBuf,
}

impl Stages {
    /// Removes what is there of them and lets no further one begin, for a process that is about to
    /// end. Who still writes one then fails to put it in its place.
    pub(super) fn remove_all(&self) {
        let mut list = self.lock();
        list.is_closed = true;
        for path in &list.paths {
            // It has just been put in its place, or nothing can be done about it.
            fs::remove_file(path).unwrap_or_default();
        }
    }

    /// Lists what `stage` makes. The list is held meanwhile: a file must not be there unlisted.
    fn begin(
        &self,
        stage: impl FnOnce() -> Option<tempfile::NamedTempFile>,
    ) -> Result<Option<(tempfile::NamedTempFile, Listed<'_>)>, Refusal> {
        let mut list = self.lock();
        if list.is_closed {
            return Err(EnvErrorKind::Aborted.into());
        }
        let Some(stage) = stage() else { return Ok(None) };
        let path = stage.path().to_owned();
        list.paths.insert(path.clone());
        Ok(Some((stage, Listed { stages: self, path })))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.stages.lock().paths.remove(&self.path);
    }
}

/// A rename would get round the file's own permissions.
fn check_writable(path: &Path, old: &Metadata) -> Result<(), Refusal> {
    if old.is_dir() {
        return Err(EnvErrorKind::IsDirectory.into());
    }
    if !old.is_file() {
        return Err(EnvErrorKind::NotRegularFile.into());
    }
    Ok(rustix::fs::access(path, Access::WRITE_OK).map_err(io::Error::from)?)
}

/// The new file beside the old one, or `None` where a rename would lose something.
fn staged(path: &Path, old: Option<&Metadata>) -> Option<tempfile::NamedTempFile> {
    if old.is_some_and(|old| old.nlink() > 1) || attributes::has_access_list(path) {
        return None;
    }
    let mode = old.map_or(0o666, |old| old.mode() & 0o7777);
    let stage = tempfile::Builder::new()
        .prefix(".pi-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(path.parent()?)
        .ok()?;
    if let Some(old) = old {
        keep_owner_and_mode(stage.as_file(), old).ok()?;
        attributes::keep(path, stage.as_file()).ok()?;
        if attributes::has_access_list(stage.path()) {
            return None;
        }
    }
    Some(stage)
}

fn keep_owner_and_mode(stage: &File, old: &Metadata) -> io::Result<()> {
    let new = stage.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(stage, Some(old.uid()), Some(old.gid()))?;
    }
    // The umask took bits away at creation, and a change of owner may take more.
    stage.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

/// What is longer than the old content goes first: whether there is room for it shows before the
/// old content is touched.
fn write_in_place(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let old_length = file.metadata()?.len();
    let kept = usize::try_from(old_length).unwrap_or(usize::MAX).min(content.len());
    let (start, rest) = content.split_at(kept);
    match file.write_all_at(rest, old_length) {
        Ok(()) => {}
        // What a kernel shows as a file may take writes at its start only.
        Err(error) if error.kind() == io::ErrorKind::NotSeekable => {
            return (&file).write_all(content);
        }
        Err(error) => {
            file.set_len(old_length)?;
            return Err(error);
        }
    }
    file.write_all_at(start, 0)?;
    file.set_len(u64::try_from(content.len()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
