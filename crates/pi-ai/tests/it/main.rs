//! Integration tests of the crate, one module per area.

mod completions_recordings;
mod errors;
mod transport;
