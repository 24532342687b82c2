//! The command line: from raw arguments to [`CliOptions`], the only form that travels inward.
//!
//! Owns: option names, their rules and the help text. Never: reads settings, opens a session or
//! prints. Arguments go through three hands: [`tokens`] sorts them, [`args`] lets clap collect the
//! options, and [`resolve`] checks how they fit together.

use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use crate::error::{AppError, Warning};
use crate::tool_selection::ToolFlags;

mod args;
mod not_yet;
mod resolve;
mod tokens;

pub mod input;

/// What `--version` prints.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What `--help` prints.
pub const HELP: &str = include_str!("cli/help.txt");

/// What the user asked pi to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Version,
    Help,
    Run(Box<CliOptions>),
}

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminals {
    pub stdin: bool,
    pub stdout: bool,
}

/// Checked options. Paths are as the user wrote them.
#[derive(Debug, Clone, PartialEq)]
pub struct CliOptions {
    pub mode: Mode,
    /// `-p`: one run, then exit.
    pub print: bool,
    pub model: ModelFlags,
    /// Set: print the models, then exit.
    pub list_models: Option<ListModels>,
    /// A text, or the path of a file; `Some("")` asks for the built-in prompt.
    pub system_prompt: Option<String>,
    /// Texts or paths, in order.
    pub append_system_prompt: Vec<String>,
    pub session: SessionFlags,
    pub tools: ToolFlags,
    /// False with `-nc`.
    pub context_files: bool,
    /// `--approve` or `--no-approve`, whichever came last.
    pub approve: Option<bool>,
    pub offline: bool,
    /// Paths of `@file` arguments, without the `@`.
    pub files: Vec<String>,
    pub messages: Vec<String>,
    pub warnings: Vec<Warning>,
    unknown: Vec<String>,
}

/// How a run speaks to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Interactive,
    Print,
    Json,
    Rpc,
}

/// Which model, with which key and level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFlags {
    pub provider: Option<String>,
    /// Pattern, as in `provider/id:level`.
    pub pattern: Option<String>,
    /// Never stored.
    pub api_key: Option<Secret>,
    pub thinking: Option<ThinkingLevel>,
    /// Patterns of `--models`; `None` leaves it to the settings.
    pub scope: Option<Vec<String>>,
}

/// `--list-models`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListModels {
    pub search: Option<String>,
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
    /// The newest of the current directory, if there is one.
    Newest,
    /// A path, an id or the beginning of an id.
    Find(String),
    /// Exactly this id: opened when it exists here, else created.
    Exact(String),
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// An option lacks its value, has a wrong one, contradicts another, or belongs to a feature this
/// build does not have. Unknown options are not among them: extensions may own some, so they are
/// refused later by [`CliOptions::reject_unknown`].
pub fn parse(arguments: &[String], terminals: Terminals) -> Result<Invocation, AppError> {
    if let [only] = arguments {
        match only.as_str() {
            "-v" | "--version" => return Ok(Invocation::Version),
            "-h" | "--help" => return Ok(Invocation::Help),
            _ => {}
        }
    }
    not_yet::refuse_command(arguments)?;
    let tokens = tokens::sort(arguments)?;
    if tokens.version {
        return Ok(Invocation::Version);
    }
    if tokens.help {
        return Ok(Invocation::Help);
    }
    Ok(Invocation::Run(Box::new(resolve::resolve(tokens, terminals)?)))
}

impl CliOptions {
    /// # Errors
    /// Some option is nobody's. To be called when settings and extensions are known.
    pub fn reject_unknown(&self) -> Result<(), AppError> {
        match self.unknown.first() {
            Some(option) => Err(AppError::user(format!("Unknown option: {option}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
