//! Every setting there is: the one table that the reader, the checks, the JSON Schema and the manual's
//! page are made of.
//!
//! Owns: names, types, defaults and meaning. A new setting is a row in [`table`]; whatever reads it
//! names it as the row does. Never: reads a file or holds a value.

use serde_json::{Value, json};

mod json_schema;
mod kind;
mod page;
mod table;
#[cfg(test)]
mod tests;

pub use json_schema::json_schema;
pub(super) use kind::{Fault, count, whole};
pub use kind::{Kind, Words};
pub use page::docs_page;
pub use table::SECTIONS;

/// Settings that belong together, as the manual shows them.
#[derive(Debug)]
pub struct Section {
    pub title: &'static str,
    /// Markdown in front of the table; may be empty.
    pub intro: &'static str,
    pub settings: &'static [Setting],
}

/// One key of `settings.json`.
#[derive(Debug)]
pub struct Setting {
    /// The names of the objects it is in and its own, with dots between them.
    pub key: &'static str,
    pub kind: Kind,
    pub fallback: Fallback,
    pub scope: Scope,
    pub effect: Effect,
    /// One line of Markdown.
    pub about: &'static str,
}

/// What holds where a setting is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    Switch(bool),
    Number(u64),
    Text(&'static str),
    EmptyList,
    /// In words (Markdown): it is no value that could be written down.
    Told(&'static str),
}

/// Whose file a setting counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's and a trusted project's.
    Any,
    /// The user's alone.
    User,
}

/// What this build does with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Now,
    /// Accepted and kept for what is to come, or for the TypeScript pi.
    Later,
}

/// Every setting, in the order of the manual.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// The setting with this full name.
pub fn find(key: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.key == key)
}

/// Whether `key` is an object that settings are in.
pub fn is_group(key: &str) -> bool {
    all().any(|setting| setting.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

impl Fallback {
    /// As it would be written.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Switch(is_on) => Some(json!(is_on)),
            Self::Number(number) => Some(json!(number)),
            Self::Text(text) => Some(json!(text)),
            Self::EmptyList => Some(json!([])),
            Self::Told(_) => None,
        }
    }
}

impl Setting {
    const fn new(key: &'static str, kind: Kind, fallback: Fallback, about: &'static str) -> Self {
        Self { key, kind, fallback, scope: Scope::Any, effect: Effect::Now, about }
    }

    const fn user_only(self) -> Self {
        Self { scope: Scope::User, ..self }
    }

    const fn later(self) -> Self {
        Self { effect: Effect::Later, ..self }
    }
}
