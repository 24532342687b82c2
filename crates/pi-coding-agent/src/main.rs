//! The `pi` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    pi_coding_agent::run(std::env::args_os().skip(1))
}
