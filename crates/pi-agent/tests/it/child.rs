//! Processes of our own: the test program, started again to do one thing.

use std::env;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::{session_crash, session_processes};

/// What a child is to do; without it this is a run of the tests.
const ROLE: &str = "PI_AGENT_CHILD_ROLE";
/// The file or folder it does it to.
const PATH: &str = "PI_AGENT_CHILD_PATH";

/// What every child begins with. In a run of the tests it has nothing to do.
#[test]
fn child() {
    let (Some(role), Some(path)) = (env::var_os(ROLE), env::var_os(PATH)) else { return };
    let path = PathBuf::from(path);
    match role.to_str().expect("a role") {
        "append" => session_processes::append(&path),
        "append_anew" => session_processes::append_anew(&path),
        "rewrite" => session_processes::rewrite(&path),
        "open" => session_processes::open(&path),
        "create" => session_processes::create(&path),
        "fill" => session_crash::fill(&path),
        "converse" => session_crash::converse(&path),
        role => panic!("{role}"),
    }
}

/// Says something to the parent, in one write: a line that was begun is whole.
pub(crate) fn tell(words: impl Display) {
    io::stderr().write_all(format!("> {words}\n").as_bytes()).expect("the parent listens");
}

/// Waits for [`Running::go`].
pub(crate) fn wait_for_go() {
    tell("ready");
    io::stdin().read_exact(&mut [0]).expect("the parent is there");
}

pub(crate) struct Running {
    process: Child,
    stderr: BufReader<ChildStderr>,
    /// What is no announcement: what a failed child said.
    noise: String,
}

impl Running {
    /// A child that does `role` to `path`.
    pub(crate) fn start(role: &str, path: impl AsRef<OsStr>) -> Self {
        Self::spawn(Command::new(env::current_exe().expect("the test program")), role, path)
    }

    /// Like [`Self::start`], where no file may be longer than `blocks` of 512 bytes.
    pub(crate) fn start_with_short_files(role: &str, path: impl AsRef<OsStr>, blocks: u32) -> Self {
        // A write that is too long shall fail, not kill.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(env::current_exe().expect("the test program"));
        Self::spawn(command, role, path)
    }

    fn spawn(mut command: Command, role: &str, path: impl AsRef<OsStr>) -> Self {
        command
            .args(["child::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(PATH, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("the test program starts");
        let stderr = BufReader::new(process.stderr.take().expect("piped"));
        Self { process, stderr, noise: String::new() }
    }

    pub(crate) fn go(&mut self) {
        self.process.stdin.as_mut().expect("piped").write_all(b"\n").expect("it waits");
    }

    /// What it says next; `None` when it is at its end.
    pub(crate) fn told(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            self.stderr.read_line(&mut line).expect("UTF-8");
            // What is not ended was cut off by the end of the process.
            let whole = line.strip_suffix('\n')?;
            match whole.strip_prefix("> ") {
                Some(words) => return Some(words.to_owned()),
                None => self.noise.push_str(&line),
            }
        }
    }

    /// Lets it come to its end; what it said.
    pub(crate) fn end(mut self) -> Vec<String> {
        let told = self.rest();
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{}", self.noise);
        told
    }

    /// Kills it in the midst of what it does; what it had said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.process.kill().expect("it can be killed");
        let told = self.rest();
        self.process.wait().expect("it ends");
        assert_eq!(self.noise, "");
        told
    }

    fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.told()).collect()
    }
}
