//! Tests of the crate from outside.

mod session_damage;
mod session_files;
