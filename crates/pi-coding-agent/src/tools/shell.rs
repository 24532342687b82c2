//! Running one shell command: own process group, no input, one pipe for all output, and nothing
//! left running when it is stopped or its future is dropped.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::env::registry;

mod program;

pub use pi_agent::env::{ProcessGroups, RunningGroup};
pub use program::find_shell;

/// A command to run.
#[derive(Debug, Clone)]
pub struct ShellCommand {
    /// The shell; called with `-c` and the script.
    pub shell: PathBuf,
    pub script: String,
    pub cwd: PathBuf,
    /// All of the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Everything is killed after this long.
    pub timeout: Option<Duration>,
}

/// Where the output goes, and who must be woken while it comes.
pub trait OutputSink: Send {
    /// Takes the next bytes, of stdout and stderr as they came.
    fn push(&mut self, chunk: &[u8]) -> impl Future<Output = ()> + Send;

    /// When [`Self::wake`] wants to be called next.
    fn wake_at(&self) -> Option<Instant>;

    fn wake(&mut self);
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShellEnd {
    /// By itself. The code is 128 + n for a shell killed by signal n.
    Exited(i32),
    /// Killed at its timeout; the code and time after which the shell alone had ended before.
    TimedOut(Option<(i32, Duration)>),
    /// Killed on cancellation.
    Aborted,
}

/// Why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error("Custom shell path not found: {0}")]
    NoCustomShell(String),
    #[error("Working directory does not exist: {}", .0.display())]
    NoWorkingDirectory(PathBuf),
    #[error("Could not start {}: {source}", shell.display())]
    Spawn {
        shell: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// After the shell has ended, output of what it left behind is read until none came for this long.
const IDLE_GRACE: Duration = Duration::from_millis(100);

/// After a kill the end is waited for no longer: a process may hang in the kernel.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// Runs a command to its end.
///
/// # Errors
/// It could not be started.
pub async fn run(
    command: &ShellCommand,
    processes: &ProcessGroups,
    cancel: &CancellationToken,
    sink: &mut impl OutputSink,
) -> Result<ShellEnd, ShellError> {
    if cancel.is_cancelled() {
        return Ok(ShellEnd::Aborted);
    }
    let started =
        processes.start(|(child, _): &(Child, Receiver)| child.id(), || spawn(command))?;
    let Some(((mut child, mut output), mut group)) = started else {
        return Ok(ShellEnd::Aborted);
    };
    let started = Instant::now();
    let deadline = command.timeout.map(|timeout| started + timeout);
    let mut chunk = vec![0; 64 * 1024];
    let mut open = true;
    let mut exit: Option<(i32, Duration)> = None;
    let mut stopped: Option<ShellEnd> = None;
    let mut give_up: Option<Instant> = None;
    while open || exit.is_none() {
        tokio::select! {
            () = cancel.cancelled(), if stopped.is_none() => {
                stopped = Some(ShellEnd::Aborted);
                group.kill();
                give_up = Some(Instant::now() + grace_after_kill(exit.is_some()));
            }
            () = until(deadline), if stopped.is_none() => {
                stopped = Some(ShellEnd::TimedOut(exit));
                group.kill();
                give_up = Some(Instant::now() + grace_after_kill(exit.is_some()));
            }
            () = until(give_up) => break,
            status = child.wait(), if exit.is_none() => {
                exit = Some((exit_code(&status), started.elapsed()));
                group.leader_ended();
                give_up = Some(Instant::now() + IDLE_GRACE);
            }
            read = output.read(&mut chunk), if open => {
                let length = read.unwrap_or(0);
                open = length > 0;
                sink.push(chunk.get(..length).unwrap_or_default()).await;
                if open && exit.is_some() && stopped.is_none() {
                    give_up = Some(Instant::now() + IDLE_GRACE);
                }
            }
            () = until(sink.wake_at()) => sink.wake(),
        }
    }
    Ok(match (stopped, exit) {
        (Some(stopped), _) => stopped,
        (None, Some((code, _))) => ShellEnd::Exited(code),
        (None, None) => ShellEnd::Aborted,
    })
}

fn grace_after_kill(leader_ended: bool) -> Duration {
    if leader_ended { IDLE_GRACE } else { KILL_GRACE }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn spawn(command: &ShellCommand) -> Result<(Child, Receiver), ShellError> {
    if !command.cwd.is_dir() {
        return Err(ShellError::NoWorkingDirectory(command.cwd.clone()));
    }
    start(command).map_err(|source| ShellError::Spawn { shell: command.shell.clone(), source })
}

fn start(command: &ShellCommand) -> io::Result<(Child, Receiver)> {
    if command.shell.is_absolute() {
        // Told here, as the program that makes a session could only exit with a code.
        rustix::fs::access(&command.shell, rustix::fs::Access::EXEC_OK)?;
    }
    let (reader, writer) = io::pipe()?;
    let mut process = match program::session_leader() {
        // A session of its own takes the terminal away, so nothing can ask the user behind our
        // back or stop for doing so. It makes the process group as well.
        Some(setsid) => {
            let mut process = Command::new(setsid);
            process.arg(&command.shell);
            process
        }
        None => {
            let mut process = Command::new(&command.shell);
            process.process_group(0);
            process
        }
    };
    process
        .arg("-c")
        .arg(&command.script)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    // The builder holds our copies of the writing end; the output would never end.
    let child = process.spawn()?;
    drop(process);
    Ok((child, Receiver::from_owned_fd(reader.into())?))
}

fn exit_code(status: &io::Result<ExitStatus>) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    match status {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1),
        Err(_) => -1,
    }
}

/// The environment of a command: what is inherited, the agent's `bin` first on the `PATH`, and the
/// variables that tell a command where it runs.
pub fn environment<'a>(
    inherited: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
    agent_dir: &Path,
) -> std::collections::BTreeMap<OsString, OsString> {
    let mut variables: std::collections::BTreeMap<OsString, OsString> =
        inherited.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut path = agent_dir.join("bin").into_os_string();
    if let Some(inherited) = variables.get(&OsString::from("PATH")).filter(|path| !path.is_empty())
    {
        path.push(":");
        path.push(inherited);
    }
    variables.insert("PATH".into(), path);
    variables.insert(registry::AI_AGENT.into(), "pi".into());
    variables.insert(registry::INSIDE_PI.into(), "true".into());
    variables
}
