//! The project's own tools: `cargo xtask tidy | licences | models FILE`.

#![expect(clippy::print_stderr, reason = "a tool for developers speaks on standard error")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod licences;
mod models;
mod tidy;

const USAGE: &str = "usage: cargo xtask tidy | licences | models FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let root = workspace()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => eprintln!("{}", tidy::check(&root)?),
        ["licences"] => licences::check(&root)?,
        ["models", file] => eprint!("{}", models::refresh(&root, Path::new(file))?),
        _ => bail!(USAGE),
    }
    Ok(())
}

fn workspace() -> Result<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(own.parent().context("xtask lies in the workspace")?.to_owned())
}
