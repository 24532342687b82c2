//! pi, a coding agent for the terminal.
//!
//! Owns: the command line, settings, trust, resources, tools, the choice of a model, and the modes.
//! Never: knows how a vendor's bytes look or how a session line is encoded; that is done by the
//! crates below.

pub mod cli;
pub mod env;
pub mod error;
pub mod models;
pub mod resources;
pub mod settings;
pub mod tool_selection;
pub mod tools;
pub mod trust;
