//! The options as clap knows them: names and arity, nothing about how they fit together.
//!
//! Owns: the table of long options. Never: sees short options, files or messages; those are sorted
//! out before.

use clap::Parser;

/// Options as given. A repeated option overrides itself. Not `Debug`: it holds a key.
#[derive(Parser)]
#[command(
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true
)]
pub(super) struct RawArgs {
    #[arg(long)]
    pub(super) print: bool,
    #[arg(long)]
    pub(super) mode: Option<String>,

    #[arg(long)]
    pub(super) provider: Option<String>,
    #[arg(long)]
    pub(super) model: Option<String>,
    #[arg(long)]
    pub(super) api_key: Option<String>,
    #[arg(long)]
    pub(super) thinking: Option<String>,
    #[arg(long)]
    pub(super) models: Option<String>,
    #[arg(long, require_equals = true)]
    pub(super) list_models: Option<Option<String>>,
    #[arg(long)]
    pub(super) export: Option<String>,

    #[arg(long)]
    pub(super) system_prompt: Option<String>,
    #[arg(long)]
    pub(super) append_system_prompt: Vec<String>,
    #[arg(long)]
    pub(super) no_context_files: bool,

    #[arg(long = "continue")]
    pub(super) newest: bool,
    #[arg(long)]
    pub(super) session: Option<String>,
    #[arg(long)]
    pub(super) session_id: Option<String>,
    #[arg(long)]
    pub(super) fork: Option<String>,
    #[arg(long)]
    pub(super) session_dir: Option<String>,
    #[arg(long)]
    pub(super) no_session: bool,
    #[arg(long)]
    pub(super) name: Option<String>,

    #[arg(long)]
    pub(super) tools: Option<String>,
    #[arg(long)]
    pub(super) exclude_tools: Option<String>,
    #[arg(long)]
    pub(super) no_tools: bool,
    #[arg(long)]
    pub(super) no_builtin_tools: bool,

    #[arg(long, overrides_with = "no_approve")]
    pub(super) approve: bool,
    #[arg(long, overrides_with = "approve")]
    pub(super) no_approve: bool,
    #[arg(long)]
    pub(super) offline: bool,
}

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    Switch,
    Value,
    /// One, or none.
    OptionalValue,
}

/// Short forms and the long option each stands for. They are whole words: `-nt` is not `-n -t`.
pub(super) const SHORT: [(&str, &str); 17] = [
    ("-p", "--print"),
    ("-c", "--continue"),
    ("-r", "--resume"),
    ("-n", "--name"),
    ("-t", "--tools"),
    ("-xt", "--exclude-tools"),
    ("-nt", "--no-tools"),
    ("-nbt", "--no-builtin-tools"),
    ("-e", "--extension"),
    ("-ne", "--no-extensions"),
    ("-ns", "--no-skills"),
    ("-np", "--no-prompt-templates"),
    ("-nc", "--no-context-files"),
    ("-a", "--approve"),
    ("-na", "--no-approve"),
    ("-h", "--help"),
    ("-v", "--version"),
];
