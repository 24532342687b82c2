//! Which file it is, whatever it is called.

use std::fs::{self, Metadata};
use std::path::Path;

/// Device and number of a file. While somebody holds the file open, no other file gets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// `None` where the system does not say; then every file passes for every other.
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }
}

/// Whether two paths lead to one file, links or not.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}
