//! A conversation as text in parts, each short enough for one request.
//!
//! Owns: which paragraphs go together. Never: knows a model, or what a part is asked about.

use std::iter::Peekable;
use std::vec;

use pi_ai::utf16::text_units;

use super::conversation::{BETWEEN, shortened};

/// The paragraphs of a conversation that no part has taken yet.
pub(super) struct Parts {
    left: Peekable<vec::IntoIter<String>>,
}

impl Parts {
    pub(super) fn new(paragraphs: Vec<String>) -> Self {
        Self { left: paragraphs.into_iter().peekable() }
    }

    /// Takes as many of the next paragraphs as come to `units` UTF-16 units. One that is longer by
    /// itself is a part of its own, cut to that length.
    pub(super) fn take(&mut self, units: u64) -> String {
        let Some(first) = self.left.next() else { return String::new() };
        let mut part = shortened(first, units);
        let mut taken = text_units(&part);
        while let Some(next) = self.left.next_if(|next| {
            taken = taken.saturating_add(text_units(BETWEEN)).saturating_add(text_units(next));
            taken <= units
        }) {
            part.push_str(BETWEEN);
            part.push_str(&next);
        }
        part
    }

    pub(super) fn is_empty(&mut self) -> bool {
        self.left.peek().is_none()
    }
}
