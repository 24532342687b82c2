//! RPC mode: commands as lines on standard input; answers and events as lines on standard output.
//!
//! Owns: the protocol, and which conversation is the current one. Never: does what a command asks by
//! itself; that is the conversation's.
//!
//! Commands are begun in the order they come and answered when they are done, so a client matches
//! answers by id. All of it is one task: a command that waits costs nothing.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::output::LineWriter;
use super::signals::{self, Signals, Stop};
use crate::cli::CliOptions;
use crate::error::{AppError, Context, ErrorKind};
use crate::session_runtime::AgentSession;
use crate::workspace::Workspace;
use server::Server;

mod answer;
mod change;
mod command;
mod lines;
mod look;
mod prompts;
mod server;

/// Commands that may be under way before no further one is read.
const MAX_COMMANDS: usize = 256;

/// Serves until the input ends, the reader of the output leaves, or a signal comes.
///
/// # Errors
/// Signals cannot be handled, or writing failed.
pub(crate) async fn run(
    workspace: &Workspace,
    session: AgentSession,
    options: &CliOptions,
) -> Result<ExitCode, AppError> {
    let mut signals =
        Signals::listen().context(ErrorKind::Internal, || "Signals cannot be handled")?;
    let writer = Arc::new(LineWriter::new(io::stdout()));
    let mut lines = lines::read(io::stdin());
    let server = Server::new(workspace, options, Arc::clone(&writer), session);
    let mut work = FuturesUnordered::new();
    let mut stop = None;
    let mut is_open = true;
    while is_open || !work.is_empty() {
        tokio::select! {
            biased;
            signal = signals.next() => match (signal, stop) {
                (Stop::Interrupt, _) => {
                    server.end_at_once().await;
                    return Ok(ExitCode::from(signals::die_by_interrupt().exit_code()));
                }
                // Told twice: whoever sends it does not want to wait.
                (signal, Some(_)) => {
                    server.end_at_once().await;
                    return Ok(ExitCode::from(signal.exit_code()));
                }
                (signal, None) => {
                    stop = Some(signal);
                    is_open = false;
                    server.stop();
                }
            },
            Some(()) = work.next() => {}
            // Nobody hears what would still be said.
            () = server.reader_left(), if is_open => {
                is_open = false;
                server.stop();
            }
            line = lines.recv(), if is_open && work.len() < MAX_COMMANDS => match line {
                Some(line) => work.push(server.serve(line)),
                None => {
                    is_open = false;
                    server.stop();
                }
            },
        }
    }
    drop(work);
    server.leave();
    close(writer)?;
    Ok(stop.map_or(ExitCode::SUCCESS, |stop: Stop| ExitCode::from(stop.exit_code())))
}

fn close(writer: Arc<LineWriter>) -> Result<(), AppError> {
    let Some(writer) = Arc::into_inner(writer) else { return Ok(()) };
    match writer.close() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context(ErrorKind::Internal, || "Cannot write the answers"),
    }
}
