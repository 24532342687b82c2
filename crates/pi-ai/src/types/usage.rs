//! Token counts and what they cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::loose;

/// Tokens of one answer. `input` excludes cached tokens, `output` includes reasoning.
///
/// Reads what other programs stored: fractions are cut off, what is no number or below zero is 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    #[serde(deserialize_with = "loose::scalar")]
    pub input: u64,
    #[serde(deserialize_with = "loose::scalar")]
    pub output: u64,
    #[serde(deserialize_with = "loose::scalar")]
    pub cache_read: u64,
    #[serde(deserialize_with = "loose::scalar")]
    pub cache_write: u64,
    /// Part of `cache_write` kept for an hour.
    #[serde(
        rename = "cacheWrite1h",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "loose::scalar"
    )]
    pub cache_write_1h: Option<u64>,
    /// Part of `output` spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub reasoning: Option<u64>,
    /// The provider's total, or the sum of the first four.
    #[serde(deserialize_with = "loose::scalar")]
    pub total_tokens: u64,
    #[serde(deserialize_with = "loose::record")]
    pub cost: Cost,
}

/// US dollars.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    #[serde(serialize_with = "number", deserialize_with = "loose::scalar")]
    pub input: f64,
    #[serde(serialize_with = "number", deserialize_with = "loose::scalar")]
    pub output: f64,
    #[serde(serialize_with = "number", deserialize_with = "loose::scalar")]
    pub cache_read: f64,
    #[serde(serialize_with = "number", deserialize_with = "loose::scalar")]
    pub cache_write: f64,
    #[serde(serialize_with = "number", deserialize_with = "loose::scalar")]
    pub total: f64,
    /// True when the provider itself named the price.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "loose::scalar")]
    pub total_from_provider: Option<bool>,
}

/// Sums what several requests took. A part one side does not know counts as nothing.
impl Usage {
    /// Tokens of the request and its answer together: the provider's own total, or else the sum of
    /// the parts. 0: it did not count.
    pub fn context_tokens(&self) -> u64 {
        if self.total_tokens > 0 {
            return self.total_tokens;
        }
        let parts = [self.input, self.output, self.cache_read, self.cache_write];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl AddAssign<&Self> for Usage {
    fn add_assign(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = sum(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost += &other.cost;
    }
}

/// The sum is the provider's own only if both prices are.
impl AddAssign<&Self> for Cost {
    fn add_assign(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total += other.total;
        self.total_from_provider = match (self.total_from_provider, other.total_from_provider) {
            (Some(a), Some(b)) => Some(a && b),
            (a, b) => a.or(b),
        };
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usages_add_up_part_by_part() {
        let read = |value| serde_json::from_value::<Usage>(value).unwrap();
        let mut total = Usage::default();
        total += &read(json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4,
            "reasoning": 1, "totalTokens": 10, "cost": {"total": 0.5, "totalFromProvider": true}}));
        total += &read(json!({"input": 10, "cacheWrite1h": 7, "totalTokens": u64::MAX,
            "cost": {"input": 1, "total": 1, "totalFromProvider": false}}));
        let expected = json!({"input": 11, "output": 2, "cacheRead": 3, "cacheWrite": 4,
            "cacheWrite1h": 7, "reasoning": 1, "totalTokens": u64::MAX,
            "cost": {"input": 1, "total": 1.5, "totalFromProvider": false}});
        assert_eq!(total, read(expected));
    }
    #[test]
    fn odd_numbers_count_as_far_as_they_mean_something() {
        let read = |value| serde_json::from_value::<Usage>(value).unwrap();
        let odd =
            read(json!({"input": 10.9, "output": -3, "cacheRead": "many", "cacheWrite": null,
            "cacheWrite1h": 2.5, "reasoning": "some", "totalTokens": [1],
            "cost": {"input": "free", "output": 1, "cacheRead": null, "total": 0.5,
                     "totalFromProvider": "yes"}}));
        let expected = json!({"input": 10, "cacheWrite1h": 2, "cost": {"output": 1, "total": 0.5}});
        assert_eq!(odd, read(expected));
        assert_eq!(read(json!({"input": 1, "cost": 5})), read(json!({"input": 1})));
    }
}
