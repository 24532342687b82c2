//! Both programs in one home, and the one that answers commands.

use std::path::{Path, PathBuf};

use pi_agent::Session;
use pi_test::{Ended, Program, Reply, Running, Tokens, Turn};
use serde_json::{Value, json};

use crate::bed::Bed;

/// The models of both wire formats whose window is 32,000 tokens.
pub(super) const SMALL: [&str; 2] = ["fx-anthropic/m-small", "fx-openai/m-small"];

/// Tokens an answer reports to have the conversation compacted: more than the window less 8,000.
pub(super) const MANY: Tokens =
    Tokens { input: 25_000, output: 500, cache_read: 0, cache_write: 0, reasoning: 0 };

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Side {
    Ours,
    Theirs,
}

/// What they do is what is expected of us.
pub(super) const SIDES: [Side; 2] = [Side::Theirs, Side::Ours];

pub(super) struct Pair {
    pub(super) bed: Bed,
    reference: PathBuf,
}

impl Pair {
    /// A home with a short memory: 300 tokens stay when a conversation is compacted. `None` where
    /// there is no other program.
    pub(super) async fn new<R: Into<Reply>>(
        model: &str,
        replies: impl IntoIterator<Item = R>,
    ) -> Option<Self> {
        let Some(reference) = pi_test::reference_pi() else {
            println!("left out: no reference pi");
            return None;
        };
        let bed = Bed::new(replies).await;
        let (provider, model) = model.split_once('/').unwrap();
        bed.settings(&json!({
            "defaultProvider": provider,
            "defaultModel": model,
            "compaction": {"keepRecentTokens": 300, "reserveTokens": 8000},
        }));
        bed.scratch.write("ws/a.txt", "alpha\n").unwrap();
        Some(Self { bed, reference })
    }

    /// Runs one of the two, which must have nothing to complain of.
    pub(super) async fn run(&self, side: Side, args: &[&str]) -> Ended {
        match side {
            Side::Ours => self.ours(args).await,
            Side::Theirs => self.theirs(args).await,
        }
    }

    pub(super) async fn ours(&self, args: &[&str]) -> Ended {
        finished(self.bed.pi(args.iter().copied())).await
    }

    pub(super) async fn theirs(&self, args: &[&str]) -> Ended {
        finished(Program::new(&self.reference, &self.bed.scratch).args(args)).await
    }

    /// The other program, taking commands.
    pub(super) fn rpc(&self, args: &[&str]) -> Rpc {
        let program = Program::new(&self.reference, &self.bed.scratch).args(["--mode", "rpc"]);
        Rpc { running: program.args(args).talk().start(), calls: 0 }
    }

    /// The same with a session open.
    pub(super) fn theirs_on(&self, file: &Path) -> Rpc {
        self.rpc(&["--session", file.to_str().unwrap()])
    }

    /// A copy for one of the two to change, out of sight of `--continue`.
    pub(super) fn copy(&self, file: &Path, side: Side) -> PathBuf {
        let copy = self.bed.scratch.tmp().join(format!("{side:?}.jsonl"));
        std::fs::copy(file, &copy).unwrap();
        copy
    }

    /// Our reading of a session, which must find nothing wrong in it.
    pub(super) fn open(&self, file: &Path) -> Session {
        let (session, diagnostics) = Session::open(file, &self.bed.scratch.ws()).unwrap();
        assert_eq!(diagnostics, []);
        session
    }

    /// The body of the newest request.
    pub(super) fn last_body(&self) -> Value {
        self.bed.bodies().pop().unwrap()
    }
}

/// The lines of a file, without those that cannot be read.
pub(super) fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What a run of either program without complaint leaves.
async fn finished(program: Program) -> Ended {
    let ended = program.run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    ended
}

/// The other program, command by command.
pub(super) struct Rpc {
    running: Running,
    calls: usize,
}

impl Rpc {
    /// What a command that succeeds gives.
    pub(super) async fn call(&mut self, mut command: Value) -> Value {
        self.calls += 1;
        let id = format!("call {}", self.calls);
        command["id"] = json!(id);
        self.running.send(&command.to_string()).await;
        let response = self.running.line_with(&format!(r#"{{"id":"{id}","type":"response""#)).await;
        let mut response: Value = serde_json::from_str(&response).unwrap();
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Goes to another session.
    pub(super) async fn switch(&mut self, file: &Path) {
        self.call(json!({"type": "switch_session", "sessionPath": file})).await;
    }

    pub(super) async fn get(&mut self, what: &str) -> Value {
        self.call(json!({"type": format!("get_{what}")})).await
    }

    /// Sends a prompt and waits for all that comes of it.
    pub(super) async fn prompt(&mut self, text: &str) {
        self.call(json!({"type": "prompt", "message": text})).await;
        self.running.line_with(r#"{"type":"agent_settled""#).await;
    }

    pub(super) async fn end(self) {
        let ended = self.running.end().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    }
}

/// About 450 tokens that can be told from others.
pub(super) fn long(name: &str) -> String {
    format!("{name} {}", "The quick brown fox jumps over the lazy dog. ".repeat(40))
}

/// An answer after which the conversation is too long.
pub(super) fn full(text: &str) -> Turn {
    Turn::from(text).tokens(MANY)
}
