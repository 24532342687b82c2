//! Thinking levels of a model, their budgets, and how many tokens an answer may have.

use crate::types::{Model, ThinkingBudgets, ThinkingLevel};

/// The levels a model has, weakest first. Models that do not reason have only `off`.
pub fn supported_levels(_model: &Model) -> Vec<ThinkingLevel> {
    Vec::new()
}

/// The nearest level the model has: upward first, else downward.
pub fn clamp_level(_model: &Model, level: ThinkingLevel) -> ThinkingLevel {
    level
}

/// Thinking tokens for a level (1,024 / 2,048 / 8,192 / 16,384 by default).
pub fn budget(_level: ThinkingLevel, _budgets: &ThinkingBudgets) -> u64 {
    0
}
