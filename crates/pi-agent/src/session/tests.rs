use std::fs;

use pi_ai::InputBlock;
use serde_json::Value;

use super::*;
use crate::message::AgentMessage;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("temp dir"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("write");
        path
    }

    fn create(&self) -> Session {
        let path = self.path("s.jsonl");
        Session::create(&path, Path::new("/w"), new_session_id()).expect("session")
    }
}

fn open(path: &Path) -> (Session, Vec<Problem>) {
    let (session, diagnostics) = Session::open(path, Path::new("/w")).expect("opens");
    (session, diagnostics.into_iter().map(|d| d.problem).collect())
}

fn user(text: &str) -> EntryBody {
    EntryBody::Message { message: AgentMessage::user(vec![InputBlock::text(text)], 1) }
}

fn level(thinking_level: ThinkingLevel) -> EntryBody {
    EntryBody::ThinkingLevelChange { thinking_level }
}

fn named(name: &str) -> EntryBody {
    EntryBody::SessionInfo { name: Some(name.to_owned()) }
}

/// Reads as strictly as can be: every line is JSON, ids are unique, parents are known.
fn strict(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    assert!(text.ends_with('\n'), "{text:?}");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(lines[0]["type"], "session");
    let mut ids = vec![Value::Null];
    for line in &lines[1..] {
        assert!(ids.contains(&line["parentId"]), "{line}");
        assert!(!ids.contains(&line["id"]), "{line}");
        ids.push(line["id"].clone());
    }
    lines
}

fn types(path: &Path) -> Vec<String> {
    strict(path).iter().map(|line| line["type"].as_str().expect("type").to_owned()).collect()
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

fn label_line(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"label","id":"{id}","parentId":{parent},"timestamp":"","targetId":"x"}}"#)
}

fn problems_of(lines: &[&str]) -> (Session, Vec<Problem>) {
    let scratch = Scratch::new();
    open(&scratch.file("a.jsonl", lines.join("\n")))
}

fn ids(session: &Session) -> Vec<&str> {
    session.entries().map(|entry| entry.id()).collect()
}

#[test]
fn a_branch_that_lost_its_beginning_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        "\n",
        r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}"#,
        "\n",
    );
    fs::write(&path, text).unwrap();
    let (_, diagnostics) = Session::open(&path, dir.path()).unwrap();
    let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:?}") };
    let lost = Problem::MissingParent { id: "b".to_owned(), parent: "a".to_owned() };
    assert_eq!(diagnostic.problem, lost);
}

#[test]
fn the_file_appears_with_the_first_user_message_and_holds_what_was_queued() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    session.append(level(ThinkingLevel::High)).expect("append");
    session.append(named("N")).expect("append");
    let path = session.path().expect("path").to_owned();
    assert!(!path.exists() && !session.is_saved());

    session.append(user("hi")).expect("append");
    assert_eq!(types(&path), ["session", "thinking_level_change", "session_info", "message"]);
    session.append(named("M")).expect("append");
    assert_eq!(strict(&path).len(), 5);
    assert_eq!(session.name().as_deref(), Some("M"));
    let left_over = fs::read_dir(scratch.0.path()).expect("dir").count();
    assert_eq!(left_over, 1, "no temporary file stays");
}

#[test]
fn a_session_in_memory_has_no_path() {
    let mut session = Session::in_memory(Path::new("/w"), "x".into()).expect("session");
    session.append(user("hi")).expect("append");
    assert_eq!((session.path(), session.is_saved(), session.entries().count()), (None, false, 1));
}

#[test]
fn a_bad_session_id_is_refused() {
    let error = Session::in_memory(Path::new("/w"), "-x".into()).expect_err("refused");
    assert!(error.to_string().starts_with("Session id must be non-empty"), "{error}");
}

#[cfg(unix)]
#[test]
fn new_files_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let plain = fs::metadata(scratch.file("plain", "")).expect("metadata").permissions().mode();
    let mut session = scratch.create();
    session.append(user("hi")).expect("append");
    let mode = fs::metadata(session.path().expect("path")).expect("metadata").permissions().mode();
    assert_eq!(mode, plain);
}

#[test]
fn every_append_hangs_below_the_leaf_and_becomes_it() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    let first = session.append(user("a")).expect("append");
    let second = session.append(named("n")).expect("append");
    assert_eq!((first.parent_id.as_deref(), second.parent_id.as_ref()), (None, Some(&first.id)));

    session.set_leaf(Some(&first.id)).expect("leaf");
    let third = session.append(user("b")).expect("append");
    assert_eq!(third.parent_id.as_ref(), Some(&first.id));
    session.set_leaf(None).expect("leaf");
    let root = session.append(user("c")).expect("append");
    assert_eq!(root.parent_id, None);
    assert!(session.set_leaf(Some("nope")).is_err());
    assert_eq!(session.leaf().map(|leaf| leaf.id()), Some(root.id.as_str()));

    let path = session.path().expect("path").to_owned();
    let branch = session.branch_to(&third.id).expect("branch");
    let branch: Vec<_> = branch.iter().map(|entry| entry.id()).collect();
    assert_eq!(branch, [&first.id, &third.id]);
    let (again, problems) = open(&path);
    assert_eq!(again.leaf().map(|leaf| leaf.id()), Some(root.id.as_str()));
    assert_eq!((ids(&again), problems), (ids(&session), vec![]));
}

#[test]
fn blank_and_malformed_lines_are_skipped_and_reported() {
    let (session, problems) = problems_of(&[
        HEADER,
        &label_line("a", "null"),
        "",
        "{broken",
        "42",
        r#"{"type":"label","parentId":"a"}"#,
        &label_line("b", "\"a\""),
        "",
    ]);
    assert_eq!(ids(&session), ["a", "b"]);
    let kinds: Vec<_> = problems.iter().map(|p| matches!(p, Problem::BlankLine)).collect();
    assert_eq!(kinds, [true, false, false, false]);
}

#[test]
fn a_torn_last_line_stays_is_reported_and_is_closed_before_the_next_entry() {
    let scratch = Scratch::new();
    let torn = r#"{"type":"message","id":"aaaa"#;
    let text = format!("{HEADER}\n{}\n{torn}", label_line("a", "null"));
    let path = scratch.file("a.jsonl", &text);
    let (mut session, problems) = open(&path);
    assert_eq!(problems, [Problem::TornLine]);
    assert_eq!(fs::read_to_string(&path).expect("read"), text, "opening writes nothing");

    let entry = session.append(user("on")).expect("append");
    assert_eq!(entry.parent_id.as_deref(), Some("a"));
    let after = fs::read_to_string(&path).expect("read");
    assert_eq!(after, format!("{text}\n{}\n", serde_json::to_string(&entry).expect("JSON")));
}

#[test]
fn a_whole_last_line_without_an_end_counts() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jsonl", format!("{HEADER}\n{}", label_line("a", "null")));
    let (mut session, problems) = open(&path);
    assert_eq!((ids(&session), problems), (vec!["a"], vec![]));
    session.append(user("on")).expect("append");
    assert_eq!(strict(&path).len(), 3);
}

#[test]
fn an_empty_file_becomes_a_new_session() {
    let scratch = Scratch::new();
    let path = scratch.file("e.jsonl", "");
    let (mut session, _) = open(&path);
    let header = strict(&path).remove(0);
    assert_eq!((&header["cwd"], &header["id"]), (&"/w".into(), &session.id().into()));
    session.append(named("n")).expect("append");
    assert_eq!(types(&path), ["session", "session_info"]);
}

#[test]
fn a_named_file_that_is_not_there_is_made_when_needed() {
    let scratch = Scratch::new();
    let path = scratch.path("deep/er/x.jsonl");
    let mut session = Session::create(&path, Path::new("/w"), new_session_id()).expect("session");
    assert!(!path.exists());
    session.append(user("hi")).expect("append");
    assert_eq!(types(&path), ["session", "message"]);
}

#[test]
fn a_session_that_names_no_directory_belongs_to_the_one_it_is_opened_in() {
    let scratch = Scratch::new();
    let path = scratch.file("a.jsonl", format!("{}\n", HEADER.replace(r#","cwd":"/w""#, "")));
    let (mut session, _) = open(&path);
    assert_eq!(session.cwd(), Path::new("/w"));
    fs::remove_file(&path).expect("remove");
    fs::write(&path, format!("{}\n", HEADER.replace("/w", ""))).expect("write");
    session.append(user("hi")).expect("append");
    assert_eq!(session.cwd(), Path::new("/w"), "read again");
}

#[test]
fn garbage_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    for text in ["hello\n", "\n  \n", "{}\n", "[1]\n", r#"{"type":"message","id":"a"}"#] {
        let path = scratch.file("g.jsonl", text);
        let error = Session::open(&path, Path::new("/w")).expect_err(text);
        let expected = format!("Session file is not a valid pi session: {}", path.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
    }
}

#[test]
fn a_later_version_is_read_without_complaint_and_left_as_it_is() {
    let scratch = Scratch::new();
    let text = format!("{}\n{}\n", HEADER.replace(":3,", ":99,"), label_line("a", "null"));
    let path = scratch.file("v.jsonl", &text);
    let (session, problems) = open(&path);
    assert_eq!((session.header().version, ids(&session), problems), (99, vec!["a"], vec![]));
    assert_eq!(fs::read_to_string(&path).expect("read"), text);
}

#[test]
fn unknown_entries_stay_in_the_chain_and_read_as_they_came() {
    let odd = r#"{"type":"weird","b":1.50,"id":"w","parentId":"a","timestamp":"t","a":null}"#;
    let (session, problems) =
        problems_of(&[HEADER, &label_line("a", "null"), odd, &label_line("z", "\"w\"")]);
    assert_eq!((session.branch().len(), problems), (3, vec![]));
    let entry = session.entry("w").expect("entry");
    assert_eq!((entry.kind().as_str(), entry.json().as_ref()), ("weird", odd));
}

#[test]
fn bytes_that_are_not_utf_8_do_not_lose_the_line() {
    let scratch = Scratch::new();
    let line = label_line("a", "null").replace("\"x\"", "\"#\"");
    let mut bytes = format!("{HEADER}\n{line}\n").into_bytes();
    for byte in bytes.iter_mut().filter(|byte| **byte == b'#') {
        *byte = 0xff;
    }
    let path = scratch.file("u.jsonl", &bytes);
    let (session, problems) = open(&path);
    assert_eq!((ids(&session), problems), (vec!["a"], vec![Problem::NotUtf8]));
    assert_eq!(fs::read(&path).expect("read"), bytes);
}

#[test]
fn rings_orphans_and_late_parents_are_walked_to_an_end() {
    let branch_ids = |session: &Session| -> Vec<String> {
        session.branch().iter().map(|entry| entry.id().to_owned()).collect()
    };
    let ring = problems_of(&[HEADER, &label_line("a", "\"b\""), &label_line("b", "\"a\"")]).0;
    assert_eq!(branch_ids(&ring), ["a", "b"], "the first becomes a root");
    let own = problems_of(&[HEADER, &label_line("a", "\"a\"")]).0;
    assert_eq!(branch_ids(&own), ["a"]);
    let orphan = problems_of(&[HEADER, &label_line("a", "\"gone\"")]).0;
    assert_eq!(orphan.branch().len(), 1);
    let late = problems_of(&[HEADER, &label_line("b", "\"a\""), &label_line("a", "null")]).0;
    assert_eq!(late.branch_to("b").expect("branch").len(), 2);
}

#[test]
fn a_failed_append_changes_nothing() {
    let scratch = Scratch::new();
    let dir = scratch.file("not-a-dir", "");
    let mut session =
        Session::create(&dir.join("s.jsonl"), Path::new("/w"), "x".into()).expect("session");
    session.append(named("n")).expect("queued");
    session.append(user("hi")).expect_err("no folder to write in");
    assert_eq!(session.entries().count(), 1);
    fs::remove_file(&dir).expect("remove");
    session.append(user("hi")).expect("append");
    assert_eq!(types(session.path().expect("path")), ["session", "session_info", "message"]);
}

#[test]
fn a_half_written_entry_of_ours_is_closed_and_forgotten() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    let first = session.append(user("a")).expect("append");
    let path = session.path().expect("path").to_owned();
    // What a full disk leaves behind.
    let mut text = fs::read_to_string(&path).expect("read");
    text.push_str(r#"{"type":"message","id":"dead"#);
    fs::write(&path, &text).expect("write");

    let next = session.append(user("b")).expect("append");
    assert_eq!(next.parent_id.as_ref(), Some(&first.id));
    let (again, problems) = open(&path);
    assert_eq!(again.entries().count(), 2);
    assert_eq!(problems.len(), 1);
    assert_eq!(session.take_diagnostics().len(), 1);
}

#[test]
fn two_writers_on_one_file_branch_and_lose_nothing() {
    let scratch = Scratch::new();
    let mut one = scratch.create();
    one.append(user("start")).expect("append");
    let path = one.path().expect("path").to_owned();
    let (mut two, _) = open(&path);
    let mut written = vec![];
    for round in 0..5 {
        written.push(one.append(user(&format!("one {round}"))).expect("append"));
        written.push(two.append(user(&format!("two {round}"))).expect("append"));
    }
    assert_eq!(strict(&path).len(), 12);
    // Each goes on from its own last entry.
    for pair in written.windows(3) {
        assert_eq!(pair[2].parent_id.as_ref(), Some(&pair[0].id));
    }
    assert_eq!((one.branch().len(), two.branch().len()), (6, 6));
    assert_eq!(
        one.entries().count(),
        10,
        "the last entry of the other is read with the next append"
    );
    one.append(user("end")).expect("append");
    assert_eq!(one.entries().count(), 12);
}

#[test]
fn a_file_rewritten_by_another_process_keeps_our_branch() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    let first = session.append(user("a")).expect("append");
    session.append(user("b")).expect("append");
    let path = session.path().expect("path").to_owned();
    let text = fs::read_to_string(&path).expect("read");
    // The other process put a file in place that lacks our last entry and has one of its own.
    let kept: Vec<_> = text.lines().take(2).collect();
    let other = label_line("other", &format!("\"{}\"", first.id));
    let replacement = scratch.file("new", format!("{}\n{other}\n", kept.join("\n")));
    fs::rename(replacement, &path).expect("rename");

    session.append(user("c")).expect("append");
    assert_eq!(strict(&path).len(), 5);
    assert_eq!((session.entries().count(), session.branch().len()), (4, 3));
    let (again, _) = open(&path);
    assert_eq!(again.branch().len(), 3);
}

#[test]
fn another_session_in_the_files_place_is_not_written_to() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    session.append(user("a")).expect("append");
    let path = session.path().expect("path").to_owned();
    let other = format!("{HEADER}\n");
    fs::rename(scratch.file("new", &other), &path).expect("rename");
    for _ in 0..2 {
        let error = session.append(user("b")).expect_err("refused");
        assert!(error.to_string().ends_with("it holds another session now"), "{error}");
    }
    assert_eq!((session.entries().count(), fs::read_to_string(&path).expect("read")), (1, other));
}

#[test]
fn a_deleted_or_emptied_file_is_written_again() {
    let scratch = Scratch::new();
    let mut session = scratch.create();
    session.append(user("a")).expect("append");
    let path = session.path().expect("path").to_owned();
    fs::remove_file(&path).expect("remove");
    session.append(user("b")).expect("append");
    assert_eq!(strict(&path).len(), 3);
    fs::write(&path, "").expect("empty");
    session.append(user("c")).expect("append");
    let lines = strict(&path);
    assert_eq!((lines.len(), &lines[0]["id"]), (4, &session.id().into()));
}

#[test]
fn old_files_are_rewritten_when_opened() {
    let scratch = Scratch::new();
    let v1 = concat!(
        r#"{"type":"session","id":"s","timestamp":"t","cwd":"/tmp","provider":"p"}"#,
        "\n",
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"old"}}"#,
        "\nnot json\n",
        r#"{"type":"message","timestamp":"t","message":{"role":"hookMessage","customType":"x","content":"h"}}"#,
        "\n",
    );
    let path = scratch.file("v1.jsonl", v1);
    let (mut session, problems) = open(&path);
    assert!(matches!(problems[..], [Problem::MalformedLine(_)]), "{problems:?}");
    let lines = strict(&path);
    assert_eq!((&lines[0]["version"], &lines[0]["provider"]), (&3.into(), &"p".into()));
    let roles: Vec<_> = session.context().messages.iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["user", "custom"]);
    session.append(level(ThinkingLevel::Off)).expect("append");
    assert_eq!(strict(&path).len(), 4);
}

#[test]
fn clearing_the_name_works() {
    let mut session = Session::in_memory(Path::new("/w"), "x".into()).expect("session");
    assert_eq!(session.name(), None);
    session.append(named("n")).expect("append");
    assert_eq!(session.name().as_deref(), Some("n"));
    session.append(EntryBody::SessionInfo { name: None }).expect("append");
    assert_eq!(session.name(), None);
}

#[test]
fn a_hundred_thousand_entries_are_walked_in_a_loop() {
    let mut text = format!("{HEADER}\n");
    let mut parent = "null".to_owned();
    for index in 0..100_000 {
        let id = format!("{index:08x}");
        text.push_str(&label_line(&id, &parent));
        text.push('\n');
        parent = format!("\"{id}\"");
    }
    let scratch = Scratch::new();
    let (session, _) = open(&scratch.file("big.jsonl", text));
    assert_eq!(session.branch().len(), 100_000);
    assert!(session.context().messages.is_empty());
}
