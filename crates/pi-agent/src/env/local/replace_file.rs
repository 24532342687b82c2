//! Writing a file so that a reader sees the old or the new content, never half of it.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::Access;

use super::Refusal;
use super::real_path::real_path;
use crate::env::EnvErrorKind;

/// Puts `content` at `path`, following symbolic links. An existing file keeps its mode and owner.
///
/// A rename is impossible, and the file is written in place, when it has other hard links or an
/// access control list, when its owner cannot be kept, or when its folder takes no new file.
///
/// # Errors
/// Those of the operating system; `before_commit` refused. The old content is intact unless a
/// write in place broke off.
pub(super) fn replace_file(
    path: &Path,
    content: &[u8],
    before_commit: impl FnOnce() -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let path = real_path(path);
    let old = match fs::metadata(&path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(old) = &old {
        check_writable(&path, old)?;
    }
    match staged(&path, old.as_ref()) {
        Some(mut stage) => {
            stage.write_all(content)?;
            before_commit()?;
            stage.persist(&path).map_err(|failed| failed.error)?;
        }
        None => {
            before_commit()?;
            write_in_place(&path, content)?;
        }
    }
    Ok(())
}

/// A rename would get round the file's own permissions.
fn check_writable(path: &Path, old: &Metadata) -> Result<(), Refusal> {
    if old.is_dir() {
        return Err(EnvErrorKind::IsDirectory.into());
    }
    if !old.is_file() {
        return Err(EnvErrorKind::NotRegularFile.into());
    }
    Ok(rustix::fs::access(path, Access::WRITE_OK).map_err(io::Error::from)?)
}

/// The new file beside the old one, or `None` where a rename would lose something.
fn staged(path: &Path, old: Option<&Metadata>) -> Option<tempfile::NamedTempFile> {
    if old.is_some_and(|old| old.nlink() > 1) || has_access_list(path) {
        return None;
    }
    let mode = old.map_or(0o666, |old| old.mode() & 0o7777);
    let stage = tempfile::Builder::new()
        .prefix(".pi-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(path.parent()?)
        .ok()?;
    if let Some(old) = old {
        keep_owner_and_mode(stage.as_file(), old).ok()?;
    }
    Some(stage)
}

fn keep_owner_and_mode(stage: &File, old: &Metadata) -> io::Result<()> {
    let new = stage.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(stage, Some(old.uid()), Some(old.gid()))?;
    }
    // The umask took bits away at creation, and a change of owner may take more.
    stage.set_permissions(Permissions::from_mode(old.mode() & 0o7777))
}

fn has_access_list(path: &Path) -> bool {
    let mut none = [0_u8; 0];
    rustix::fs::getxattr(path, "system.posix_acl_access", &mut none[..]).is_ok()
}

fn write_in_place(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, content: &str) {
        replace_file(path, content.as_bytes(), || Ok(())).unwrap();
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn mode_is_kept_and_nothing_is_left_beside() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.sh");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o754)).unwrap();
        let before = fs::metadata(&file).unwrap();
        put(&file, "new");
        let after = fs::metadata(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(after.mode() & 0o7777, 0o754);
        assert_ne!(after.ino(), before.ino());
        assert_eq!(names(dir.path()), ["run.sh"]);
    }

    #[test]
    fn a_new_file_gets_the_usual_mode() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("usual"), "").unwrap();
        put(&dir.path().join("new"), "x");
        let mode = |name| fs::metadata(dir.path().join(name)).unwrap().mode();
        assert_eq!(mode("new"), mode("usual"));
    }

    #[test]
    fn links_are_followed_and_stay_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("real"), "old").unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        symlink("later", dir.path().join("dangling")).unwrap();
        put(&dir.path().join("link"), "new");
        put(&dir.path().join("dangling"), "made");
        assert_eq!(fs::read_to_string(dir.path().join("real")).unwrap(), "new");
        assert_eq!(fs::read_to_string(dir.path().join("later")).unwrap(), "made");
        assert!(dir.path().join("link").is_symlink() && dir.path().join("dangling").is_symlink());
    }

    #[test]
    fn hard_links_keep_seeing_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "old").unwrap();
        fs::hard_link(&one, &two).unwrap();
        put(&one, "new");
        assert_eq!(fs::read_to_string(&two).unwrap(), "new");
    }

    #[test]
    fn a_refusal_before_the_commit_leaves_the_old_content() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "old").unwrap();
        let refused = replace_file(&file, b"new", || Err(EnvErrorKind::Changed.into()));
        assert!(refused.is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn folders_and_devices_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refusal = |path| match replace_file(path, b"x", || Ok(())) {
            Err(Refusal::Kind(kind)) => kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal(dir.path()), EnvErrorKind::IsDirectory);
        assert_eq!(refusal(Path::new("/dev/null")), EnvErrorKind::NotRegularFile);
    }
}
