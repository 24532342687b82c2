//! pi, a coding agent for the terminal.
//!
//! Owns: the command line, settings, trust, context files and the system prompt. Never: talks to a
//! model or a session file itself; that is done by the crates below.

pub mod cli;
pub mod env;
pub mod error;
pub mod models;
pub mod resources;
pub mod settings;
pub mod tool_selection;
pub mod trust;
