//! Files that say what to pass over.

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What later ones say beats what earlier ones say.
pub(super) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// The rules in one directory, and those of the directories above it up to where the search began.
#[derive(Debug)]
pub(super) struct IgnoreRules {
    rules: Gitignore,
    above: Option<Arc<Self>>,
}

impl IgnoreRules {
    /// The rules for what is in `directory`, of the texts of its own files and of those above. A
    /// line that is no rule is passed over.
    pub(super) fn below(
        above: Option<Arc<Self>>,
        directory: &Path,
        texts: &[String],
    ) -> Option<Arc<Self>> {
        let mut builder = GitignoreBuilder::new(directory);
        for line in texts.iter().flat_map(|text| text.lines()) {
            // What is wrong with a rule is for the tool it was written for to tell.
            drop(builder.add_line(None, line));
        }
        match builder.build() {
            Ok(rules) if !rules.is_empty() => Some(Arc::new(Self { rules, above })),
            _ => above,
        }
    }

    /// Whether something below the rules' directory is to be passed over.
    pub(super) fn hide(&self, path: &Path, is_directory: bool) -> bool {
        match self.rules.matched(path, is_directory) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|above| above.hide(path, is_directory)),
        }
    }
}
