//! Tests of the crate from outside.

#[cfg(test)]
mod child;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod session_crash;
#[cfg(test)]
mod session_damage;
#[cfg(test)]
mod session_files;
#[cfg(test)]
mod session_processes;
#[cfg(test)]
mod session_tree;
