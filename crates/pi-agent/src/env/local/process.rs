//! Running one command: own process group, no input, one pipe for all output, and nothing left
//! running when it is stopped or dropped.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rustix::fs::Access;
use tokio::process::{Child, Command};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::failed;
use super::output_pipe::OutputPipe;
use super::process_groups::{ProcessGroups, RunningGroup};
use crate::env::{
    EnvError, EnvErrorKind, LeaderExit, Operation, ProcessCommand, ProcessEnd, ProcessEvent,
    RunningProcess,
};

/// Most bytes of one [`ProcessEvent::Output`].
const CHUNK: usize = 256 * 1024;

/// After the leader has ended, output of what it left behind is read until none came for this long.
const IDLE_GRACE: Duration = Duration::from_millis(100);

/// How long what was asked to end may take for it. Short: somebody waits who wants it gone.
pub(super) const END_GRACE: Duration = Duration::from_secs(1);

/// When to look first whether what was asked to end is gone, as most of it is at once, and how long
/// not to look at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

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
        processes.start(|(child, _): &Started| child.id(), || start(&command))?
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
        deadline: command.timeout.and_then(|timeout| started.checked_add(timeout)),
        arguments: command.arguments,
        chunk: vec![0; CHUNK],
        was_given: false,
        exit: None,
        stop: None,
        give_up: None,
        is_over: false,
    }))
}

#[derive(Debug)]
struct LocalProcess {
    child: Child,
    output: OutputPipe,
    group: RunningGroup,
    cancel: CancellationToken,
    started: Instant,
    deadline: Option<Instant>,
    arguments: Vec<OsString>,
    chunk: Vec<u8>,
    /// Output was given last. The time the caller spent on it does not count as silence.
    was_given: bool,
    exit: Option<LeaderExit>,
    stop: Option<Stop>,
    give_up: Option<Instant>,
    is_over: bool,
}

/// That everything was asked to end.
#[derive(Debug, Clone, Copy)]
struct Stop {
    end: ProcessEnd,
    since: Instant,
    /// `None` once everything is gone or was killed.
    look_at: Option<Instant>,
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
        if std::mem::take(&mut self.was_given) && self.exit.is_some() && self.stop.is_none() {
            self.give_up = Some(Instant::now() + IDLE_GRACE);
        }
        while !self.is_over
            && (!self.output.has_ended() || self.exit.is_none() || self.look_at().is_some())
        {
            tokio::select! {
                () = self.cancel.cancelled(), if self.stop.is_none() => {
                    self.stop(ProcessEnd::Aborted);
                }
                () = until(self.deadline), if self.stop.is_none() => {
                    self.stop(ProcessEnd::TimedOut(self.exit));
                }
                () = until(self.look_at()) => self.look(),
                () = until(self.give_up) => self.is_over = true,
                status = self.child.wait(), if self.exit.is_none() => self.leader_ended(&status),
                length = self.output.read(&mut self.chunk), if !self.output.has_ended() => {
                    if length > 0 {
                        self.was_given = true;
                        return length;
                    }
                }
            }
        }
        if self.stop.is_none() {
            self.group.leave();
        }
        0
    }

    fn leader_ended(&mut self, status: &io::Result<ExitStatus>) {
        let after = self.started.elapsed();
        self.exit = Some(LeaderExit { code: exit_code(status), after });
        self.group.leader_ended();
        self.output.hurry();
        if self.look_at().is_none() {
            self.give_up = Some(Instant::now() + IDLE_GRACE);
        }
    }

    fn stop(&mut self, end: ProcessEnd) {
        let since = Instant::now();
        self.group.terminate(&self.arguments);
        self.stop = Some(Stop { end, since, look_at: Some(since + LOOKS.0) });
        self.give_up = None;
        self.output.hurry();
    }

    fn look_at(&self) -> Option<Instant> {
        self.stop.and_then(|stop| stop.look_at)
    }

    fn look(&mut self) {
        let Some(stop) = &mut self.stop else { return };
        let now = Instant::now();
        if self.group.is_alive() {
            let elapsed = now - stop.since;
            if elapsed < END_GRACE {
                stop.look_at = Some(now + elapsed.min(LOOKS.1).min(END_GRACE - elapsed));
                return;
            }
            self.group.kill();
        }
        stop.look_at = None;
        let grace = if self.exit.is_some() { IDLE_GRACE } else { KILL_GRACE };
        self.give_up = Some(now + grace);
    }

    fn end(&self) -> ProcessEnd {
        match (self.stop, self.exit) {
            (Some(stop), _) => stop.end,
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

type Started = (Child, OutputPipe);

fn start(command: &ProcessCommand) -> Result<Started, EnvError> {
    let cwd = &command.cwd;
    if !cwd.is_dir() {
        return Err(EnvError::new(Operation::ChangeDirectory, cwd, EnvErrorKind::NotFound));
    }
    rustix::fs::access(cwd, Access::EXEC_OK)
        .map_err(|error| failed(Operation::ChangeDirectory, cwd, error.into()))?;
    launch(command).map_err(|error| failed(Operation::Spawn, &command.program, error))
}

fn launch(command: &ProcessCommand) -> io::Result<Started> {
    let ProcessCommand { program, arguments, cwd, environment, timeout: _ } = command;
    if program.is_absolute() {
        // Told here, as the program that makes a session could only exit with a code.
        rustix::fs::access(program, Access::EXEC_OK)?;
    }
    let (output, writer) = OutputPipe::new()?;
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
