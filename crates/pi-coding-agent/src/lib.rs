//! pi, a coding agent for the terminal, and the parts it is made of.
//!
//! Owns: the command line, settings, trust, resources, tools, the choice of a model, and the modes.
//! Never: knows how a vendor's bytes look or how a session line is encoded; that is done by the
//! crates below.
//!
//! [`run`] is the program. A program of another kind begins at [`workspace`].

use std::ffi::OsString;
use std::process::ExitCode;

mod cli;
mod demo;
pub mod env;
pub mod error;
pub mod export;
mod json_place;
pub mod models;
mod modes;
mod nearest;
mod paths;
pub mod resources;
mod search;
pub mod session_runtime;
pub mod settings;
mod startup;
pub mod themes;
pub mod tool_selection;
pub mod tools;
pub mod trust;
pub mod warnings;
pub mod workspace;

use pi_agent::Session;

use cli::{CliOptions, Invocation, Mode, Terminals};
use env::Env;
use error::{AppError, Context, ErrorKind, Warning};
use session_runtime::AgentSession;
use workspace::{FoundSession, SessionFlags, SessionSource, Workspace};

/// The version of pi, as `--version` prints it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs pi with the arguments of the command line, without the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = try_run(arguments);
    outcome.unwrap_or_else(|error| {
        modes::report(&error);
        error.exit_code()
    })
}

fn try_run(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, AppError> {
    let terminals = modes::terminals();
    match cli::parse(arguments, terminals)? {
        Invocation::Version => modes::say(&format!("{VERSION}\n"))?,
        Invocation::Tell(text) => modes::say(&text)?,
        Invocation::Run(options) => return start(*options, terminals),
    }
    Ok(ExitCode::SUCCESS)
}

fn start(options: CliOptions, terminals: Terminals) -> Result<ExitCode, AppError> {
    let Some(input) = &options.export else { return serve(options, terminals) };
    options.reject_unknown()?;
    let workspace = startup::workspace(&options, Env::from_process())?;
    modes::export::run(&workspace, input, options.messages.first().map(String::as_str))
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

async fn serve_options(
    mut options: CliOptions,
    terminals: Terminals,
) -> Result<ExitCode, AppError> {
    // A client can set one later.
    options.model.may_be_missing = options.mode == Mode::Rpc;
    let workspace = startup::workspace(&options, Env::from_process())?;
    let code = serve_in(&workspace, &options, terminals).await;
    workspace.kill_key_commands();
    code
}

async fn serve_in(
    workspace: &Workspace,
    options: &CliOptions,
    terminals: Terminals,
) -> Result<ExitCode, AppError> {
    if let Some(list) = &options.list_models {
        options.reject_unknown()?;
        return list_models(workspace, list.search.as_deref(), options.print);
    }
    let Some(session) = session(workspace, &options.session, terminals)? else {
        modes::warn(workspace.warnings());
        return Ok(ExitCode::SUCCESS);
    };
    options.reject_unknown()?;
    let workspace = workspace.for_directory(session.cwd());
    if options.mode == Mode::Rpc {
        let session = begin(&workspace, session, options).await?;
        return modes::rpc::run(&workspace, session, options).await;
    }
    let prompts = startup::prompts(&workspace, options, terminals.stdin)?;
    if options.mode == Mode::Json {
        // The model is chosen behind the header: choosing may fail.
        let records = modes::json::Records::begin(session.header()).await;
        match begin(&workspace, session, options).await {
            Ok(session) => {
                let code = records.run(&session, prompts).await;
                leave(session);
                code
            }
            Err(error) => {
                records.end()?;
                Err(error)
            }
        }
    } else if prompts.is_empty() {
        modes::warn(workspace.warnings());
        Ok(ExitCode::SUCCESS)
    } else {
        let session = begin(&workspace, session, options).await?;
        let code = modes::print::run(&session, prompts).await;
        leave(session);
        code
    }
}

/// The process ends: the system takes a long conversation back at once, which would else be freed
/// message by message. Its commands have ended, and all it has to say is on disk.
fn leave(session: AgentSession) {
    #[expect(clippy::mem_forget, reason = "nothing that has to be dropped is left in it")]
    std::mem::forget(session);
}

/// `None`: it belongs to another directory, and nobody wants it in this one.
fn session(
    workspace: &Workspace,
    flags: &SessionFlags,
    terminals: Terminals,
) -> Result<Option<Session>, AppError> {
    match workspace.find_session(flags)? {
        FoundSession::Ready(session) => Ok(Some(*session)),
        FoundSession::Elsewhere(found) if modes::ask::whether_to_fork(&found, terminals)? => {
            let source = found.path.to_string_lossy().into_owned();
            let source = SessionSource::Fork { source, id: None };
            workspace.session(&SessionFlags { source, ..flags.clone() }).map(Some)
        }
        FoundSession::Elsewhere(_) => Ok(None),
    }
}

async fn begin(
    workspace: &Workspace,
    session: Session,
    options: &CliOptions,
) -> Result<AgentSession, AppError> {
    let session = workspace.open(session, &options.model).await;
    modes::warn(workspace.warnings());
    let session = session?;
    if let Some(name) = &options.session.name {
        session.set_name(name).await?;
    }
    Ok(session)
}

/// The table goes to standard output, but with `-p`, whose output is an answer, to standard error.
fn list_models(
    workspace: &Workspace,
    search: Option<&str>,
    print: bool,
) -> Result<ExitCode, AppError> {
    let listing = models::list_models(workspace.models(), search);
    workspace.warnings().extend(listing.notes.iter().map(Warning::new));
    modes::warn(workspace.warnings());
    if print {
        modes::complain(listing.text.trim_end_matches('\n'));
    } else {
        modes::say(&listing.text)?;
    }
    Ok(ExitCode::SUCCESS)
}
