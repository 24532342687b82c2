//! Prompt templates: texts with places for arguments, called by `/name`.
//!
//! Owns: reading them from Markdown files, which one has a name, filling them in. Never: decides
//! where to look or whom to trust.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::pin;

use futures_util::StreamExt as _;

mod arguments;
mod discover;
#[cfg(test)]
mod tests;

pub use arguments::{parse_arguments, substitute_arguments};
pub use discover::{TemplateDepth, find_template_files, template_files_at};

use super::command;
use super::diagnostic::{ResourceDiagnostic, ResourceProblem};
use super::files::{self, ResourceFile};
use super::front_matter::Document;
use crate::env::ExecutionEnv;

/// Longest description taken from a text, in characters.
const DESCRIPTION_LENGTH: usize = 60;

/// A text that a user calls by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Of the command, without the slash; case matters. With white space in it, it cannot be called.
    pub name: String,
    /// For lists of commands.
    pub description: String,
    /// What arguments it takes, for lists of commands.
    pub argument_hint: Option<String>,
    /// See [`substitute_arguments`] for what is replaced in it.
    pub body: String,
    pub file_path: PathBuf,
}

impl PromptTemplate {
    /// Makes a template of a file's content. The file's stem is the name. Front matter may give
    /// `description`, else the first line that is not empty, shortened, and `argument-hint`.
    ///
    /// # Errors
    /// The front matter is no YAML.
    pub fn parse(file_path: impl Into<PathBuf>, text: &str) -> Result<Self, ResourceDiagnostic> {
        let file_path = file_path.into();
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let problem = ResourceProblem::FrontMatter(error.message);
                return Err(ResourceDiagnostic::new(file_path, problem).at(error.line));
            }
        };
        let filled = |name| document.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self {
            name: files::stem(&file_path),
            description: filled("description").unwrap_or_else(|| first_line(&document.body)),
            argument_hint: filled("argument-hint"),
            body: document.body,
            file_path,
        })
    }

    /// The text for these arguments, given as they were typed.
    pub fn fill_in(&self, arguments: &str) -> String {
        substitute_arguments(&self.body, &parse_arguments(arguments))
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match line.char_indices().nth(DESCRIPTION_LENGTH).and_then(|(end, _)| line.get(..end)) {
        Some(begin) => format!("{begin}..."),
        None => line.to_owned(),
    }
}

/// Templates by name, in the order they were found. The first to have a name keeps it.
#[derive(Debug, Clone, Default)]
pub struct PromptTemplates {
    templates: Vec<PromptTemplate>,
    /// Of every file that was looked at, by whatever path.
    real_paths: BTreeSet<PathBuf>,
}

impl PromptTemplates {
    pub fn get(&self, name: &str) -> Option<&PromptTemplate> {
        self.templates.iter().find(|template| template.name == name)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, PromptTemplate> {
        self.templates.iter()
    }

    pub fn len(&self) -> usize {
        self.templates.len()
    }

    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Adds a template behind the others. Gives what is wrong if its name is taken; the same file
    /// twice is not wrong.
    pub fn add(&mut self, template: PromptTemplate) -> Option<ResourceDiagnostic> {
        let Some(winner) = self.get(&template.name) else {
            self.templates.push(template);
            return None;
        };
        (winner.file_path != template.file_path).then(|| {
            let winner = winner.file_path.clone();
            let problem = ResourceProblem::Collision { name: template.name, winner };
            ResourceDiagnostic::new(template.file_path, problem)
        })
    }

    /// Adds every `.md` file directly in `directory`, by name. A directory that does not exist has
    /// none.
    pub async fn discover(
        &mut self,
        env: &dyn ExecutionEnv,
        directory: &Path,
    ) -> Vec<ResourceDiagnostic> {
        let (files, mut diagnostics) =
            find_template_files(env, directory, TemplateDepth::Direct).await;
        diagnostics.extend(self.add_files(env, files).await);
        diagnostics
    }

    /// Adds what somebody asked for by its path: a `.md` file, or a directory of them.
    pub async fn load(&mut self, env: &dyn ExecutionEnv, path: &Path) -> Vec<ResourceDiagnostic> {
        match template_files_at(env, path, TemplateDepth::Direct).await {
            Ok((files, mut diagnostics)) => {
                diagnostics.extend(self.add_files(env, files).await);
                diagnostics
            }
            Err(diagnostic) => vec![diagnostic],
        }
    }

    /// What a text becomes that calls one of these templates. `None` if it calls none, as when a
    /// blank stands before the slash.
    pub fn expand(&self, text: &str) -> Option<String> {
        let (name, arguments) = command::split(text)?;
        Some(self.get(name)?.fill_in(arguments))
    }

    /// Adds the templates of these files, in order. One that was looked at before, by whatever path,
    /// is passed over.
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
            match text.and_then(|text| PromptTemplate::parse(path, &text)) {
                Ok(template) => diagnostics.extend(self.add(template)),
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        diagnostics
    }
}

impl<'a> IntoIterator for &'a PromptTemplates {
    type Item = &'a PromptTemplate;
    type IntoIter = std::slice::Iter<'a, PromptTemplate>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
