//! How a run speaks to the world.
//!
//! Owns: standard output and standard error, signals, exit codes. A mode takes prompts, gives them
//! to an [`AgentSession`] one after the other, and shows what becomes of them.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::pin::pin;

use futures_util::future::BoxFuture;

use crate::cli::Terminals;
use crate::error::{AppError, Context, ErrorKind};
use crate::session_runtime::{AgentSession, Prompt, RunOutcome};
use crate::warnings::Warnings;

pub(crate) mod ask;
pub(crate) mod export;
pub(crate) mod json;
mod output;
pub(crate) mod print;
mod recorder;
pub(crate) mod rpc;
mod signals;
mod stdio;

use signals::{Signals, Stop};
use stdio::StandardOutput;

/// How a series of prompts ended.
#[derive(Debug)]
enum Ending {
    /// All were settled; the outcome is the last one's, if there was any.
    Settled(Option<RunOutcome>),
    /// A signal ended it.
    Stopped(Stop),
}

/// Who a mode shows a run to.
trait Audience {
    /// A signal begins to end the run; what comes of it is not shown any more.
    fn fall_silent(&self) {}

    /// Gets out what is still under way, within a bounded time.
    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Sends the prompts one after the other, as long as they can be stored.
async fn drive(
    session: &AgentSession,
    prompts: Vec<Prompt>,
    audience: &impl Audience,
) -> Result<Ending, AppError> {
    let mut signals = Signals::listen()
        .context(ErrorKind::Internal, || "Signals cannot be handled".to_owned())?;
    let mut work = pin!(prompt_all(session, prompts));
    let mut stopping = None;
    loop {
        tokio::select! {
            biased;
            stop = signals.next() => match (stop, stopping) {
                // Dying right here keeps the run from recording its own end.
                (Stop::Interrupt, _) => {
                    audience.fall_silent();
                    session.kill_processes();
                    audience.flush().await;
                    return Ok(Ending::Stopped(signals::die_by_interrupt()));
                }
                // Told twice: whoever sends it does not want to wait. The tools' tasks may not get
                // to end their processes before the program is gone.
                (stop, Some(_)) => {
                    session.kill_processes();
                    return Ok(Ending::Stopped(stop));
                }
                (stop, None) => {
                    stopping = Some(stop);
                    audience.fall_silent();
                    session.stop();
                }
            },
            outcome = &mut work => {
                let outcome = outcome?;
                let Some(stop) = stopping else { return Ok(Ending::Settled(outcome)) };
                if let Err(error) = check_stored(outcome) {
                    report(&error);
                }
                return Ok(Ending::Stopped(stop));
            }
        }
    }
}

async fn prompt_all(
    session: &AgentSession,
    prompts: Vec<Prompt>,
) -> Result<Option<RunOutcome>, AppError> {
    let mut last = None;
    for prompt in prompts {
        if session.is_stopped() {
            break;
        }
        let outcome = session.prompt(prompt).await?;
        warn(session.warnings());
        let is_stored = outcome.unstored.is_none();
        last = Some(outcome);
        if !is_stored {
            break;
        }
    }
    Ok(last)
}

/// Fails if something of the run is not on disk.
fn check_stored(outcome: Option<RunOutcome>) -> Result<(), AppError> {
    let error = outcome.and_then(|outcome| outcome.unstored);
    error.map_or(Ok(()), Err).context(ErrorKind::Internal, || "The conversation cannot go on")
}

/// Which of the standard streams are terminals.
pub(crate) fn terminals() -> Terminals {
    Terminals {
        stdin: io::stdin().is_terminal(),
        stdout: io::stdout().is_terminal(),
        stderr: io::stderr().is_terminal(),
    }
}

/// Puts what came since the last time on standard error.
pub(crate) fn warn(warnings: &Warnings) {
    for warning in warnings.take() {
        complain(&warning.to_string());
    }
}

/// Puts a fatal error on standard error.
pub(crate) fn report(error: &AppError) {
    complain(&error.report());
}

/// Puts one line on standard error, for a terminal without control characters: the text may be a
/// server's. Losing that stream loses nothing else.
pub(crate) fn complain(text: &str) {
    let mut err = io::stderr().lock();
    let text = if err.is_terminal() { without_controls(text) } else { text.into() };
    drop(writeln!(err, "{text}"));
}

/// Puts text on standard output. A reader that left is no error: it has what it wanted. A terminal
/// gets no control characters: the text is a model's, which may repeat anybody's.
///
/// # Errors
/// Writing fails for another reason.
pub(crate) fn say(text: &str) -> Result<(), AppError> {
    let text = if io::stdout().is_terminal() { without_controls(text) } else { text.into() };
    match StandardOutput.write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context(ErrorKind::Internal, || "Cannot write the answer".to_owned()),
    }
}

/// Leaves line feeds and tabs.
fn without_controls(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(is_control) { text.replace(is_control, "").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let cases = [
            ("a\tb\n", "a\tb\n"),
            ("\u{1b}]0;title\u{7}x", "]0;titlex"),
            ("a\u{9b}31mb\r", "a31mb"),
        ];
        for (text, shown) in cases {
            assert_eq!(without_controls(text), shown);
        }
    }
}
