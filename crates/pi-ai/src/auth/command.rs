//! Commands that print a key.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Environment, Secret};

/// Runs a shell command and gives what it prints. Blocks until the command ends, so an
/// implementation must bound its time.
pub trait CommandRunner: Send + Sync + fmt::Debug {
    /// Standard output of `command`, run with exactly `environment`.
    ///
    /// # Errors
    /// The command could not start, failed, took too long, or printed something that is not text.
    fn run(&self, command: &str, environment: &Environment) -> Result<Secret, CommandError>;
}

/// Why a command gave nothing. Never holds its output.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError {
    #[error("the command could not be started: {0}")]
    Start(#[source] Arc<io::Error>),
    /// `status` as the system words it, such as `exit status: 3`.
    #[error("the command failed ({status})")]
    Failed { status: String },
    #[error("the command took longer than {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("the command printed something that is not UTF-8")]
    NotText,
    #[error("commands are not run here")]
    NotAllowed,
}

/// Runs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCommands;

impl CommandRunner for NoCommands {
    fn run(&self, _command: &str, _environment: &Environment) -> Result<Secret, CommandError> {
        Err(CommandError::NotAllowed)
    }
}

/// Runs each command once and remembers what came of it, failure too, for as long as it lives.
#[derive(Debug)]
pub(super) struct CachedCommands {
    inner: Arc<dyn CommandRunner>,
    results: Mutex<BTreeMap<String, Result<Secret, CommandError>>>,
}

impl CachedCommands {
    pub(super) fn new(inner: Arc<dyn CommandRunner>) -> Self {
        Self { inner, results: Mutex::default() }
    }
}

impl CommandRunner for CachedCommands {
    fn run(&self, command: &str, environment: &Environment) -> Result<Secret, CommandError> {
        // Held while the command runs: a second caller waits for the result instead of running it.
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = results.get(command) {
            return result.clone();
        }
        let result = self.inner.run(command, environment);
        results.insert(command.to_owned(), result.clone());
        result
    }
}
