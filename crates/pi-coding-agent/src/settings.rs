//! `settings.json` of the user and of the project, and the [`Settings`] the two amount to.
//!
//! Owns: reading, migrating and merging them. Never: writes a file or creates a directory. A broken
//! file is a warning, a wrong value is its default.

mod compaction;
mod load;
mod merge;
mod migrate;
mod schema;

pub use compaction::{CompactionConfig, CompactionProblem};
pub use load::SettingsSources;
pub use schema::{ImageSettings, ProjectTrust, ProviderRetrySettings, Settings};
