//! The command line: from raw arguments to [`CliOptions`], the only form that travels inward.
//!
//! Owns: option names, their rules, and what is made of them to be read: help, completions, manual
//! page. Never: reads settings, opens a session or prints. [`options`] is the table of all there are;
//! [`tokens`] sorts arguments by it, and [`resolve`] checks how they fit together.

use std::ffi::OsString;

use crate::error::{AppError, Warning};
use crate::nearest;
use crate::resources::ResourceFlags;
use crate::tool_selection::ToolFlags;
use crate::workspace::{ModelFlags, SessionFlags};

mod given;
mod not_yet;
mod options;
mod reference;
mod resolve;
mod tokens;

pub(crate) mod input;

use tokens::Tokens;

/// What the user asked pi to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Invocation {
    Version,
    /// Print this text: help, completions or the manual page.
    Tell(String),
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
    /// `--verbose`: wins over the setting `quietStartup`.
    pub(crate) verbose: bool,
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
    pub(crate) skills: ResourceFlags,
    pub(crate) prompt_templates: ResourceFlags,
    /// `--approve` or `--no-approve`, whichever came last.
    pub(crate) approve: Option<bool>,
    pub(crate) offline: bool,
    /// Paths of `--theme`; nothing draws with them yet.
    pub(crate) themes: Vec<String>,
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
/// An argument is no text, or an option lacks its value, has a wrong one, contradicts another, or
/// belongs to a feature this build does not have. Unknown options are not among them: extensions may
/// own some, so they are refused later by [`CliOptions::reject_unknown`].
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    terminals: Terminals,
) -> Result<Invocation, AppError> {
    let arguments = texts(arguments)?;
    not_yet::refuse_command(&arguments)?;
    let tokens = tokens::sort(&arguments)?;
    if let Some(answer) = answer(&tokens)? {
        return Ok(answer);
    }
    let mut options = resolve::resolve(tokens, terminals)?;
    options.warnings.extend(not_yet::warn_of_misspelt_command(&arguments));
    Ok(Invocation::Run(Box::new(options)))
}

/// What can be said without a run.
fn answer(tokens: &Tokens) -> Result<Option<Invocation>, AppError> {
    let given = &tokens.given;
    if given.has("--version") {
        return Ok(Some(Invocation::Version));
    }
    if given.has("--help") {
        return Ok(Some(Invocation::Tell(reference::help())));
    }
    if given.has("--man-page") {
        return Ok(Some(Invocation::Tell(reference::man_page())));
    }
    let shell = resolve::one_of(given, "--completions", "shell")?;
    Ok(shell.and_then(reference::completions).map(Invocation::Tell))
}

/// Sessions and requests hold text, so nothing else can go into them.
fn texts(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, AppError> {
    let text = |(index, argument): (usize, OsString)| {
        // Not quoted: it may be a key.
        argument.into_string().ok().ok_or_else(|| {
            AppError::user(format!("Argument {} is not valid UTF-8", index + 1))
                .with_hint("Rename the file it names, or convert the text to UTF-8.")
        })
    };
    arguments.into_iter().enumerate().map(text).collect()
}

impl CliOptions {
    /// # Errors
    /// Some option is nobody's. To be called when settings and extensions are known.
    pub(crate) fn reject_unknown(&self) -> Result<(), AppError> {
        let Some(word) = self.unknown.first() else { return Ok(()) };
        let error = AppError::user(format!("Unknown option: {word}"));
        Err(error.with_optional_hint(unbundled(word).or_else(|| near(word))))
    }
}

fn near(word: &str) -> Option<String> {
    let offered = options::all().filter(|option| !option.is_missing());
    nearest::did_you_mean(&nearest::words(word, offered.flat_map(options::Opt::spellings)))
}

/// What to write for several short options in one word.
fn unbundled(word: &str) -> Option<String> {
    let letters = word.strip_prefix('-').filter(|letters| letters.chars().count() > 1)?;
    let apart: Vec<String> = letters.chars().map(|letter| format!("-{letter}")).collect();
    let all_known = apart.iter().all(|short| options::find(short).is_some());
    all_known.then(|| format!("Short options stand apart: {}", apart.join(" ")))
}

#[cfg(test)]
mod tests;
