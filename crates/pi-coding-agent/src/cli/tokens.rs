//! Sorts raw arguments into options, files and messages. What each option takes is in
//! [`super::options`].
//!
//! Owns: what each argument is. Never: what an option means.

use std::iter::Peekable;

use super::given::Given;
use super::options::{self, Opt, Takes, Value, ValueKind};
use crate::error::AppError;

/// The arguments, sorted. Not `Debug`: a key may be among them.
#[derive(Default)]
pub(super) struct Tokens {
    pub(super) given: Given,
    pub(super) files: Vec<String>,
    pub(super) messages: Vec<String>,
    /// Options nobody knows, without their value.
    pub(super) unknown: Vec<String>,
    /// The first option of a missing feature, and how it was spelled.
    pub(super) missing: Option<(&'static Opt, String)>,
}

/// # Errors
/// An option lacks its value, or has one and takes none.
pub(super) fn sort(arguments: &[String]) -> Result<Tokens, AppError> {
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
            match options::find(name) {
                // Refused when the rest is known; its value does not matter.
                Some(option) if option.is_missing() => {
                    tokens.missing.get_or_insert((option, name.to_owned()));
                }
                Some(option) => {
                    let value = take_value(option, name, value, &mut rest)?;
                    tokens.given.push(option, value.map(str::to_owned));
                }
                None => tokens.unknown.push(name.to_owned()),
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
}

/// Long options take a value after `=` too.
fn split_value(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value)),
        _ => (argument, None),
    }
}

fn take_value<'a>(
    option: &Opt,
    name: &str,
    attached: Option<&'a str>,
    rest: &mut Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Option<&'a str>, AppError> {
    match option.takes {
        Takes::Nothing if attached.is_some() => {
            Err(AppError::user(format!("{name} takes no value")))
        }
        Takes::Nothing => Ok(None),
        Takes::One(value) => match attached.or_else(|| rest.next()) {
            Some(text) => Ok(Some(text)),
            None => Err(AppError::user(format!("{name} requires {}", wanted(value)))),
        },
        Takes::Perhaps(_) => {
            Ok(attached.or_else(|| rest.next_if(|next| !next.starts_with(['-', '@']))))
        }
    }
}

fn wanted(value: Value) -> String {
    match value.kind {
        ValueKind::OneOf(values) => alternatives(values),
        ValueKind::Text | ValueKind::File | ValueKind::Directory => "a value".to_owned(),
    }
}

/// `a or b`; `a, b, or c`.
fn alternatives(values: &[&str]) -> String {
    match values {
        [first, last] => format!("{first} or {last}"),
        [first @ .., last] => format!("{}, or {last}", first.join(", ")),
        [] => String::new(),
    }
}
