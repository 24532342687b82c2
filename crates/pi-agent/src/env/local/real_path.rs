//! The one path of a file, also of one that does not exist yet.

use std::path::{Path, PathBuf};

/// Links of a chain that leads to nothing; Linux follows as many.
const MOST_LINKS: u8 = 40;

/// The path with symbolic links followed, also where the file, or the last folders, do not exist.
/// What cannot be resolved stays as it is.
pub(super) fn real_path(path: &Path) -> PathBuf {
    within(path, MOST_LINKS)
}

fn within(path: &Path, links_left: u8) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.to_owned();
    };
    match (path.read_link(), links_left.checked_sub(1)) {
        (Ok(target), Some(left)) => within(&parent.join(target), left),
        _ => within(parent, links_left).join(name),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_to_files_that_do_not_exist_yet() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/sub")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("real/new.txt", root.join("dangling")).unwrap();
        symlink("link/sub/../new.txt", root.join("round")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, want) in [
            ("link/a/b.txt", "real/a/b.txt"),
            ("dangling", "real/new.txt"),
            ("round", "real/new.txt"),
            ("loop", "loop"),
        ] {
            assert_eq!(real_path(&root.join(path)), root.join(want), "{path}");
        }
    }
}
