//! Pricing a request.

use crate::types::{Cost, ModelCost, Usage};

/// An hour's cache write costs this many times the plain input price.
const LONG_CACHE_WRITE_FACTOR: f64 = 2.0;

/// What `usage` costs at `prices`, in US dollars; the highest tier below the input size counts for
/// the whole request. `total_from_provider` is `Some(false)`.
///
/// The order of the floating-point operations is part of the session format: stored costs are
/// compared bit by bit with those of other programs.
pub fn cost_of(prices: &ModelCost, usage: &Usage) -> Cost {
    let rates = Rates::of(prices, usage);
    let long_write = usage.cache_write_1h.unwrap_or_default().min(usage.cache_write);
    let short_write = usage.cache_write - long_write;

    let input = price(rates.input, usage.input);
    let output = price(rates.output, usage.output);
    let cache_read = price(rates.cache_read, usage.cache_read);
    // Unlike the others: tokens first, then the million.
    let long_rate = rates.input * LONG_CACHE_WRITE_FACTOR;
    let cache_write =
        (rates.cache_write * tokens(short_write) + long_rate * tokens(long_write)) / 1e6;
    Cost {
        input,
        output,
        cache_read,
        cache_write,
        total: input + output + cache_read + cache_write,
        total_from_provider: Some(false),
    }
}

struct Rates {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

impl Rates {
    fn of(prices: &ModelCost, usage: &Usage) -> Self {
        let sent = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let tier = prices
            .tiers
            .iter()
            .flatten()
            .filter(|tier| tier.input_tokens_above < sent)
            .max_by_key(|tier| tier.input_tokens_above);
        match tier {
            Some(tier) => Self::known(tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => Self::known(prices.input, prices.output, prices.cache_read, prices.cache_write),
        }
    }

    /// Catalogues write negative prices where they know none: those cost nothing.
    fn known(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Self {
        Self {
            input: input.max(0.0),
            output: output.max(0.0),
            cache_read: cache_read.max(0.0),
            cache_write: cache_write.max(0.0),
        }
    }
}

fn price(dollars_per_million: f64, count: u64) -> f64 {
    (dollars_per_million / 1e6) * tokens(count)
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ModelCostTier;

    fn prices() -> ModelCost {
        ModelCost {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
            tiers: Some(vec![
                ModelCostTier {
                    input_tokens_above: 1000,
                    input: 30.0,
                    output: 0.0,
                    cache_read: 0.0,
                    cache_write: 0.0,
                },
                ModelCostTier {
                    input_tokens_above: 500,
                    input: 6.0,
                    output: 0.0,
                    cache_read: 0.0,
                    cache_write: 0.0,
                },
            ]),
        }
    }

    #[test]
    fn a_price_is_the_rate_per_token_times_the_tokens() {
        let usage = Usage { input: 300, output: 40, cache_read: 150, ..Usage::default() };
        let cost = cost_of(&prices(), &usage);
        assert_eq!(cost.input, 0.0009);
        assert_eq!(cost.output, 0.000_600_000_000_000_000_1);
        assert_eq!(cost.cache_read, 4.499_999_999_999_999_6e-5);
        assert_eq!(cost.total, 0.001_545);
        assert_eq!(cost.total_from_provider, Some(false));
    }

    #[test]
    fn the_highest_tier_strictly_below_the_whole_input_prices_everything() {
        for (input, cache_read, rate) in
            [(500, 0, 3.0), (501, 0, 6.0), (1, 500, 6.0), (1000, 0, 6.0), (1000, 1, 30.0)]
        {
            let usage = Usage { input, cache_read, ..Usage::default() };
            let expected = (rate / 1e6) * f64::from(u32::try_from(input).unwrap());
            assert_eq!(cost_of(&prices(), &usage).input, expected, "{input}+{cache_read}");
        }
    }

    #[test]
    fn hour_long_cache_writes_cost_twice_the_input_rate() {
        let cost = |cache_write, long| {
            let usage = Usage { cache_write, cache_write_1h: Some(long), ..Usage::default() };
            cost_of(&prices(), &usage).cache_write
        };
        assert_eq!(cost(300, 100), 0.001_35);
        assert_eq!(cost(7, 7), 0.000_042, "not 0.000_042_000_000_000_000_004");
    }

    #[test]
    fn negative_placeholder_prices_cost_nothing() {
        let unknown = ModelCost { input: -1.0, output: -1.0, ..ModelCost::default() };
        let usage = Usage { input: 10, output: 10, ..Usage::default() };
        assert_eq!(cost_of(&unknown, &usage).total, 0.0);
    }
}
