//! What the command line of pi has and this build does not: refused by name, never ignored.
//!
//! Owns: the words of a refusal, and the missing commands. Missing options are marked in
//! [`super::options`].

use super::options::{Opt, Standing};
use crate::error::{AppError, Warning};
use crate::nearest;

/// A command that is missing, and what to do without it.
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) instead: &'static str,
}

const CLONE: &str = "Clone the package yourself and name its directory in the setting `packages`, or \
                     give its skills with --skill and its prompt templates with --prompt-template.";
const BY_HAND: &str =
    "Nothing is installed by this build. Edit the setting `packages` in settings.json.";
const KEYS: &str = "Give a key with the provider's variable (such as ANTHROPIC_API_KEY), with \
                    --api-key, or in auth.json or models.json; `pi --list-models` shows which models \
                    have one.";

pub(super) const COMMANDS: &[Command] = &[
    Command { name: "install", instead: CLONE },
    Command { name: "remove", instead: BY_HAND },
    Command { name: "uninstall", instead: BY_HAND },
    Command {
        name: "update",
        instead: "Update pi the way it was installed, such as with cargo install.",
    },
    Command { name: "list", instead: BY_HAND },
    Command { name: "config", instead: "Edit settings.json in the agent directory." },
    Command { name: "auth", instead: KEYS },
    Command {
        name: "mcp",
        instead: "Let the model use the program behind the server through `bash`. Servers named in \
                  the configuration are passed over.",
    },
];

/// The refusal of a missing option, spelled `name`.
pub(super) fn refuse_option(option: &Opt, name: &str) -> AppError {
    let error = refuse(&format!("the option {name}"));
    match option.standing {
        Standing::Missing { instead } => error.with_hint(instead),
        Standing::Works | Standing::NoEffect => error,
    }
}

/// The refusal of something the user would call `what`.
pub(super) fn refuse(what: &str) -> AppError {
    AppError::user(format!("This build of pi does not have {what} yet"))
}

/// # Errors
/// The first argument names a command of pi.
pub(super) fn refuse_command(arguments: &[String]) -> Result<(), AppError> {
    let Some(first) = arguments.first() else { return Ok(()) };
    match COMMANDS.iter().find(|command| command.name == first) {
        Some(Command { name, instead }) => Err(refuse(&format!("the command `pi {name}`"))
            .with_hint(format!("{instead}\nTo send the word as a message: pi -p -- {name}"))),
        None => Ok(()),
    }
}

/// A first argument that is nearly a command is a message all the same, but hardly meant as one.
pub(super) fn warn_of_misspelt_command(arguments: &[String]) -> Option<Warning> {
    let first = arguments.first()?;
    let names = COMMANDS.iter().map(|command| command.name);
    // "updates" is a word of its own, and so are most short ones that are like another.
    if first.len() < 5 || names.clone().any(|name| first.starts_with(name)) {
        return None;
    }
    let name = nearest::words(first, names).into_iter().next()?;
    Some(Warning::new(format!("\"{first}\" is sent as a message. Did you mean `pi {name}`?")))
}
