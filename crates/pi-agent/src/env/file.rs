//! Files as an environment tells of them.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use super::EnvFuture;

/// What there is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Unix time in milliseconds.
    pub modified_ms: i64,
    /// The permission bits of a Unix mode, `0o7777` at most.
    pub permissions: u32,
    pub version: FileVersion,
    /// Of a file with several names of equal rank (hard links): the same for all of them.
    pub shared: Option<FileIdentity>,
}

/// Tells files apart whatever their names. The text is the environment's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileIdentity(String);

impl FileIdentity {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Directory,
    /// Only where links are not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// What tells one state of a file from another: equal means that nothing has changed in between.
/// The text is the environment's own and says nothing to anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion(String);

impl FileVersion {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Without the folder.
    pub name: OsString,
    /// Of the name itself: links are not followed.
    pub kind: FileKind,
}

/// An open file. It stays the same file whatever happens to its name.
pub trait FileReader: Send + Sync + fmt::Debug {
    /// The file as it was when it was opened.
    fn stat(&self) -> &FileStat;

    /// Fills all of `buffer` from `offset` on and gives it back, shortened where the file ends. One
    /// buffer can go round and round; from about 256 KiB on its size does not matter for speed.
    fn read_at(&self, offset: u64, buffer: Vec<u8>) -> EnvFuture<'_, Vec<u8>>;
}

/// A new file that is being written.
pub trait FileWriter: Send + fmt::Debug {
    fn path(&self) -> &Path;

    /// Appends. May return before the bytes are in the file; an error may then come with the next
    /// call.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> EnvFuture<'a, ()>;

    /// Everything is in the file afterwards.
    fn finish(&mut self) -> EnvFuture<'_, ()>;
}
