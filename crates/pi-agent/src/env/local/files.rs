//! Files and folders as a thread that may block sees them.

use std::ffi::OsString;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use super::errno::failed;
use super::stat;
use crate::env::{BlockingFiles, DirEntry, EnvError, FileStat, Operation};

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
            Err(error) => Err(failed(Operation::Open, path, error)),
        }
    }
}

/// One call to the operating system, and no wait for the other end of what has become a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

pub(super) fn list(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.extend(told(entry.file_name(), entry.file_type())?);
    }
    entries.sort_unstable();
    Ok(entries)
}

/// Some file systems do not tell kinds with the names. Asked for it, a file may have gone.
fn told(name: OsString, kind: io::Result<FileType>) -> io::Result<Option<DirEntry>> {
    match kind {
        Ok(kind) => Ok(Some(DirEntry { name, kind: stat::kind(kind) })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_goes_away_meanwhile_is_not_listed_and_hides_no_other() {
        let failed = |kind: io::ErrorKind| told("name".into(), Err(kind.into()));
        assert_eq!(failed(io::ErrorKind::NotFound).unwrap(), None);
        assert!(failed(io::ErrorKind::PermissionDenied).is_err());
    }
}
