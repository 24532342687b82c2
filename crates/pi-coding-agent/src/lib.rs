//! pi, a coding agent for the terminal.
//!
//! Owns: the command line, settings, trust, resources, tools, the choice of a model, and the modes.
//! Never: knows how a vendor's bytes look or how a session line is encoded; that is done by the
//! crates below.

use std::ffi::OsString;
use std::process::ExitCode;

pub mod cli;
mod demo;
pub mod env;
pub mod error;
pub mod models;
mod modes;
mod paths;
pub mod resources;
mod session_runtime;
pub mod settings;
mod startup;
pub mod tool_selection;
pub mod tools;
pub mod trust;

use cli::{CliOptions, Invocation, Mode, Terminals};
use env::Env;
use error::{AppError, Context, ErrorKind, Warning};
use startup::Startup;

/// Runs pi with the arguments of the command line, without the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = try_run(arguments);
    outcome.unwrap_or_else(|error| {
        modes::report(&error);
        error.exit_code()
    })
}

fn try_run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, AppError> {
    let arguments: Vec<String> =
        arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let terminals = modes::terminals();
    match cli::parse(&arguments, terminals)? {
        Invocation::Version => modes::say(&format!("{}\n", cli::VERSION))?,
        Invocation::Help => modes::say(cli::HELP)?,
        Invocation::Run(options) => return serve(*options, terminals),
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(options: CliOptions, terminals: Terminals) -> Result<ExitCode, AppError> {
    // One thread: a run waits for the network nearly all its life, and an answer arrives in
    // thousands of small pieces, each of which would have to wake another thread. Nothing that
    // blocks may run on it: signals wait there too.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context(ErrorKind::Internal, || "Cannot start the runtime")?;
    let code = runtime.block_on(serve_options(options, terminals));
    // Blocking work of a run that was stopped has nobody to report to.
    runtime.shutdown_background();
    code
}

async fn serve_options(options: CliOptions, terminals: Terminals) -> Result<ExitCode, AppError> {
    let mut startup = Startup::new(options, Env::from_process())?;
    if let Some(list) = startup.options().list_models.clone() {
        return list_models(startup, list.search.as_deref());
    }
    let prompts = startup.prompts(terminals.stdin)?;
    let mode = startup.options().mode;
    let name = startup.options().session.name.clone();
    let mut warnings = std::mem::take(&mut startup.warnings);
    if mode == Mode::Json {
        let records = modes::json::Records::begin(startup.session_header()).await;
        let session = begin(startup, name, &mut warnings).await;
        modes::warn(&warnings);
        match session {
            Ok(session) => records.run(&session, prompts).await,
            Err(error) => {
                records.end()?;
                Err(error)
            }
        }
    } else {
        if prompts.is_empty() {
            modes::warn(&warnings);
            return Ok(ExitCode::SUCCESS);
        }
        let session = begin(startup, name, &mut warnings).await;
        modes::warn(&warnings);
        modes::print::run(&session?, prompts).await
    }
}

async fn begin(
    mut startup: Startup,
    name: Option<String>,
    warnings: &mut Vec<Warning>,
) -> Result<session_runtime::AgentSession, AppError> {
    let registry = startup.models()?;
    warnings.append(&mut startup.warnings);
    let session = startup.start(registry, warnings)?;
    if let Some(name) = name {
        session.set_name(&name).await?;
    }
    Ok(session)
}

/// The table goes to standard output, but with `-p`, whose output is an answer, to standard error.
fn list_models(mut startup: Startup, search: Option<&str>) -> Result<ExitCode, AppError> {
    let registry = startup.models()?;
    let listing = models::list_models(&registry, search);
    startup.warnings.extend(listing.notes.iter().map(Warning::new));
    modes::warn(&startup.warnings);
    if startup.options().print {
        modes::complain(listing.text.trim_end_matches('\n'));
    } else {
        modes::say(&listing.text)?;
    }
    Ok(ExitCode::SUCCESS)
}
