//! Test bed of the workspace: scripted model server, scratch homes, comparable records.
//!
//! Knows nothing of the crates it tests: what it checks, it checks from outside.

use std::path::PathBuf;

pub mod browser;
mod generated;
pub mod gzip;
pub mod lifeline;
pub mod program;
pub mod record;
pub mod rpc;
pub mod scratch;
pub mod server;

pub use browser::{Browser, PageNotes};
pub use generated::assert_generated;
pub use lifeline::Lifeline;
pub use program::{Ended, Program, Running, Signal};
pub use record::{Normalizer, json_differences};
pub use rpc::{RpcAnswer, RpcClient};
pub use scratch::Scratch;
pub use server::{Block, ModelServer, Reply, Request, Stop, Tokens, Turn};

/// Folder with recordings too large or too foreign for the repository, from `PI_TEST_SHARED`.
/// Without it a test prints `left out: no shared folder` and passes.
pub fn shared_dir() -> Option<PathBuf> {
    chosen("PI_TEST_SHARED")
}

/// The command that starts the TypeScript pi, from `PI_TEST_REFERENCE`. Without it a test prints
/// `left out: no reference pi` and passes.
pub fn reference_pi() -> Option<PathBuf> {
    chosen("PI_TEST_REFERENCE")
}

/// Folder in whose `node_modules` published clients of the TypeScript pi are installed, from
/// `PI_TEST_CLIENTS`. Without it a test prints `left out: no clients` and passes.
pub fn client_packages() -> Option<PathBuf> {
    chosen("PI_TEST_CLIENTS")
}

/// Whether files that are made of tables are to be written anew, by `PI_TEST_UPDATE`.
fn is_updating() -> bool {
    chosen("PI_TEST_UPDATE").is_some()
}

/// All that tests take from the environment.
fn chosen(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
