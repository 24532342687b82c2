//! Reads the two files, once.
//!
//! Owns: which file counts when. Never: knows a key besides the few needed before trust is decided.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::catalogue::Scope;
use super::merge::merge;
use super::migrate::migrate;
use super::problems::{self, SettingsProblem};
use super::schema::{ProjectTrust, Settings};
use super::values::Values;
use crate::error::Warning;
use crate::resources::library::ResourceLists;

pub(super) const FILE_NAME: &str = "settings.json";

/// Both files as read, before anyone decided whether the project is trusted.
#[derive(Debug, Clone, Default)]
pub struct SettingsSources {
    global: Source,
    project: Source,
}

#[derive(Debug, Clone, Default)]
struct Source {
    path: PathBuf,
    /// As it is in the file, without a byte order mark.
    text: String,
    /// Current keys only.
    values: Map<String, Value>,
    warning: Option<Warning>,
}

impl SettingsSources {
    /// `project_dir` is the project's `.pi`, if it has a scope of its own.
    pub fn read(agent_dir: &Path, project_dir: Option<&Path>) -> Self {
        Self {
            global: Source::read(&agent_dir.join(FILE_NAME)),
            project: project_dir.map(|dir| Source::read(&dir.join(FILE_NAME))).unwrap_or_default(),
        }
    }

    /// What the user wants for projects without a decision; a project has no say in it.
    pub fn default_project_trust(&self) -> ProjectTrust {
        ProjectTrust::of(&self.global.values)
    }

    /// Where sessions go. The only key a project may set before it is trusted, because sessions are
    /// looked up first.
    pub fn session_dir(&self) -> Option<&str> {
        [&self.project, &self.global]
            .into_iter()
            .find_map(|source| Values::new(&source.values).value("sessionDir")?.as_str())
            .filter(|dir| !dir.is_empty())
    }

    /// The user's lists of skills, prompt templates and packages.
    pub fn user_resources(&self) -> ResourceLists<'_> {
        self.global.resources()
    }

    /// The project's, which count only when it is trusted.
    pub fn project_resources(&self) -> ResourceLists<'_> {
        self.project.resources()
    }

    /// What holds for the run, and what is wrong with the files that count.
    pub fn resolve(&self, trusted: bool) -> (Settings, Vec<Warning>) {
        let counting = if trusted { &[&self.global, &self.project][..] } else { &[&self.global] };
        let warnings = counting.iter().filter_map(|source| source.warning.clone()).collect();
        let values = match trusted {
            true => merge(&self.global.values, &self.project.values),
            false => self.global.values.clone(),
        };
        (Settings::from_values(values), warnings)
    }

    /// What is in the files that count and does not count itself. Looks at them anew, so it is nothing
    /// for every start.
    pub fn problems(&self, trusted: bool) -> Vec<SettingsProblem> {
        let (project, none) = (&self.project, &Map::new());
        let above = if trusted { &project.values } else { none };
        let mut found = problems::find(&self.global.path, &self.global.text, Scope::User, above);
        if trusted {
            found.extend(problems::find(&project.path, &project.text, Scope::Any, none));
        }
        found
    }
}

impl Source {
    fn resources(&self) -> ResourceLists<'_> {
        let values = Values::new(&self.values);
        ResourceLists {
            skills: values.list("skills"),
            prompts: values.list("prompts"),
            packages: values.list("packages"),
        }
    }

    /// A missing or blank file is no settings.
    fn read(path: &Path) -> Self {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => return Self::broken(path, &error),
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        if bytes.trim_ascii().is_empty() {
            return Self::default();
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(values)) => Self {
                path: path.to_owned(),
                text: String::from_utf8_lossy(bytes).into_owned(),
                values: migrate(values),
                warning: None,
            },
            Ok(_) => Self::broken(path, &"expected an object"),
            Err(error) => Self::broken(path, &error),
        }
    }

    fn broken(path: &Path, message: &dyn std::fmt::Display) -> Self {
        let warning = format!("Invalid settings file {}: {message}", path.display());
        Self { warning: Some(Warning(warning)), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new(global: Option<&str>, project: Option<&str>) -> Self {
            let scratch = Self(tempfile::tempdir().unwrap());
            for (dir, text) in [(scratch.agent_dir(), global), (scratch.project_dir(), project)] {
                if let Some(text) = text {
                    fs::create_dir_all(&dir).unwrap();
                    fs::write(dir.join(FILE_NAME), text).unwrap();
                }
            }
            scratch
        }

        fn agent_dir(&self) -> PathBuf {
            self.0.path().join("agent")
        }

        fn project_dir(&self) -> PathBuf {
            self.0.path().join("project/.pi")
        }

        fn sources(&self) -> SettingsSources {
            SettingsSources::read(&self.agent_dir(), Some(&self.project_dir()))
        }
    }

    #[test]
    fn reading_creates_nothing() {
        let scratch = Scratch::new(None, None);
        let (settings, warnings) = scratch.sources().resolve(true);
        assert_eq!(settings, Settings::default());
        assert_eq!(warnings, []);
        assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_broken_file_is_a_warning_and_stays_as_it_is() {
        for (text, message) in [
            ("{\n  \"a\": 1,\n}", "trailing comma at line 3 column 1"),
            ("{ // c\n}", "key must be a string at line 1 column 3"),
            ("[1]", "expected an object"),
            ("nul", "EOF while parsing a value at line 1 column 3"),
        ] {
            let scratch = Scratch::new(Some(text), Some(text));
            let (settings, warnings) = scratch.sources().resolve(false);
            assert_eq!(settings, Settings::default(), "{text}");
            let path = scratch.agent_dir().join(FILE_NAME);
            assert_eq!(
                warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
                [format!("Warning: Invalid settings file {}: {message}", path.display())]
            );
            assert_eq!(scratch.sources().resolve(true).1.len(), 2, "the project's counts now");
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
    }

    #[test]
    fn blank_files_and_byte_order_marks_are_fine() {
        for (text, model) in
            [("", None), (" \n", None), ("\u{feff}{\"defaultModel\":\"m\"}", Some("m"))]
        {
            let (settings, warnings) = Scratch::new(Some(text), None).sources().resolve(true);
            assert_eq!((settings.default_model.as_deref(), warnings), (model, vec![]), "{text:?}");
        }
    }

    #[test]
    fn the_project_counts_only_when_trusted() {
        let scratch = Scratch::new(
            Some(r#"{"defaultModel":"g","retry":{"maxRetries":1}}"#),
            Some(r#"{"defaultModel":"p","retry":{"baseDelayMs":5}}"#),
        );
        let (trusted, _) = scratch.sources().resolve(true);
        assert_eq!(trusted.default_model.as_deref(), Some("p"));
        assert_eq!((trusted.retry.max_retries, trusted.retry.base_delay_ms), (1, 5));
        let (untrusted, _) = scratch.sources().resolve(false);
        assert_eq!(untrusted.default_model.as_deref(), Some("g"));
        assert_eq!(untrusted.retry.base_delay_ms, 2000);
    }

    #[test]
    fn the_projects_session_dir_is_known_before_trust() {
        let cases = [
            (None, None, None),
            (Some(r#"{"sessionDir":"g"}"#), None, Some("g")),
            (Some(r#"{"sessionDir":"g"}"#), Some(r#"{"sessionDir":"p"}"#), Some("p")),
            (Some(r#"{"sessionDir":"g"}"#), Some(r#"{"sessionDir":5}"#), Some("g")),
        ];
        for (global, project, expected) in cases {
            assert_eq!(Scratch::new(global, project).sources().session_dir(), expected);
        }
    }

    #[test]
    fn a_project_cannot_trust_itself() {
        let always = r#"{"defaultProjectTrust":"always"}"#;
        let trust =
            |global, project| Scratch::new(global, project).sources().default_project_trust();
        assert_eq!(trust(None, Some(always)), ProjectTrust::Ask);
        assert_eq!(trust(Some(always), None), ProjectTrust::Always);
        assert_eq!(trust(Some(r#"{"defaultProjectTrust":"never"}"#), None), ProjectTrust::Never);
        assert_eq!(trust(Some(r#"{"defaultProjectTrust":7}"#), None), ProjectTrust::Ask);
    }
}
