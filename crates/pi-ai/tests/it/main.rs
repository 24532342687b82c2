#[cfg(test)]
mod errors;
#[cfg(test)]
mod transport;
