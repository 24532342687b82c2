//! Files that are open for reading, and new ones that are being written.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use tokio::io::AsyncWriteExt as _;

use super::{Refusal, blocking, failed, stat};
use crate::env::{EnvError, EnvErrorKind, EnvFuture, FileReader, FileStat, FileWriter, Operation};

#[derive(Debug)]
pub(super) struct LocalReader {
    path: PathBuf,
    file: Arc<File>,
    stat: FileStat,
}

impl LocalReader {
    pub(super) fn open(path: &Path) -> Result<Self, Refusal> {
        // Opening a pipe waits for somebody at its other end.
        let found = fs::metadata(path)?;
        if found.is_dir() {
            return Err(EnvErrorKind::IsDirectory.into());
        }
        if !found.is_file() {
            return Err(EnvErrorKind::NotRegularFile.into());
        }
        // What a kernel shows as a regular file may wait for news when it is read.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let stat = stat::of(&file.metadata()?);
        Ok(Self { path: path.to_owned(), file: Arc::new(file), stat })
    }
}

impl FileReader for LocalReader {
    fn stat(&self) -> &FileStat {
        &self.stat
    }

    fn read_at(&self, offset: u64, mut buffer: Vec<u8>) -> EnvFuture<'_, Vec<u8>> {
        let file = Arc::clone(&self.file);
        blocking(Operation::Read, &self.path, move |_| {
            let filled = fill(&file, offset, &mut buffer)?;
            buffer.truncate(filled);
            Ok(buffer)
        })
    }
}

/// Reads until `buffer` is full or the file ends; gives the number of bytes.
fn fill(file: &File, mut offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(free) = buffer.get_mut(filled..).filter(|free| !free.is_empty()) {
        match file.read_at(free, offset) {
            Ok(0) => break,
            Ok(read) => {
                filled += read;
                offset += u64::try_from(read).unwrap_or(u64::MAX);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes behind the caller's back: while one piece goes to the disk the next may be made.
#[derive(Debug)]
pub(super) struct LocalWriter {
    path: PathBuf,
    file: tokio::fs::File,
}

impl LocalWriter {
    pub(super) async fn create(path: PathBuf) -> Result<Self, EnvError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match tokio::fs::OpenOptions::from(options).open(&path).await {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(failed(Operation::TemporaryFile, &path, error)),
        }
    }
}

impl FileWriter for LocalWriter {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> EnvFuture<'a, ()> {
        Box::pin(async {
            let written = self.file.write_all(bytes).await;
            written.map_err(|error| failed(Operation::Write, &self.path, error))
        })
    }

    fn finish(&mut self) -> EnvFuture<'_, ()> {
        Box::pin(async {
            let flushed = self.file.flush().await;
            flushed.map_err(|error| failed(Operation::Write, &self.path, error))
        })
    }
}
