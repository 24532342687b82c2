//! `settings.json` of the user and of the project, and the [`Settings`] the two amount to.
//!
//! Owns: reading, migrating and merging them, and saving single ones in the user's file. Never: writes
//! a project's file. A broken file is a warning, a wrong value is its default and a [`SettingsProblem`]
//! for those who ask. [`catalogue`] is the table of all there are.

pub mod catalogue;
mod compaction;
mod load;
mod merge;
mod migrate;
mod problems;
mod save;
mod schema;
mod values;

pub use compaction::{CompactionConfig, CompactionProblem};
pub use load::SettingsSources;
pub use problems::SettingsProblem;
pub use save::{SaveError, save};
pub use schema::{ImageSettings, ProjectTrust, ProviderRetrySettings, Settings};
