use serde_json::{Value, json};

use super::*;
use crate::session::fork_samples::*;
use crate::session::{Problem, new_session_id};
use crate::session_dir::new_file::file_name;

impl Bed {
    fn forks(&self) -> SessionDir {
        SessionDir::Flat(self.folder())
    }
}

#[test]
fn a_fork_lies_where_new_sessions_of_its_directory_do() {
    let bed = Bed::of(&two_branches());
    let root = bed.dir.path().join("projects");
    let sessions = SessionDir::PerProject(root.clone());
    for point in [ForkPoint::Leaf, ForkPoint::Before("04")] {
        let id = new_session_id();
        let forked = sessions.fork(&bed.session, point, id.clone()).expect("forks").session;
        let name = file_name(&forked.header().timestamp, &id);
        assert_eq!(forked.path(), Some(&*root.join("--w--").join(name)), "{point:?}");
        assert_eq!(forked.is_saved(), forked.path().expect("path").exists());
    }
}

#[test]
fn a_session_in_memory_is_forked_in_memory() {
    let dir = tempfile::tempdir().expect("temp dir");
    let sessions = SessionDir::Flat(dir.path().to_owned());
    let mut session = Session::in_memory(Path::new("/w"), "x".into()).expect("session");
    let fork = |session: &Session, point| {
        sessions.fork(session, point, new_session_id()).expect("forks").session
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
fn an_id_is_not_given_twice() {
    let bed = Bed::of(&two_branches());
    let fork = || bed.forks().fork(&bed.session, ForkPoint::Leaf, "mine".into());
    let first = fork().expect("forks");
    let before = fs::read(first.session.path().expect("path")).expect("read");
    let error = fork().expect_err("refused");
    assert_eq!(error.to_string(), "Session already exists with id 'mine'");
    assert_eq!(fs::read(first.session.path().expect("path")).expect("read"), before);
    let invalid = bed.forks().fork(&bed.session, ForkPoint::Leaf, "-".into());
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
            let error = bed.forks().fork(&bed.session, point, "taken".into());
            assert!(matches!(error, Err(ForkError::Exists { .. })), "{name} {point:?}: {error:?}");
        }
        let error =
            bed.forks().fork_file(&bed.source, Path::new("/w"), "taken".into(), ForkFile::AtOnce);
        assert!(matches!(error, Err(ForkError::Exists { .. })), "{name}: {error:?}");
        let elsewhere = Path::new("/elsewhere");
        let (other, _) = bed
            .forks()
            .fork_file(&bed.source, elsewhere, "taken".into(), ForkFile::AtOnce)
            .expect("forks");
        fs::remove_file(other.path().expect("path")).expect("remove");
        fs::remove_file(path).expect("remove");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_told_of_when_they_are_copied() {
    let bed = Bed::of(&two_branches());
    let mut bytes = fs::read(&bed.source).expect("read");
    bytes.extend_from_slice(b"{\"type\":\"label\",\"id\":\"x\",\"label\":\"\xff\"}\n");
    fs::write(&bed.source, bytes).expect("write");
    let (_, problems) = bed
        .forks()
        .fork_file(&bed.source, Path::new("/w"), new_session_id(), ForkFile::AtOnce)
        .expect("forks");
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((&problem.problem, problem.path.as_ref()), (&Problem::NotUtf8, Some(&bed.source)));
}

#[test]
fn a_whole_file_is_forked_with_all_its_branches_to_another_directory() {
    let bed = Bed::of(&labelled());
    let before = fs::read_to_string(&bed.source).expect("read");
    let id = "whole".to_owned();
    let (session, problems) = bed
        .forks()
        .fork_file(&bed.source, Path::new("/elsewhere"), id, ForkFile::AtOnce)
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
    let forks = SessionDir::Flat(dir.path().join("forks"));
    let (session, _) = forks
        .fork_file(&source, Path::new("/w"), new_session_id(), ForkFile::AtOnce)
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
    let (session, problems) = bed
        .forks()
        .fork_file(&bed.source, Path::new("/w"), new_session_id(), ForkFile::AtOnce)
        .expect("forks");
    assert_eq!(lines_of(&session).len(), 6);
    assert_eq!(problems.len(), 11);
    assert!(problems.iter().all(|problem| problem.path.as_deref() == Some(&bed.source)));
}

#[test]
fn a_whole_file_without_a_message_waits_for_one() {
    let bed = Bed::of(&two_branches()[..2]);
    let (session, _) = bed
        .forks()
        .fork_file(&bed.source, Path::new("/w"), new_session_id(), ForkFile::AtOnce)
        .expect("forks");
    assert_eq!((session.entries().count(), session.is_saved()), (2, false));
    assert!(!bed.folder().exists());
}

#[test]
fn what_is_no_session_cannot_be_forked() {
    let dir = tempfile::tempdir().expect("temp dir");
    let forks = SessionDir::Flat(dir.path().to_owned());
    for (name, text) in
        [("none", None), ("empty", Some("")), ("junk", Some("hi\n")), ("other", Some("{}\n"))]
    {
        let path = dir.path().join(name);
        if let Some(text) = text {
            fs::write(&path, text).expect("write");
        }
        let error = forks.fork_file(&path, Path::new("/w"), new_session_id(), ForkFile::AtOnce);
        let expected =
            format!("Cannot fork: source session file is empty or invalid: {}", path.display());
        assert_eq!(error.expect_err("refused").to_string(), expected);
    }
    let folder = forks.fork_file(dir.path(), Path::new("/w"), new_session_id(), ForkFile::AtOnce);
    assert!(matches!(folder, Err(ForkError::Session(SessionError::Read { .. }))), "{folder:?}");
}

#[test]
fn a_whole_fork_may_wait_for_its_next_message() {
    let asked = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "",
        "message": {"role": "user", "content": "hi", "timestamp": 1}});
    let bed = Bed::of(&[asked]);
    let when = ForkFile::WithNextMessage;
    let (mut fork, _) =
        bed.forks().fork_file(&bed.source, Path::new("/w"), "later".into(), when).expect("forks");
    assert!(!fork.is_saved() && !fork.path().expect("path").exists());
    let count = fork.entries().count();
    fork.append(user("go on")).expect("append");
    let (again, problems) =
        Session::open(fork.path().expect("path"), Path::new("/w")).expect("opens");
    assert_eq!((again.entries().count(), problems.len()), (count + 1, 0));
    assert_eq!(again.header(), fork.header());
}
