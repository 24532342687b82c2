//! Token counts and what they cost.

use serde::{Deserialize, Serialize};

/// Tokens of one answer. `input` excludes cached tokens, `output` includes reasoning.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Part of `cache_write` kept for an hour.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// Part of `output` spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// The provider's total, or the sum of the first four.
    pub total_tokens: u64,
    pub cost: Cost,
}

/// US dollars.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    #[serde(serialize_with = "number")]
    pub input: f64,
    #[serde(serialize_with = "number")]
    pub output: f64,
    #[serde(serialize_with = "number")]
    pub cache_read: f64,
    #[serde(serialize_with = "number")]
    pub cache_write: f64,
    #[serde(serialize_with = "number")]
    pub total: f64,
    /// True when the provider itself named the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
}

/// Whole amounts are written without a fraction (`0`, not `0.0`), as JavaScript does.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn number<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // 2^53: beyond it a double is no longer an exact integer.
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}
