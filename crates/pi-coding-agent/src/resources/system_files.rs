//! The user's own system prompt: options of the command line, `SYSTEM.md`, `APPEND_SYSTEM.md`.
//!
//! Owns: which of them counts. Never: combines two scopes.

use std::fs;
use std::path::Path;

use super::read_text;
use crate::env::Env;
use crate::error::Warning;

/// What replaces and what extends the built-in prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemFiles {
    pub custom: Option<String>,
    pub append: Option<String>,
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct SystemFileSources<'a> {
    /// `--system-prompt`: a text or a path.
    pub custom: Option<&'a str>,
    /// Every `--append-system-prompt`: texts or paths.
    pub append: &'a [String],
    pub agent_dir: &'a Path,
    /// The project's `.pi`, if it is trusted.
    pub project_dir: Option<&'a Path>,
    /// Where relative paths begin.
    pub cwd: &'a Path,
}

impl SystemFiles {
    /// For each of the two: the command line, else the project's file, else the user's. An option
    /// with an empty text still hides the files. Blank files count as missing.
    pub fn read(sources: &SystemFileSources<'_>, env: &Env) -> (Self, Vec<Warning>) {
        let mut warnings = Vec::new();
        let custom = match sources.custom {
            Some(given) => Some(text_or_file(given, sources.cwd, env, &mut warnings)),
            None => from_files("SYSTEM.md", sources, &mut warnings),
        };
        let append = if sources.append.is_empty() {
            from_files("APPEND_SYSTEM.md", sources, &mut warnings)
        } else {
            let texts = sources.append.iter();
            let texts = texts.map(|given| text_or_file(given, sources.cwd, env, &mut warnings));
            Some(texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"))
        };
        let filled = |text: &String| !text.trim().is_empty();
        (Self { custom: custom.filter(filled), append: append.filter(filled) }, warnings)
    }
}

fn from_files(
    name: &str,
    sources: &SystemFileSources<'_>,
    warnings: &mut Vec<Warning>,
) -> Option<String> {
    let directories = sources.project_dir.into_iter().chain([sources.agent_dir]);
    directories.map(|dir| dir.join(name)).find_map(|path| match read_text(&path) {
        Ok(text) => text.filter(|text| !text.trim().is_empty()),
        Err(error) => {
            warnings.push(Warning(format!("Could not read {}: {error}", path.display())));
            None
        }
    })
}

/// The file's content if `given` is the path of something that exists, else `given` itself.
fn text_or_file(given: &str, cwd: &Path, env: &Env, warnings: &mut Vec<Warning>) -> String {
    let path = env.resolve_path(cwd, given);
    if given.is_empty() || fs::metadata(&path).is_err() {
        return given.to_owned();
    }
    let problem = match read_text(&path) {
        Ok(Some(text)) => return text,
        Ok(None) => "it is not a file".to_owned(),
        Err(error) => error.to_string(),
    };
    warnings.push(Warning(format!(
        "Could not read the prompt file {}, taking its name as the text: {problem}",
        path.display()
    )));
    given.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in ["agent", "cwd/.pi", "cwd/dir"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for (name, content) in files {
            fs::write(dir.path().join(name), content).unwrap();
        }
        dir
    }

    fn read(
        dir: &tempfile::TempDir,
        custom: Option<&str>,
        append: &[&str],
        trusted: bool,
    ) -> (SystemFiles, Vec<Warning>) {
        let append: Vec<_> = append.iter().map(|&text| text.to_owned()).collect();
        let home = dir.path().display().to_string();
        let project_dir = dir.path().join("cwd/.pi");
        let sources = SystemFileSources {
            custom,
            append: &append,
            agent_dir: &dir.path().join("agent"),
            project_dir: trusted.then_some(&*project_dir),
            cwd: &dir.path().join("cwd"),
        };
        SystemFiles::read(&sources, &Env::from_variables([("HOME", &home)]))
    }

    #[test]
    fn the_command_line_beats_the_project_and_that_the_user() {
        let all = [
            ("agent/SYSTEM.md", "user"),
            ("cwd/.pi/SYSTEM.md", "\u{feff}project\n"),
            ("agent/APPEND_SYSTEM.md", "user+"),
            ("cwd/.pi/APPEND_SYSTEM.md", "project+"),
            ("cwd/file.md", "from file\n"),
            ("home.md", "from home"),
        ];
        type Case<'a> = (Option<&'a str>, &'a [&'a str], bool, Option<&'a str>, Option<&'a str>);
        let cases: &[Case<'_>] = &[
            (None, &[], true, Some("project\n"), Some("project+")),
            (None, &[], false, Some("user"), Some("user+")),
            (Some("text"), &[], true, Some("text"), Some("project+")),
            (
                Some("file.md"),
                &["a", "file.md"],
                true,
                Some("from file\n"),
                Some("a\n\nfrom file\n"),
            ),
            (Some("~/home.md"), &["~/home.md", ""], false, Some("from home"), Some("from home")),
            (Some(""), &[""], true, None, None),
            (Some("no\nfile.md"), &["b"], false, Some("no\nfile.md"), Some("b")),
        ];
        let dir = scratch(&all);
        for (custom, append, trusted, expected_custom, expected_append) in cases {
            let (files, warnings) = read(&dir, *custom, append, *trusted);
            assert_eq!(files.custom.as_deref(), *expected_custom, "{custom:?} {trusted}");
            assert_eq!(files.append.as_deref(), *expected_append, "{append:?} {trusted}");
            assert_eq!(warnings, []);
        }
    }

    #[test]
    fn blank_and_missing_files_are_nothing() {
        let dir = scratch(&[("cwd/.pi/SYSTEM.md", " \n"), ("agent/SYSTEM.md", "user")]);
        let (files, _) = read(&dir, None, &[], true);
        assert_eq!(files, SystemFiles { custom: Some("user".into()), append: None });
    }

    #[test]
    fn a_directory_is_a_warning_and_a_text() {
        let (files, warnings) = read(&scratch(&[]), Some("dir"), &[], true);
        assert_eq!(files.custom.as_deref(), Some("dir"));
        assert_eq!(warnings.len(), 1);
    }
}
