//! Commands as an environment runs them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// A command to run.
#[derive(Debug, Clone)]
pub struct ProcessCommand {
    /// A path, or a name to be found on the `PATH` of `environment`.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub cwd: PathBuf,
    /// All of the environment; nothing is inherited.
    pub environment: BTreeMap<OsString, OsString>,
    /// Everything is ended after this long. What is longer than the clock can tell is no timeout.
    pub timeout: Option<Duration>,
}

/// A command that was started. Dropped before it has told its end, it is killed at once, with its
/// group and what left the group: also when its leader has ended, as long as the output of what that
/// left behind is still listened to.
pub trait RunningProcess: Send + fmt::Debug {
    /// The next output, as it came, of stdout and stderr together; or the end. Nothing is read
    /// ahead: a command whose output nobody takes waits.
    ///
    /// The future may be dropped and asked for anew; nothing is lost. After the end it tells the
    /// end again.
    fn next(&mut self) -> BoxFuture<'_, ProcessEvent<'_>>;
}

/// What happened to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEvent<'a> {
    /// At least one byte.
    Output(&'a [u8]),
    Ended(ProcessEnd),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself. The code is 128 + n for a leader killed by signal n. What it left in the
    /// background is not waited for, and stays until [`kill_all`](super::ExecutionEnv::kill_all).
    Exited(i32),
    /// Ended at its timeout; and how the leader alone had ended before, if it had.
    TimedOut(Option<LeaderExit>),
    /// Ended on cancellation.
    Aborted,
}

/// The end of the process that leads the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderExit {
    /// As in [`ProcessEnd::Exited`].
    pub code: i32,
    /// Since its start.
    pub after: Duration,
}
