//! Whether the project's own settings and prompts count.
//!
//! Owns: what needs trust and how it is decided without asking. Never: asks, or writes `trust.json`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Warning;
use crate::settings::ProjectTrust;

/// Entries of `.pi` that can change what pi does. A bare `.pi` needs no trust.
const PROTECTED: [&str; 9] = [
    "settings.json",
    "mcp.json",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
    "extensions",
    "skills",
    "prompts",
    // The old name of `prompts`, which it becomes in a trusted project.
    "commands",
    "themes",
];

/// Where the question comes up.
#[derive(Debug, Clone, Copy)]
pub struct TrustQuestion<'a> {
    pub cwd: &'a Path,
    pub home: &'a Path,
    pub agent_dir: &'a Path,
    /// `--approve` or `--no-approve`.
    pub approve: Option<bool>,
    pub default: ProjectTrust,
}

/// The answer, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustDecision {
    pub trusted: bool,
    pub reason: TrustReason,
    /// The saved decisions cannot be read.
    pub warning: Option<Warning>,
}

/// What settled the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustReason {
    Flag,
    /// Saved for this directory: cwd or one above.
    Saved(PathBuf),
    /// The project has nothing that needs trust.
    NothingToTrust,
    /// `defaultProjectTrust`; what would be asked is a no.
    Default,
    /// Nobody can tell whether a no is saved, so it is a no.
    UnreadableStore,
}

/// The project's `.pi`. `None` where that is the user's own directory of configuration.
pub fn project_dir(cwd: &Path, agent_dir: &Path) -> Option<PathBuf> {
    let dir = cwd.join(".pi");
    (canonical(&dir) != canonical(agent_dir)).then_some(dir)
}

/// Decides for modes that cannot ask: the flag, then the saved decision of the nearest directory,
/// then whether there is anything to trust, then the default.
pub fn decide(question: &TrustQuestion<'_>) -> TrustDecision {
    // Whoever else may have a say (an extension of the user) comes between the two.
    flag(question).unwrap_or_else(|| saved_or_default(question))
}

fn flag(question: &TrustQuestion<'_>) -> Option<TrustDecision> {
    let trusted = question.approve?;
    Some(TrustDecision { trusted, reason: TrustReason::Flag, warning: None })
}

fn saved_or_default(question: &TrustQuestion<'_>) -> TrustDecision {
    let (saved, warning) = match saved_decision(question.agent_dir, question.cwd) {
        Ok(saved) => (saved, None),
        Err(warning) => (None, Some(warning)),
    };
    let (trusted, reason) = if let Some((directory, trusted)) = saved {
        (trusted, TrustReason::Saved(directory))
    } else if !has_protected_resources(question) {
        (true, TrustReason::NothingToTrust)
    } else if warning.is_some() {
        (false, TrustReason::UnreadableStore)
    } else {
        (question.default == ProjectTrust::Always, TrustReason::Default)
    };
    TrustDecision { trusted, reason, warning }
}

/// Whether the project holds anything that would be read only if it is trusted. The user's own
/// skills in the home directory are no project's.
fn has_protected_resources(question: &TrustQuestion<'_>) -> bool {
    let own = project_dir(question.cwd, question.agent_dir).into_iter();
    let own = own.flat_map(|dir| PROTECTED.map(|name| dir.join(name)));
    let home = canonical(question.home);
    let cwd = canonical(question.cwd);
    let shared = cwd
        .ancestors()
        .filter(|ancestor| **ancestor != *home)
        .map(|ancestor| ancestor.join(".agents").join("skills"));
    own.chain(shared).any(|path| may_exist(&path))
}

/// What cannot be looked at counts as there.
fn may_exist(path: &Path) -> bool {
    match fs::metadata(path) {
        Ok(_) => true,
        Err(error) => {
            !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}

/// The decision for cwd or the nearest directory above it.
fn saved_decision(agent_dir: &Path, cwd: &Path) -> Result<Option<(PathBuf, bool)>, Warning> {
    let path = agent_dir.join("trust.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&path, &error)),
    };
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let store = match serde_json::from_slice(text) {
        Ok(Value::Object(store)) => store,
        Ok(_) => return Err(unreadable(&path, &"expected an object")),
        Err(error) => return Err(unreadable(&path, &error)),
    };
    let cwd = canonical(cwd);
    Ok(cwd.ancestors().find_map(|ancestor| {
        let saved = |(directory, trusted): (&String, &Value)| {
            same_directory(Path::new(directory), ancestor).then_some(trusted.as_bool()).flatten()
        };
        store.iter().find_map(saved).map(|trusted| (ancestor.to_owned(), trusted))
    }))
}

fn unreadable(path: &Path, message: &dyn std::fmt::Display) -> Warning {
    Warning(format!("Cannot read saved trust decisions in {}: {message}", path.display()))
}

/// Components are compared, so a slash at the end does not matter; nor does case on Windows.
fn same_directory(a: &Path, b: &Path) -> bool {
    if cfg!(windows) {
        a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase()
    } else {
        a == b
    }
}

/// The path without links, or as it is when it does not exist.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch {
        _dir: tempfile::TempDir,
        root: PathBuf,
    }

    impl Scratch {
        /// `files` below the root; those with a slash at the end are directories.
        fn new(files: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(dir.path()).unwrap();
            fs::create_dir_all(root.join("home/.pi/agent")).unwrap();
            for file in files.iter().chain(&["home/project/sub/"]) {
                let path = root.join(file);
                if file.ends_with('/') {
                    fs::create_dir_all(path).unwrap();
                } else {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, "{}").unwrap();
                }
            }
            Self { _dir: dir, root }
        }

        /// Saves decisions; keys are below the root.
        fn save(&self, decisions: &[(&str, Value)]) -> &Self {
            let store: serde_json::Map<_, _> = decisions
                .iter()
                .map(|(key, value)| (format!("{}/{key}", self.root.display()), value.clone()))
                .collect();
            self.save_text(&Value::Object(store).to_string())
        }

        fn save_text(&self, text: &str) -> &Self {
            fs::write(self.root.join("home/.pi/agent/trust.json"), text).unwrap();
            self
        }

        fn decide(&self, cwd: &str, approve: Option<bool>, default: ProjectTrust) -> TrustDecision {
            decide(&TrustQuestion {
                cwd: &self.root.join(cwd),
                home: &self.root.join("home"),
                agent_dir: &self.root.join("home/.pi/agent"),
                approve,
                default,
            })
        }
    }

    #[test]
    fn only_resources_that_act_need_trust() {
        let work = "home/project";
        for (file, cwd, needs_trust) in [
            ("home/project/.pi/settings.json", work, true),
            ("home/project/.pi/mcp.json", work, true),
            ("home/project/.pi/SYSTEM.md", work, true),
            ("home/project/.pi/APPEND_SYSTEM.md", work, true),
            ("home/project/.pi/extensions/", work, true),
            ("home/project/.pi/skills/", work, true),
            ("home/project/.pi/prompts/", work, true),
            ("home/project/.pi/commands/", work, true),
            ("home/project/.pi/themes/", work, true),
            // A file of that name may become a folder, and says the same.
            ("home/project/.pi/themes", work, true),
            ("home/project/.agents/skills/", work, true),
            (".agents/skills/", work, true),
            ("home/project/.pi/", work, false),
            ("home/project/.pi", work, false),
            ("home/project/.pi/other.json", work, false),
            ("home/project/.pi/keybindings.json", work, false),
            ("home/project/.pi/models.json", work, false),
            ("home/project/.pi/auth.json", work, false),
            ("home/project/.pi/AGENTS.md", work, false),
            ("home/project/.pi/npm/", work, false),
            ("home/project/.pi/git/", work, false),
            ("home/project/.agents/", work, false),
            ("home/project/AGENTS.md", work, false),
            ("home/project/CLAUDE.md", work, false),
            ("home/project/settings.json", work, false),
            ("home/.agents/skills/", work, false),
            ("home/.agents/skills/", "home", false),
            (".agents/skills/", "home", true),
            // The home directory can be a project; the agent directory in it is none.
            ("home/.pi/settings.json", "home", true),
            ("home/.pi/agent/settings.json", "home", false),
            ("home/.pi/agent/SYSTEM.md", "home/.pi", false),
            ("home/.pi/agent/.pi/settings.json", "home/.pi/agent", true),
        ] {
            let decision = Scratch::new(&[file]).decide(cwd, None, ProjectTrust::Ask);
            assert_eq!(decision.trusted, !needs_trust, "{file} in {cwd}");
            let expected =
                if needs_trust { TrustReason::Default } else { TrustReason::NothingToTrust };
            assert_eq!(decision.reason, expected, "{file} in {cwd}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_looked_through() {
        use std::os::unix::fs::symlink;

        let scratch = Scratch::new(&["else/settings.json", "else/skills/"]);
        let at = |path: &str| scratch.root.join(path);
        symlink("nowhere", at("home/project/.pi")).unwrap();
        assert!(scratch.decide("home/project", None, ProjectTrust::Ask).trusted, "to nothing");
        fs::remove_file(at("home/project/.pi")).unwrap();
        symlink(at("else"), at("home/project/.pi")).unwrap();
        assert!(!scratch.decide("home/project", None, ProjectTrust::Ask).trusted);
        fs::remove_file(at("home/project/.pi")).unwrap();
        // The user's own directory is no project's, whatever it is called.
        fs::write(at("home/.pi/agent/settings.json"), "{}").unwrap();
        symlink(at("home/.pi/agent"), at("home/project/.pi")).unwrap();
        assert!(scratch.decide("home/project", None, ProjectTrust::Ask).trusted);
        // Shared skills of the directory a link leads to, not of the link's.
        symlink(at("home/project/sub"), at("link")).unwrap();
        fs::create_dir_all(at("home/project/.agents/skills")).unwrap();
        assert!(!scratch.decide("link", None, ProjectTrust::Ask).trusted);
        symlink(at("home"), at("house")).unwrap();
        let question = TrustQuestion {
            cwd: &at("home"),
            home: &at("house"),
            agent_dir: &at("home/.pi/agent"),
            approve: None,
            default: ProjectTrust::Ask,
        };
        fs::create_dir_all(at("home/.agents/skills")).unwrap();
        assert!(decide(&question).trusted, "home by another name");
    }

    #[test]
    fn a_parents_pi_does_not_count_but_its_shared_skills_do() {
        let scratch = Scratch::new(&["home/project/.pi/settings.json"]);
        assert!(scratch.decide("home/project/sub", None, ProjectTrust::Ask).trusted);
        let scratch = Scratch::new(&["home/project/.agents/skills/"]);
        assert!(!scratch.decide("home/project/sub", None, ProjectTrust::Ask).trusted);
    }

    #[test]
    fn the_default_decides_where_nobody_else_does() {
        let scratch = Scratch::new(&["home/project/.pi/settings.json"]);
        for (default, trusted) in
            [(ProjectTrust::Ask, false), (ProjectTrust::Never, false), (ProjectTrust::Always, true)]
        {
            assert_eq!(scratch.decide("home/project", None, default).trusted, trusted);
        }
    }

    #[test]
    fn flags_beat_what_is_saved() {
        let scratch = Scratch::new(&["home/project/.pi/settings.json"]);
        scratch.save(&[("home/project", false.into())]);
        for approve in [true, false] {
            let decision = scratch.decide("home/project", Some(approve), ProjectTrust::Always);
            assert_eq!((decision.trusted, decision.reason), (approve, TrustReason::Flag));
        }
    }

    #[test]
    fn the_nearest_saved_decision_counts() {
        let work = "home/project";
        type Case<'a> = (&'a [(&'a str, Value)], &'a str, bool);
        let cases: &[Case<'_>] = &[
            (&[(work, true.into())], work, true),
            (&[(work, true.into())], "home/project/sub", true),
            (&[("home", true.into()), (work, false.into())], "home/project/sub", false),
            (&[("home/project/", true.into())], work, true),
            (&[("home/wor", true.into())], work, false),
            (&[("home/project/sub", true.into())], work, false),
            (&[(work, Value::Null), ("home", true.into())], work, true),
            (&[(work, "yes".into())], work, false),
        ];
        for (saved, cwd, trusted) in cases {
            let scratch =
                Scratch::new(&["home/project/.pi/SYSTEM.md", "home/project/sub/.pi/SYSTEM.md"]);
            let decision = scratch.save(saved).decide(cwd, None, ProjectTrust::Ask);
            assert_eq!(decision.trusted, *trusted, "{saved:?} {cwd}");
        }
    }

    #[test]
    fn a_saved_no_counts_even_with_nothing_to_trust() {
        let scratch = Scratch::new(&[]);
        scratch.save(&[("home/project", false.into())]);
        let decision = scratch.decide("home/project", None, ProjectTrust::Always);
        assert!(!decision.trusted);
        assert_eq!(decision.reason, TrustReason::Saved(scratch.root.join("home/project")));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_a_directory_are_the_directory() {
        let scratch = Scratch::new(&["home/project/.pi/SYSTEM.md"]);
        std::os::unix::fs::symlink(scratch.root.join("home/project"), scratch.root.join("link"))
            .unwrap();
        scratch.save(&[("home/project", true.into())]);
        assert!(scratch.decide("link", None, ProjectTrust::Ask).trusted);
    }

    #[test]
    fn an_unreadable_store_means_no() {
        for text in ["bad", "[]", ""] {
            let scratch = Scratch::new(&["home/project/.pi/SYSTEM.md"]);
            let decision =
                scratch.save_text(text).decide("home/project", None, ProjectTrust::Always);
            assert_eq!(
                (decision.trusted, decision.reason),
                (false, TrustReason::UnreadableStore),
                "{text:?}"
            );
            assert!(decision.warning.unwrap().0.contains("trust.json"), "{text:?}");
            assert!(scratch.decide("home/project", Some(true), ProjectTrust::Ask).trusted);
        }
    }

    #[test]
    fn the_agent_dir_is_never_a_project() {
        let scratch = Scratch::new(&["home/.pi/agent/settings.json", "home/.pi/agent/SYSTEM.md"]);
        assert!(scratch.decide("home", None, ProjectTrust::Ask).trusted);
        let work = scratch.root.join("home/project");
        let pi = work.join(".pi");
        assert_eq!(project_dir(&work, &pi), None, "the agent dir itself");
        assert_eq!(project_dir(&work, &scratch.root), Some(pi));
    }
}
