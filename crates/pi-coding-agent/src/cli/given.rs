//! The options of one command line, as they were given.
//!
//! Owns: which of several values counts. Never: what a value means.

use super::options::{self, Opt};

/// Options in order, each with its value if it takes one. Not `Debug`: it holds a key.
#[derive(Default)]
pub(super) struct Given(Vec<(&'static Opt, Option<String>)>);

impl Given {
    pub(super) fn push(&mut self, option: &'static Opt, value: Option<String>) {
        self.0.push((option, value));
    }

    pub(super) fn options(&self) -> impl Iterator<Item = &'static Opt> {
        self.0.iter().map(|(option, _)| *option)
    }

    pub(super) fn has(&self, long: &str) -> bool {
        self.named(long).next().is_some()
    }

    /// The value that counts; `None` too where the option stands without one.
    pub(super) fn value(&self, long: &str) -> Option<&str> {
        self.named(long).last()?.as_deref()
    }

    pub(super) fn values(&self, long: &str) -> Vec<String> {
        self.named(long).flatten().cloned().collect()
    }

    /// Whether `long` was given, and `opposite` not behind it; `None` when neither was.
    pub(super) fn either(&self, long: &str, opposite: &str) -> Option<bool> {
        let last = self.options().filter(|o| o.long == long || o.long == opposite).last()?;
        Some(last.long == long)
    }

    fn named(&self, long: &str) -> impl Iterator<Item = &Option<String>> {
        debug_assert!(options::find(long).is_some(), "{long} is not in the table");
        self.0.iter().filter(move |(option, _)| option.long == long).map(|(_, value)| value)
    }
}
