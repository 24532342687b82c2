//! Keys: where they come from, and which one wins.
//!
//! Explicit key, then `auth.json`, then `models.json`, then the environment. The environment and a
//! way to run commands are handed in; nothing here reads a variable or starts a process by itself,
//! and no error or `Debug` text holds a key.

mod command;
mod credentials;
mod environment;
mod key;
mod secret;
mod template;

pub use command::{CommandError, CommandRunner, NoCommands};
pub use credentials::{Credential, Credentials, CredentialsError};
pub use environment::Environment;
pub use key::{KeyError, KeyRequest, KeyResolver, KeySource, ResolvedKey};
pub use secret::Secret;
pub use template::{Template, Unresolved};
