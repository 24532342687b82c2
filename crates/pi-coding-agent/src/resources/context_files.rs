//! `AGENTS.md` and its kin: instructions that lie in directories.
//!
//! Owns: where they are looked for and in which order. Never: needs trust; they are text the user
//! can read.

use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use super::read_text;
use crate::error::Warning;

/// The first that exists in a directory is the directory's.
const NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// Instructions, and where they are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Absolute when the directories searched are.
    pub path: PathBuf,
    pub content: String,
}

/// The user's file, then those from the root of the file system down to `cwd`. A file reached twice,
/// by a link or another way, counts where it is met first.
pub fn discover(agent_dir: &Path, cwd: &Path) -> (Vec<ContextFile>, Vec<Warning>) {
    let mut ancestors: Vec<&Path> = cwd.ancestors().collect();
    ancestors.reverse();
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    let mut warnings = Vec::new();
    for directory in iter::once(agent_dir).chain(ancestors) {
        let Some(path) = NAMES.map(|name| directory.join(name)).into_iter().find(|p| p.is_file())
        else {
            continue;
        };
        if !seen.insert(fs::canonicalize(&path).unwrap_or_else(|_| path.clone())) {
            continue;
        }
        match read_text(&path) {
            Ok(Some(content)) => files.push(ContextFile { path, content }),
            Ok(None) => {}
            Err(error) => {
                warnings.push(Warning(format!("Could not read {}: {error}", path.display())));
            }
        }
    }
    (files, warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        /// `files` hold their own name; those with a slash at the end are directories.
        fn new(files: &[&str]) -> Self {
            let scratch = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(scratch.path("top/mid/cwd")).unwrap();
            for file in files {
                let path = scratch.path(file);
                if file.ends_with('/') {
                    fs::create_dir_all(path).unwrap();
                } else {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, file).unwrap();
                }
            }
            scratch
        }

        fn path(&self, below: &str) -> PathBuf {
            self.0.path().join(below)
        }

        /// Paths found, below the scratch directory.
        fn found(&self) -> Vec<String> {
            let (files, warnings) = discover(&self.path("agent"), &self.path("top/mid/cwd"));
            assert_eq!(warnings, []);
            let root = format!("{}/", self.0.path().display());
            // Whatever lies above the scratch directory is not this test's.
            let paths = files.iter().map(|file| file.path.display().to_string());
            paths.filter_map(|path| path.strip_prefix(&root).map(str::to_owned)).collect()
        }
    }

    #[test]
    fn one_file_per_directory_from_the_agent_dir_and_the_root_down() {
        let cases: &[(&[&str], &[&str])] = &[
            (&[], &[]),
            (
                &["top/mid/cwd/AGENTS.md", "top/AGENTS.md", "agent/AGENTS.md", "top/mid/CLAUDE.md"],
                &["agent/AGENTS.md", "top/AGENTS.md", "top/mid/CLAUDE.md", "top/mid/cwd/AGENTS.md"],
            ),
            (&["top/AGENTS.md", "top/CLAUDE.md"], &["top/AGENTS.md"]),
            (&["top/AGENTS.MD", "top/CLAUDE.md"], &["top/AGENTS.MD"]),
            (&["top/CLAUDE.MD"], &["top/CLAUDE.MD"]),
            (
                &["top/AGENTS.override.md", "top/AGENTS.md", "top/mid/AGENTS.md"],
                &["top/AGENTS.override.md", "top/mid/AGENTS.md"],
            ),
            (&["top/AGENTS.md/", "top/CLAUDE.md"], &["top/CLAUDE.md"]),
            (&["top/AGENTS.md/"], &[]),
            (&["top/.git/", "top/mid/.git/", "top/AGENTS.md"], &["top/AGENTS.md"]),
            (&["top/mid/cwd/sub/AGENTS.md"], &[]),
        ];
        for (files, expected) in cases {
            assert_eq!(Scratch::new(files).found(), *expected, "{files:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_reached_twice_counts_once() {
        let scratch = Scratch::new(&["top/AGENTS.md", "top/mid/cwd/AGENTS.md"]);
        std::os::unix::fs::symlink(
            scratch.path("top/AGENTS.md"),
            scratch.path("top/mid/CLAUDE.md"),
        )
        .unwrap();
        assert_eq!(scratch.found(), ["top/AGENTS.md", "top/mid/cwd/AGENTS.md"]);
        let (files, _) = discover(&scratch.path("top"), &scratch.path("top/mid"));
        let ours = files.iter().filter(|file| file.path.starts_with(scratch.0.path()));
        assert_eq!(ours.count(), 1, "the agent dir may be above cwd");
    }

    #[test]
    fn byte_order_marks_and_bad_bytes_do_not_get_in_the_way() {
        let scratch = Scratch::new(&[]);
        fs::write(scratch.path("top/AGENTS.md"), b"\xef\xbb\xbfa\xffb\n").unwrap();
        let (files, _) = discover(&scratch.path("agent"), &scratch.path("top"));
        assert_eq!(files.last().unwrap().content, "a\u{fffd}b\n");
    }
}
