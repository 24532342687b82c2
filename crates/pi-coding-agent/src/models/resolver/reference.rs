//! Finds the one model a person means: an exact id, a part of an id or name, or an id nobody knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};

use super::super::registry::ModelRegistry;
use super::ModelError;

/// A model and what its reference said beside it.
#[derive(Debug, Clone)]
pub struct Reference {
    pub model: Arc<Model>,
    /// From a `:level` suffix.
    pub thinking: Option<ThinkingLevel>,
    pub warning: Option<String>,
}

/// Finds the model `text` means, within `provider` if one is given.
///
/// Ids are tried literally first, with `provider/` in front or without, as they may hold `/`, `:` and
/// `[`. Then a `:level` suffix is taken off, then parts of ids and names are looked for, ignoring
/// case. An unknown id of a known provider becomes a model with that provider's settings.
///
/// # Errors
/// Nothing matches, or models of several providers match equally well.
pub fn resolve_reference(
    registry: &ModelRegistry,
    text: &str,
    provider: Option<&str>,
) -> Result<Reference, ModelError> {
    match provider {
        Some(provider) => resolve_in_named_provider(registry, text, provider),
        None => resolve_anywhere(registry, text),
    }
}

/// Splits a valid `:level` off.
pub(super) fn split_level(text: &str) -> Option<(&str, ThinkingLevel)> {
    let (rest, level) = text.rsplit_once(':')?;
    let level = level.parse().ok()?;
    (!rest.is_empty()).then_some((rest, level))
}

/// Models whose id, or `provider/id`, is `text`, ignoring case. `provider/id` wins over an id that
/// looks the same, and a longer provider id over a shorter one.
pub(super) fn exact(registry: &ModelRegistry, text: &str) -> Vec<Arc<Model>> {
    for (provider, id) in splits(registry, text) {
        if let Some(model) = exact_in(registry, provider, id) {
            return vec![model];
        }
    }
    let ids = registry.provider_ids();
    ids.into_iter().filter_map(|provider| exact_in(registry, provider, text)).collect()
}

/// Of models found by a part of their id or name, those with the best id; several only when several
/// providers have it.
pub(super) fn best(models: Vec<Arc<Model>>) -> Vec<Arc<Model>> {
    let rank = |model: &Model| (!is_dated(&model.id), model.id.to_lowercase(), model.id.clone());
    let Some(top) = models.iter().map(|model| rank(model)).max() else { return models };
    models.into_iter().filter(|model| rank(model) == top).collect()
}

/// Whether `part` occurs in a model's id or name, ignoring case.
pub(super) fn has_part(model: &Model, part: &str) -> bool {
    let part = part.to_lowercase();
    !part.is_empty()
        && (model.id.to_lowercase().contains(&part) || model.name.to_lowercase().contains(&part))
}

/// The ways to read `text` as `provider/rest` with a known provider, longest provider first.
pub(super) fn splits<'r, 't>(
    registry: &'r ModelRegistry,
    text: &'t str,
) -> Vec<(&'r str, &'t str)> {
    let split = |cut: usize| {
        let (provider, rest) = text.split_at(cut);
        Some((registry.provider_id(provider)?, rest.strip_prefix('/')?))
    };
    text.rmatch_indices('/').filter_map(|(cut, _)| split(cut)).collect()
}

fn resolve_in_named_provider(
    registry: &ModelRegistry,
    text: &str,
    provider: &str,
) -> Result<Reference, ModelError> {
    let Some(id) = registry.provider_id(provider) else {
        return Err(ModelError::UnknownProvider { provider: provider.to_owned() });
    };
    let literal = exact_in(registry, id, text);
    if let Some(model) = literal {
        return Ok(Reference { model, thinking: None, warning: None });
    }
    let prefix_length = id.len() + 1;
    let rest = match text.split_at_checked(prefix_length) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(&format!("{id}/")) => rest,
        _ => text,
    };
    resolve_in(registry, rest, id).ok_or_else(|| ModelError::NotFound { model: text.to_owned() })
}

fn resolve_anywhere(registry: &ModelRegistry, text: &str) -> Result<Reference, ModelError> {
    let forms = forms(text);
    for &(form, thinking) in &forms {
        let found = exact(registry, form);
        if let Some(model) = unambiguous(registry, text, found)? {
            return Ok(Reference { model, thinking, warning: None });
        }
    }
    if let Some((provider, rest)) = splits(registry, text).into_iter().next() {
        return resolve_in(registry, rest, provider)
            .ok_or_else(|| ModelError::NotFound { model: text.to_owned() });
    }
    for &(form, thinking) in &forms {
        let found = best(with_part(registry, form));
        if let Some(model) = unambiguous(registry, text, found)? {
            return Ok(Reference { model, thinking, warning: None });
        }
    }
    Err(ModelError::NotFound { model: text.to_owned() })
}

/// `None` when the provider has no models to take settings from, or no id is left.
fn resolve_in(registry: &ModelRegistry, text: &str, provider: &str) -> Option<Reference> {
    let forms = forms(text);
    for &(form, thinking) in &forms {
        if let Some(model) = exact_in(registry, provider, form) {
            return Some(Reference { model, thinking, warning: None });
        }
    }
    for &(form, thinking) in &forms {
        let models = registry.models(provider).into_iter().filter(|m| has_part(m, form)).collect();
        if let Some(model) = best(models).into_iter().next() {
            return Some(Reference { model, thinking, warning: None });
        }
    }
    let &(id, thinking) = forms.last()?;
    if id.is_empty() || id.starts_with(':') {
        return None;
    }
    let like = registry.default_model(provider)?;
    let model = Arc::new(Model { id: id.to_owned(), name: id.to_owned(), ..Model::clone(&like) });
    let warning =
        format!("Model \"{id}\" not found for provider \"{provider}\". Using custom model id.");
    Some(Reference { model, thinking, warning: Some(warning) })
}

/// The text as it is, and without its `:level`.
fn forms(text: &str) -> Vec<(&str, Option<ThinkingLevel>)> {
    let mut forms = vec![(text, None)];
    forms.extend(split_level(text).map(|(rest, level)| (rest, Some(level))));
    forms
}

fn exact_in(registry: &ModelRegistry, provider: &str, id: &str) -> Option<Arc<Model>> {
    registry.find(provider, id).or_else(|| {
        let ids = registry.model_ids(provider);
        let id = ids.into_iter().find(|other| other.eq_ignore_ascii_case(id))?;
        registry.find(provider, id)
    })
}

/// Models with `part` in id or name: those of providers with a key, else any.
fn with_part(registry: &ModelRegistry, part: &str) -> Vec<Arc<Model>> {
    let matching = |providers: Vec<&str>| -> Vec<Arc<Model>> {
        let models = providers.into_iter().flat_map(|provider| registry.models(provider));
        models.filter(|model| has_part(model, part)).collect()
    };
    let (with_key, others): (Vec<&str>, Vec<&str>) =
        registry.provider_ids().into_iter().partition(|provider| registry.has_key(provider));
    let found = matching(with_key);
    if found.is_empty() { matching(others) } else { found }
}

/// The only model, or the only one whose provider has a key.
fn unambiguous(
    registry: &ModelRegistry,
    text: &str,
    mut found: Vec<Arc<Model>>,
) -> Result<Option<Arc<Model>>, ModelError> {
    if found.len() < 2 {
        return Ok(found.pop());
    }
    let providers: BTreeSet<&str> = found.iter().map(|model| model.provider.as_str()).collect();
    let with_key: Vec<&str> =
        providers.into_iter().filter(|provider| registry.has_key(provider)).collect();
    if let [only] = with_key.as_slice() {
        return Ok(found.iter().find(|model| model.provider == *only).cloned());
    }
    let mut candidates: Vec<String> =
        found.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
    candidates.sort_unstable();
    Err(ModelError::Ambiguous { model: text.to_owned(), candidates, any_key: !with_key.is_empty() })
}

/// Whether an id ends in a date such as `-20250929`; ids without one are preferred.
fn is_dated(id: &str) -> bool {
    id.rsplit_once('-')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()))
}
