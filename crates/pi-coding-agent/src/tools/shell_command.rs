//! Running a command in the shell of a session.
//!
//! Owns: what the tool `bash` and the commands a user types have in common. Never: knows what
//! becomes of the output, or how the end is told.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::time::Duration;

use pi_agent::env::{
    EnvError, EnvErrorKind, ExecutionEnv, Operation, ProcessCommand, ProcessEnd, ProcessEvent,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::shell::{self, NoCustomShell};
use super::{SessionVariables, ToolContext};

/// What the shell is asked for.
#[derive(Debug)]
pub(crate) struct ShellCommand {
    pub(crate) script: String,
    pub(crate) timeout: Option<Duration>,
    /// What it may know of the session.
    pub(crate) variables: SessionVariables,
}

impl ShellCommand {
    /// The process that runs it: the shell of the settings, the prefix of the settings first.
    ///
    /// # Errors
    /// There is no such shell.
    pub(crate) async fn process(
        self,
        context: &ToolContext,
    ) -> Result<ProcessCommand, NoCustomShell> {
        let env = &context.env;
        let environment = shell::environment(env.environment(), &context.agent_dir, self.variables);
        let search_path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let shell = shell::find_shell(&**env, context.shell_path.as_deref(), search_path).await?;
        let script = match &context.shell_command_prefix {
            Some(prefix) => format!("{prefix}\n{}", self.script),
            None => self.script,
        };
        Ok(ProcessCommand {
            program: shell,
            arguments: vec!["-c".into(), script.into()],
            cwd: env.cwd().to_owned(),
            environment,
            timeout: self.timeout,
        })
    }
}

/// Takes what a command prints.
pub(crate) trait OutputSink: Send {
    fn push(&mut self, chunk: &[u8]) -> impl Future<Output = ()> + Send;

    /// When [`Self::wake`] wants to be called.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    fn wake(&mut self) {}
}

/// Runs a command to its end. Cancelled before, it is not started.
///
/// # Errors
/// It could not be started.
pub(crate) async fn run(
    env: &dyn ExecutionEnv,
    command: ProcessCommand,
    cancel: CancellationToken,
    sink: &mut impl OutputSink,
) -> Result<ProcessEnd, NotStarted> {
    let mut process = match env.spawn(command, cancel).await {
        Ok(process) => process,
        Err(error) if error.kind == EnvErrorKind::Aborted => return Ok(ProcessEnd::Aborted),
        Err(error) => return Err(NotStarted(error)),
    };
    loop {
        tokio::select! {
            event = process.next() => match event {
                ProcessEvent::Output(chunk) => sink.push(chunk).await,
                ProcessEvent::Ended(end) => return Ok(end),
            },
            () = until(sink.wake_at()) => sink.wake(),
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) struct NotStarted(#[source] EnvError);

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        let (path, cause) = (error.path.display(), error.cause());
        match (error.operation, error.kind) {
            (Operation::ChangeDirectory, EnvErrorKind::NotFound) => {
                write!(f, "Working directory does not exist: {path}")
            }
            (Operation::ChangeDirectory, _) => {
                write!(f, "Cannot use the working directory {path}: {cause}")
            }
            _ => write!(f, "Could not start {path}: {cause}"),
        }
    }
}
