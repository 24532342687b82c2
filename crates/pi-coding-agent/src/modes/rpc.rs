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
use tokio_util::sync::CancellationToken;

use super::output::LineWriter;
use super::recorder::LAST_WORDS;
use super::signals::{self, Signals, Stop};
use super::stdio::StandardInput;
use crate::cli::CliOptions;
use crate::error::{AppError, Context, ErrorKind};
use crate::session_runtime::AgentSession;
use crate::workspace::Workspace;
use pending::poll_once;
use server::Server;

mod answer;
mod change;
mod command;
mod dialogs;
mod lines;
mod look;
mod pending;
mod prompts;
mod server;

/// Commands that may be under way before no further one is read. Those that take long are limited by
/// themselves, so this is met only where the client does not read its answers.
const MAX_COMMANDS: usize = 256;

/// Serves until the input ends, the reader of the output leaves, or a signal comes.
///
/// # Errors
/// Signals cannot be handled, or reading or writing failed.
pub(crate) async fn run(
    workspace: &Workspace,
    session: AgentSession,
    options: &CliOptions,
) -> Result<ExitCode, AppError> {
    let mut signals =
        Signals::listen().context(ErrorKind::Internal, || "Signals cannot be handled")?;
    let writer = Arc::new(LineWriter::to_standard_output());
    let mut lines = lines::read(StandardInput);
    let server = Server::new(workspace, options, Arc::clone(&writer), session);
    let mut work = FuturesUnordered::new();
    let mut stop = None;
    let mut unread = Ok(());
    let mut is_open = true;
    while is_open || !work.is_empty() {
        let is_full = writer.is_full() || work.len() >= MAX_COMMANDS;
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
            // A client that does not read its answers is not listened to...
            () = writer.room(), if is_open && writer.is_full() => {}
            // ...and once it says nothing more either, it is not waited for.
            () = left(&lines.ended, &writer), if is_open && is_full => {
                is_open = false;
                server.stop();
            }
            line = lines.queue.recv(), if is_open && !is_full => match line {
                Some(Ok(line)) => {
                    let mut command = Box::pin(server.serve(line));
                    // Commands stand in line in the order they came.
                    if poll_once(command.as_mut()).await.is_pending() {
                        work.push(command);
                    }
                }
                end => {
                    unread = end.transpose().map(drop);
                    is_open = false;
                    server.stop();
                }
            },
        }
    }
    drop(work);
    // From here on a signal ends the process at once.
    drop(signals);
    server.leave();
    match writer.finish(LAST_WORDS).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.context(ErrorKind::Internal, || "Cannot write the answers")?,
    }
    unread.context(ErrorKind::Internal, || "Cannot read the commands")?;
    Ok(stop.map_or(ExitCode::SUCCESS, |stop: Stop| ExitCode::from(stop.exit_code())))
}

/// Waits until the client has sent all it had and takes nothing of what it is told.
async fn left(ended: &CancellationToken, writer: &LineWriter) {
    ended.cancelled().await;
    writer.stalled(LAST_WORDS).await;
}
