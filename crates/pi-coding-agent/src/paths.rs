//! What is the same for every path somebody wrote: `~`, `.` and `..`.
//!
//! Owns: these two rules, by name alone. Never: looks at the disk, or knows what a path starts from.

use std::path::{Component, Path, PathBuf};

/// `~` and `~/…` under `home`; anything else, `~user` too, as it is.
pub(crate) fn expand_home(path: &str, home: &Path) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// The path without `.` and `..`; the root is its own parent.
pub(crate) fn fold(path: &Path) -> PathBuf {
    let mut folded = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = folded.pop(),
            part => folded.push(part),
        }
    }
    folded
}
