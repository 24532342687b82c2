//! Running one command: own process group, no input, one pipe for all output, and nothing left
//! running when it is stopped or dropped.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::fs::Access;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::failed;
use super::process_groups::{ProcessGroups, RunningGroup};
use crate::env::{
    EnvError, EnvErrorKind, LeaderExit, Operation, ProcessCommand, ProcessEnd, ProcessEvent,
    RunningProcess,
};

/// Most bytes of one [`ProcessEvent::Output`]; as much as a pipe of Linux holds.
const CHUNK: usize = 64 * 1024;

/// After the leader has ended, output of what it left behind is read until none came for this long.
const IDLE_GRACE: Duration = Duration::from_millis(100);

/// After a kill the end is waited for no longer: a process may hang in the kernel.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// # Errors
/// It could not be started.
pub(super) fn spawn(
    command: ProcessCommand,
    processes: &ProcessGroups,
    cancel: CancellationToken,
) -> Result<Box<dyn RunningProcess>, EnvError> {
    let started = if cancel.is_cancelled() {
        None
    } else {
        processes.start(|(child, _): &(Child, Receiver)| child.id(), || start(&command))?
    };
    let Some(((child, output), group)) = started else {
        return Err(EnvError::new(Operation::Spawn, command.program, EnvErrorKind::Aborted));
    };
    let started = Instant::now();
    Ok(Box::new(LocalProcess {
        child,
        output,
        group,
        cancel,
        started,
        deadline: command.timeout.map(|timeout| started + timeout),
        chunk: vec![0; CHUNK],
        is_open: true,
        was_given: false,
        exit: None,
        stopped: None,
        give_up: None,
        is_over: false,
    }))
}

#[derive(Debug)]
struct LocalProcess {
    child: Child,
    output: Receiver,
    group: RunningGroup,
    cancel: CancellationToken,
    started: Instant,
    deadline: Option<Instant>,
    chunk: Vec<u8>,
    /// Somebody may still write.
    is_open: bool,
    /// Output was given last. The time the caller spent on it does not count as silence.
    was_given: bool,
    exit: Option<LeaderExit>,
    /// It was killed, and why.
    stopped: Option<ProcessEnd>,
    give_up: Option<Instant>,
    is_over: bool,
}

impl RunningProcess for LocalProcess {
    fn next(&mut self) -> BoxFuture<'_, ProcessEvent<'_>> {
        Box::pin(async {
            match self.read().await {
                0 => ProcessEvent::Ended(self.end()),
                length => ProcessEvent::Output(self.chunk.get(..length).unwrap_or_default()),
            }
        })
    }
}

impl LocalProcess {
    /// Reads the next output; 0 bytes at the end of everything.
    async fn read(&mut self) -> usize {
        if std::mem::take(&mut self.was_given) && self.exit.is_some() && self.stopped.is_none() {
            self.give_up = Some(Instant::now() + IDLE_GRACE);
        }
        while !self.is_over && (self.is_open || self.exit.is_none()) {
            tokio::select! {
                () = self.cancel.cancelled(), if self.stopped.is_none() => {
                    self.stop(ProcessEnd::Aborted);
                }
                () = until(self.deadline), if self.stopped.is_none() => {
                    self.stop(ProcessEnd::TimedOut(self.exit));
                }
                () = until(self.give_up) => self.is_over = true,
                status = self.child.wait(), if self.exit.is_none() => {
                    let after = self.started.elapsed();
                    self.exit = Some(LeaderExit { code: exit_code(&status), after });
                    self.group.leader_ended();
                    self.give_up = Some(Instant::now() + IDLE_GRACE);
                }
                read = self.output.read(&mut self.chunk), if self.is_open => {
                    let length = read.unwrap_or(0);
                    self.is_open = length > 0;
                    if self.is_open {
                        self.was_given = true;
                        return length;
                    }
                }
            }
        }
        0
    }

    fn stop(&mut self, end: ProcessEnd) {
        self.stopped = Some(end);
        self.group.kill();
        let grace = if self.exit.is_some() { IDLE_GRACE } else { KILL_GRACE };
        self.give_up = Some(Instant::now() + grace);
    }

    fn end(&self) -> ProcessEnd {
        match (self.stopped, self.exit) {
            (Some(stopped), _) => stopped,
            (None, Some(exit)) => ProcessEnd::Exited(exit.code),
            (None, None) => ProcessEnd::Aborted,
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn start(command: &ProcessCommand) -> Result<(Child, Receiver), EnvError> {
    if !command.cwd.is_dir() {
        let kind = EnvErrorKind::NotFound;
        return Err(EnvError::new(Operation::ChangeDirectory, &command.cwd, kind));
    }
    launch(command).map_err(|error| failed(Operation::Spawn, &command.program, error))
}

fn launch(command: &ProcessCommand) -> io::Result<(Child, Receiver)> {
    let ProcessCommand { program, arguments, cwd, environment, timeout: _ } = command;
    if program.is_absolute() {
        // Told here, as the program that makes a session could only exit with a code.
        rustix::fs::access(program, Access::EXEC_OK)?;
    }
    let (reader, writer) = io::pipe()?;
    let output = Receiver::from_owned_fd(reader.into())?;
    let mut process = match session_leader() {
        // A session of its own takes the terminal away, so nothing can ask the user behind our
        // back or stop for doing so. It makes the process group as well.
        Some(setsid) => {
            let mut process = Command::new(setsid);
            process.arg(program);
            process
        }
        None => {
            let mut process = Command::new(program);
            process.process_group(0);
            process
        }
    };
    process
        .args(arguments)
        .current_dir(cwd)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    // The builder holds our copies of the writing end; the output would never end.
    let child = process.spawn()?;
    drop(process);
    Ok((child, output))
}

/// The program that starts another one in a session of its own, if we have a terminal that
/// commands must not reach.
fn session_leader() -> Option<&'static Path> {
    File::open("/dev/tty").ok()?;
    ["/usr/bin/setsid", "/bin/setsid"].into_iter().map(Path::new).find(|path| path.is_file())
}

fn exit_code(status: &io::Result<ExitStatus>) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    match status {
        Ok(status) => status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1),
        Err(_) => -1,
    }
}
