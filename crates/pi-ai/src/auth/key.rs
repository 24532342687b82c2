//! Which key a provider is asked with.

use std::sync::Arc;

use super::command::CachedCommands;
use super::{
    CommandError, CommandRunner, Credential, Credentials, CredentialsError, Environment, Secret,
    Template, Unresolved,
};
use crate::providers::{self, KeySend, Provider};

/// Finds keys. Commands of `auth.json` run once in its lifetime, those of `models.json` every time.
#[derive(Debug)]
pub struct KeyResolver {
    environment: Environment,
    credentials: Credentials,
    commands: Arc<dyn CommandRunner>,
    cached: CachedCommands,
}

/// Whose key is wanted, and what is known beside the stored credentials and the environment.
#[derive(Debug, Clone, Copy)]
pub struct KeyRequest<'a> {
    pub provider: &'a str,
    /// A key given for this run; beats everything.
    pub explicit: Option<&'a Secret>,
    /// `apiKey` of `models.json`.
    pub configured: Option<&'a Template>,
}

/// A key and how to send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedKey {
    /// Absent: the protocol signs with what the environment points to.
    pub key: Option<Secret>,
    pub send: KeySend,
    pub source: KeySource,
    /// The environment with the credential's own variables over it.
    pub environment: Environment,
}

/// Where a key comes from; may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// Given for this run.
    Explicit,
    /// `auth.json`.
    Stored,
    /// `models.json`.
    Configured,
    /// A variable.
    Variable(String),
    /// Variables that point to signing material.
    Ambient,
}

/// Why there is no key. Holds names, never values.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KeyError {
    /// Nothing is stored, configured or set. `variables` are those that would be read.
    #[error("No API key found for {provider}.")]
    Missing {
        provider: String,
        /// Where the environment could have it.
        variables: Vec<String>,
        /// Why the stored key has no value.
        stored: Option<Unresolved>,
        /// Why the configured key has no value.
        configured: Option<Unresolved>,
    },
    #[error(
        "auth.json holds a sign-in for {provider}, which this build of pi cannot use. Remove the entry and use an API key."
    )]
    SignIn { provider: String },
    #[error(
        "The key for {provider} is the sign-in token of another application, which pi does not use. Use an API key."
    )]
    Refused { provider: String },
    #[error("The API key of {provider} could not be resolved: {source}")]
    Unresolved { provider: String, source: Unresolved },
    /// The key is there, but something beside it is not.
    #[error("{provider} needs {variables} to be set beside its key.")]
    Needs { provider: String, variables: String },
    #[error("Credential store read failed for {provider}: {source}")]
    Credentials { provider: String, source: CredentialsError },
}

impl KeyResolver {
    pub fn new(
        environment: Environment,
        credentials: Credentials,
        commands: Arc<dyn CommandRunner>,
    ) -> Self {
        let cached = CachedCommands::new(Arc::clone(&commands));
        Self { environment, credentials, commands, cached }
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// How commands of `models.json` are run.
    pub fn commands(&self) -> &dyn CommandRunner {
        &*self.commands
    }

    /// The key to send. Explicit, then stored, then configured, then the environment. A stored
    /// sign-in is never passed over; a stored key that cannot be resolved gives way to the
    /// environment, as in the TypeScript pi (measured).
    ///
    /// # Errors
    /// There is no key, or it cannot be used.
    pub fn resolve(&self, request: KeyRequest<'_>) -> Result<ResolvedKey, KeyError> {
        self.resolve_with(request, &*self.commands)
    }

    /// Whether a key would be found. Runs no command of `models.json`: those count as successful.
    pub fn is_available(&self, request: KeyRequest<'_>) -> bool {
        self.resolve_with(request, &Assumed).is_ok()
    }

    fn resolve_with(
        &self,
        request: KeyRequest<'_>,
        commands: &dyn CommandRunner,
    ) -> Result<ResolvedKey, KeyError> {
        let provider = request.provider.to_owned();
        let builtin = providers::find(request.provider);
        let resolved = self.look_up(request, builtin.as_ref(), commands)?;
        let Some(builtin) = builtin else { return Ok(resolved) };
        if resolved.key.as_ref().is_some_and(|key| is_refused(&builtin, key.expose())) {
            return Err(KeyError::Refused { provider });
        }
        match builtin.missing_need(&resolved.environment) {
            Some(variables) => Err(KeyError::Needs { provider, variables }),
            None => Ok(resolved),
        }
    }

    fn look_up(
        &self,
        request: KeyRequest<'_>,
        builtin: Option<&Provider>,
        commands: &dyn CommandRunner,
    ) -> Result<ResolvedKey, KeyError> {
        let provider = request.provider;
        let send = builtin.map(|builtin| builtin.send.clone()).unwrap_or_default();
        let credential = self.credentials.get(provider);
        let environment = match &credential {
            Ok(Some(Credential::ApiKey { environment, .. })) => {
                self.environment.overlay(environment.iter())
            }
            _ => self.environment.clone(),
        };
        let found = |key: Secret, source| ResolvedKey {
            key: Some(key),
            send: send.clone(),
            source,
            environment: environment.clone(),
        };
        if let Some(key) = request.explicit {
            return Ok(found(key.clone(), KeySource::Explicit));
        }
        let credential = credential
            .map_err(|source| KeyError::Credentials { provider: provider.to_owned(), source })?;
        let (mut stored, mut configured) = (None, None);
        match credential {
            Some(Credential::SignIn) => {
                return Err(KeyError::SignIn { provider: provider.to_owned() });
            }
            Some(Credential::ApiKey { key: Some(key), .. }) => {
                match key.resolve(&environment, &self.cached) {
                    Ok(key) => return Ok(found(key, KeySource::Stored)),
                    Err(error) => stored = Some(error),
                }
            }
            Some(Credential::ApiKey { key: None, .. }) | None => {}
        }
        if let Some(template) = request.configured.filter(|_| stored.is_none()) {
            match template.resolve(&environment, commands) {
                Ok(key) => return Ok(found(key, KeySource::Configured)),
                Err(error @ Unresolved::Variables(_)) => configured = Some(error),
                Err(source) => {
                    return Err(KeyError::Unresolved { provider: provider.to_owned(), source });
                }
            }
        }
        from_environment(provider, builtin, &environment).map_err(|error| match error {
            KeyError::Missing { provider, variables, .. } => {
                KeyError::Missing { provider, variables, stored, configured }
            }
            other => other,
        })
    }
}

fn from_environment(
    provider: &str,
    builtin: Option<&Provider>,
    environment: &Environment,
) -> Result<ResolvedKey, KeyError> {
    let mut refused = false;
    for variable in builtin.iter().flat_map(|builtin| &builtin.keys) {
        let Some(value) = environment.get(&variable.env) else { continue };
        if builtin.is_some_and(|builtin| is_refused(builtin, value)) {
            refused = true;
            continue;
        }
        let inherited = || builtin.map(|builtin| builtin.send.clone()).unwrap_or_default();
        return Ok(ResolvedKey {
            key: Some(Secret::new(value)),
            send: variable.send.clone().unwrap_or_else(inherited),
            source: KeySource::Variable(variable.env.clone()),
            environment: environment.clone(),
        });
    }
    if builtin.is_some_and(|builtin| builtin.has_ambient(environment)) {
        return Ok(ResolvedKey {
            key: None,
            send: KeySend::Protocol,
            source: KeySource::Ambient,
            environment: environment.clone(),
        });
    }
    let provider = provider.to_owned();
    if refused {
        return Err(KeyError::Refused { provider });
    }
    let variables = builtin.iter().flat_map(|b| &b.keys).map(|key| key.env.clone()).collect();
    Err(KeyError::Missing { provider, variables, stored: None, configured: None })
}

fn is_refused(builtin: &Provider, key: &str) -> bool {
    builtin.refused_key_prefix.as_deref().is_some_and(|prefix| key.starts_with(prefix))
}

/// Takes every command for a successful one.
#[derive(Debug)]
struct Assumed;

impl CommandRunner for Assumed {
    fn run(&self, _command: &str, _environment: &Environment) -> Result<Secret, CommandError> {
        Ok(Secret::new("assumed"))
    }
}

#[cfg(test)]
mod tests;
