//! Where warnings wait until somebody shows them.
//!
//! Owns: their order. Never: prints.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Warning;

/// A list that whoever finds something odd adds to, and one mode shows. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Warnings(Arc<Mutex<Vec<Warning>>>);

impl Warnings {
    pub fn push(&self, warning: Warning) {
        self.lock().push(warning);
    }

    pub fn extend(&self, warnings: impl IntoIterator<Item = Warning>) {
        self.lock().extend(warnings);
    }

    /// What came since this was last asked, oldest first.
    pub fn take(&self) -> Vec<Warning> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Warning>> {
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
    }
}
