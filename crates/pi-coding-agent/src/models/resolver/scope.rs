//! The models a run may cycle through: `--models` and `enabledModels`.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};

use super::super::registry::ModelRegistry;
use super::{pattern, reference};

/// Models found by patterns, in the order of the patterns.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub models: Vec<ScopedModel>,
    /// For the user, each once.
    pub warnings: Vec<String>,
}

/// A model of a scope.
#[derive(Debug, Clone)]
pub struct ScopedModel {
    pub model: Arc<Model>,
    /// The level its pattern names; `None`: the session's.
    pub thinking: Option<ThinkingLevel>,
}

/// Finds the models `patterns` mean among those that can be used. A pattern is an exact id, a glob,
/// or a part of an id or name, each with an optional `:level`. Empty patterns are skipped.
pub fn resolve_scope(registry: &ModelRegistry, patterns: &[String]) -> Scope {
    let mut scope = Scope::default();
    let patterns: Vec<&str> =
        patterns.iter().map(|pattern| pattern.trim()).filter(|p| !p.is_empty()).collect();
    if patterns.is_empty() {
        return scope;
    }
    let mut available = Available { registry, models: None };
    for pattern in patterns {
        let found = find(&mut available, pattern);
        let warnings = found.warnings(pattern);
        for warning in warnings {
            if !scope.warnings.contains(&warning) {
                scope.warnings.push(warning);
            }
        }
        for model in found.models {
            let known = |scoped: &ScopedModel| {
                scoped.model.provider == model.provider && scoped.model.id == model.id
            };
            if !scope.models.iter().any(known) {
                scope.models.push(ScopedModel { model, thinking: found.thinking });
            }
        }
    }
    scope
}

/// The usable models, listed when a pattern cannot do without.
struct Available<'a> {
    registry: &'a ModelRegistry,
    models: Option<Vec<Arc<Model>>>,
}

impl Available<'_> {
    fn models(&mut self) -> &[Arc<Model>] {
        self.models.get_or_insert_with(|| self.registry.available())
    }
}

#[derive(Default)]
struct Found {
    models: Vec<Arc<Model>>,
    thinking: Option<ThinkingLevel>,
    /// A suffix that is no level.
    bad_level: Option<String>,
    /// The pattern is an id that several providers have.
    same_id: bool,
}

impl Found {
    fn warnings(&self, pattern: &str) -> Vec<String> {
        if self.models.is_empty() {
            return vec![format!("No models match pattern \"{pattern}\"")];
        }
        let mut warnings = Vec::new();
        if let Some(level) = &self.bad_level {
            warnings.push(format!(
                "Invalid thinking level \"{level}\" in pattern \"{pattern}\". Using default instead."
            ));
        }
        let providers: BTreeSet<&str> = self.models.iter().map(|m| m.provider.as_str()).collect();
        if self.same_id && providers.len() > 1 {
            let providers: Vec<&str> = providers.into_iter().collect();
            warnings.push(format!(
                "Pattern \"{pattern}\" matches several providers: {}. Use provider/id to choose one.",
                providers.join(", ")
            ));
        }
        warnings
    }
}

fn find(available: &mut Available<'_>, text: &str) -> Found {
    if let Some(found) = matching(available, text) {
        return found;
    }
    // A suffix is taken off only when the whole text matches nothing: ids may hold colons.
    let Some((rest, suffix)) = text.rsplit_once(':') else { return Found::default() };
    let Some(found) = matching(available, rest) else { return Found::default() };
    match suffix.parse() {
        Ok(level) => Found { thinking: Some(level), ..found },
        Err(_) => Found { bad_level: Some(suffix.to_owned()), ..found },
    }
}

fn matching(available: &mut Available<'_>, text: &str) -> Option<Found> {
    let registry = available.registry;
    let usable = |model: &Arc<Model>| registry.speaks(model) && registry.has_key(&model.provider);
    let exact: Vec<Arc<Model>> =
        reference::exact(registry, text).into_iter().filter(usable).collect();
    if !exact.is_empty() {
        return Some(Found { models: exact, same_id: true, ..Found::default() });
    }
    let models = if pattern::is_glob(text) {
        let glob = pattern::compile(text)?;
        let named = |model: &&Arc<Model>| {
            glob.is_match(&format!("{}/{}", model.provider, model.id)) || glob.is_match(&model.id)
        };
        available.models().iter().filter(named).cloned().collect()
    } else {
        with_part(available, text)
    };
    (!models.is_empty()).then(|| Found { models, ..Found::default() })
}

fn with_part(available: &mut Available<'_>, text: &str) -> Vec<Arc<Model>> {
    let split = reference::splits(available.registry, text).into_iter().next();
    let (provider, part) = match split {
        Some((provider, part)) => (Some(provider), part),
        None => (None, text),
    };
    let of_provider = |model: &Model| provider.is_none_or(|provider| model.provider == provider);
    let matching = |model: &&Arc<Model>| of_provider(model) && reference::has_part(model, part);
    reference::best(available.models().iter().filter(matching).cloned().collect())
}
