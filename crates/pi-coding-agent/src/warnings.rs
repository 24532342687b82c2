//! Where warnings wait until somebody shows them.
//!
//! Owns: their order. Never: prints.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Warning;

/// A list that whoever finds something odd adds to, and one mode shows. Clones share it. What was told
/// once is not told again: whatever is read anew finds it again.
#[derive(Debug, Clone, Default)]
pub struct Warnings(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    waiting: Vec<Warning>,
    taken: BTreeSet<String>,
}

impl Warnings {
    pub fn push(&self, warning: Warning) {
        self.extend([warning]);
    }

    pub fn extend(&self, warnings: impl IntoIterator<Item = Warning>) {
        let mut list = self.lock();
        for warning in warnings {
            if !list.taken.contains(&warning.0) && !list.waiting.contains(&warning) {
                list.waiting.push(warning);
            }
        }
    }

    /// What came since this was last asked, oldest first.
    pub fn take(&self) -> Vec<Warning> {
        let mut list = self.lock();
        let waiting = std::mem::take(&mut list.waiting);
        list.taken.extend(waiting.iter().map(|warning| warning.0.clone()));
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_taken_once_in_order() {
        let warnings = Warnings::default();
        let shared = warnings.clone();
        shared.push(Warning::new("a"));
        warnings.extend([Warning::new("b"), Warning::new("c")]);
        assert_eq!(warnings.take(), ["a", "b", "c"].map(Warning::new));
        assert_eq!(warnings.take(), []);
        warnings.extend([Warning::new("b"), Warning::new("d"), Warning::new("d")]);
        assert_eq!(warnings.take(), [Warning::new("d")]);
    }
}
