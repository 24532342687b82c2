//! Which models there are, which one to use, and what to send with a request to it.
//!
//! Joins the embedded catalogue, `models.json`, providers registered by code, and keys. Never talks
//! to a provider and never prints; problems come back as values.

mod command;
pub mod config;
pub mod list;
pub mod registry;
pub mod resolver;

pub use command::ShellCommands;
pub use config::{ConfigProblem, ModelsConfig};
pub use list::{Listing, list_models};
pub use registry::{
    AuthError, ModelRegistry, ProviderKey, RegisteredProvider, RequestAuth, Visibility,
};
pub(crate) use resolver::NO_MODELS_HINT;
pub use resolver::{
    ModelChoice, ModelDefaults, ModelError, ModelRequest, ScopedModel, SessionChoice, choose_model,
    resolve_reference, resolve_scope, suggestion,
};
