//! Which settings hold for which model.

use indexmap::IndexMap;
use pi_ai::Model;

use super::CompactionSettings;

/// Settings of all models, and what single models have of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompactionPolicy {
    pub settings: CompactionSettings,
    /// By `provider/id`, written exactly so.
    pub model_overrides: IndexMap<String, CompactionOverride>,
}

/// What a model has of its own; the rest is as for all. Sizes are tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactionOverride {
    pub reserve_tokens: Option<u64>,
    pub keep_recent_tokens: Option<u64>,
}

impl CompactionPolicy {
    /// The settings that hold for a model. Sizes that its window has no room for are made smaller:
    /// the reserve is half of it at most, and what is kept leaves room to grow before it is compacted
    /// again.
    pub fn for_model(&self, model: &Model) -> CompactionSettings {
        let own = self.model_overrides.get(&format!("{}/{}", model.provider, model.id));
        let own = own.copied().unwrap_or_default();
        let mut settings = CompactionSettings {
            enabled: self.settings.enabled,
            reserve_tokens: own.reserve_tokens.unwrap_or(self.settings.reserve_tokens),
            keep_recent_tokens: own.keep_recent_tokens.unwrap_or(self.settings.keep_recent_tokens),
        };
        if model.context_window > 0 {
            settings.reserve_tokens = settings.reserve_tokens.min(model.context_window / 2);
            let room = model.context_window - settings.reserve_tokens;
            if settings.keep_recent_tokens > room / 4 * 3 {
                settings.keep_recent_tokens = room / 2;
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use pi_ai::faux::FauxProvider;

    use super::*;

    #[test]
    fn a_small_window_makes_the_sizes_smaller() {
        for (window, reserve, keep) in [
            (0, 16_384, 20_000),
            (200_000, 16_384, 20_000),
            (64_000, 16_384, 20_000),
            (32_000, 16_000, 8_000),
            (8_000, 4_000, 2_000),
            (1, 0, 0),
        ] {
            let model = Model { context_window: window, ..FauxProvider::model() };
            let found = CompactionPolicy::default().for_model(&model);
            assert_eq!(
                (found.reserve_tokens, found.keep_recent_tokens),
                (reserve, keep),
                "{window}"
            );
        }
    }

    #[test]
    fn a_model_may_have_either_size_of_its_own() {
        let model = FauxProvider::model();
        let key = format!("{}/{}", model.provider, model.id);
        let own = CompactionOverride { reserve_tokens: Some(7), keep_recent_tokens: None };
        let settings = CompactionSettings { enabled: false, ..CompactionSettings::default() };
        for (name, reserve) in [(key.clone(), 7), (key.to_uppercase(), 16_384)] {
            let policy =
                CompactionPolicy { settings, model_overrides: [(name.clone(), own)].into() };
            let found = policy.for_model(&model);
            assert_eq!(
                (found.enabled, found.reserve_tokens, found.keep_recent_tokens),
                (false, reserve, 20_000),
                "{name}"
            );
        }
    }
}
