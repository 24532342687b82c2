//! Chooses the model and the thinking level a run starts with.

use std::sync::Arc;

use indexmap::IndexMap;
use pi_ai::{Model, ThinkingLevel, providers, thinking};

use super::registry::ModelRegistry;
use crate::settings::Settings;

mod pattern;
mod reference;
mod scope;
mod suggest;
#[cfg(test)]
mod tests;

pub use reference::{Reference, resolve_reference};
pub use scope::{Scope, ScopedModel, resolve_scope};
pub use suggest::suggestion;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelRequest<'a> {
    /// `--provider`.
    pub provider: Option<&'a str>,
    /// `--model`.
    pub model: Option<&'a str>,
    /// `--models`, split at commas.
    pub scope: Option<&'a [String]>,
    /// `--thinking`.
    pub thinking: Option<ThinkingLevel>,
    /// Whether `--api-key` was given.
    pub has_key: bool,
}

/// What the settings say.
#[derive(Debug, Clone, Default)]
pub struct ModelDefaults {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// Levels by `provider/id`.
    pub thinking_by_model: IndexMap<String, ThinkingLevel>,
    /// Patterns of `enabledModels`.
    pub enabled: Vec<String>,
}

impl From<&Settings> for ModelDefaults {
    fn from(settings: &Settings) -> Self {
        Self {
            provider: settings.default_provider.clone(),
            model: settings.default_model.clone(),
            thinking: Some(settings.default_thinking_level),
            thinking_by_model: settings.model_thinking_levels.clone(),
            enabled: settings.enabled_models.clone().unwrap_or_default(),
        }
    }
}

/// What a resumed session used last.
#[derive(Debug, Clone, Copy)]
pub struct SessionChoice<'a> {
    pub provider: &'a str,
    pub model: &'a str,
    pub thinking: Option<ThinkingLevel>,
}

/// The outcome.
#[derive(Debug, Clone)]
pub struct ModelChoice {
    pub model: Arc<Model>,
    /// A level the model has.
    pub thinking: ThinkingLevel,
    /// Models to cycle through, none: all. `None` where it was not needed: that of the settings is
    /// yet to be found.
    pub scope: Option<Vec<ScopedModel>>,
    /// For the user, without `Warning:`.
    pub warnings: Vec<String>,
}

/// Why there is no model to start with. Texts are for the user, without `Error:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("--provider requires --model (for example: --provider {provider} --model <pattern>)")]
    ProviderAlone { provider: String },
    #[error(
        "--api-key requires a model to be specified via --model, --provider/--model, or --models"
    )]
    KeyAlone,
    #[error(
        "Unknown provider \"{provider}\". Use --list-models to see available providers/models."
    )]
    UnknownProvider { provider: String },
    #[error("Model \"{model}\" not found. Use --list-models to see available models.")]
    NotFound { model: String },
    /// `candidates` are `provider/id`.
    #[error(
        "Model \"{model}\" is ambiguous across providers: {}. {} matching provider is authenticated. Use --provider or provider/model.",
        candidates.join(", "),
        if *any_key { "More than one" } else { "No" }
    )]
    Ambiguous { model: String, candidates: Vec<String>, any_key: bool },
    #[error(
        "Model \"{model}\" speaks {api}, which this build of pi does not. Use --list-models to see available models."
    )]
    Unsupported { model: String, api: String },
    #[error("No API key found for the selected model.\n\n{}", NO_MODELS_HINT)]
    NoModel { warnings: Vec<String> },
}

impl ModelChoice {
    /// Nothing can be used yet.
    pub(crate) fn unknown() -> Self {
        Self {
            model: Arc::new(Model::unknown()),
            thinking: ThinkingLevel::Off,
            scope: None,
            warnings: Vec::new(),
        }
    }
}

impl ModelError {
    pub(crate) fn no_model() -> Self {
        Self::NoModel { warnings: Vec::new() }
    }
}

/// What to do when no provider has a key.
pub(crate) const NO_MODELS_HINT: &str = "\
Give pi a key in one of these ways:
  - set a provider's variable, such as ANTHROPIC_API_KEY or OPENROUTER_API_KEY
  - store one in auth.json, or add a provider to models.json, both in the agent directory";

/// Chooses model and level: `--model`, else the scope (not when resuming), else the session's model,
/// else the default, else the first that can be used.
///
/// # Errors
/// What was asked for does not exist or is ambiguous, or nothing can be used.
pub fn choose_model(
    registry: &ModelRegistry,
    request: ModelRequest<'_>,
    defaults: &ModelDefaults,
    session: Option<SessionChoice<'_>>,
) -> Result<ModelChoice, ModelError> {
    let named = request.model.filter(|model| !model.is_empty());
    if let (Some(provider), None) = (request.provider, named) {
        return Err(ModelError::ProviderAlone { provider: provider.to_owned() });
    }
    let patterns = request.scope.unwrap_or(&defaults.enabled);
    // With --model the scope is only for cycling; finding it parses lists, so it can wait.
    let is_needed = named.is_none() || request.scope.is_some();
    let Scope { models: scope, mut warnings } =
        if is_needed { resolve_scope(registry, patterns) } else { Scope::default() };
    if request.has_key && named.is_none() && (request.scope.is_none() || scope.is_empty()) {
        return Err(ModelError::KeyAlone);
    }
    let picked = match named {
        Some(text) => {
            let reference = resolve_reference(registry, text, request.provider)?;
            warnings.extend(reference.warning);
            Picked { model: reference.model, thinking: reference.thinking }
        }
        None => match pick(registry, &scope, defaults, session, &mut warnings) {
            Some(picked) => picked,
            None => return Err(ModelError::NoModel { warnings }),
        },
    };
    let Picked { model, thinking } = picked;
    if !registry.speaks(&model) {
        let name = format!("{}/{}", model.provider, model.id);
        return Err(ModelError::Unsupported { model: name, api: model.api.clone() });
    }
    let level = request
        .thinking
        .or(thinking)
        .or_else(|| level_of_model(defaults, &model))
        .or_else(|| session.and_then(|session| session.thinking))
        .or(defaults.thinking)
        .unwrap_or(ThinkingLevel::Medium);
    let thinking = thinking::clamp_level(&model, level);
    Ok(ModelChoice { model, thinking, scope: is_needed.then_some(scope), warnings })
}

struct Picked {
    model: Arc<Model>,
    /// The level its pattern asks for.
    thinking: Option<ThinkingLevel>,
}

fn pick(
    registry: &ModelRegistry,
    scope: &[ScopedModel],
    defaults: &ModelDefaults,
    session: Option<SessionChoice<'_>>,
    warnings: &mut Vec<String>,
) -> Option<Picked> {
    let Some(session) = session else {
        if let Some(scoped) = first_in_scope(scope, defaults) {
            return Some(Picked { model: Arc::clone(&scoped.model), thinking: scoped.thinking });
        }
        return default_or_first(registry, defaults);
    };
    if let Some(model) = usable(registry, session.provider, session.model) {
        return Some(Picked { model, thinking: None });
    }
    let fallback = default_or_first(registry, defaults)?;
    warnings.push(format!(
        "Could not restore model {}/{}. Using {}/{}.",
        session.provider, session.model, fallback.model.provider, fallback.model.id
    ));
    Some(fallback)
}

/// The default model when it is in the scope, else the scope's first.
fn first_in_scope<'a>(
    scope: &'a [ScopedModel],
    defaults: &ModelDefaults,
) -> Option<&'a ScopedModel> {
    let is_default = |scoped: &&ScopedModel| {
        defaults.provider.as_ref() == Some(&scoped.model.provider)
            && defaults.model.as_ref() == Some(&scoped.model.id)
    };
    scope.iter().find(is_default).or_else(|| scope.first())
}

fn default_or_first(registry: &ModelRegistry, defaults: &ModelDefaults) -> Option<Picked> {
    let saved = match (&defaults.provider, &defaults.model) {
        (Some(provider), Some(model)) => usable(registry, provider, model),
        _ => None,
    };
    let model = saved.or_else(|| first_default(registry)).or_else(|| first_available(registry))?;
    Some(Picked { model, thinking: None })
}

fn usable(registry: &ModelRegistry, provider: &str, id: &str) -> Option<Arc<Model>> {
    let model = registry.find(provider, id)?;
    (registry.speaks(&model) && registry.has_key(provider)).then_some(model)
}

/// The default model of the first built-in provider that can be used.
fn first_default(registry: &ModelRegistry) -> Option<Arc<Model>> {
    let with_key = providers::ids().filter(|id| registry.has_key(id));
    with_key
        .filter_map(providers::find)
        .find_map(|provider| usable(registry, &provider.id, provider.default_model.as_deref()?))
}

fn first_available(registry: &ModelRegistry) -> Option<Arc<Model>> {
    let with_key = registry.provider_ids().into_iter().filter(|id| registry.has_key(id));
    with_key
        .flat_map(|id| registry.model_ids(id).into_iter().map(move |model| (id, model)))
        .find_map(|(provider, id)| {
            registry.find(provider, id).filter(|model| registry.speaks(model))
        })
}

fn level_of_model(defaults: &ModelDefaults, model: &Model) -> Option<ThinkingLevel> {
    defaults.thinking_by_model.get(&format!("{}/{}", model.provider, model.id)).copied()
}
