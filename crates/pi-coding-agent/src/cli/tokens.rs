//! Sorts raw arguments into options, files and messages, by rules clap cannot express: short
//! options of several letters, `@file`, and values that may begin with a dash.
//!
//! Owns: what each argument is. Never: what an option means.

use clap::CommandFactory;

use super::args::{Arity, RawArgs, SHORT};
use super::not_yet;
use crate::error::AppError;

/// The arguments, sorted. Not `Debug`: a key may be among them.
#[derive(Default)]
pub(super) struct Tokens {
    /// Known options in the form `--name` or `--name=value`.
    pub(super) options: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) messages: Vec<String>,
    /// Options nobody knows, without their value.
    pub(super) unknown: Vec<String>,
    /// Options of missing features, as spelled.
    pub(super) missing: Vec<String>,
    pub(super) help: bool,
    pub(super) version: bool,
}

/// # Errors
/// An option lacks its value, or has one and takes none.
pub(super) fn sort(arguments: &[String]) -> Result<Tokens, AppError> {
    let known = KnownOptions::new();
    let mut tokens = Tokens::default();
    let mut rest = arguments.iter().map(String::as_str).peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            rest.by_ref().for_each(|positional| tokens.push_positional(positional));
        } else if !argument.starts_with('-') || argument.starts_with("---") {
            // Three dashes open a YAML head, and no option looks like that.
            tokens.push_positional(argument);
        } else {
            let (name, value) = split_value(argument);
            let long =
                SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| long);
            match (known.arity(long), value) {
                (Some(Arity::Switch), None) => tokens.options.push(long.to_owned()),
                (Some(Arity::Switch), Some(_)) => {
                    return Err(AppError::user(format!("{name} takes no value")));
                }
                (Some(Arity::Value), value) => {
                    let value = value
                        .or_else(|| rest.next())
                        .ok_or_else(|| AppError::user(format!("{name} requires a value")))?;
                    tokens.options.push(format!("{long}={value}"));
                }
                (Some(Arity::OptionalValue), value) => {
                    let value =
                        value.or_else(|| rest.next_if(|next| !next.starts_with(['-', '@'])));
                    tokens.options.push(match value {
                        Some(value) => format!("{long}={value}"),
                        None => long.to_owned(),
                    });
                }
                (None, _) => tokens.push_foreign(argument, name, long),
            }
        }
    }
    Ok(tokens)
}

impl Tokens {
    fn push_positional(&mut self, argument: &str) {
        match argument.strip_prefix('@') {
            Some(path) => self.files.push(path.to_owned()),
            None => self.messages.push(argument.to_owned()),
        }
    }

    fn push_foreign(&mut self, argument: &str, name: &str, long: &str) {
        match long {
            "--help" => self.help = true,
            "--version" => self.version = true,
            _ if not_yet::is_missing(long) => self.missing.push(name.to_owned()),
            _ if not_yet::is_already_so(long) => {}
            _ if long.starts_with("--") => self.unknown.push(long.to_owned()),
            _ => self.unknown.push(argument.to_owned()),
        }
    }
}

/// Long options take a value after `=` too.
fn split_value(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ => (argument, None),
    }
}

struct KnownOptions(clap::Command);

impl KnownOptions {
    fn new() -> Self {
        Self(RawArgs::command())
    }

    fn arity(&self, long: &str) -> Option<Arity> {
        let name = long.strip_prefix("--")?;
        let argument = self.0.get_arguments().find(|argument| argument.get_long() == Some(name))?;
        Some(if !argument.get_action().takes_values() {
            Arity::Switch
        } else if argument.get_num_args().is_some_and(|values| values.min_values() == 0) {
            Arity::OptionalValue
        } else {
            Arity::Value
        })
    }
}
