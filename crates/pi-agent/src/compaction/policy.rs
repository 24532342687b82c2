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
    pub fn for_model(&self, model: &Model) -> CompactionSettings {
        let own = self.model_overrides.get(&format!("{}/{}", model.provider, model.id));
        let own = own.copied().unwrap_or_default();
        CompactionSettings {
            enabled: self.settings.enabled,
            reserve_tokens: own.reserve_tokens.unwrap_or(self.settings.reserve_tokens),
            keep_recent_tokens: own.keep_recent_tokens.unwrap_or(self.settings.keep_recent_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use pi_ai::faux::FauxProvider;

    use super::*;

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
