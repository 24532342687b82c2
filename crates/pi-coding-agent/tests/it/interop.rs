//! Sessions of ours in the TypeScript pi, and sessions of its in ours: one file, two programs, the
//! same scripted model.
//!
//! `PI_TEST_REFERENCE` names the command that starts the other program; without it every test here
//! is left out.

mod bed;
mod branches;
mod damage;
mod forks;
mod harness;
mod old_files;
mod ours_first;
mod theirs_first;
mod view;
