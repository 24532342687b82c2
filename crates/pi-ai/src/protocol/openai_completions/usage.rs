//! Token counts as the many hosts spell them.

use serde::Deserialize;

use crate::cost::cost_of;
use crate::types::{Model, Usage};

/// Reads a `usage` object. `None` when it is no object or a count is no number.
pub(super) fn read_usage(json: &str, model: &Model, billed: bool) -> Option<Usage> {
    let wire: WireUsage = serde_json::from_str(json).ok()?;
    let prompt = count(wire.prompt_tokens);
    let details = wire.prompt_tokens_details.unwrap_or_default();
    // In order of trust: OpenAI's place, DeepSeek's, Kimi's.
    let cache_read =
        count(details.cached_tokens.or(wire.prompt_cache_hit_tokens).or(wire.cached_tokens));
    let cache_write = count(details.cache_write_tokens);
    let output = count(wire.completion_tokens);
    let reasoning = wire.completion_tokens_details.unwrap_or_default().reasoning_tokens;
    let input = prompt.saturating_sub(cache_read).saturating_sub(cache_write);
    let mut usage = Usage {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h: None,
        reasoning: Some(count(reasoning.or(wire.reasoning_tokens))),
        total_tokens: input + output + cache_read + cache_write,
        cost: crate::types::Cost::default(),
    };
    usage.cost = cost_of(&model.cost, &usage);
    if billed && let Some(total) = wire.bill.total() {
        usage.cost.total = total;
        usage.cost.total_from_provider = Some(true);
    }
    Some(usage)
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<f64>,
    completion_tokens: Option<f64>,
    prompt_cache_hit_tokens: Option<f64>,
    cached_tokens: Option<f64>,
    reasoning_tokens: Option<f64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(flatten)]
    bill: Bill,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<f64>,
    cache_write_tokens: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<f64>,
}

/// What a gateway charged, and what the provider behind it charges on the user's own key.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Bill {
    cost: Option<f64>,
    is_byok: Option<bool>,
    cost_details: Option<CostDetails>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CostDetails {
    upstream_inference_cost: Option<f64>,
}

impl Bill {
    /// US dollars; `None` unless the whole sum is known.
    fn total(&self) -> Option<f64> {
        let charged = self.cost.filter(|cost| cost.is_finite() && *cost >= 0.0)?;
        if !self.is_byok? {
            return Some(charged);
        }
        let upstream = self.cost_details.as_ref()?.upstream_inference_cost?;
        (upstream.is_finite() && upstream >= 0.0).then_some(charged + upstream)
    }
}

fn count(value: Option<f64>) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates: below zero and not a number give 0"
    )]
    let count = value.unwrap_or_default() as u64;
    count
}
