//! From errors of the operating system to those of an environment.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::env::{EnvError, EnvErrorKind, Operation};

/// The error of an operation, with its source.
pub(super) fn failed(operation: Operation, path: &Path, error: io::Error) -> EnvError {
    EnvError::new(operation, path, kind(&error)).with_source(error)
}

fn kind(error: &io::Error) -> EnvErrorKind {
    let errno = Errno::from_io_error(error);
    let row = TABLE.iter().find(|(known, _)| Some(*known) == errno);
    row.map_or(EnvErrorKind::Other, |(_, kind)| *kind)
}

const TABLE: &[(Errno, EnvErrorKind)] = &[
    (Errno::NOENT, EnvErrorKind::NotFound),
    (Errno::ACCESS, EnvErrorKind::AccessDenied),
    (Errno::PERM, EnvErrorKind::NotPermitted),
    (Errno::ISDIR, EnvErrorKind::IsDirectory),
    (Errno::NOTDIR, EnvErrorKind::NotDirectory),
    (Errno::NOTEMPTY, EnvErrorKind::DirectoryNotEmpty),
    (Errno::EXIST, EnvErrorKind::AlreadyExists),
    (Errno::LOOP, EnvErrorKind::LinkLoop),
    (Errno::NAMETOOLONG, EnvErrorKind::NameTooLong),
    (Errno::XDEV, EnvErrorKind::CrossesDevices),
    (Errno::NOSPC, EnvErrorKind::NoSpace),
    (Errno::DQUOT, EnvErrorKind::QuotaExceeded),
    (Errno::FBIG, EnvErrorKind::FileTooLarge),
    (Errno::ROFS, EnvErrorKind::ReadOnly),
    (Errno::BUSY, EnvErrorKind::Busy),
    (Errno::TXTBSY, EnvErrorKind::TextBusy),
    (Errno::MFILE, EnvErrorKind::TooManyOpenFiles),
    (Errno::NFILE, EnvErrorKind::FileTableFull),
    (Errno::INVAL, EnvErrorKind::InvalidArgument),
    (Errno::IO, EnvErrorKind::Io),
];
