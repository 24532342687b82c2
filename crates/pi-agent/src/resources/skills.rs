//! Skills: instructions for particular kinds of work, each in a file of its own.
//!
//! Owns: reading them, which one has a name, what the prompt says of them, calling one by
//! `/skill:name`. Never: decides where to look or whom to trust, or keeps a skill's instructions:
//! they are read when they are used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::StreamExt as _;

mod discover;
mod ignore_files;
mod invoke;
mod prompt_section;
#[cfg(test)]
mod tests;

pub use discover::{RootFiles, find_skill_files, skill_files_at};
pub use prompt_section::{SkillReader, skills_section};

use super::diagnostic::{ResourceDiagnostic, ResourceProblem};
use super::files::{self, ResourceFile};
use super::front_matter::{Document, FrontMatterError};
use crate::env::ExecutionEnv;

/// The file that makes a directory a skill.
const SKILL_FILE: &str = "SKILL.md";

/// In characters; the bounds are those of the Agent Skills specification.
pub(super) const MAX_NAME: usize = 64;
pub(super) const MAX_DESCRIPTION: usize = 1024;

/// What is known of a skill without its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// What the model goes by when it decides whether to read the file.
    pub description: String,
    /// Absolute, as the model is told it.
    pub file_path: PathBuf,
    /// Where paths in the file begin: its directory.
    pub base_dir: PathBuf,
    /// The prompt is silent about it; the user can still call it.
    pub disable_model_invocation: bool,
}

impl Skill {
    /// Makes a skill of a file's content, and says what is wrong with it. `None` without a usable
    /// description, which is a fault only in a `SKILL.md`; other files may just be no skills.
    ///
    /// Front matter has the fields. Without a name the skill is called like its directory, or like
    /// its file if that is not `SKILL.md`.
    pub fn parse(
        file_path: impl Into<PathBuf>,
        text: &str,
    ) -> (Option<Self>, Vec<ResourceDiagnostic>) {
        let file_path = file_path.into();
        let diagnostic = |problem| ResourceDiagnostic::new(&file_path, problem);
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(FrontMatterError { line, message }) => {
                return (None, vec![diagnostic(ResourceProblem::FrontMatter(message)).at(line)]);
            }
        };
        let description = document.text("description").filter(|text| !text.trim().is_empty());
        let Some(description) = description else {
            let line = document.line("description");
            let fault = diagnostic(ResourceProblem::NoDescription).at(line);
            return (None, is_skill_file(&file_path).then_some(fault).into_iter().collect());
        };
        let named = document.text("name").filter(|name| !name.is_empty()).map(str::to_owned);
        let skill = Self {
            name: named.unwrap_or_else(|| default_name(&file_path)),
            description: description.to_owned(),
            base_dir: file_path.parent().unwrap_or(Path::new("")).to_owned(),
            disable_model_invocation: document.flag("disable-model-invocation"),
            file_path: file_path.clone(),
        };
        let of_description = check_description(&skill.description).into_iter();
        let of_description = of_description.map(|problem| (problem, "description"));
        let of_name = check_name(&skill.name).into_iter().map(|problem| (problem, "name"));
        let diagnostics = of_description
            .chain(of_name)
            .map(|(problem, field)| diagnostic(problem).at(document.line(field)))
            .collect();
        (Some(skill), diagnostics)
    }
}

fn is_skill_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SKILL_FILE)
}

fn default_name(file_path: &Path) -> String {
    match file_path.parent().and_then(Path::file_name) {
        Some(directory) if is_skill_file(file_path) => directory.to_string_lossy().into_owned(),
        _ => files::stem(file_path),
    }
}

fn check_description(description: &str) -> Option<ResourceProblem> {
    let length = description.chars().count();
    (length > MAX_DESCRIPTION).then_some(ResourceProblem::DescriptionTooLong(length))
}

fn check_name(name: &str) -> Vec<ResourceProblem> {
    let length = name.chars().count();
    let is_allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    [
        (length > MAX_NAME, ResourceProblem::NameTooLong(length)),
        (!name.chars().all(is_allowed), ResourceProblem::NameCharacters),
        (name.starts_with('-') || name.ends_with('-'), ResourceProblem::NameEndsInHyphen),
        (name.contains("--"), ResourceProblem::NameDoublesHyphen),
    ]
    .into_iter()
    .filter_map(|(is_wrong, problem)| is_wrong.then_some(problem))
    .collect()
}

/// Skills by name, in the order they were found. The first to have a name keeps it, so the places
/// that count most come first.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    /// Of every file that was looked at, by whatever path.
    real_paths: BTreeSet<PathBuf>,
}

impl Skills {
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Skill> {
        self.skills.iter()
    }

    pub fn len(&self) -> usize {
        self.skills.len()
    }

    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Adds a skill behind the others. Gives what is wrong if its name is taken; the same file
    /// twice is not wrong.
    pub fn add(&mut self, skill: Skill) -> Option<ResourceDiagnostic> {
        let Some(winner) = self.get(&skill.name) else {
            self.skills.push(skill);
            return None;
        };
        (winner.file_path != skill.file_path).then(|| {
            let problem =
                ResourceProblem::Collision { name: skill.name, winner: winner.file_path.clone() };
            ResourceDiagnostic::new(skill.file_path, problem)
        })
    }

    /// Adds the skills in `directory`, which should be absolute. One that does not exist has none.
    ///
    /// A directory with a `SKILL.md` is one skill, and nothing below it is looked at. Any other is
    /// searched, in the order of names, without dot directories, `node_modules` and what
    /// `.gitignore`, `.ignore` and `.fdignore` files in it say. Links are followed; a file or
    /// directory that was met before is passed over.
    pub async fn discover(
        &mut self,
        env: &dyn ExecutionEnv,
        directory: &Path,
        root_files: RootFiles,
    ) -> Vec<ResourceDiagnostic> {
        let (files, mut diagnostics) = find_skill_files(env, directory, root_files).await;
        diagnostics.extend(self.add_files(env, files).await);
        diagnostics
    }

    /// Adds what somebody asked for by its absolute path: a `.md` file, or a directory to search.
    pub async fn load(&mut self, env: &dyn ExecutionEnv, path: &Path) -> Vec<ResourceDiagnostic> {
        match skill_files_at(env, path).await {
            Ok((files, mut diagnostics)) => {
                diagnostics.extend(self.add_files(env, files).await);
                diagnostics
            }
            Err(diagnostic) => vec![diagnostic],
        }
    }

    /// Adds the skills of these files, in order. One that was looked at before, by whatever path, is
    /// passed over.
    pub async fn add_files(
        &mut self,
        env: &dyn ExecutionEnv,
        files: Vec<ResourceFile>,
    ) -> Vec<ResourceDiagnostic> {
        let is_new = |file: &ResourceFile| self.real_paths.insert(file.real_path.clone());
        let new = files.into_iter().filter(is_new).map(|file| file.path).collect();
        let mut texts = pin!(files::read_each(env, new));
        let mut diagnostics = Vec::new();
        while let Some((path, text)) = texts.next().await {
            match text {
                Ok(text) => {
                    let (skill, problems) = Skill::parse(path, &text);
                    diagnostics.extend(problems);
                    diagnostics.extend(skill.and_then(|skill| self.add(skill)));
                }
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        diagnostics
    }
}

impl<'a> IntoIterator for &'a Skills {
    type Item = &'a Skill;
    type IntoIter = std::slice::Iter<'a, Skill>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
