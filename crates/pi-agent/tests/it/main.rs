//! Tests of the crate from outside.

#[cfg(test)]
mod session_damage;
#[cfg(test)]
mod session_files;
#[cfg(test)]
mod session_tree;
