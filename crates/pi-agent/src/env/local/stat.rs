//! What the operating system says of a file, in an environment's terms.

use std::fs::{FileType, Metadata};
use std::os::unix::fs::MetadataExt as _;

use crate::env::{FileIdentity, FileKind, FileStat, FileVersion};

pub(super) fn of(file: &Metadata) -> FileStat {
    FileStat {
        kind: kind(file.file_type()),
        size: file.size(),
        modified_ms: file.mtime() * 1000 + file.mtime_nsec() / 1_000_000,
        permissions: file.mode() & 0o7777,
        version: version(file),
        shared: (file.is_file() && file.nlink() > 1)
            .then(|| FileIdentity::new(format!("{}:{}", file.dev(), file.ino()))),
    }
}

pub(super) fn kind(file: FileType) -> FileKind {
    if file.is_file() {
        FileKind::File
    } else if file.is_dir() {
        FileKind::Directory
    } else if file.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

/// Which file it is, and everything a change leaves its mark on.
fn version(file: &Metadata) -> FileVersion {
    FileVersion::new(format!(
        "{}:{}:{}:{}.{:09}:{}.{:09}",
        file.dev(),
        file.ino(),
        file.size(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec(),
    ))
}
