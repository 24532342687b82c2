//! Commands the user runs beside the conversation.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_agent::env::ProcessEnd;
use pi_agent::message::BashExecutionMessage;
use tokio_util::sync::CancellationToken;

use super::AgentSession;
use crate::error::{AppError, Context, ErrorKind};
use crate::tools::output::OutputLog;
use crate::tools::plain_text::PlainText;
use crate::tools::shell_command::{self, OutputSink, ShellCommand};
use crate::tools::utf8::Utf8Decoder;
use crate::tools::{SessionVariables, ToolContext};

/// How a user's command is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BashOptions {
    /// Kept in the session as it is given. If true, the model is not told of the command.
    pub exclude_from_context: Option<bool>,
}

/// What became of a user's command. A command that fails is a result as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashResult {
    /// Plain text of stdout and stderr; the end of it, within the limits of a tool's result.
    pub output: String,
    /// Absent when it was cancelled; 128 + n for a shell killed by signal n.
    pub exit_code: Option<i32>,
    pub cancelled: bool,
    /// There was more than `output`.
    pub truncated: bool,
    /// Where all of it is, if there was more and it could be saved.
    pub full_output_path: Option<PathBuf>,
}

/// Hears what a user's command prints while it runs.
pub trait BashListener: Send + Sync {
    /// The next piece of plain text; pieces are cut anywhere. The command waits meanwhile, until it
    /// is aborted.
    fn on_output<'a>(&'a self, text: &'a str) -> BoxFuture<'a, ()>;
}

/// Ends the commands that are on, all at once.
#[derive(Debug)]
pub(super) struct UserCommands {
    stopped: CancellationToken,
    current: Mutex<CancellationToken>,
}

impl UserCommands {
    /// Cancelling `stopped` ends those that are on and lets no other one start.
    pub(super) fn new(stopped: &CancellationToken) -> Self {
        Self { stopped: stopped.clone(), current: Mutex::new(stopped.child_token()) }
    }

    fn begin(&self) -> CancellationToken {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn abort(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, self.stopped.child_token()).cancel();
    }
}

impl AgentSession {
    /// Runs a command in the shell and the directory of the tools, told nothing of the session, and
    /// adds it to the session when it has ended; while a prompt is on, once that is settled. Any
    /// number can be on at once, beside a prompt too.
    ///
    /// It is on as soon as this is called, so that an abort that comes next finds it. Dropping the
    /// future kills it, and nothing of it is kept.
    ///
    /// # Errors
    /// It could not be started, and nothing is kept; or it could not be stored.
    pub fn run_bash<'a>(
        &'a self,
        command: &'a str,
        options: BashOptions,
        listener: &'a dyn BashListener,
    ) -> BoxFuture<'a, Result<BashResult, AppError>> {
        let cancel = self.inner.user_commands.begin();
        Box::pin(async move {
            let context = &self.inner.context;
            let result = run(context, command, cancel, listener).await?;
            let path = result.full_output_path.as_ref();
            let message = BashExecutionMessage {
                command: command.to_owned(),
                output: result.output.clone(),
                exit_code: result.exit_code,
                cancelled: result.cancelled,
                truncated: result.truncated,
                full_output_path: path.map(|path| path.to_string_lossy().into_owned()),
                timestamp: context.env.now_ms(),
                exclude_from_context: options.exclude_from_context,
            };
            let stored = self.inner.harness.record_bash(message);
            stored.context(ErrorKind::Internal, || "Cannot store the command")?;
            Ok(result)
        })
    }

    /// Aborts every command of the user that is on.
    pub fn abort_bash(&self) {
        self.inner.user_commands.abort();
    }
}

async fn run(
    context: &ToolContext,
    command: &str,
    cancel: CancellationToken,
    listener: &dyn BashListener,
) -> Result<BashResult, AppError> {
    let command = ShellCommand {
        script: command.to_owned(),
        timeout: None,
        variables: SessionVariables::default(),
    };
    let process =
        command.process(context).await.map_err(|error| AppError::user(error.to_string()))?;
    let mut output = PlainOutput {
        decoder: Utf8Decoder::default(),
        plain: PlainText::default(),
        log: OutputLog::new(Arc::clone(&context.env), cancel.clone()),
        listener,
        cancel: cancel.clone(),
    };
    let end = shell_command::run(&*context.env, process, cancel, &mut output).await;
    let end = end.map_err(|error| AppError::user(error.to_string()))?;
    let log = output.finish().await;
    let exit_code = match end {
        ProcessEnd::Exited(code) => Some(code),
        ProcessEnd::TimedOut(_) | ProcessEnd::Aborted => None,
    };
    let tail = log.tail();
    Ok(BashResult {
        output: tail.content,
        exit_code,
        cancelled: exit_code.is_none(),
        truncated: tail.truncated,
        full_output_path: log.full_output_path().map(ToOwned::to_owned),
    })
}

/// Keeps and tells the output of a command as plain text.
struct PlainOutput<'a> {
    decoder: Utf8Decoder,
    plain: PlainText,
    log: OutputLog,
    listener: &'a dyn BashListener,
    cancel: CancellationToken,
}

impl PlainOutput<'_> {
    async fn take(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.log.push(text.as_bytes()).await;
        tokio::select! {
            biased;
            () = self.listener.on_output(&text) => {}
            () = self.cancel.cancelled() => {}
        }
    }

    async fn finish(mut self) -> OutputLog {
        let mut text = self.plain.push(self.decoder.finish());
        text.push_str(&self.plain.finish());
        self.take(text).await;
        self.log.finish().await;
        self.log
    }
}

impl OutputSink for PlainOutput<'_> {
    async fn push(&mut self, chunk: &[u8]) {
        let text = self.plain.push(&self.decoder.decode(chunk));
        self.take(text).await;
    }
}

#[cfg(test)]
mod tests;
