//! Several processes on one session: nothing that was acknowledged is lost, nothing is there twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pi_agent::AgentMessage;
use pi_agent::session::{EntryBody, FileStorage, Problem, Session, SessionStorage};
use pi_agent::session_dir::SessionDir;
use serde_json::Value;

use crate::child::{Running, tell, wait_for_go};

const ROUNDS: usize = 150;

pub(crate) fn user(text: &str) -> EntryBody {
    let content = vec![pi_ai::InputBlock::text(text)];
    EntryBody::Message { message: AgentMessage::user(content, 0) }
}

/// Reads strictly: every line is JSON, ids are unique, parents are known. Two processes that end the
/// same line leave a blank one.
pub(crate) fn strict(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    assert!(text.ends_with('\n'));
    let written = text.lines().filter(|line| !line.is_empty());
    let lines: Vec<Value> = written.map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines[0]["type"], "session");
    let mut ids = BTreeSet::new();
    for line in &lines[1..] {
        let parent = line["parentId"].as_str();
        assert!(parent.is_none_or(|parent| ids.contains(parent)), "{line}");
        assert!(ids.insert(line["id"].as_str().expect("id")), "twice: {line}");
    }
    lines
}

fn ids(lines: &[Value]) -> Vec<String> {
    lines[1..].iter().map(|line| line["id"].as_str().expect("id").to_owned()).collect()
}

/// Role: adds entries of some lengths, and tells of each.
pub(crate) fn append(path: &Path) {
    let (mut session, _) = Session::open(path, Path::new("/w")).expect("opens");
    wait_for_go();
    for round in 0..ROUNDS {
        let text = "x".repeat(if round % 10 == 0 { 40_000 } else { 10 });
        tell(&session.append(user(&text)).expect("append").id);
    }
    let mut problems = session.take_diagnostics();
    problems.retain(|diagnostic| diagnostic.problem != Problem::BlankLine);
    assert_eq!(problems, []);
    assert_eq!(session.branch().len(), 1 + ROUNDS, "what was there before, and all of its own");
    let ids: BTreeSet<_> = session.entries().map(|entry| entry.id()).collect();
    assert_eq!(session.entries().count(), ids.len());
}

/// Role: opens the session anew for each entry, so that nobody remembers what was not kept.
pub(crate) fn append_anew(path: &Path) {
    wait_for_go();
    for _ in 0..ROUNDS {
        let (mut session, _) = Session::open(path, Path::new("/w")).expect("opens");
        tell(&session.append(user("on")).expect("append").id);
    }
}

/// Role: replaces the file by one of the same text, again and again.
pub(crate) fn rewrite(path: &Path) {
    wait_for_go();
    let mut done = 0;
    while done < ROUNDS {
        let mut storage = FileStorage::new(path);
        let text = storage.read().expect("read").expect("there");
        done += usize::from(storage.replace(&text).expect("replace"));
    }
}

/// Role: opens a session, and tells which entries it has.
pub(crate) fn open(path: &Path) {
    wait_for_go();
    let (mut session, _) = Session::open(path, Path::new("/w")).expect("opens");
    let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
    tell(ids.join(" "));
    tell(&session.append(user("on")).expect("append").id);
}

/// Role: starts the session with a certain id, and says something in it.
pub(crate) fn create(dir: &Path) {
    let sessions = SessionDir::Flat(dir.to_owned());
    let mut session = sessions.create(Path::new("/w"), "chosen".to_owned(), None).expect("session");
    let name = EntryBody::SessionInfo { name: Some("N".to_owned()) };
    tell(&session.append(name).expect("append").id);
    wait_for_go();
    for text in ["first", "second"] {
        tell(&session.append(user(text)).expect("append").id);
    }
}

/// Starts children of these roles at one moment; what each said.
fn run(roles: &[&str], path: &Path) -> Vec<Vec<String>> {
    let mut children: Vec<_> = roles.iter().map(|role| Running::start(role, path)).collect();
    let mut before: Vec<Vec<String>> = vec![];
    for child in &mut children {
        let said = std::iter::from_fn(|| child.told().filter(|words| words != "ready"));
        before.push(said.collect());
    }
    children.iter_mut().for_each(Running::go);
    children
        .into_iter()
        .zip(before)
        .map(|(child, before)| before.into_iter().chain(child.end()).collect())
        .collect()
}

fn scratch(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    fs::write(&path, text).expect("write");
    (dir, path)
}

fn started() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    let session = Session::create(&path, Path::new("/w"), "s".to_owned());
    session.expect("session").append(user("start")).expect("append");
    (dir, path)
}

fn names(dir: &Path) -> Vec<String> {
    let items = fs::read_dir(dir).expect("dir");
    items.map(|item| item.expect("item").file_name().into_string().expect("UTF-8")).collect()
}

/// Each told id is in the file once, and nothing else but the start.
fn assert_all_there(path: &Path, told: &[Vec<String>]) {
    let written = ids(&strict(path));
    for id in told.iter().flatten() {
        assert!(written.contains(id), "{id} is lost");
    }
    assert_eq!(written.len(), 1 + told.iter().flatten().count());
}

#[test]
fn processes_that_add_at_the_same_time_lose_nothing() {
    let (_dir, path) = started();
    let told = run(&["append", "append", "append"], &path);
    assert_all_there(&path, &told);
}

#[test]
fn entries_added_while_the_file_is_replaced_are_in_the_new_one_once() {
    let (dir, path) = started();
    let told = run(&["append", "rewrite", "append_anew", "rewrite", "append_anew"], &path);
    assert_all_there(&path, &told);
    assert_eq!(names(dir.path()), ["s.jsonl"], "no lock and no temporary file stays");
}

/// A file of version 1 with 500 messages.
pub(crate) fn old_text() -> String {
    let message = r#"{"type":"message","message":{"role":"user","content":"x"}}"#;
    let header = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/w"}"#;
    format!("{header}\n{}", format!("{message}\n").repeat(500))
}

#[test]
fn an_old_file_opened_by_many_at_once_is_migrated_once() {
    let (dir, path) = scratch(&old_text());
    let told = run(&["open"; 4], &path);
    let written = ids(&strict(&path));
    assert_eq!(written.len(), 500 + 4);
    let migrated = written[..500].join(" ");
    for said in told {
        let [opened, appended] = &said[..] else { panic!("{said:?}") };
        // One that opened later may have seen what the others added.
        assert!(opened.starts_with(&migrated), "other ids");
        assert!(written.contains(appended));
    }
    assert_eq!(names(dir.path()), ["s.jsonl"]);
}

#[test]
fn an_empty_file_opened_by_many_at_once_gets_one_header() {
    let (_dir, path) = scratch("");
    let told = run(&["open"; 4], &path);
    assert_eq!(strict(&path).len(), 1 + told.len());
}

#[test]
fn one_id_started_by_many_at_once_is_one_file() {
    let dir = tempfile::tempdir().expect("temp dir");
    let told = run(&["create"; 4], dir.path());
    let names = names(dir.path());
    let [name] = &names[..] else { panic!("{names:?}") };
    assert!(name.ends_with("_chosen.jsonl"), "{name}");
    let written = ids(&strict(&dir.path().join(name)));
    assert_eq!(written.len(), 4 * 3);
    for id in told.iter().flatten() {
        assert!(written.contains(id), "{id} is lost");
    }
}
