//! The prompt of one directory.

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use pi_agent::Tool;
use pi_agent::harness::PromptBuilder;
use pi_agent::resources::Skills;
use pi_agent::resources::skills::{SkillReader, skills_section};

use super::Workspace;
use crate::resources::context_files::{self, ContextFile};
use crate::resources::system_files::{SystemFileSources, SystemFiles};
use crate::resources::system_prompt::{self, PromptParts};

/// Everything the prompt is made of but the tools. Read once, so that the prompt stays the same.
#[derive(Debug)]
pub(super) struct PromptFiles {
    system: SystemFiles,
    context: Vec<ContextFile>,
    skills: Skills,
    /// Directory of pi's own documentation, if there is one.
    docs_dir: Option<PathBuf>,
    cwd: PathBuf,
}

impl PromptFiles {
    pub(super) fn read(workspace: &Workspace, skills: Skills) -> Self {
        let options = workspace.options();
        let agent_dir = options.env.agent_dir();
        let sources = SystemFileSources {
            custom: options.system_prompt.as_deref(),
            append: &options.append_system_prompt,
            agent_dir: &agent_dir,
            project_dir: workspace.project_dir(),
            cwd: &options.launch_dir,
        };
        let (system, problems) = SystemFiles::read(&sources, &options.env);
        workspace.warnings().extend(problems);
        let context = if options.context_files {
            let (files, problems) = context_files::discover(&agent_dir, workspace.dir());
            workspace.warnings().extend(problems);
            files
        } else {
            Vec::new()
        };
        let docs_dir = options.env.package_dir().map(|dir| dir.join("docs"));
        Self {
            system,
            context,
            skills,
            docs_dir: docs_dir.filter(|dir| dir.is_dir()),
            cwd: workspace.dir().to_owned(),
        }
    }
}

impl PromptBuilder for PromptFiles {
    fn sections(&self, tools: &[Arc<dyn Tool>]) -> IndexMap<String, String> {
        let names = tools.iter().map(|tool| tool.definition().name.as_str());
        let skills = skills_section(&self.skills, SkillReader::among(names));
        system_prompt::sections(&PromptParts {
            tools,
            custom: self.system.custom.as_deref(),
            append: self.system.append.as_deref(),
            context_files: &self.context,
            skills: skills.as_deref(),
            docs_dir: self.docs_dir.as_deref(),
            cwd: &self.cwd,
        })
    }
}
