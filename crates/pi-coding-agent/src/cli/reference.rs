//! The options to be read: by people, as help and manual page, and by shells, as completions.
//!
//! Owns: their form. Never: decides what there is; that is the table's.

use super::options::{self, GROUPS, Group, Opt, Standing};

mod bash;
mod fish;
mod help;
mod man;
mod zsh;

#[cfg(test)]
mod tests;

pub(super) use help::help;
pub(super) use man::man_page;

/// The script that teaches `shell` to complete the options; `None` if it is not one of
/// [`options::SHELLS`].
pub(super) fn completions(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash::completions()),
        "zsh" => Some(zsh::completions()),
        "fish" => Some(fish::completions()),
        _ => None,
    }
}

const SUMMARY: &str = "a coding agent with read, bash, edit and write tools";
const USAGE: &str = "pi [options] [--] [@files...] [messages...]";

/// What stands on a command line beside options.
const POSITIONALS: [(&str, &str); 4] = [
    ("message", "One prompt each, sent in order"),
    ("@path", "Put a text file or image into the first prompt"),
    ("(piped input)", "Goes in front of the first prompt"),
    ("--", "What follows is messages and files, even with a leading dash"),
];

const EXAMPLES: [&str; 5] = [
    "pi -p \"What does this project do?\"",
    "git diff | pi -p \"Review this change\"",
    "pi -p @notes.md @sketch.png \"Turn this into a plan\"",
    "pi -p -t read,bash \"Find the bug\" --thinking high",
    "pi -c -p \"And now the tests\"",
];

const CONFIGURATION: &str = "Configuration is in ~/.pi/agent (or PI_CODING_AGENT_DIR). Keys come from \
                             the environment, such as ANTHROPIC_API_KEY or OPENROUTER_API_KEY, or from \
                             auth.json or models.json in that directory.";

/// Groups with the options of them that do something.
fn working() -> impl Iterator<Item = (&'static str, Vec<&'static Opt>)> {
    let working = |group: &'static Group| {
        (group.title, group.options.iter().filter(|option| option.works()).collect::<Vec<_>>())
    };
    GROUPS.iter().map(working).filter(|(_, options)| !options.is_empty())
}

/// How the options of a standing are spelled, such as `-ne, --no-extensions`.
fn spelled(is_meant: impl Fn(&Standing) -> bool) -> Vec<String> {
    let options = options::all().filter(|option| is_meant(&option.standing));
    options.map(Opt::usage).collect()
}

fn without_effect() -> Vec<String> {
    spelled(|standing| *standing == Standing::NoEffect)
}

fn missing() -> Vec<String> {
    spelled(|standing| matches!(standing, Standing::Missing { .. }))
}

/// What shells offer: all that is not refused.
fn offered() -> impl Iterator<Item = &'static Opt> {
    options::all().filter(|option| !option.is_missing())
}
