//! What the command line of pi has and this build does not: refused by name, never ignored.
//!
//! Owns: the list of missing options and commands. Never: knows how the others work. An option
//! leaves this list for [`super::args`] when its feature arrives.

use crate::error::AppError;

/// Options of features that are missing. The value each of them takes does not matter.
const OPTIONS: [&str; 7] = [
    "--extension",
    "--prompt-template",
    "--resume",
    "--skill",
    "--theme",
    "--tui-mode",
    "--use-theme",
];

/// Options that ask for the absence of something absent.
const ALREADY_SO: [&str; 6] = [
    "--no-extensions",
    "--no-mcp",
    "--no-prompt-templates",
    "--no-skills",
    "--no-themes",
    "--verbose",
];

const COMMANDS: [&str; 8] =
    ["auth", "config", "install", "list", "mcp", "remove", "uninstall", "update"];

/// Whether the long option `name` belongs to a missing feature.
pub(super) fn is_missing(name: &str) -> bool {
    OPTIONS.contains(&name)
}

/// Whether the long option `name` can be dropped, because what it switches off is not there.
pub(super) fn is_already_so(name: &str) -> bool {
    ALREADY_SO.contains(&name)
}

/// The refusal of something the user spelled `what`.
pub(super) fn refuse(what: &str) -> AppError {
    AppError::user(format!("This build of pi does not have {what} yet"))
}

/// # Errors
/// The first argument names a command of pi.
pub(super) fn refuse_command(arguments: &[String]) -> Result<(), AppError> {
    match arguments.first() {
        Some(first) if COMMANDS.contains(&first.as_str()) => {
            Err(refuse(&format!("the command `pi {first}`"))
                .with_hint(format!("To send the word as a message: pi -p -- {first}")))
        }
        _ => Ok(()),
    }
}
