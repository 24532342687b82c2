//! What skills and prompt templates have in common, and how each kind is found and read.

use std::path::Path;

use pi_agent::env::ExecutionEnv;
use pi_agent::resources::prompt_templates::{
    TemplateDepth, find_template_files, template_files_at,
};
use pi_agent::resources::skills::{RootFiles, find_skill_files, skill_files_at};
use pi_agent::resources::{ResourceDiagnostic, ResourceFile};
use serde_json::Value;

use super::{Library, LibrarySources, ResourceFlags, ResourceLists};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skills,
    Prompts,
}

/// What was found, and what could not be searched.
type Found = (Vec<ResourceFile>, Vec<ResourceDiagnostic>);

impl Kind {
    /// Of the list in settings and manifests, and of the folder in a directory of configuration or a
    /// package.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Prompts => "prompts",
        }
    }

    pub(super) fn entries<'a>(self, lists: &ResourceLists<'a>) -> &'a [Value] {
        match self {
            Self::Skills => lists.skills,
            Self::Prompts => lists.prompts,
        }
    }

    pub(super) fn flags<'a>(self, sources: &LibrarySources<'a>) -> &'a ResourceFlags {
        match self {
            Self::Skills => sources.skills,
            Self::Prompts => sources.prompt_templates,
        }
    }

    /// What a path that somebody wrote leads to.
    pub(super) async fn at_path(
        self,
        files: &dyn ExecutionEnv,
        path: &Path,
        depth: TemplateDepth,
    ) -> Result<Found, ResourceDiagnostic> {
        match self {
            Self::Skills => skill_files_at(files, path).await,
            Self::Prompts => template_files_at(files, path, depth).await,
        }
    }

    /// What is in a folder where it is looked for by itself.
    pub(super) async fn in_folder(
        self,
        files: &dyn ExecutionEnv,
        folder: &Path,
        root_files: RootFiles,
    ) -> Found {
        match self {
            Self::Skills => find_skill_files(files, folder, root_files).await,
            Self::Prompts => find_template_files(files, folder, TemplateDepth::Direct).await,
        }
    }

    pub(super) async fn add(
        self,
        library: &mut Library,
        files: &dyn ExecutionEnv,
        found: Vec<ResourceFile>,
    ) -> Vec<ResourceDiagnostic> {
        match self {
            Self::Skills => library.skills.add_files(files, found).await,
            Self::Prompts => library.prompt_templates.add_files(files, found).await,
        }
    }
}
