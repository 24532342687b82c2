//! Files and folders as a thread that may block sees them.

use std::fs::{self, File, OpenOptions};
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
        let kind = stat::kind(entry.file_type()?);
        entries.push(DirEntry { name: entry.file_name(), kind });
    }
    entries.sort_unstable();
    Ok(entries)
}
