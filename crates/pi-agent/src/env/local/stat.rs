//! What the operating system says of a file, in an environment's terms.

use std::fs::{FileType, Metadata};
use std::os::unix::fs::MetadataExt as _;

use crate::env::{FileIdentity, FileKind, FileStat, FileVersion};

pub(super) fn of(file: &Metadata) -> FileStat {
    FileStat {
        kind: kind(file.file_type()),
        size: file.size(),
        modified_ms: milliseconds(file.mtime(), file.mtime_nsec()),
        permissions: file.mode() & 0o7777,
        version: version(file),
        shared: (file.is_file() && file.nlink() > 1)
            .then(|| FileIdentity::new(format!("{}:{}", file.dev(), file.ino()))),
    }
}

fn milliseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1000).saturating_add(nanoseconds / 1_000_000)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_beyond_all_milliseconds_are_the_last_or_first_of_them() {
        let cases = [
            ((1, 2_000_000), 1002),
            ((-1, 999_000_000), -1),
            ((i64::MAX, 999_999_999), i64::MAX),
            ((i64::MIN, 0), i64::MIN),
        ];
        for ((seconds, nanoseconds), want) in cases {
            assert_eq!(milliseconds(seconds, nanoseconds), want);
        }
    }
}
