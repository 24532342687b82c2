//! Pricing a request.

use crate::types::{Cost, ModelCost, Usage};

/// What `usage` costs at `prices`, in US dollars; the highest tier below the input size counts for
/// the whole request. `total_from_provider` is `Some(false)`.
pub fn cost_of(_prices: &ModelCost, _usage: &Usage) -> Cost {
    Cost::default()
}
