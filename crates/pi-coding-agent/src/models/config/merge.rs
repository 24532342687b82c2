//! Makes models out of what `models.json` says.

use pi_ai::catalog::floor_prices;
use pi_ai::{Modality, Model, ModelCost};
use serde_json::{Map, Value};

use super::{ModelConfig, ProviderConfig};

/// Tokens of a window nobody described.
const CONTEXT_WINDOW: u64 = 128_000;
/// Output limit nobody described, in tokens.
const MAX_TOKENS: u64 = 16_384;

/// A model of the file. `like` is a model of the same provider that lends protocol and address when
/// neither the model nor the provider names them.
pub(in crate::models) fn custom_model(
    provider_id: &str,
    provider: &ProviderConfig,
    id: &str,
    model: &ModelConfig,
    like: Option<&Model>,
) -> Option<Model> {
    let base = Model {
        id: id.to_owned(),
        name: id.to_owned(),
        api: provider.api.clone().or_else(|| like.map(|like| like.api.clone())).unwrap_or_default(),
        provider: provider_id.to_owned(),
        base_url: provider
            .base_url
            .clone()
            .or_else(|| like.map(|like| like.base_url.clone()))
            .unwrap_or_default(),
        reasoning: false,
        thinking_level_map: None,
        input: vec![Modality::Text],
        cost: ModelCost::default(),
        context_window: CONTEXT_WINDOW,
        max_tokens: MAX_TOKENS,
        headers: None,
        compat: (!provider.compat.is_empty()).then(|| provider.compat.clone()),
        prompt_cache: None,
        input_limits: None,
        sampling_params: None,
        sampling_params_by_thinking_level: None,
    };
    apply_override(&base, model)
}

/// `base` with the fields of `changes`: objects are merged one level deep, per-level sampling
/// parameters two, all else is replaced.
pub(in crate::models) fn apply_override(base: &Model, changes: &ModelConfig) -> Option<Model> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(base) else { return None };
    for (name, change) in &changes.fields {
        let depth = if name == "samplingParamsByThinkingLevel" { 2 } else { 1 };
        merge(&mut fields, name, change, depth);
    }
    let mut model: Model = serde_json::from_value(Value::Object(fields)).ok()?;
    floor_prices(&mut model.cost);
    Some(model)
}

/// Puts a provider's compat flags over a model's own.
pub(in crate::models) fn merge_compat(model: &mut Model, compat: &Map<String, Value>) {
    if compat.is_empty() {
        return;
    }
    let flags = model.compat.get_or_insert_default();
    for (name, flag) in compat {
        flags.insert(name.clone(), flag.clone());
    }
}

fn merge(target: &mut Map<String, Value>, name: &str, change: &Value, depth: usize) {
    match (target.get_mut(name), change) {
        (Some(Value::Object(old)), Value::Object(new)) if depth > 0 => {
            for (name, change) in new {
                merge(old, name, change, depth - 1);
            }
        }
        _ => {
            target.insert(name.to_owned(), change.clone());
        }
    }
}
