//! Names and words for operating system errors, in the form models know from Node.js.

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// The symbolic name, such as `ENOENT`.
pub fn code(error: &io::Error) -> &'static str {
    name_and_words(error).map_or("EIO", |(name, _)| name)
}

/// `CODE: what it means, call 'path'`.
pub fn message(error: &io::Error, call: &str, path: &Path) -> String {
    let path = path.display();
    match name_and_words(error) {
        Some((name, words)) => format!("{name}: {words}, {call} '{path}'"),
        None => format!("{error}, {call} '{path}'"),
    }
}

fn name_and_words(error: &io::Error) -> Option<(&'static str, &'static str)> {
    let errno = Errno::from_io_error(error)?;
    TABLE.iter().find(|(known, ..)| *known == errno).map(|(_, name, words)| (*name, *words))
}

const TABLE: &[(Errno, &str, &str)] = &[
    (Errno::NOENT, "ENOENT", "no such file or directory"),
    (Errno::ACCESS, "EACCES", "permission denied"),
    (Errno::PERM, "EPERM", "operation not permitted"),
    (Errno::ISDIR, "EISDIR", "illegal operation on a directory"),
    (Errno::NOTDIR, "ENOTDIR", "not a directory"),
    (Errno::EXIST, "EEXIST", "file already exists"),
    (Errno::LOOP, "ELOOP", "too many symbolic links encountered"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG", "name too long"),
    (Errno::NOSPC, "ENOSPC", "no space left on device"),
    (Errno::DQUOT, "EDQUOT", "disk quota exceeded"),
    (Errno::FBIG, "EFBIG", "file too large"),
    (Errno::ROFS, "EROFS", "read-only file system"),
    (Errno::BUSY, "EBUSY", "resource busy or locked"),
    (Errno::TXTBSY, "ETXTBSY", "text file is busy"),
    (Errno::MFILE, "EMFILE", "too many open files"),
    (Errno::NFILE, "ENFILE", "file table overflow"),
    (Errno::INVAL, "EINVAL", "invalid argument"),
    (Errno::IO, "EIO", "i/o error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_name_words_call_and_path() {
        let missing = std::fs::metadata("/no/such/file").unwrap_err();
        assert_eq!(code(&missing), "ENOENT");
        assert_eq!(
            message(&missing, "access", Path::new("/no/such/file")),
            "ENOENT: no such file or directory, access '/no/such/file'"
        );
    }
}
