//! What a request to a model carries: key, headers, address.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use pi_ai::auth::{KeyError, KeyRequest, KeySource, ResolvedKey, Secret, Unresolved};
use pi_ai::providers::{self, KeySend, UnsetInUrl};
use pi_ai::{Model, StreamOptions};

use super::ModelRegistry;

/// Everything a request needs beside the conversation. `Debug` shows no value.
#[derive(Clone, PartialEq)]
pub struct RequestAuth {
    /// Sent as the protocol sends keys.
    pub api_key: Option<Secret>,
    /// In lower case; `None` takes a header out.
    pub headers: IndexMap<String, Option<String>>,
    /// Where to send it; may differ from the model's.
    pub base_url: String,
    /// Where the key comes from; `None` when none is needed.
    pub source: Option<KeySource>,
}

/// Why a request cannot be made. Holds names, never values.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuthError {
    #[error("{error}{}", hint(error))]
    Key { error: KeyError },
    #[error("The header {header:?} of {provider} could not be resolved: {source}")]
    Header { provider: String, header: String, source: Unresolved },
    #[error("The address of {provider} is not complete: {source}")]
    Address { provider: String, source: UnsetInUrl },
}

impl ModelRegistry {
    /// What to send with a request to `model`. Commands of `models.json` run now.
    ///
    /// # Errors
    /// No key, or something a header or the address refers to is missing.
    pub fn request_auth(
        &self,
        model: &Model,
        cli_key: Option<&Secret>,
    ) -> Result<RequestAuth, AuthError> {
        let key = self.key_of(&model.provider, cli_key)?;
        let environment = &key.environment;
        let mut auth = RequestAuth {
            api_key: None,
            headers: IndexMap::new(),
            base_url: self.base_url(model, &key)?,
            source: key.key.is_some().then(|| key.source.clone()),
        };
        if let Some(secret) = &key.key {
            auth.put_key(secret, &key.send);
        }
        let Some(config) = self.config.provider(&model.provider) else { return Ok(auth) };
        if config.auth_header
            && let Some(secret) = &key.key
        {
            auth.headers.insert("authorization".to_owned(), Some(bearer(secret)));
        }
        let of_model = [&config.models, &config.overrides]
            .into_iter()
            .filter_map(|models| models.get(&model.id))
            .flat_map(|model| &model.headers);
        for (name, template) in config.headers.iter().chain(of_model) {
            let value = template.resolve(environment, self.keys.commands()).map_err(|source| {
                AuthError::Header { provider: model.provider.clone(), header: name.clone(), source }
            })?;
            auth.headers.insert(name.clone(), Some(value.expose().to_owned()));
        }
        Ok(auth)
    }

    fn key_of(&self, provider: &str, explicit: Option<&Secret>) -> Result<ResolvedKey, AuthError> {
        if explicit.is_none() && !self.needs_key(provider) {
            return Ok(ResolvedKey {
                key: None,
                send: KeySend::Protocol,
                source: KeySource::Ambient,
                environment: self.keys.environment().clone(),
            });
        }
        let request = KeyRequest { explicit, ..self.key_request(provider) };
        self.keys.resolve(request).map_err(|error| AuthError::Key { error })
    }

    fn base_url(&self, model: &Model, key: &ResolvedKey) -> Result<String, AuthError> {
        let environment = &key.environment;
        let address = |source| AuthError::Address { provider: model.provider.clone(), source };
        if !model.base_url.is_empty() {
            return providers::fill_url(&model.base_url, environment).map_err(address);
        }
        let Some(builtin) = providers::find(&model.provider) else { return Ok(String::new()) };
        let mut unset = None;
        for url in &builtin.base_urls {
            match providers::fill_url(url, environment) {
                Ok(url) => return Ok(url),
                Err(error) => unset = unset.or(Some(error)),
            }
        }
        unset.map_or(Ok(String::new()), |source| Err(address(source)))
    }
}

impl RequestAuth {
    /// Puts key and headers into the options of a request.
    pub fn apply(&self, options: &mut StreamOptions) {
        options.api_key = self.api_key.as_ref().map(|key| key.expose().to_owned());
        options.headers.extend(self.headers.clone());
    }

    /// The model at the address the request goes to.
    pub fn addressed(&self, model: &Arc<Model>) -> Arc<Model> {
        if model.base_url == self.base_url {
            return Arc::clone(model);
        }
        Arc::new(Model { base_url: self.base_url.clone(), ..Model::clone(model) })
    }

    fn put_key(&mut self, key: &Secret, send: &KeySend) {
        match send {
            KeySend::Protocol => self.api_key = Some(key.clone()),
            KeySend::Bearer => {
                self.headers.insert("authorization".to_owned(), Some(bearer(key)));
            }
            KeySend::Header(name) => {
                for taken_out in ["authorization", "x-api-key"] {
                    self.headers.insert(taken_out.to_owned(), None);
                }
                self.headers.insert(name.clone(), Some(bearer(key)));
            }
        }
    }
}

impl fmt::Debug for RequestAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("RequestAuth")
            .field("api_key", &self.api_key)
            .field("headers", &headers)
            .field("base_url", &self.base_url)
            .field("source", &self.source)
            .finish()
    }
}

fn bearer(key: &Secret) -> String {
    format!("Bearer {}", key.expose())
}

/// What to do about a key that is not there.
fn hint(error: &KeyError) -> String {
    let KeyError::Missing { provider, variables, stored, configured } = error else {
        return String::new();
    };
    let mut ways = Vec::new();
    if !variables.is_empty() {
        ways.push(format!("set {} in the environment", variables.join(" or ")));
    }
    ways.push(format!("store a key for {provider:?} in auth.json"));
    if configured.is_none() {
        ways.push(format!("give \"apiKey\" for {provider:?} in models.json"));
    }
    ways.push("pass --api-key for this run".to_owned());
    let reasons: String = [("auth.json", stored), ("models.json", configured)]
        .into_iter()
        .filter_map(|(file, reason)| Some((file, reason.as_ref()?)))
        .map(|(file, reason)| format!("\n\n{file} has a key for {provider:?}, but {reason}."))
        .collect();
    format!("{reasons}\n\nYou can:\n  - {}", ways.join("\n  - "))
}
