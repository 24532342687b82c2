//! Runs a program as its user would: a process of its own, in a scratch home.
//!
//! Everything that has to happen is waited for, at most [`PATIENCE`]; a program that cannot be
//! started or does not get there fails the test.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::Scratch;

/// Longest wait for anything: far more than needed, so that a loaded machine passes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A program about to be run.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Input,
}

#[derive(Debug)]
enum Input {
    Empty,
    Whole(Vec<u8>),
    LineByLine,
}

/// A program that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    seen: String,
    stderr: JoinHandle<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// `None` when a signal killed it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    /// `path` in the workspace of `scratch`, with its environment and nothing else but `PATH`.
    /// Standard input is empty.
    #[expect(clippy::disallowed_methods, reason = "programs have to find the shell")]
    pub fn new(path: impl AsRef<OsStr>, scratch: &Scratch) -> Self {
        let mut command = Command::new(path);
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .envs(scratch.environment())
            .current_dir(scratch.ws())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Self { command, input: Input::Empty }
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    #[must_use]
    pub fn current_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.command.current_dir(path);
        self
    }

    /// What is piped into it.
    #[must_use]
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Input::Whole(input.into());
        self
    }

    /// Its input stays open for [`Running::send`], until it is waited for.
    #[must_use]
    pub fn talk(mut self) -> Self {
        self.input = Input::LineByLine;
        self
    }

    /// Runs it to its end.
    pub async fn run(self) -> Ended {
        self.start().end().await
    }

    #[expect(clippy::expect_used, reason = "without the process the test has nothing to look at")]
    pub fn start(mut self) -> Running {
        let is_empty = matches!(self.input, Input::Empty);
        let stdin = if is_empty { Stdio::null() } else { Stdio::piped() };
        let mut child = self.command.stdin(stdin).spawn().expect("the program starts");
        let mut stdin = child.stdin.take();
        if let Input::Whole(input) = self.input
            && let Some(mut stdin) = stdin.take()
        {
            // A program may leave its input unread.
            tokio::spawn(async move { stdin.write_all(&input).await.unwrap_or_default() });
        }
        let mut stderr = child.stderr.take().expect("standard error is piped");
        let stderr = tokio::spawn(async move {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).await.expect("standard error can be read");
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let stdout = child.stdout.take().map(BufReader::new);
        Running { child, stdin, stdout, seen: String::new(), stderr }
    }
}

impl Running {
    /// Writes a line to its input; [`Program::talk`] keeps that open.
    ///
    /// # Panics
    /// The input is closed.
    #[expect(clippy::expect_used, reason = "a program that no longer listens fails the test")]
    pub async fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        let line = format!("{line}\n");
        patiently("a program that reads", stdin.write_all(line.as_bytes()))
            .await
            .expect("the program reads its input");
    }

    /// The next line of standard output that holds `text`. Nothing is read ahead of need but a
    /// buffer, so that a program can be made to wait for its reader.
    #[expect(clippy::panic, reason = "a line that never comes fails the test")]
    pub async fn line_with(&mut self, text: &str) -> String {
        let lines = async {
            loop {
                let mut line = String::new();
                let stdout = self.stdout.as_mut()?;
                if stdout.read_line(&mut line).await.ok()? == 0 {
                    return None;
                }
                self.seen.push_str(&line);
                if line.contains(text) {
                    return Some(line);
                }
            }
        };
        match patiently(text, lines).await {
            Some(line) => line,
            None => panic!("no line with {text:?} came, but {}", self.seen),
        }
    }

    /// Waits until the pipe of standard output holds all it can.
    #[expect(clippy::expect_used, reason = "a closed pipe cannot be full")]
    pub async fn full(&self) {
        let pipe = self.stdout.as_ref().expect("standard output is open").get_ref();
        let full = async {
            let mut before = 0;
            loop {
                let now = rustix::io::ioctl_fionread(pipe).expect("a pipe tells its length");
                if now > 0 && now == before {
                    return;
                }
                before = now;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        patiently("a full pipe", full).await;
    }

    /// Waits for the end without reading any more.
    #[expect(clippy::expect_used, reason = "a process without an end fails the test")]
    pub async fn exit_code(&mut self) -> Option<i32> {
        patiently("the end", self.child.wait()).await.expect("the process ends").code()
    }

    #[expect(clippy::expect_used, reason = "a process that is gone fails the test")]
    pub fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        kill_process(id.expect("the process runs"), signal).expect("the process takes a signal");
    }

    /// Ends its input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Stops listening to standard output.
    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// Closes its input, reads what is left and waits for the end.
    #[expect(clippy::expect_used, reason = "a process without an end fails the test")]
    pub async fn end(mut self) -> Ended {
        self.stdin = None;
        let ended = async {
            let mut rest = Vec::new();
            if let Some(stdout) = &mut self.stdout {
                stdout.read_to_end(&mut rest).await.expect("standard output can be read");
            }
            self.seen.push_str(&String::from_utf8_lossy(&rest));
            let status = self.child.wait().await.expect("the process ends");
            let stderr = self.stderr.await.expect("standard error is read");
            Ended { code: status.code(), signal: status.signal(), stdout: self.seen, stderr }
        };
        patiently("the end", ended).await
    }
}

impl Ended {
    /// Standard output as one JSON record a line.
    ///
    /// # Panics
    /// A line is no JSON.
    #[expect(clippy::panic, reason = "a broken record fails the test")]
    pub fn records(&self) -> Vec<Value> {
        let record = |line| match serde_json::from_str(line) {
            Ok(record) => record,
            Err(error) => panic!("{error} in {line:?}"),
        };
        self.stdout.lines().map(record).collect()
    }
}

/// Waits, but not for ever.
///
/// # Panics
/// It takes longer than [`PATIENCE`].
#[expect(clippy::panic, reason = "what never happens fails the test")]
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited in vain for {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(scratch: &Scratch, command: &str) -> Program {
        Program::new("sh", scratch).args(["-c", command])
    }

    #[tokio::test]
    async fn a_program_sees_its_scratch_home_and_its_end_is_told() {
        let scratch = Scratch::new().unwrap();
        let command = "cat; echo \"$HOME $X\"; pwd >&2; exit 3";
        let ended = shell(&scratch, command).env("X", "y").input("in ").run().await;
        let expected = Ended {
            code: Some(3),
            signal: None,
            stdout: format!("in {} y\n", scratch.home().display()),
            stderr: format!("{}\n", scratch.ws().display()),
        };
        assert_eq!(ended, expected);
    }

    #[tokio::test]
    async fn a_program_is_talked_to_line_by_line() {
        let scratch = Scratch::new().unwrap();
        let mut running =
            shell(&scratch, "while read x; do echo got $x; done; echo end").talk().start();
        for word in ["a", "b"] {
            running.send(word).await;
            assert_eq!(running.line_with(word).await, format!("got {word}\n"));
        }
        assert_eq!(running.end().await.stdout, "got a\ngot b\nend\n");
    }

    #[tokio::test]
    async fn a_running_program_takes_signals() {
        let scratch = Scratch::new().unwrap();
        let mut running = shell(&scratch, "echo a; echo b; exec sleep 1000").start();
        assert_eq!(running.line_with("b").await, "b\n");
        running.signal(Signal::TERM);
        let ended = running.end().await;
        assert_eq!((ended.code, ended.signal, ended.stdout.as_str()), (None, Some(15), "a\nb\n"));
    }
}
