//! Putting a file in its place, completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Bytes gathered before they are written.
const BUFFER: usize = 256 * 1024;

/// Writes beside `path` and renames. A link stays a link, and permissions stay; a pipe or a device is
/// written to as it is.
pub(super) fn put(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let there = match fs::metadata(path) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let out = File::options().write(true).open(path)?;
        return written(out, write).map(drop);
    }
    let target = if there.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pi-export-");
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let beside = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let (file, name) = beside.into_parts();
    let file = written(file, write)?;
    if let Some(there) = there {
        file.set_permissions(there.permissions())?;
    }
    Ok(name.persist(&target)?)
}

fn written(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    write(&mut out)?;
    Ok(out.into_inner()?)
}

/// Whether two paths lead to one file, links or not.
pub(super) fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_half_way_leaves_what_was_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "before").unwrap();
        let error = put(&path, |out| {
            out.write_all(&[b'x'; 2 * BUFFER])?;
            Err(io::Error::other("enough"))
        });
        assert_eq!(error.unwrap_err().to_string(), "enough");
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay_and_new_files_are_ordinary() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [real, link, new] = ["real", "link", "new"].map(|name| folder.path().join(name));
        fs::write(&real, "before").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("real", &link).unwrap();
        put(&link, |out| out.write_all(b"after")).unwrap();
        put(&new, |out| out.write_all(b"after")).unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), ("after", 0o600));
        fs::write(folder.path().join("plain"), "").unwrap();
        assert_eq!(mode(&new), mode(&folder.path().join("plain")));
    }

    #[test]
    fn a_folder_that_is_missing_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = put(&folder.path().join("no/page.html"), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(put(folder.path(), |_| Ok(())).is_err(), "a folder is no file");
    }
}
