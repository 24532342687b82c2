//! Settings of compaction and of branch summaries.
//!
//! Unlike other settings, a size that makes no sense is an error: guessing one would summarise a
//! conversation at the wrong moment.

use pi_agent::compaction::{
    BranchSummarySettings, CompactionOverride, CompactionPolicy, CompactionSettings,
};
use serde_json::Value;

use super::catalogue::whole;
use super::values::Values;

/// What the settings say about compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactionConfig {
    pub policy: CompactionPolicy,
    pub branch_summary: BranchSummarySettings,
    /// Values that make no sense; defaults stand in for them.
    pub problems: Vec<CompactionProblem>,
}

/// A value that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionProblem {
    /// The `provider/id` it is for; `None` concerns every model.
    pub model: Option<String>,
    pub text: String,
}

impl CompactionConfig {
    pub(super) fn read(values: Values<'_>) -> Self {
        let mut problems = Vec::new();
        let mut general = |key: &str| {
            size(values.value(key), key).unwrap_or_else(|text| {
                problems.push(CompactionProblem { model: None, text });
                None
            })
        };
        let default = CompactionSettings::default();
        let settings = CompactionSettings {
            enabled: values.switch("compaction.enabled", default.enabled),
            reserve_tokens: general("compaction.reserveTokens").unwrap_or(default.reserve_tokens),
            keep_recent_tokens: general("compaction.keepRecentTokens")
                .unwrap_or(default.keep_recent_tokens),
        };
        let branch_summary = general("branchSummary.reserveTokens")
            .map(|reserve_tokens| BranchSummarySettings { reserve_tokens })
            .unwrap_or_default();
        let mut policy = CompactionPolicy { settings, ..CompactionPolicy::default() };
        let overrides = values.value("compaction.modelOverrides").and_then(Value::as_object);
        for (model, values) in overrides.into_iter().flatten() {
            match model_override(model, values) {
                Ok(own) => drop(policy.model_overrides.insert(model.clone(), own)),
                Err(text) => {
                    problems.push(CompactionProblem { model: Some(model.clone()), text });
                }
            }
        }
        Self { policy, branch_summary, problems }
    }
}

fn model_override(model: &str, values: &Value) -> Result<CompactionOverride, String> {
    let name = format!("compaction.modelOverrides[\"{model}\"]");
    let Some(values) = values.as_object() else {
        return Err(format!("Invalid {name} setting: {}. Expected an object.", shown(values)));
    };
    let size = |key: &str| size(values.get(key), &format!("{name}.{key}"));
    Ok(CompactionOverride {
        reserve_tokens: size("reserveTokens")?,
        keep_recent_tokens: size("keepRecentTokens")?,
    })
}

/// `None` where nothing is said.
fn size(value: Option<&Value>, name: &str) -> Result<Option<u64>, String> {
    let Some(value) = value else { return Ok(None) };
    match whole(value) {
        Some(size) => Ok(Some(size)),
        None => Err(format!(
            "Invalid {name} setting: {}. Expected a non-negative safe integer.",
            shown(value)
        )),
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(raw: &Value) -> CompactionConfig {
        CompactionConfig::read(Values::new(raw.as_object().unwrap()))
    }

    fn problems(raw: &Value) -> Vec<String> {
        config(raw).problems.into_iter().map(|problem| problem.text).collect()
    }

    #[test]
    fn every_key_is_read_and_the_rest_has_defaults() {
        assert_eq!(config(&json!({})), CompactionConfig::default());
        let read = config(&json!({
            "compaction": {
                "enabled": false, "reserveTokens": 5.0, "keepRecentTokens": 0,
                "modelOverrides": {"p/m": {"reserveTokens": 7, "other": "x"}},
            },
            "branchSummary": {"reserveTokens": 9, "skipPrompt": true},
        }));
        let settings =
            CompactionSettings { enabled: false, reserve_tokens: 5, keep_recent_tokens: 0 };
        let own = CompactionOverride { reserve_tokens: Some(7), keep_recent_tokens: None };
        assert_eq!(read.policy.settings, settings);
        assert_eq!(read.policy.model_overrides.get("p/m"), Some(&own));
        assert_eq!(read.branch_summary, BranchSummarySettings { reserve_tokens: 9 });
        assert_eq!(read.problems, []);
    }

    #[test]
    fn a_size_must_be_a_whole_number_that_every_program_can_hold() {
        for value in
            [json!(-5), json!("12"), json!(1.5), json!(1e300), json!(true), json!(null), json!([])]
        {
            let shown = shown(&value);
            let key = format!(
                "Invalid compaction.reserveTokens setting: {shown}. Expected a non-negative safe integer."
            );
            assert_eq!(problems(&json!({"compaction": {"reserveTokens": value}})), [key]);
        }
        let unsafe_integer = json!({"compaction": {"keepRecentTokens": 9_007_199_254_740_992_u64}});
        assert_eq!(problems(&unsafe_integer).len(), 1);
        assert_eq!(
            problems(&json!({"branchSummary": {"reserveTokens": -1}})),
            [
                "Invalid branchSummary.reserveTokens setting: -1. Expected a non-negative safe integer."
            ]
        );
    }

    #[test]
    fn an_override_that_makes_no_sense_concerns_its_model() {
        let read = config(&json!({"compaction": {"modelOverrides": {
            "p/m": {"keepRecentTokens": "x"}, "p/n": 5,
        }}}));
        let told: Vec<_> = read
            .problems
            .iter()
            .map(|problem| (problem.model.as_deref().unwrap_or_default(), problem.text.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "p/m",
                    "Invalid compaction.modelOverrides[\"p/m\"].keepRecentTokens setting: x. Expected a non-negative safe integer."
                ),
                (
                    "p/n",
                    "Invalid compaction.modelOverrides[\"p/n\"] setting: 5. Expected an object."
                ),
            ]
        );
    }

    #[test]
    fn what_is_no_section_says_nothing() {
        for odd in [json!(7), json!([1]), json!(null)] {
            let raw = json!({"compaction": odd, "branchSummary": odd});
            assert_eq!(config(&raw), CompactionConfig::default());
            let raw = json!({"compaction": {"modelOverrides": odd, "enabled": odd}});
            assert_eq!(config(&raw), CompactionConfig::default());
        }
    }
}
