//! Integration tests of the crate, one module per area.

#[cfg(test)]
mod completions_recordings;
