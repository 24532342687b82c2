//! Every skill and prompt template that counts in a directory.
//!
//! Owns: the places they are looked for, in the order in which the first to have a name keeps it, and
//! where each one is from. Never: decides about trust; says what a skill means.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::env::ExecutionEnv;
use pi_agent::resources::{
    PromptTemplates, ResourceDiagnostic, ResourceProblem, Resources, Skills,
};
use serde_json::Value;

use super::source_info::SourceInfo;
use crate::env::Env;

mod kind;
mod load;
mod scope;
#[cfg(test)]
mod tests;

/// Skills and prompt templates with what clients are told of them.
#[derive(Debug, Clone, Default)]
pub struct Library {
    pub skills: Skills,
    pub prompt_templates: PromptTemplates,
    /// What is wrong with files that were looked at.
    pub diagnostics: Vec<ResourceDiagnostic>,
    /// Packages of the settings that are not installed, as they stand there.
    pub missing_packages: Vec<String>,
    origins: BTreeMap<PathBuf, SourceInfo>,
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct LibrarySources<'a> {
    pub env: &'a Env,
    pub agent_dir: &'a Path,
    pub cwd: &'a Path,
    /// Set where the project is trusted.
    pub project: Option<ProjectSources<'a>>,
    /// Of the user's settings.
    pub settings: ResourceLists<'a>,
    pub skills: &'a ResourceFlags,
    pub prompt_templates: &'a ResourceFlags,
    /// Where relative paths of the command line begin.
    pub launch_dir: &'a Path,
}

/// A trusted project's own.
#[derive(Debug, Clone, Copy)]
pub struct ProjectSources<'a> {
    /// Its `.pi`, unless that is the user's own directory.
    pub dir: Option<&'a Path>,
    pub settings: ResourceLists<'a>,
}

/// The lists of one settings file.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResourceLists<'a> {
    pub skills: &'a [Value],
    pub prompts: &'a [Value],
    pub packages: &'a [Value],
}

/// What the command line says of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceFlags {
    /// Files and directories to load, in order.
    pub paths: Vec<String>,
    /// Nothing but these.
    pub only_these: bool,
}

impl Library {
    /// Looks everywhere. What cannot be read is a diagnostic.
    pub async fn load(sources: &LibrarySources<'_>, files: &dyn ExecutionEnv) -> Self {
        load::load(sources, files).await
    }

    /// What texts may call, its files in `env`.
    pub fn resources(&self, env: Arc<dyn ExecutionEnv>) -> Resources {
        Resources {
            env,
            skills: self.skills.clone(),
            prompt_templates: self.prompt_templates.clone(),
        }
    }

    /// Where a skill or a template is from, by its file.
    pub fn source_info(&self, file_path: &Path) -> Option<&SourceInfo> {
        self.origins.get(file_path)
    }

    /// The first path that somebody gave on the command line and that leads to nothing.
    pub fn missing_path<'a>(
        &'a self,
        flags: &ResourceFlags,
        resolve: impl Fn(&str) -> PathBuf,
    ) -> Option<&'a ResourceDiagnostic> {
        let given: Vec<PathBuf> = flags.paths.iter().map(|path| resolve(path)).collect();
        self.diagnostics.iter().find(|found| {
            matches!(found.problem, ResourceProblem::Missing | ResourceProblem::NotMarkdown)
                && given.contains(&found.path)
        })
    }
}
