//! What people write for an agent to use: skills and prompt templates.
//!
//! Owns: reading them through an environment, what is wrong with them, the prompt's section of
//! skills, and what a text that names one becomes. Never: decides where they lie or whom to trust;
//! whoever loads them does.

use std::fmt;
use std::sync::Arc;

use crate::env::ExecutionEnv;

mod command;
mod diagnostic;
mod files;
mod front_matter;
pub mod input;
pub mod prompt_templates;
pub mod skills;

pub use diagnostic::{ResourceDiagnostic, ResourceProblem};
pub use files::ResourceFile;
pub use input::{Expanded, expand};
pub use prompt_templates::{PromptTemplate, PromptTemplates};
pub use skills::{Skill, Skills};

/// Skills and templates, and the environment their files lie in.
#[derive(Clone)]
pub struct Resources {
    pub env: Arc<dyn ExecutionEnv>,
    pub skills: Skills,
    pub prompt_templates: PromptTemplates,
}

impl Resources {
    /// None yet.
    pub fn new(env: Arc<dyn ExecutionEnv>) -> Self {
        Self { env, skills: Skills::default(), prompt_templates: PromptTemplates::default() }
    }

    /// What a text becomes that calls a skill or a template.
    pub async fn expand(&self, text: &str) -> Expanded {
        expand(&*self.env, text, &self.skills, &self.prompt_templates).await
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources")
            .field("skills", &self.skills.len())
            .field("prompt_templates", &self.prompt_templates.len())
            .finish_non_exhaustive()
    }
}
