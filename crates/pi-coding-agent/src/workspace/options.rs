//! What somebody asks of a workspace and of a conversation in it.

use std::path::PathBuf;

use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use crate::env::Env;
use crate::models::RegisteredProvider;
use crate::resources::ResourceFlags;
use crate::tool_selection::ToolFlags;

/// What holds for every directory and every conversation of a process.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    pub env: Env,
    /// Where relative paths of the options start. Absolute.
    pub launch_dir: PathBuf,
    /// Whether the project is trusted; `None`: what is saved and set decides.
    pub approve: Option<bool>,
    /// No network but for the model itself. The environment may say so too.
    pub offline: bool,
    /// Whether to warn of what in the settings does not count, too.
    pub verbose: bool,
    /// A text, or the path of a file; `Some("")` asks for the built-in prompt.
    pub system_prompt: Option<String>,
    /// Texts or paths, in order.
    pub append_system_prompt: Vec<String>,
    /// Whether `AGENTS.md` and its kin count.
    pub context_files: bool,
    pub skills: ResourceFlags,
    pub prompt_templates: ResourceFlags,
    pub tools: ToolFlags,
    /// Providers beside those of the catalogue and of `models.json`.
    pub providers: Vec<RegisteredProvider>,
}

impl WorkspaceOptions {
    /// Nothing asked for.
    pub fn new(env: Env, launch_dir: PathBuf) -> Self {
        Self {
            env,
            launch_dir,
            approve: None,
            offline: false,
            verbose: false,
            system_prompt: None,
            append_system_prompt: Vec::new(),
            context_files: true,
            skills: ResourceFlags::default(),
            prompt_templates: ResourceFlags::default(),
            tools: ToolFlags::default(),
            providers: Vec::new(),
        }
    }
}

/// Which model a conversation starts with, with which key and level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFlags {
    pub provider: Option<String>,
    /// Pattern, as in `provider/id:level`.
    pub pattern: Option<String>,
    /// For the provider of the model the conversation starts with. Never stored.
    pub api_key: Option<Secret>,
    pub thinking: Option<ThinkingLevel>,
    /// Patterns of models to choose from and to cycle through; `None` leaves it to the settings.
    pub scope: Option<Vec<String>>,
    /// Whether a conversation may begin without a model that can be asked. Prompts fail until there
    /// is one.
    pub may_be_missing: bool,
}

/// Which session, and where it lives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFlags {
    pub source: SessionSource,
    /// Nothing is written.
    pub in_memory: bool,
    pub directory: Option<String>,
    /// Display name; not blank.
    pub name: Option<String>,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SessionSource {
    #[default]
    New,
    /// The newest of the directory, if there is one.
    Newest,
    /// A path, an id or the beginning of an id.
    Find(String),
    /// Exactly this id: opened when it exists here, else created.
    Exact(String),
    /// A new one with everything that is in another of any directory.
    Fork {
        /// A path, an id or the beginning of an id.
        source: String,
        /// The id of the new one, if it is to have a certain one.
        id: Option<String>,
    },
}
