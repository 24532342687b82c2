//! Thinking levels of a model, their budgets, and what they leave to the answer.

use crate::types::{Model, ThinkingBudgets, ThinkingLevel};

/// Tokens of the output limit that a thinking budget must leave to the answer itself.
pub const MIN_ANSWER_TOKENS: u64 = 1024;

/// The levels a model has, weakest first. Models that do not reason have only `off`.
pub fn supported_levels(model: &Model) -> Vec<ThinkingLevel> {
    if !model.reasoning {
        return vec![ThinkingLevel::Off];
    }
    ThinkingLevel::ALL.into_iter().filter(|level| is_supported(model, *level)).collect()
}

/// The nearest level the model has: upward first, else downward.
pub fn clamp_level(model: &Model, level: ThinkingLevel) -> ThinkingLevel {
    let levels = supported_levels(model);
    let upward = levels.iter().find(|supported| **supported >= level);
    upward.or(levels.last()).copied().unwrap_or_default()
}

/// The level to ask for: the nearest the model has, but `off` stays `off`.
pub(crate) fn asked_level(model: &Model, level: ThinkingLevel) -> ThinkingLevel {
    match level {
        ThinkingLevel::Off => ThinkingLevel::Off,
        level => clamp_level(model, level),
    }
}

/// The provider's word for a level, where the model's map has one.
pub(crate) fn word(model: &Model, level: ThinkingLevel) -> Option<&str> {
    model.thinking_level_map.as_ref()?.get(&level)?.as_deref()
}

/// Whether the model can be told not to think.
pub(crate) fn can_be_off(model: &Model) -> bool {
    let map = model.thinking_level_map.as_ref();
    !matches!(map.and_then(|map| map.get(&ThinkingLevel::Off)), Some(None))
}

/// Thinking tokens for a level (1,024 / 2,048 / 8,192 / 16,384 by default; levels above `high`
/// count as `high`). `off` has none.
pub fn budget(level: ThinkingLevel, budgets: &ThinkingBudgets) -> u64 {
    match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => budgets.minimal.unwrap_or(1024),
        ThinkingLevel::Low => budgets.low.unwrap_or(2048),
        ThinkingLevel::Medium => budgets.medium.unwrap_or(8192),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => {
            budgets.high.unwrap_or(16_384)
        }
    }
}

/// The part of a thinking budget that an output limit allows: [`MIN_ANSWER_TOKENS`] stay free.
pub fn budget_within(budget: u64, output_limit: u64) -> u64 {
    budget.min(output_limit.saturating_sub(MIN_ANSWER_TOKENS))
}

fn is_supported(model: &Model, level: ThinkingLevel) -> bool {
    match model.thinking_level_map.as_ref().and_then(|map| map.get(&level)) {
        Some(word) => word.is_some(),
        None => level < ThinkingLevel::Xhigh,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};

    fn model(reasoning: bool, map: &[(ThinkingLevel, Option<&str>)]) -> Model {
        let mut model: Model =
            serde_json::from_str(r#"{"id":"m","name":"m","api":"a","provider":"p"}"#).unwrap();
        model.reasoning = reasoning;
        model.thinking_level_map =
            Some(map.iter().map(|(level, word)| (*level, word.map(str::to_owned))).collect());
        model
    }

    #[test]
    fn levels_above_high_exist_only_where_mapped_and_null_removes_a_level() {
        assert_eq!(supported_levels(&model(false, &[])), [Off]);
        assert_eq!(supported_levels(&model(true, &[])), [Off, Minimal, Low, Medium, High]);
        assert_eq!(
            supported_levels(&model(true, &[(Off, None), (Minimal, None), (Max, Some("max"))])),
            [Low, Medium, High, Max]
        );
    }

    #[test]
    fn clamping_goes_up_first_and_down_only_past_the_top() {
        let no_reasoning = model(false, &[]);
        let gaps = model(true, &[(Minimal, None), (Low, None), (Xhigh, Some("xhigh"))]);
        for (model, asked, expected) in [
            (&no_reasoning, High, Off),
            (&gaps, Off, Off),
            (&gaps, Minimal, Medium),
            (&gaps, Xhigh, Xhigh),
            (&gaps, Max, Xhigh),
        ] {
            assert_eq!(clamp_level(model, asked), expected, "{asked}");
        }
    }

    #[test]
    fn a_model_that_must_think_is_clamped_upward_from_off() {
        assert_eq!(clamp_level(&model(true, &[(Off, None)]), Off), Minimal);
    }

    #[test]
    fn budgets_have_defaults_and_can_be_overridden() {
        let defaults = ThinkingBudgets::default();
        let expected = [0, 1024, 2048, 8192, 16_384, 16_384, 16_384];
        for (level, expected) in ThinkingLevel::ALL.into_iter().zip(expected) {
            assert_eq!(budget(level, &defaults), expected, "{level}");
        }
        let own = ThinkingBudgets { high: Some(99), ..defaults };
        assert_eq!(budget(Max, &own), 99);
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer() {
        assert_eq!(budget_within(2048, 32_000), 2048);
        assert_eq!(budget_within(16_384, 4096), 3072);
        assert_eq!(budget_within(2048, 1000), 0);
    }
}
