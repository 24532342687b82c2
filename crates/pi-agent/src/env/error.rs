//! What can go wrong, in the words models know from Node.js.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

/// An operation that failed, on what, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.told_as(self.operation.call()))]
pub struct EnvError {
    pub operation: Operation,
    /// As it was given; of a process the program, or the directory it should have run in.
    pub path: PathBuf,
    pub kind: EnvErrorKind,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl EnvError {
    pub fn new(operation: Operation, path: impl Into<PathBuf>, kind: EnvErrorKind) -> Self {
        Self { operation, path: path.into(), kind, source: None }
    }

    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// `CODE: what it means, call 'path'`, with another name for the call than
    /// [`Operation::call`]. A kind without a code has its cause there.
    pub fn told_as(&self, call: &str) -> String {
        let path = self.path.display();
        match self.kind.code() {
            Some(code) => format!("{code}: {}, {call} '{path}'", self.kind.words()),
            None => format!("{}, {call} '{path}'", self.cause()),
        }
    }

    /// The reason in a few words: those of its kind, or the cause where the kind says nothing.
    pub fn reason(&self) -> String {
        if self.kind == EnvErrorKind::Other { self.cause() } else { self.kind.words().to_owned() }
    }

    /// The reason alone: the source's own words if there is one.
    pub fn cause(&self) -> String {
        match &self.source {
            Some(source) => source.to_string(),
            None => self.kind.words().to_owned(),
        }
    }
}

/// What was to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Stat,
    RealPath,
    Open,
    Read,
    List,
    Replace,
    /// To a file that is being written piece by piece.
    Write,
    MakeDirs,
    Remove,
    TemporaryFile,
    /// Into the directory of a command.
    ChangeDirectory,
    Spawn,
}

impl Operation {
    /// The name of the call in error texts.
    pub fn call(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::RealPath => "realpath",
            Self::Open | Self::Replace | Self::TemporaryFile => "open",
            Self::Read => "read",
            Self::List => "scandir",
            Self::Write => "write",
            Self::MakeDirs => "mkdir",
            Self::Remove => "rm",
            Self::ChangeDirectory => "chdir",
            Self::Spawn => "spawn",
        }
    }
}

/// Why it could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvErrorKind {
    NotFound,
    AccessDenied,
    NotPermitted,
    IsDirectory,
    NotDirectory,
    DirectoryNotEmpty,
    AlreadyExists,
    LinkLoop,
    NameTooLong,
    CrossesDevices,
    NoSpace,
    QuotaExceeded,
    FileTooLarge,
    ReadOnly,
    Busy,
    TextBusy,
    TooManyOpenFiles,
    FileTableFull,
    InvalidArgument,
    Io,
    /// A pipe, a socket or a device.
    NotRegularFile,
    /// The file is not the version that was expected.
    Changed,
    /// The file is larger than the caller wants.
    OverLimit,
    /// Nothing was started: it was cancelled before, or nothing starts any more.
    Aborted,
    /// Something else; the source tells what.
    Other,
}

impl EnvErrorKind {
    /// The symbolic name, such as `ENOENT`, if the operating system has one.
    pub fn code(self) -> Option<&'static str> {
        self.row().0
    }

    /// What it means, in a few words.
    pub fn words(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::NotFound => (Some("ENOENT"), "no such file or directory"),
            Self::AccessDenied => (Some("EACCES"), "permission denied"),
            Self::NotPermitted => (Some("EPERM"), "operation not permitted"),
            Self::IsDirectory => (Some("EISDIR"), "illegal operation on a directory"),
            Self::NotDirectory => (Some("ENOTDIR"), "not a directory"),
            Self::DirectoryNotEmpty => (Some("ENOTEMPTY"), "directory not empty"),
            Self::AlreadyExists => (Some("EEXIST"), "file already exists"),
            Self::LinkLoop => (Some("ELOOP"), "too many symbolic links encountered"),
            Self::NameTooLong => (Some("ENAMETOOLONG"), "name too long"),
            Self::CrossesDevices => (Some("EXDEV"), "cross-device link not permitted"),
            Self::NoSpace => (Some("ENOSPC"), "no space left on device"),
            Self::QuotaExceeded => (Some("EDQUOT"), "disk quota exceeded"),
            Self::FileTooLarge => (Some("EFBIG"), "file too large"),
            Self::ReadOnly => (Some("EROFS"), "read-only file system"),
            Self::Busy => (Some("EBUSY"), "resource busy or locked"),
            Self::TextBusy => (Some("ETXTBSY"), "text file is busy"),
            Self::TooManyOpenFiles => (Some("EMFILE"), "too many open files"),
            Self::FileTableFull => (Some("ENFILE"), "file table overflow"),
            Self::InvalidArgument => (Some("EINVAL"), "invalid argument"),
            Self::Io => (Some("EIO"), "i/o error"),
            Self::NotRegularFile => (None, "not a regular file"),
            Self::Changed => (None, "changed in the meantime"),
            Self::OverLimit => (None, "larger than the limit"),
            Self::Aborted => (None, "aborted"),
            Self::Other => (None, "failed"),
        }
    }
}

impl fmt::Display for EnvErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_code_words_call_and_path() {
        let missing = EnvError::new(Operation::Stat, "/no/file", EnvErrorKind::NotFound);
        assert_eq!(missing.to_string(), "ENOENT: no such file or directory, stat '/no/file'");
        assert_eq!(
            missing.told_as("access"),
            "ENOENT: no such file or directory, access '/no/file'"
        );
        let odd = EnvError::new(Operation::Replace, "/dev/null", EnvErrorKind::NotRegularFile);
        assert_eq!(odd.to_string(), "not a regular file, open '/dev/null'");
    }

    #[test]
    fn the_cause_is_the_sources_where_there_is_one() {
        let error = EnvError::new(Operation::List, "/x", EnvErrorKind::Other);
        assert_eq!(error.cause(), "failed");
        let error = error.with_source("the host is gone");
        assert_eq!(error.cause(), "the host is gone");
        assert_eq!(error.to_string(), "the host is gone, scandir '/x'");
        assert_eq!(error.source().unwrap().to_string(), "the host is gone");
    }
}
