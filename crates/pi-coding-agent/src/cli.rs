//! The command line: from raw arguments to [`CliOptions`], the only form that travels inward.
//!
//! Owns: option names, their rules and the help text. Never: reads settings, opens a session or
//! prints. Arguments go through three hands: [`tokens`] sorts them, [`args`] lets clap collect the
//! options, and [`resolve`] checks how they fit together.

use crate::error::{AppError, Warning};
use crate::tool_selection::ToolFlags;
use crate::workspace::{ModelFlags, SessionFlags};

mod args;
mod not_yet;
mod resolve;
mod tokens;

pub(crate) mod input;

/// What `--help` prints.
pub(crate) const HELP: &str = include_str!("cli/help.txt");

/// What the user asked pi to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Invocation {
    Version,
    Help,
    Run(Box<CliOptions>),
}

/// Which of the standard streams are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminals {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

/// Checked options. Paths are as the user wrote them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CliOptions {
    pub(crate) mode: Mode,
    /// `-p`: one run, then exit.
    pub(crate) print: bool,
    pub(crate) model: ModelFlags,
    /// Set: print the models, then exit.
    pub(crate) list_models: Option<ListModels>,
    /// Set: write the page of this session file, then exit. The first message is where.
    pub(crate) export: Option<String>,
    /// A text, or the path of a file; `Some("")` asks for the built-in prompt.
    pub(crate) system_prompt: Option<String>,
    /// Texts or paths, in order.
    pub(crate) append_system_prompt: Vec<String>,
    pub(crate) session: SessionFlags,
    pub(crate) tools: ToolFlags,
    /// False with `-nc`.
    pub(crate) context_files: bool,
    /// `--approve` or `--no-approve`, whichever came last.
    pub(crate) approve: Option<bool>,
    pub(crate) offline: bool,
    /// Paths of `@file` arguments, without the `@`.
    pub(crate) files: Vec<String>,
    pub(crate) messages: Vec<String>,
    pub(crate) warnings: Vec<Warning>,
    unknown: Vec<String>,
}

/// How a run speaks to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Interactive,
    Print,
    Json,
    Rpc,
}

/// `--list-models`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListModels {
    pub(crate) search: Option<String>,
}

/// Reads the command line, without the program's name.
///
/// # Errors
/// An option lacks its value, has a wrong one, contradicts another, or belongs to a feature this
/// build does not have. Unknown options are not among them: extensions may own some, so they are
/// refused later by [`CliOptions::reject_unknown`].
pub(crate) fn parse(arguments: &[String], terminals: Terminals) -> Result<Invocation, AppError> {
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
    pub(crate) fn reject_unknown(&self) -> Result<(), AppError> {
        match self.unknown.first() {
            Some(option) => Err(AppError::user(format!("Unknown option: {option}"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
