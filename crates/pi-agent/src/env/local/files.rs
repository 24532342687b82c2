//! Files and folders as a thread that may block sees them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use super::errno::failed;
use super::{Refusal, stat};
use crate::env::{BlockingFiles, DirEntry, EnvError, EnvErrorKind, FileStat, Operation};

/// This machine's files, through the operating system.
#[derive(Debug)]
pub(super) struct LocalFiles;

impl BlockingFiles for LocalFiles {
    fn stat(&self, path: &Path) -> Result<FileStat, EnvError> {
        match fs::metadata(path) {
            Ok(found) => Ok(stat::of(&found)),
            Err(error) => Err(failed(Operation::Stat, path, error)),
        }
    }

    fn list(&self, path: &Path) -> Result<Vec<DirEntry>, EnvError> {
        list(path).map_err(|error| failed(Operation::List, path, error))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, EnvError> {
        match open(path) {
            Ok(file) => Ok(Box::new(file)),
            Err(refusal) => Err(refusal.of(Operation::Open, path)),
        }
    }
}

/// Whoever looks at many files has seen in a listing that this one is regular; so it is opened
/// without asking first, and should it have become a pipe, without waiting for its other end.
fn open(path: &Path) -> Result<File, Refusal> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(EnvErrorKind::IsDirectory.into());
    }
    if !found.is_file() {
        return Err(EnvErrorKind::NotRegularFile.into());
    }
    Ok(file)
}

pub(super) fn list(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = stat::kind(entry.file_type()?);
        entries.push(DirEntry { name: entry.file_name(), kind });
    }
    entries.sort_unstable();
    Ok(entries)
}
