//! Which files a search leaves out: `.gitignore` and its like, as git and ripgrep read them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pi_agent::env::{BlockingFiles, DirEntry, FileKind};

/// Most bytes read of one file of rules: more is no list that somebody wrote.
const MAX_RULES: u64 = 4 * 1024 * 1024;

/// The rules in force in one folder: its own, and through `above` those of the folders it is in.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Self>>,
    /// By how much they count: rules for this program, for every search program, of git, and of
    /// git for this copy alone.
    own: [Gitignore; 4],
    kind: RuleKind,
    is_repository: bool,
    has_own: bool,
}

/// Whose habits a search follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleKind {
    /// Files of rules in a folder, the stronger one first; the last one is git's.
    files: [&'static str; 3],
    /// Whether the rules of git hold outside of repositories, too.
    without_repository: bool,
}

impl RuleKind {
    /// Of ripgrep: what is in no repository is not ignored for git's sake.
    pub(crate) const TEXT: Self =
        Self { files: [".rgignore", ".ignore", ".gitignore"], without_repository: false };
    /// Of fd.
    pub(crate) const NAMES: Self =
        Self { files: [".fdignore", ".ignore", ".gitignore"], without_repository: true };
}

/// Where git rules begin in [`Rules::own`]; they end at the border of a repository.
const OF_GIT: usize = 2;

/// Rules that hold everywhere: git's list for all repositories of a user.
#[derive(Debug)]
pub(super) struct GlobalRules(Gitignore);

impl GlobalRules {
    /// The file git's `core.excludesFile` names, or the usual one, with patterns relative to `root`.
    pub(super) fn read(
        files: &dyn BlockingFiles,
        root: &Path,
        home: Option<&Path>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Self {
        let configured = environment.get(OsStr::new("XDG_CONFIG_HOME")).map(PathBuf::from);
        let config = configured
            .filter(|folder| folder.is_absolute())
            .or_else(|| home.map(|home| home.join(".config")));
        let named = [home.map(|home| home.join(".gitconfig"))]
            .into_iter()
            .chain([config.as_ref().map(|config| config.join("git/config"))])
            .flatten()
            .find_map(|file| excludes_file(&text_of(files, &file)?, home));
        let list = named.or_else(|| config.map(|config| config.join("git/ignore")));
        let rules = list.map_or_else(Gitignore::empty, |list| rules_of(files, root, &[list]));
        Self(rules)
    }
}

impl Rules {
    /// The rules of `folder`, whose names are `entries`.
    pub(super) fn of_folder(
        files: &dyn BlockingFiles,
        kind: RuleKind,
        folder: &Path,
        entries: &[DirEntry],
        above: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        let has = |name: &str| {
            entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name))).is_ok()
        };
        let is_repository = has(".git") || has(".jj");
        let present = kind.files.map(has);
        if !is_repository
            && !present.contains(&true)
            && let Some(above) = above
        {
            return Arc::clone(above);
        }
        Arc::new(Self::read(files, kind, folder, present, is_repository, above))
    }

    /// The rules of the folders `folder` is in, from the top down.
    pub(super) fn above(
        files: &dyn BlockingFiles,
        kind: RuleKind,
        folder: &Path,
    ) -> Option<Arc<Self>> {
        let mut ancestors: Vec<&Path> = folder.ancestors().skip(1).collect();
        ancestors.reverse();
        let mut rules = None;
        for ancestor in ancestors {
            let has = |name: &str| files.stat(&ancestor.join(name)).is_ok();
            let (present, is_repository) = (kind.files.map(has), has(".git") || has(".jj"));
            if is_repository || present.contains(&true) {
                let own = Self::read(files, kind, ancestor, present, is_repository, rules.as_ref());
                rules = Some(Arc::new(own));
            }
        }
        rules
    }

    fn read(
        files: &dyn BlockingFiles,
        kind: RuleKind,
        folder: &Path,
        present: [bool; 3],
        is_repository: bool,
        above: Option<&Arc<Self>>,
    ) -> Self {
        let mut own = [const { None }; 4];
        for ((name, present), slot) in kind.files.into_iter().zip(present).zip(&mut own) {
            *slot = present.then(|| rules_of(files, folder, &[folder.join(name)]));
        }
        if let ([.., last], true) = (&mut own, is_repository) {
            *last = Some(rules_of(files, folder, &[exclude_list(files, folder)]));
        }
        let own = own.map(|rules| rules.unwrap_or_else(Gitignore::empty));
        let has_own = own.iter().any(|rules| !rules.is_empty());
        Self { above: above.cloned(), own, kind, is_repository, has_own }
    }

    /// Whether an entry of this folder or below is left out. `path` is absolute.
    pub(super) fn ignore(&self, global: &GlobalRules, path: &Path, is_dir: bool) -> bool {
        let mut found = [const { Match::<()>::None }; 4];
        let mut level = Some(self);
        let mut left_repository = false;
        while let Some(rules) = level {
            if rules.has_own {
                for (kind, (own, found)) in rules.own.iter().zip(&mut found).enumerate() {
                    if found.is_none() && !own.is_empty() && (kind < OF_GIT || !left_repository) {
                        *found = own.matched(path, is_dir).map(|_| ());
                    }
                }
            }
            left_repository |= rules.is_repository;
            level = rules.above.as_deref();
        }
        let with_git = left_repository || self.kind.without_repository;
        let kinds = if with_git { found.len() } else { OF_GIT };
        match found.into_iter().take(kinds).fold(Match::None, Match::or) {
            Match::None => with_git && global.0.matched(path, is_dir).is_ignore(),
            found => found.is_ignore(),
        }
    }
}

/// Where git keeps the rules of this copy alone. In a linked work tree and in a submodule `.git` is a
/// file that names the folder, and a work tree shares the list of its main one.
fn exclude_list(files: &dyn BlockingFiles, folder: &Path) -> PathBuf {
    let mut git = folder.join(".git");
    if files.stat(&git).is_ok_and(|found| found.kind == FileKind::File)
        && let Some(text) = text_of(files, &git)
        && let Some(named) = text.strip_prefix("gitdir:")
    {
        git = folder.join(named.trim());
        if let Some(common) = text_of(files, &git.join("commondir")) {
            git.push(common.trim());
        }
    }
    git.join("info/exclude")
}

/// The rules in `lists`; what cannot be read or understood is no rule.
fn rules_of(files: &dyn BlockingFiles, root: &Path, lists: &[PathBuf]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for list in lists {
        let Some(text) = text_of(files, list) else { continue };
        for line in text.trim_start_matches('\u{feff}').lines() {
            // A pattern git does not understand is left out by it, too.
            drop(builder.add_line(Some(list.clone()), line));
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn text_of(files: &dyn BlockingFiles, path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    files.open(path).ok()?.take(MAX_RULES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of `excludesFile` in the section `core` of a git configuration.
fn excludes_file(config: &str, home: Option<&Path>) -> Option<PathBuf> {
    let mut in_core = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.trim_end_matches(']').trim().eq_ignore_ascii_case("core");
        } else if let Some((name, value)) = line.split_once('=')
            && in_core
            && name.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"'));
        }
    }
    let value = found.filter(|value| !value.is_empty())?;
    Some(match home {
        Some(home) => crate::paths::expand_home(value, home),
        None => PathBuf::from(value),
    })
}
