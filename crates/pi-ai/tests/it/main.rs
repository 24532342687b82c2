//! Integration tests of the crate, one module per area.

#[cfg(test)]
mod completions_recordings;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod transport;
