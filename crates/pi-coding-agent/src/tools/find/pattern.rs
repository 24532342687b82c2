//! Which paths a pattern of the find tool means.

use std::path::Path;

use globset::{GlobBuilder, GlobSet};

/// A glob, and what of a path it is held against.
#[derive(Debug)]
pub(super) struct Pattern {
    glob: GlobSet,
    subject: Subject,
    /// It ends in `/`.
    only_folders: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// A pattern without `/`: names at any depth.
    Name,
    /// Below the folder that is searched.
    Relative,
    /// A pattern that starts with `/`.
    Absolute,
}

impl Pattern {
    /// A pattern in lower case matches without regard to case, an empty one everything.
    ///
    /// # Errors
    /// It is no glob; the reason.
    pub(super) fn new(text: &str) -> Result<Self, globset::Error> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let text = if text.is_empty() { "*" } else { text };
        let (text, only_folders) = match text.strip_suffix('/') {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (text, false),
        };
        let subject = if text.starts_with('/') {
            Subject::Absolute
        } else if text.contains('/') {
            Subject::Relative
        } else {
            Subject::Name
        };
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .case_insensitive(!text.contains(char::is_uppercase))
            .build()?;
        // A matcher of its own would panic where the pattern is too large to compile.
        let glob = GlobSet::builder().add(glob).build()?;
        Ok(Self { glob, subject, only_folders })
    }

    /// `path` is absolute, `relative` is what of it lies below the folder that is searched.
    pub(super) fn matches(&self, path: &Path, relative: &Path, is_folder: bool) -> bool {
        if self.only_folders && !is_folder {
            return false;
        }
        match self.subject {
            Subject::Name => path.file_name().is_some_and(|name| self.glob.is_match(name)),
            Subject::Relative => self.glob.is_match(relative),
            Subject::Absolute => self.glob.is_match(path),
        }
    }
}
