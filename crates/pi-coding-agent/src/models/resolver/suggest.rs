//! What somebody may have meant by a model or provider that does not exist.

use super::super::registry::ModelRegistry;
use super::ModelError;
use super::reference::split_level;
use crate::nearest;

/// A hint with the names that are like the one in `error`, if there are any. Models that can be used
/// come before those whose provider has no key.
pub fn suggestion(registry: &ModelRegistry, error: &ModelError) -> Option<String> {
    match error {
        ModelError::UnknownProvider { provider } => {
            nearest::did_you_mean(&nearest::words(provider, registry.provider_ids()))
        }
        ModelError::NotFound { model } => {
            let model = split_level(model).map_or(model.as_str(), |(model, _)| model);
            let (with_key, others): (Vec<&str>, Vec<&str>) =
                registry.provider_ids().into_iter().partition(|id| registry.has_key(id));
            [with_key, others].into_iter().find_map(|providers| like(registry, &providers, model))
        }
        ModelError::ProviderAlone { .. }
        | ModelError::KeyAlone
        | ModelError::Ambiguous { .. }
        | ModelError::Unsupported { .. }
        | ModelError::NoModel { .. } => None,
    }
}

fn like(registry: &ModelRegistry, providers: &[&str], model: &str) -> Option<String> {
    let names = providers.iter().flat_map(|provider| {
        registry.model_ids(provider).into_iter().map(move |id| format!("{provider}/{id}"))
    });
    let names: Vec<String> = names.collect();
    nearest::did_you_mean(&nearest::parts(model, names.iter().map(String::as_str)))
}
