use pi_ai::InputBlock;
use serde_json::{Value, json};

use super::*;
use crate::session::{MemoryStorage, Problem, new_session_id};

/// A folder with one session in it.
struct Bed {
    dir: tempfile::TempDir,
    source: PathBuf,
    session: Session,
}

impl Bed {
    fn of(lines: &[Value]) -> Self {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        Self::of_text(&(format!("{}\n", header()) + &lines.collect::<String>()))
    }

    fn of_text(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let source = dir.path().join("source.jsonl");
        fs::write(&source, text).expect("write");
        let session = Session::open(&source, Path::new("/w")).expect("opens").0;
        Self { dir, source, session }
    }

    fn fork(&self, point: ForkPoint<'_>) -> Forked {
        let before = fs::read(&self.source).expect("read");
        let forked = self.session.fork(point, &self.folder(), new_session_id()).expect("forks");
        assert_eq!(fs::read(&self.source).expect("read"), before, "the source stays as it is");
        forked
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("forks")
    }

    fn files(&self) -> usize {
        let jsonl = |item: &fs::DirEntry| item.path().extension().is_some_and(|e| e == "jsonl");
        fs::read_dir(self.folder()).map_or(0, |dir| dir.flatten().filter(jsonl).count())
    }
}

fn header() -> Value {
    json!({"type": "session", "version": 3, "id": "src", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/w", "custom": 1})
}

fn entry(kind: &str, id: &str, parent: &str, more: Value) -> Value {
    let parent = Some(parent).filter(|parent| !parent.is_empty());
    let timestamp = format!("2026-01-01T00:00:00.{:03}Z", id.bytes().map(u64::from).sum::<u64>());
    let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": timestamp});
    let (Value::Object(fields), Value::Object(more)) = (&mut entry, more) else { panic!() };
    fields.extend(more);
    entry
}

fn message(role: &str, id: &str, parent: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    entry(
        "message",
        id,
        parent,
        json!({"message": {"role": role, "content": content, "timestamp": 1}}),
    )
}

fn label(id: &str, parent: &str, target: &str, text: &str) -> Value {
    let label = Some(text).filter(|text| !text.is_empty());
    entry("label", id, parent, json!({"targetId": target, "label": label}))
}

fn compaction(id: &str, parent: &str, first_kept: &str) -> Value {
    let fields = json!({"summary": "s", "firstKeptEntryId": first_kept, "tokensBefore": 1});
    entry("compaction", id, parent, fields)
}

/// Lines of a file, read as strictly as can be: ids are unique, parents stand before.
fn strict(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    assert!(text.ends_with('\n'), "{text:?}");
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).expect(l)).collect();
    assert_eq!(lines.iter().filter(|line| line["type"] == "session").count(), 1);
    let mut ids = vec![Value::Null];
    for line in &lines[1..] {
        assert!(ids.contains(&line["parentId"]), "{line}");
        assert!(!ids.contains(&line["id"]), "{line}");
        ids.push(line["id"].clone());
    }
    lines
}

fn lines_of(session: &Session) -> Vec<Value> {
    strict(session.path().expect("path"))
}

/// Ids, those of labels replaced by what they say of whom.
fn ids(lines: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let name = |line: &Value| match line["type"].as_str() {
        Some("label") => format!("{}={}", text(&line["targetId"]), text(&line["label"])),
        _ => text(&line["id"]),
    };
    lines[1..].iter().map(name).collect()
}

fn user(text: &str) -> EntryBody {
    EntryBody::Message { message: AgentMessage::user(vec![InputBlock::text(text)], 1) }
}

/// Two branches: 6 to 10 was left for 11 and 12.
fn two_branches() -> Vec<Value> {
    vec![
        entry("model_change", "01", "", json!({"provider": "p", "modelId": "m"})),
        entry("thinking_level_change", "02", "01", json!({"thinkingLevel": "off"})),
        message("system", "03", "02", ""),
        message("user", "04", "03", "A"),
        message("assistant", "05", "04", "a"),
        message("user", "06", "05", "B"),
        message("assistant", "07", "06", ""),
        message("toolResult", "08", "07", "r"),
        message("assistant", "09", "08", "b"),
        entry("branch_summary", "0a", "05", json!({"fromId": "09", "summary": "s"})),
        message("user", "0b", "0a", "C"),
    ]
}

/// Labels given on two branches, changed, cleared, on the off branch and on a label.
fn labelled() -> Vec<Value> {
    vec![
        message("user", "e1", "", "A"),
        message("assistant", "e2", "e1", "a"),
        label("l1", "e2", "e2", "second"),
        label("l2", "l1", "e1", "first"),
        message("user", "e3", "l2", "B"),
        message("assistant", "x1", "l2", "off"),
        label("l3", "x1", "e2", "second, changed elsewhere"),
        label("l4", "l3", "x1", "on the other branch"),
        label("l5", "l4", "e3", "cleared later"),
        label("l6", "e3", "e3", ""),
        label("l7", "l6", "l1", "on a label"),
        message("assistant", "e4", "l7", "b"),
    ]
}

#[test]
fn before_a_user_message_the_path_ends_and_the_text_comes_back() {
    let bed = Bed::of(&two_branches());
    let Forked { session, text } = bed.fork(ForkPoint::Before("0b"));
    assert_eq!(text.as_deref(), Some("C"));
    assert_eq!(ids(&lines_of(&session)), ["01", "02", "03", "04", "05", "0a"]);
    assert_eq!(session.leaf().expect("leaf").id(), "0a");

    let other_branch = bed.fork(ForkPoint::Before("06"));
    assert_eq!(other_branch.text.as_deref(), Some("B"));
    assert_eq!(ids(&lines_of(&other_branch.session)), ["01", "02", "03", "04", "05"]);
}

#[test]
fn at_an_entry_the_path_includes_it() {
    let bed = Bed::of(&two_branches());
    let Forked { session, text } = bed.fork(ForkPoint::At("08"));
    assert_eq!(text, None);
    let expected = ["01", "02", "03", "04", "05", "06", "07", "08"];
    assert_eq!(ids(&lines_of(&session)), expected);
}

#[test]
fn a_clone_has_the_active_branch() {
    let mut bed = Bed::of(&two_branches());
    let clone = bed.fork(ForkPoint::Leaf).session;
    assert_eq!(ids(&lines_of(&clone)), ["01", "02", "03", "04", "05", "0a", "0b"]);
    bed.session.set_leaf(Some("06")).expect("entry");
    let clone = bed.fork(ForkPoint::Leaf).session;
    assert_eq!(ids(&lines_of(&clone)), ["01", "02", "03", "04", "05", "06"]);
}

#[test]
fn the_header_is_new_and_names_the_source() {
    let bed = Bed::of(&two_branches());
    let id = new_session_id();
    let forked = bed.session.fork(ForkPoint::Leaf, &bed.folder(), id.clone()).expect("forks");
    let header = lines_of(&forked.session).swap_remove(0);
    let timestamp = header["timestamp"].as_str().expect("time");
    assert_eq!(
        header,
        json!({"type": "session", "version": 3, "id": id, "timestamp": timestamp, "cwd": "/w",
            "parentSession": bed.source})
    );
    let path = forked.session.path().expect("path");
    assert_eq!(path, bed.folder().join(crate::session::locate::file_name(timestamp, &id)));
}

#[test]
fn a_newer_version_stays_what_it_is() {
    let text = r#"{"type":"session","version":99,"id":"s","timestamp":"t","cwd":"/w"}"#;
    let bed = Bed::of_text(&format!("{text}\n{}\n", message("user", "e1", "", "A")));
    assert_eq!(lines_of(&bed.fork(ForkPoint::Leaf).session)[0]["version"], 99);
}

#[test]
fn labels_move_behind_the_path_with_new_ids_and_their_times() {
    let bed = Bed::of(&labelled());
    let lines = lines_of(&bed.fork(ForkPoint::Leaf).session);
    let expected = ["e1", "e2", "e3", "e4", "e2=second, changed elsewhere", "e1=first"];
    assert_eq!(ids(&lines), expected);
    assert_eq!(lines[3]["parentId"], "e2", "past two labels");
    assert_eq!(lines[4]["parentId"], "e3");
    assert_eq!((&lines[5]["parentId"], &lines[6]["parentId"]), (&json!("e4"), &lines[5]["id"]));
    let old = labelled();
    assert_eq!(lines[5]["timestamp"], old[6]["timestamp"], "when it was changed");
    assert_eq!(lines[6]["timestamp"], old[3]["timestamp"]);
    for line in &lines[5..] {
        assert!(old.iter().all(|old| old["id"] != line["id"]), "{line}");
    }
    let before = lines_of(&bed.fork(ForkPoint::Before("e3")).session);
    assert_eq!(ids(&before), ["e1", "e2", "e2=second, changed elsewhere", "e1=first"]);
}

#[test]
fn a_label_at_the_root_leaves_a_root_behind() {
    let bed = Bed::of(&[label("l1", "", "e1", "x"), message("user", "e1", "l1", "A")]);
    let lines = lines_of(&bed.fork(ForkPoint::Leaf).session);
    assert_eq!(
        (ids(&lines), &lines[1]["parentId"]),
        (vec!["e1".into(), "e1=x".into()], &Value::Null)
    );
}

#[test]
fn what_a_compaction_keeps_is_still_there() {
    let lines = [
        message("user", "e1", "", "A"),
        label("l1", "e1", "e1", "x"),
        message("user", "e2", "l1", "B"),
        compaction("c1", "e2", "l1"),
        label("l2", "c1", "e2", "y"),
        compaction("c2", "l2", "l2"),
        message("user", "e3", "c2", "C"),
        compaction("c3", "e3", "e2"),
        message("user", "e4", "c3", "D"),
    ];
    let bed = Bed::of(&lines);
    let forked = bed.fork(ForkPoint::Leaf).session;
    let lines = lines_of(&forked);
    let kept = |index: usize| lines[index]["firstKeptEntryId"].as_str().expect("id");
    assert_eq!([kept(3), kept(4), kept(6)], ["e2", "c2", "e2"]);
    assert_eq!(lines[4]["parentId"], "c1", "both links of one line");
    assert_eq!(forked.context().messages, bed.session.context().messages);
}

#[test]
fn bytes_are_copied_but_for_the_links_that_moved() {
    let raw = [
        r#"{"type":"label","id":"l1","parentId":null,"timestamp":"t","targetId":"e1","label":""}"#,
        r#"{ "unknown":[1.10,{"parentId":"l1"}] , "parentId" : "l1", "type":"message","id":"e1","timestamp":"t","message":{"role":"user","content":"\u00e4 parentId","x":1e2}}"#,
        r#"{"type":"zork","id":"z1","parentId":"e1","deep":{"a":1.0}}"#,
    ];
    let bed = Bed::of_text(&format!("{}\n{}\n", header(), raw.join("\n")));
    let forked = bed.fork(ForkPoint::Leaf).session;
    let text = fs::read_to_string(forked.path().expect("path")).expect("read");
    let copied: Vec<&str> = text.lines().skip(1).collect();
    let moved = raw[1].replace(r#""parentId" : "l1""#, r#""parentId" : null"#);
    assert_eq!(copied, [&moved, raw[2]]);
}

#[test]
fn before_the_first_user_message_there_is_no_file_until_the_next_one() {
    let bed = Bed::of(&two_branches());
    let Forked { mut session, text } = bed.fork(ForkPoint::Before("04"));
    assert_eq!((text.as_deref(), session.is_saved(), bed.files()), (Some("A"), false, 0));
    assert!(session.path().is_some(), "where it will lie is known");
    assert_eq!(session.entries().count(), 3, "the system message is one of them");
    session.append(EntryBody::SessionInfo { name: Some("n".into()) }).expect("waits");
    assert_eq!(bed.files(), 0);
    session.append(user("anew")).expect("append");
    let lines = lines_of(&session);
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["parentSession"], json!(bed.source));
    assert_eq!(bed.files(), 1);
}

#[test]
fn what_is_said_later_goes_to_the_new_file_only() {
    let bed = Bed::of(&labelled());
    let before = fs::read(&bed.source).expect("read");
    let mut forked = bed.fork(ForkPoint::Leaf).session;
    let last = lines_of(&forked).pop().expect("line");
    let entry = forked.append(user("on")).expect("append");
    assert_eq!(entry.parent_id.as_deref(), last["id"].as_str());
    assert_eq!(lines_of(&forked).len(), 8);
    assert_eq!(fs::read(&bed.source).expect("read"), before);
    assert_eq!(bed.files(), 1);
    let again = bed.session.fork(ForkPoint::Leaf, &bed.folder(), new_session_id()).expect("forks");
    let grandchild = again.session.fork(ForkPoint::Leaf, &bed.folder(), new_session_id());
    let grandchild = grandchild.expect("forks a fork").session;
    let parent = again.session.path().expect("path").to_string_lossy().into_owned();
    assert_eq!(grandchild.header().parent_session, Some(parent));
}

#[test]
fn only_entries_that_fit_can_be_named() {
    let bed = Bed::of(&two_branches());
    for point in [
        ForkPoint::Before("05"),
        ForkPoint::Before("0a"),
        ForkPoint::Before("nope"),
        ForkPoint::Before(""),
        ForkPoint::At("nope"),
    ] {
        let error = bed.session.fork(point, &bed.folder(), new_session_id()).expect_err("refused");
        assert_eq!(error.to_string(), "Invalid entry ID for forking", "{point:?}");
    }
    assert_eq!(bed.files(), 0);
}

#[test]
fn a_session_that_is_not_saved_cannot_be_forked() {
    let dir = tempfile::tempdir().expect("temp dir");
    let mut session =
        Session::create(dir.path(), Path::new("/w"), "x".into(), None).expect("session");
    session.append(EntryBody::SessionInfo { name: None }).expect("waits");
    let fork = |point| session.fork(point, dir.path(), new_session_id());
    assert!(matches!(fork(ForkPoint::Leaf), Err(ForkError::NotSaved)));
    let invalid = fork(ForkPoint::Before("nope"));
    assert!(matches!(invalid, Err(ForkError::InvalidEntry)), "{invalid:?}");
}

#[test]
fn a_session_in_memory_is_forked_in_memory() {
    let dir = tempfile::tempdir().expect("temp dir");
    let mut session = Session::in_memory(Path::new("/w"), "x".into()).expect("session");
    let fork = |session: &Session, point| {
        session.fork(point, dir.path(), new_session_id()).expect("forks").session
    };
    assert_eq!(fork(&session, ForkPoint::Leaf).entries().count(), 0, "even with nothing in it");
    let first = session.append(user("a")).expect("append");
    session.append(user("b")).expect("append");
    let mut clone = fork(&session, ForkPoint::Leaf);
    assert_eq!((clone.path(), clone.is_saved()), (None, false));
    assert_eq!(clone.header().parent_session, None);
    assert_ne!(clone.id(), session.id());
    clone.append(user("c")).expect("append");
    assert_eq!((clone.entries().count(), session.entries().count()), (3, 2));
    assert_eq!(fork(&session, ForkPoint::Before(&first.id)).entries().count(), 0);
    assert_eq!(fs::read_dir(dir.path()).expect("dir").count(), 0);
}

#[test]
fn blocks_of_a_message_give_one_text() {
    let content = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"}, {"type": "text", "text": "!"}]);
    let entry =
        entry("message", "e1", "", json!({"message": {"role": "user", "content": content}}));
    let bed = Bed::of(&[entry]);
    assert_eq!(bed.fork(ForkPoint::Before("e1")).text.as_deref(), Some("onetwo!"));
}

#[test]
fn an_id_is_not_given_twice() {
    let bed = Bed::of(&two_branches());
    let fork = || bed.session.fork(ForkPoint::Leaf, &bed.folder(), "mine".into());
    let first = fork().expect("forks");
    let before = fs::read(first.session.path().expect("path")).expect("read");
    let error = fork().expect_err("refused");
    assert_eq!(error.to_string(), "Session already exists with id 'mine'");
    assert_eq!(fs::read(first.session.path().expect("path")).expect("read"), before);
    let invalid = bed.session.fork(ForkPoint::Leaf, &bed.folder(), "-".into());
    assert!(matches!(invalid, Err(ForkError::Session(SessionError::InvalidId(_)))));
}

#[test]
fn an_id_is_taken_whatever_its_file_is_called_and_whether_the_fork_waits_or_not() {
    let bed = Bed::of(&two_branches());
    let taken = json!({"type": "session", "version": 3, "id": "taken", "cwd": "/w"});
    fs::create_dir_all(bed.folder()).expect("folder");
    for name in ["backup.jsonl", "2026-01-01T00-00-00-000Z_taken.jsonl"] {
        let path = bed.folder().join(name);
        fs::write(&path, format!("{taken}\n")).expect("write");
        for point in [ForkPoint::Leaf, ForkPoint::Before("04")] {
            let error = bed.session.fork(point, &bed.folder(), "taken".into());
            assert!(matches!(error, Err(ForkError::Exists { .. })), "{name} {point:?}: {error:?}");
        }
        let error = fork_file(
            &bed.source,
            &bed.folder(),
            Path::new("/w"),
            "taken".into(),
            ForkFile::AtOnce,
        );
        assert!(matches!(error, Err(ForkError::Exists { .. })), "{name}: {error:?}");
        let elsewhere = Path::new("/elsewhere");
        let (other, _) =
            fork_file(&bed.source, &bed.folder(), elsewhere, "taken".into(), ForkFile::AtOnce)
                .expect("forks");
        fs::remove_file(other.path().expect("path")).expect("remove");
        fs::remove_file(path).expect("remove");
    }
}

#[test]
fn a_fork_is_kept_where_somebody_says() {
    let bed = Bed::of(&two_branches());
    let memory = MemoryStorage::default();
    let fork = |point| {
        let kept = memory.clone();
        bed.session.fork_into(point, "mine".into(), move |header| {
            assert_eq!(header.id, "mine");
            Some(Box::new(kept))
        })
    };
    let forked = fork(ForkPoint::Leaf).expect("forks").session;
    assert!(forked.is_saved());
    let (again, _) =
        Session::open_storage(Box::new(memory.clone()), Path::new("/w")).expect("opens");
    let ids = |session: &Session| -> Vec<String> {
        session.entries().map(|entry| entry.id().to_owned()).collect()
    };
    assert_eq!((again.id(), ids(&again)), ("mine", ids(&forked)));
    assert_eq!(bed.files(), 0);
    for point in [ForkPoint::Leaf, ForkPoint::Before("04")] {
        assert!(matches!(fork(point), Err(ForkError::Exists { .. })));
    }
    let nowhere = bed.session.fork_into(ForkPoint::Leaf, "mine".into(), |_| None).expect("forks");
    assert!(!nowhere.session.is_saved());
}

#[test]
fn bytes_that_are_not_utf_8_are_told_of_when_they_are_copied() {
    let bed = Bed::of(&two_branches());
    let mut bytes = fs::read(&bed.source).expect("read");
    bytes.extend_from_slice(b"{\"type\":\"label\",\"id\":\"x\",\"label\":\"\xff\"}\n");
    fs::write(&bed.source, bytes).expect("write");
    let (_, problems) =
        fork_file(&bed.source, &bed.folder(), Path::new("/w"), new_session_id(), ForkFile::AtOnce)
            .expect("forks");
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((&problem.problem, problem.path.as_ref()), (&Problem::NotUtf8, Some(&bed.source)));
}

#[test]
fn a_whole_file_is_forked_with_all_its_branches_to_another_directory() {
    let bed = Bed::of(&labelled());
    let before = fs::read_to_string(&bed.source).expect("read");
    let id = "whole".to_owned();
    let (session, problems) =
        fork_file(&bed.source, &bed.folder(), Path::new("/elsewhere"), id, ForkFile::AtOnce)
            .expect("forks");
    assert_eq!(problems, []);
    let text = fs::read_to_string(session.path().expect("path")).expect("read");
    let (head, rest) = text.split_once('\n').expect("lines");
    assert_eq!(rest, before.split_once('\n').expect("lines").1, "every line below the header");
    let head: Value = serde_json::from_str(head).expect("JSON");
    assert_eq!(head["parentSession"], json!(bed.source));
    assert_eq!((&head["cwd"], &head["id"]), (&json!("/elsewhere"), &json!("whole")));
    assert_eq!(head.get("custom"), None);
    assert_eq!(session.leaf().expect("leaf").id(), "e4");
    assert_eq!(fs::read_to_string(&bed.source).expect("read"), before);
}

#[test]
fn a_whole_file_of_an_old_version_is_brought_up_to_date_in_the_copy_only() {
    let dir = tempfile::tempdir().expect("temp dir");
    let source = dir.path().join("old.jsonl");
    let old = concat!(
        r#"{"type":"session","id":"old","timestamp":"t","cwd":"/w","provider":"p"}"#,
        "\n",
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"old"}}"#,
        "\n",
    );
    fs::write(&source, old).expect("write");
    let folder = dir.path().join("forks");
    let (session, _) =
        fork_file(&source, &folder, Path::new("/w"), new_session_id(), ForkFile::AtOnce)
            .expect("forks");
    let lines = lines_of(&session);
    assert_eq!((lines.len(), &lines[0]["version"]), (2, &json!(3)));
    assert_eq!(fs::read_to_string(&source).expect("read"), old);
}

#[test]
fn a_whole_file_with_damage_is_forked_without_it() {
    let whole: String =
        two_branches().iter().take(5).map(|line| format!("{line}\nnot json\n\n")).collect();
    let bed = Bed::of_text(&format!("{}\n{whole}{{\"type\":\"mess", header()));
    let (session, problems) =
        fork_file(&bed.source, &bed.folder(), Path::new("/w"), new_session_id(), ForkFile::AtOnce)
            .expect("forks");
    assert_eq!(lines_of(&session).len(), 6);
    assert_eq!(problems.len(), 11);
    assert!(problems.iter().all(|problem| problem.path.as_deref() == Some(&bed.source)));
}

#[test]
fn a_whole_file_without_a_message_waits_for_one() {
    let bed = Bed::of(&two_branches()[..2]);
    let (session, _) =
        fork_file(&bed.source, &bed.folder(), Path::new("/w"), new_session_id(), ForkFile::AtOnce)
            .expect("forks");
    assert_eq!((session.entries().count(), session.is_saved(), bed.files()), (2, false, 0));
}

#[test]
fn what_is_no_session_cannot_be_forked() {
    let dir = tempfile::tempdir().expect("temp dir");
    for (name, text) in
        [("none", None), ("empty", Some("")), ("junk", Some("hi\n")), ("other", Some("{}\n"))]
    {
        let path = dir.path().join(name);
        if let Some(text) = text {
            fs::write(&path, text).expect("write");
        }
        let error =
            fork_file(&path, dir.path(), Path::new("/w"), new_session_id(), ForkFile::AtOnce);
        let expected =
            format!("Cannot fork: source session file is empty or invalid: {}", path.display());
        assert_eq!(error.expect_err("refused").to_string(), expected);
    }
    let folder =
        fork_file(dir.path(), dir.path(), Path::new("/w"), new_session_id(), ForkFile::AtOnce);
    assert!(matches!(folder, Err(ForkError::Session(SessionError::Read { .. }))), "{folder:?}");
}

/// Clone and fork of the original, entry by entry.
#[test]
fn recorded_clones_and_forks_are_made_alike() {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return;
    };
    let fixture = |name: &str| shared.join("spec/fixtures").join(format!("session-{name}.jsonl"));
    let without_new_ids = |path: &Path| {
        let mut lines = strict(path);
        lines[0] = Value::Null;
        for line in lines.iter_mut().filter(|line| line["type"] == "label") {
            line["id"] = Value::Null;
        }
        lines
    };
    for (source, point, expected) in
        [("basic", ForkPoint::Leaf, "cloned"), ("cloned", ForkPoint::Before("ce5c9c64"), "forked")]
    {
        let bed = Bed::of_text(&fs::read_to_string(fixture(source)).expect("fixture"));
        let forked = bed.fork(point).session;
        let path = forked.path().expect("path");
        assert_eq!(without_new_ids(path), without_new_ids(&fixture(expected)), "{expected}");
    }
}

mod any_tree {
    use proptest::prelude::*;

    use super::*;

    fn tree() -> impl Strategy<Value = Vec<Value>> {
        let kind = prop::sample::select(vec!["user", "assistant", "label", "clear", "compaction"]);
        let node = (kind, any::<prop::sample::Index>(), any::<prop::sample::Index>());
        prop::collection::vec(node, 1..24).prop_map(|nodes| {
            let id = |index: usize| format!("n{index}");
            let lines = nodes.iter().enumerate().map(|(at, (kind, parent, other))| {
                // Mostly one behind the other.
                let parent = match parent.index(3) {
                    0 if at > 0 => id(parent.index(at)),
                    _ => at.checked_sub(1).map(id).unwrap_or_default(),
                };
                let other = id(other.index(at + 1));
                match *kind {
                    "label" => label(&id(at), &parent, &other, &format!("label {at}")),
                    "clear" => label(&id(at), &parent, &other, ""),
                    "compaction" => compaction(&id(at), &parent, &other),
                    role => message(role, &id(at), &parent, &id(at)),
                }
            });
            lines.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_fork_tells_the_model_the_same(lines in tree(), at in any::<prop::sample::Index>()) {
            let mut bed = Bed::of(&lines);
            let point = format!("n{}", at.index(lines.len()));
            let forked = bed.fork(ForkPoint::At(&point)).session;
            bed.session.set_leaf(Some(&point)).expect("entry");
            prop_assert_eq!(forked.context().messages, bed.session.context().messages);
            if let (true, Some(path)) = (forked.is_saved(), forked.path()) {
                strict(path);
                let (again, problems) = Session::open(path, Path::new("/w")).expect("opens");
                prop_assert_eq!(problems, []);
                prop_assert_eq!(again.entries().count(), forked.entries().count());
                prop_assert_eq!(again.leaf().map(|l| l.id()), forked.leaf().map(|l| l.id()));
            }
        }
    }
}

#[test]
fn a_whole_fork_may_wait_for_its_next_message() {
    let asked = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "",
        "message": {"role": "user", "content": "hi", "timestamp": 1}});
    let bed = Bed::of(&[asked]);
    let when = ForkFile::WithNextMessage;
    let (mut fork, _) =
        fork_file(&bed.source, &bed.folder(), Path::new("/w"), "later".into(), when)
            .expect("forks");
    assert!(!fork.is_saved() && !fork.path().expect("path").exists());
    let count = fork.entries().count();
    let message = AgentMessage::user(vec![InputBlock::text("go on")], 1);
    fork.append(EntryBody::Message { message }).expect("append");
    let (again, problems) =
        Session::open(fork.path().expect("path"), Path::new("/w")).expect("opens");
    assert_eq!((again.entries().count(), problems.len()), (count + 1, 0));
    assert_eq!(again.header(), fork.header());
}
