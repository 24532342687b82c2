//! All models of this run: the catalogue, `models.json`, and providers registered by code.
//!
//! Asking for one model touches that model and its provider, nothing else; lists are made when they
//! are asked for.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use pi_ai::auth::{Credentials, CredentialsError, Environment, KeyRequest, KeyResolver, Template};
use pi_ai::catalog::Catalog;
use pi_ai::protocol::Protocol;
use pi_ai::providers::{self, Unsupported};
use pi_ai::{Model, Protocols};

use super::command::ShellCommands;
use super::config::{self, ConfigProblem, ModelsConfig, ProviderConfig};

mod auth;
#[cfg(test)]
pub(in crate::models) mod tests;

pub use auth::{AuthError, RequestAuth};

/// Knows every model and what a request to it needs.
#[derive(Debug)]
pub struct ModelRegistry {
    catalog: Catalog,
    config: ModelsConfig,
    registered: IndexMap<String, RegisteredProvider>,
    keys: KeyResolver,
    protocols: Protocols,
}

/// A provider brought by code. It replaces a built-in one of the same id; `models.json` may change
/// its models as it may those of built-in ones.
#[derive(Debug, Clone)]
pub struct RegisteredProvider {
    pub id: String,
    pub name: String,
    pub models: Vec<Arc<Model>>,
    /// Speaks the `api` of its models, in place of a protocol of that name if there is one.
    pub protocol: Option<Arc<dyn Protocol>>,
    pub key: ProviderKey,
    pub visibility: Visibility,
}

/// Where a registered provider's key comes from when none is stored.
#[derive(Debug, Clone)]
pub enum ProviderKey {
    /// It works without one.
    NotNeeded,
    /// From this value.
    Template(Template),
    /// Only from `--api-key`, `auth.json`, `models.json` or the variables of a built-in provider.
    Stored,
}

/// Whether models show up by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Visibility {
    #[default]
    Listed,
    /// Only when named as `provider/id`: never listed, matched or chosen by default.
    OnRequest,
}

impl ModelRegistry {
    /// The embedded catalogue with `models.json` and `auth.json` of the agent directory. Problems of
    /// the files are kept for [`Self::config_problems`] and [`Self::credential_problems`].
    pub fn load(
        agent_dir: &Path,
        environment: Environment,
        commands: ShellCommands,
        protocols: Protocols,
    ) -> Self {
        let config = ModelsConfig::read(&agent_dir.join("models.json"));
        let credentials = Credentials::read(&agent_dir.join("auth.json"));
        let keys = KeyResolver::new(environment, credentials, Arc::new(commands));
        Self::new(config, keys, protocols)
    }

    /// The embedded catalogue and `config`. Parses no model.
    pub fn new(config: ModelsConfig, keys: KeyResolver, protocols: Protocols) -> Self {
        Self::with_catalog(Catalog::embedded(), config, keys, protocols)
    }

    /// The same with another catalogue.
    pub fn with_catalog(
        catalog: Catalog,
        config: ModelsConfig,
        keys: KeyResolver,
        protocols: Protocols,
    ) -> Self {
        Self { catalog, config, registered: IndexMap::new(), keys, protocols }
    }

    /// Adds a provider, or replaces the one registered under its id.
    pub fn register(&mut self, provider: RegisteredProvider) {
        if let Some(protocol) = &provider.protocol {
            for model in &provider.models {
                self.protocols.register(model.api.as_str(), Arc::clone(protocol));
            }
        }
        self.registered.insert(provider.id.clone(), provider);
    }

    /// What is wrong with `models.json`.
    pub fn config_problems(&self) -> &[ConfigProblem] {
        self.config.problems()
    }

    /// What is wrong with `auth.json`.
    pub fn credential_problems(&self) -> impl Iterator<Item = &CredentialsError> {
        self.keys.credentials().problems()
    }

    /// Ids of providers with models that show up by themselves: built-in ones in start-up order,
    /// then those of `models.json`, then registered ones.
    pub fn provider_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = providers::ids().map(|id: &str| id).collect();
        ids.extend(self.catalog.providers().map(|id: &str| id));
        ids.extend(self.config.providers().map(|(id, _)| id));
        ids.extend(self.registered.keys().map(String::as_str));
        let mut seen = std::collections::BTreeSet::new();
        ids.retain(|id| seen.insert(*id) && !self.is_on_request(id) && self.has_models(id));
        ids
    }

    /// The provider an id names, ignoring case. Knows providers that are only there on request.
    pub fn provider_id(&self, text: &str) -> Option<&str> {
        if let Some((id, _)) = self.registered.get_key_value(text) {
            return Some(id);
        }
        let hidden = self.registered.keys().map(String::as_str);
        self.provider_ids().into_iter().chain(hidden).find(|id| id.eq_ignore_ascii_case(text))
    }

    /// What a provider is called.
    pub fn provider_name(&self, provider: &str) -> String {
        let configured = self.config.provider(provider).and_then(|config| config.name.clone());
        let registered = || self.registered.get(provider).map(|provider| provider.name.clone());
        let builtin = || providers::find(provider).map(|provider| provider.name);
        configured.or_else(registered).or_else(builtin).unwrap_or_else(|| provider.to_owned())
    }

    /// Ids of a provider's models, without parsing catalogue entries.
    pub fn model_ids(&self, provider: &str) -> Vec<&str> {
        let mut ids: Vec<&str> = match self.registered.get(provider) {
            Some(registered) => registered.models.iter().map(|model| model.id.as_str()).collect(),
            None => self.catalog.ids(provider).map(|id: &str| id).collect(),
        };
        if let Some(config) = self.config.provider(provider) {
            let added: Vec<&str> =
                config.models.keys().map(String::as_str).filter(|id| !ids.contains(id)).collect();
            ids.extend(added);
        }
        ids
    }

    /// One model by its exact ids.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let config = self.config.provider(provider);
        if let Some(config) = config.filter(|config| config.models.contains_key(id)) {
            return self.configured_model(provider, config, id);
        }
        let base = match self.registered.get(provider) {
            Some(registered) => registered.models.iter().find(|model| model.id == id).cloned(),
            None => self.catalog.find(provider, id),
        }?;
        Some(config.map_or_else(|| Arc::clone(&base), |config| changed_model(&base, config)))
    }

    /// Every model of a provider: its own in their order, then those `models.json` adds.
    pub fn models(&self, provider: &str) -> Vec<Arc<Model>> {
        self.model_ids(provider)
            .into_iter()
            .filter_map(|id| self.find_listed(provider, id))
            .collect()
    }

    /// The model a provider starts with, and whose settings a custom id gets.
    pub fn default_model(&self, provider: &str) -> Option<Arc<Model>> {
        let named = providers::find(provider)
            .and_then(|builtin| builtin.default_model)
            .and_then(|id| self.find(provider, &id));
        named
            .or_else(|| self.model_ids(provider).into_iter().find_map(|id| self.find(provider, id)))
    }

    /// Every model that shows up by itself and can be used: its key resolves and its protocol is
    /// spoken.
    pub fn available(&self) -> Vec<Arc<Model>> {
        let available = self.provider_ids().into_iter().filter(|id| self.has_key(id));
        available.flat_map(|id| self.models(id)).filter(|model| self.speaks(model)).collect()
    }

    /// Whether requests to a provider would have a key. Runs commands of `auth.json`, once, and none
    /// of `models.json`.
    pub fn has_key(&self, provider: &str) -> bool {
        !self.needs_key(provider) || self.keys.is_available(self.key_request(provider))
    }

    /// The protocols requests can be sent with.
    pub fn protocols(&self) -> &Protocols {
        &self.protocols
    }

    /// Whether this build speaks the model's protocol.
    pub fn speaks(&self, model: &Model) -> bool {
        self.protocols.get(&model.api).is_some()
    }

    /// Whether any model of the provider can be reached by this build.
    ///
    /// # Errors
    /// A sentence for people.
    pub fn supported(&self, provider: &str) -> Result<(), Unsupported> {
        match providers::find(provider) {
            Some(builtin) if !self.registered.contains_key(provider) => {
                builtin.supported(|api| self.protocols.get(api).is_some())
            }
            _ => Ok(()),
        }
    }

    /// Providers whose catalogue has been parsed so far.
    #[cfg(test)]
    pub(in crate::models) fn loaded(&self) -> impl Iterator<Item = &'static str> {
        self.catalog.loaded()
    }

    fn is_on_request(&self, provider: &str) -> bool {
        let registered = self.registered.get(provider);
        registered.is_some_and(|registered| registered.visibility == Visibility::OnRequest)
    }

    fn has_models(&self, provider: &str) -> bool {
        let configured = self.config.provider(provider).is_some_and(|c| !c.models.is_empty());
        configured
            || match self.registered.get(provider) {
                Some(registered) => !registered.models.is_empty(),
                None => self.catalog.ids(provider).next().is_some(),
            }
    }

    fn needs_key(&self, provider: &str) -> bool {
        let configured = self.config.provider(provider).is_some_and(|c| c.key.is_some());
        let registered = self.registered.get(provider);
        configured || !registered.is_some_and(|r| matches!(r.key, ProviderKey::NotNeeded))
    }

    fn key_request<'a>(&'a self, provider: &'a str) -> KeyRequest<'a> {
        let configured = self.config.provider(provider).and_then(|config| config.key.as_ref());
        let registered = || match self.registered.get(provider).map(|provider| &provider.key) {
            Some(ProviderKey::Template(template)) => Some(template),
            _ => None,
        };
        KeyRequest { provider, explicit: None, configured: configured.or_else(registered) }
    }

    /// As [`Self::find`], but parses a provider's catalogue as a whole.
    fn find_listed(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        if !self.registered.contains_key(provider) {
            self.catalog.models(provider);
        }
        self.find(provider, id)
    }

    fn configured_model(
        &self,
        provider: &str,
        config: &ProviderConfig,
        id: &str,
    ) -> Option<Arc<Model>> {
        let model = config.models.get(id)?;
        let like = self.lender(provider, config, id);
        config::custom_model(provider, config, id, model, like.as_deref()).map(Arc::new)
    }

    /// The built-in or registered model whose protocol and address a configured model takes over
    /// when the file names none.
    fn lender(&self, provider: &str, config: &ProviderConfig, id: &str) -> Option<Arc<Model>> {
        if config.api.is_some() && config.base_url.is_some() {
            return None;
        }
        if let Some(registered) = self.registered.get(provider) {
            let same = registered.models.iter().find(|model| model.id == id);
            return same.or_else(|| registered.models.first()).cloned();
        }
        let default = || providers::find(provider).and_then(|builtin| builtin.default_model);
        let first = || self.catalog.ids(provider).next().map(str::to_owned);
        self.catalog
            .find(provider, id)
            .or_else(|| self.catalog.find(provider, &default().or_else(first)?))
    }
}

/// A model the provider has anyway, with what `models.json` says of provider and model.
fn changed_model(base: &Arc<Model>, config: &ProviderConfig) -> Arc<Model> {
    let changes = config.overrides.get(&base.id);
    if config.base_url.is_none() && config.compat.is_empty() && changes.is_none() {
        return Arc::clone(base);
    }
    let mut model = Model::clone(base);
    if let Some(base_url) = &config.base_url {
        model.base_url.clone_from(base_url);
    }
    config::merge_compat(&mut model, &config.compat);
    let changed = changes.and_then(|changes| config::apply_override(&model, changes));
    Arc::new(changed.unwrap_or(model))
}
