//! A process that ends at any moment, or a disk that is full: what was acknowledged stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use pi_agent::agent::AgentConfig;
use pi_agent::harness::{Harness, HarnessConfig, SessionListener};
use pi_agent::session::{Problem, Session};
use pi_agent::{AgentEvent, SessionEvent, Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use pi_ai::faux::{FauxProvider, FauxTurn};
use serde_json::json;

use crate::child::{Running, tell};
use crate::session_processes::{old_text, strict, user};

/// Tells the parent of every message, by the id of its entry.
struct Voice(Harness);

impl SessionListener for Voice {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::Agent(AgentEvent::MessageEnd { message }) = event {
            let id = self.0.with_session(|session| session.leaf().map(|l| l.id().to_owned()));
            tell(format!("{} {}", message.role(), id.expect("an entry")));
        }
        Box::pin(std::future::ready(()))
    }
}

#[derive(Debug)]
struct Dig(pi_ai::Tool);

impl Tool for Dig {
    fn definition(&self) -> &pi_ai::Tool {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        _call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::text("earth ".repeat(500)))))
    }
}

fn dig() -> Arc<dyn Tool> {
    Arc::new(Dig(pi_ai::Tool {
        name: "dig".into(),
        description: "Digs".into(),
        parameters: json!({"type": "object"}),
        constrained_sampling: None,
    }))
}

/// Role: talks to a scripted model until it is killed.
pub(crate) fn converse(path: &Path) {
    let session = match Session::open(path, Path::new("/w")) {
        Ok((session, _)) => session,
        Err(_) => Session::create(path, Path::new("/w"), "s".into()).expect("new"),
    };
    let model = FauxProvider::default();
    model.always(|context| match context.messages.last() {
        Some(pi_ai::Message::User(_)) => FauxTurn::tool_call("c", "dig", json!({})),
        _ => FauxTurn::text("A hole."),
    });
    let mut agent = AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
    agent.tools = vec![dig()];
    let harness = Harness::new(HarnessConfig {
        prompt: Arc::new(|_: &[Arc<dyn Tool>]| {
            IndexMap::from([("preamble".to_owned(), "Dig.".to_owned())])
        }),
        ..HarnessConfig::new(agent, session)
    });
    harness.subscribe(Arc::new(Voice(harness.clone())));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("runtime").block_on(async {
        for round in 0.. {
            // Long lines are written page by page, so that they can be cut.
            let text = "deeper ".repeat(if round % 4 == 1 { 5_000 } else { 3 });
            harness.prompt(vec![InputBlock::text(text)]).await.expect("prompt");
        }
    });
}

/// Role: adds entries until there is no more room.
pub(crate) fn fill(path: &Path) {
    let mut session = Session::create(path, Path::new("/w"), "s".into()).expect("new");
    for length in (1..).map(|round| 10 * round) {
        let Ok(entry) = session.append(user(&"x".repeat(length))) else { break };
        tell(&entry.id);
    }
    for _ in 0..3 {
        session.append(user("no room for this either")).expect_err("full");
    }
    tell(format!("kept {}", session.entries().count()));
}

/// Opens what a dead process left, checks that it has these entries, and adds one.
fn assert_alive(path: &Path, acknowledged: &[String]) -> Vec<Problem> {
    let (mut session, found) = Session::open(path, Path::new("/w")).expect("opens");
    for id in acknowledged {
        assert!(session.entry(id).is_some_and(|entry| entry.parse().is_ok()), "{id} is lost");
    }
    let count = session.entries().count();
    let leaf = session.leaf().map(|leaf| leaf.id().to_owned());
    let added = session.append(user("on")).expect("append");
    assert_eq!(added.parent_id, leaf);
    let (again, _) = Session::open(path, Path::new("/w")).expect("opens again");
    assert_eq!(again.entries().count(), count + 1);
    assert_eq!(again.leaf().map(|leaf| leaf.id()), Some(added.id.as_str()));
    found.into_iter().map(|diagnostic| diagnostic.problem).collect()
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Waits for less time than a timer can.
fn let_pass(time: Duration) {
    let moment = Instant::now() + time;
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

/// What a killed process left is taken for left behind at once.
fn age_lock(path: &Path) {
    if let Ok(lock) = fs::File::open(path.with_extension("jsonl.lock")) {
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        lock.set_modified(long_ago).expect("set time");
    }
}

/// Chance decides when it is killed; it goes on until both ends were seen, as they soon are.
#[test]
fn a_migration_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let mut dice = Dice(0x5EED_0002);
    let old = old_text();
    let (mut rounds, mut migrated, mut whole) = (0, 0, Duration::ZERO);
    while rounds < 30 || migrated == 0 || migrated == rounds {
        assert!(rounds < 1000, "{migrated} of {rounds} were done");
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, &old).expect("write");
        let mut child = Running::start("open", &path);
        child.told().expect("ready");
        child.go();
        let start = Instant::now();
        if rounds == 0 {
            // How long it takes here.
            child.told().expect("it opens");
            whole = start.elapsed();
        } else {
            let_pass(whole.mul_f64(dice.below(100) as f64 / 80.0));
        }
        child.kill();
        if fs::read_to_string(&path).expect("read") != old {
            assert!(strict(&path).len() > 500);
            migrated += 1;
        }
        age_lock(&path);
        let (session, problems) = Session::open(&path, Path::new("/w")).expect("opens");
        assert!(session.entries().count() >= 500 && problems.is_empty(), "{problems:?}");
        assert!(strict(&path).len() > 500);
        rounds += 1;
    }
}

#[test]
fn a_process_killed_at_any_moment_loses_no_message_it_told_of() {
    let mut dice = Dice(0x5EED_0001);
    let dir = tempfile::tempdir().expect("temp dir");
    let (mut torn, mut told_of) = (0, 0);
    for round in 0..200 {
        // Some sessions are new, some go on.
        let path: PathBuf = dir.path().join(format!("{}.jsonl", round / 5));
        let mut child = Running::start("converse", &path);
        let mut told: Vec<String> =
            (0..dice.below(14)).map(|_| child.told().expect("it goes on")).collect();
        let_pass(Duration::from_micros(dice.below(600)));
        told.extend(child.kill());
        // The prompt is written together with the first message.
        let is_there = told.iter().any(|words| !words.starts_with("system "));
        if is_there || path.exists() {
            let ids: Vec<String> =
                told.iter().filter_map(|w| w.split_once(' ')).map(|(_, id)| id.into()).collect();
            let ids = if is_there { &ids[..] } else { &[] };
            let problems = assert_alive(&path, ids);
            torn += problems.iter().filter(|p| matches!(p, Problem::TornLine)).count();
            told_of += ids.len();
        }
    }
    println!("{told_of} messages told of, {torn} lines cut");
    assert!(told_of > 200);
}

#[test]
fn a_full_disk_costs_the_entry_that_did_not_fit_and_nothing_else() {
    for blocks in [3, 4, 8] {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        let mut told = Running::start_with_short_files("fill", &path, blocks).end();
        let kept = told.pop().expect("told");
        assert_eq!(kept, format!("kept {}", told.len()), "as in memory");
        assert_eq!(fs::metadata(&path).expect("metadata").len(), u64::from(blocks) * 512);
        let problems = assert_alive(&path, &told);
        assert_eq!(problems, [Problem::TornLine]);
    }
}
