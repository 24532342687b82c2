//! Test bed of the workspace: scripted model server, scratch homes, comparable records.
//!
//! Knows nothing of the crates it tests: what it checks, it checks from outside.

use std::path::PathBuf;

pub mod gzip;
pub mod lifeline;
pub mod program;
pub mod record;
pub mod scratch;
pub mod server;

pub use lifeline::Lifeline;
pub use program::{Ended, Program, Running, Signal};
pub use record::{Normalizer, json_differences};
pub use scratch::Scratch;
pub use server::{Block, ModelServer, Reply, Request, Stop, Tokens, Turn};

/// Folder with recordings too large or too foreign for the repository, from `PI_TEST_SHARED`.
/// Without it a test prints `left out: no shared folder` and passes.
#[expect(clippy::disallowed_methods, reason = "the one value tests take from the environment")]
pub fn shared_dir() -> Option<PathBuf> {
    std::env::var("PI_TEST_SHARED").ok().map(PathBuf::from)
}
