//! Integration tests of the crate, one module per area.

#[cfg(test)]
mod errors;
#[cfg(test)]
mod transport;
#[cfg(test)]
mod wires;
