use std::fs;

use super::*;
use crate::session_dir::{SessionInfo, delete, rename};

/// Folders of sessions, and a place outside.
struct Bed {
    dir: tempfile::TempDir,
    sessions: SessionDir,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let sessions = SessionDir::PerProject(dir.path().join("sessions"));
        Self { dir, sessions }
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        fs::write(&path, text).expect("write");
        path
    }

    fn import(&self, source: &Path) -> Result<PathBuf, TransferError> {
        self.sessions.import(source, Path::new("/here"))
    }

    fn folder(&self, cwd: &str) -> PathBuf {
        self.sessions.for_cwd(Path::new(cwd))
    }
}

fn header(cwd: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
    )
}

fn message(role: &str, id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"{role}","content":"{id}","timestamp":5}},"x":1.10}}"#
    )
}

/// A session of `/w` with two branches.
fn two_branches() -> String {
    let lines = [
        header("/w"),
        message("user", "a", "null"),
        message("assistant", "b", "\"a\""),
        message("user", "c", "\"b\""),
        message("user", "d", "\"b\""),
    ];
    lines.join("\n") + "\n"
}

fn open(path: &Path) -> Session {
    Session::open(path, Path::new("/w")).expect("opens").0
}

fn info(bed: &Bed) -> Vec<SessionInfo> {
    use std::sync::atomic::AtomicBool;
    let options = crate::session_dir::ListOptions { threads: 1, with_text: false };
    bed.sessions.list(crate::session_dir::Scope::All, options, &AtomicBool::new(false), |_| {})
}

#[test]
fn an_imported_session_keeps_its_id_and_directory() {
    let bed = Bed::new();
    let source = bed.put("my sessions/a b.jsonl", &two_branches());
    let copy = bed.import(&source).expect("imported");
    assert_eq!(copy, bed.folder("/w").join("a b.jsonl"));
    assert_eq!(fs::read_to_string(&copy).expect("read"), two_branches());
    assert_eq!(fs::read_to_string(&source).expect("read"), two_branches());
    let found = bed.sessions.by_id("s", Path::new("/w"));
    assert_eq!(found.len(), 1);
    assert!(found[0].is_here);
}

#[test]
fn a_session_without_a_directory_goes_to_this_one() {
    let bed = Bed::new();
    let source = bed.put("old.jsonl", "{\"type\":\"session\",\"id\":\"old\"}\n");
    assert_eq!(bed.import(&source).expect("imported"), bed.folder("/here").join("old.jsonl"));
}

#[test]
fn a_file_of_another_name_becomes_one_that_is_found() {
    let bed = Bed::new();
    let source = bed.put("backup.txt", &two_branches());
    assert_eq!(bed.import(&source).expect("imported"), bed.folder("/w").join("backup.jsonl"));
}

#[test]
fn nothing_is_overwritten() {
    let bed = Bed::new();
    let folder = bed.folder("/w");
    let there = bed.put("sessions/--w--/a.jsonl", "something else\n");
    let source = bed.put("a.jsonl", &two_branches());
    assert_eq!(bed.import(&source).expect("imported"), folder.join("a-2.jsonl"));
    assert_eq!(fs::read_to_string(there).expect("read"), "something else\n");
    assert_eq!(bed.import(&source).expect("again"), folder.join("a-2.jsonl"), "it is there");
    let other = bed.put("other/a.jsonl", &format!("{}\n", header("/w")));
    assert_eq!(bed.import(&other).expect("imported"), folder.join("a-3.jsonl"));
}

#[test]
fn a_file_that_lies_there_already_is_not_copied() {
    let bed = Bed::new();
    let there = bed.put("sessions/--w--/a.jsonl", &two_branches());
    assert_eq!(bed.import(&there).expect("found"), there);
    assert_eq!(fs::read_dir(bed.folder("/w")).expect("folder").count(), 1);
}

#[test]
fn what_cannot_be_imported_leaves_no_copy() {
    let bed = Bed::new();
    let missing = bed.dir.path().join("none.jsonl");
    let error = bed.import(&missing).expect_err("refused");
    assert_eq!(error.to_string(), format!("File not found: {}", missing.display()));
    for (name, text) in [("junk.jsonl", "junk\n"), ("empty.jsonl", ""), ("other.jsonl", "{}\n")] {
        let source = bed.put(name, text);
        let error = bed.import(&source).expect_err("refused");
        let expected = format!("Session file is not a valid pi session: {}", source.display());
        assert_eq!(error.to_string(), expected);
    }
    let folder = bed.import(bed.dir.path());
    assert!(matches!(folder, Err(TransferError::Session(SessionError::Read { .. }))), "{folder:?}");
    assert!(!bed.dir.path().join("sessions").exists());
}

#[test]
fn quotes_around_a_path_are_taken_off() {
    let cases = [
        ("\"a b.jsonl\"", "a b.jsonl"),
        (" 'a b.jsonl' ", "a b.jsonl"),
        ("a b.jsonl", "a b.jsonl"),
        ("\"a", "\"a"),
        ("\"a'", "\"a'"),
        ("\"", "\""),
        ("'it''s'", "it''s"),
    ];
    for (argument, expected) in cases {
        assert_eq!(unquoted(argument), expected, "{argument}");
    }
}

#[test]
fn an_export_has_the_active_branch_and_the_time_it_was_made() {
    let bed = Bed::new();
    let session = open(&bed.put("s.jsonl", &two_branches()));
    let target = bed.dir.path().join("out/x.jsonl");
    export(&session, &target).expect("exported");
    let text = fs::read_to_string(&target).expect("read");
    let (head, rest) = text.split_once('\n').expect("lines");
    let expected = [
        message("user", "a", "null"),
        message("assistant", "b", "\"a\""),
        message("user", "d", "\"b\""),
    ];
    assert_eq!(rest, expected.join("\n") + "\n", "byte by byte");
    let head: serde_json::Value = serde_json::from_str(head).expect("JSON");
    assert_eq!((&head["id"], &head["cwd"]), (&"s".into(), &"/w".into()));
    assert!(head["timestamp"].as_str().expect("time") > "2026-01-01T00:00:00.000Z");
}

#[test]
fn an_import_keeps_every_byte_and_an_export_the_fields_of_the_header() {
    let bed = Bed::new();
    let head =
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w","provider":"p"}"#;
    let message = message("user", "a", "null");
    let bytes = [head, "\n", &message, "\n{\"odd\":\""].concat().into_bytes();
    let bytes = [&bytes, &b"\xff\"}\n"[..]].concat();
    let source = bed.dir.path().join("s.jsonl");
    fs::write(&source, &bytes).expect("write");
    let copy = bed.import(&source).expect("imported");
    assert_eq!(fs::read(&copy).expect("read"), bytes);
    assert_eq!(bed.import(&source).expect("again"), copy, "compared byte by byte");
    let target = bed.dir.path().join("x.jsonl");
    export(&open(&copy), &target).expect("exported");
    assert!(fs::read_to_string(&target).expect("read").contains(r#","provider":"p"}"#));
}

#[test]
fn an_export_comes_back_by_import() {
    let bed = Bed::new();
    let session = open(&bed.put("s.jsonl", &two_branches()));
    let target = bed.dir.path().join("x.jsonl");
    export(&session, &target).expect("exported");
    let again = open(&bed.import(&target).expect("imported"));
    assert_eq!((again.id(), again.cwd()), (session.id(), session.cwd()));
    assert_eq!(again.context().messages, session.context().messages);
    let lines = |session: &Session| -> Vec<String> {
        session.branch().iter().map(|entry| entry.json().into_owned()).collect()
    };
    assert_eq!(lines(&again), lines(&session));
    assert_eq!(again.entries().count(), session.branch().len());
}

#[test]
fn an_export_replaces_what_was_there_but_never_the_session_itself() {
    let bed = Bed::new();
    let own = bed.put("s.jsonl", &two_branches());
    let session = open(&own);
    let target = bed.put("x.jsonl", "old\n");
    export(&session, &target).expect("exported");
    assert!(fs::read_to_string(&target).expect("read").starts_with("{\"type\":\"session\""));
    let crooked = bed.dir.path().join("sub/../s.jsonl");
    fs::create_dir(bed.dir.path().join("sub")).expect("folder");
    for path in [&own, &crooked] {
        assert!(matches!(export(&session, path), Err(TransferError::OwnFile { .. })));
    }
    assert_eq!(fs::read_to_string(own).expect("read"), two_branches());
}

#[test]
fn a_session_in_memory_can_be_exported_and_an_empty_one_cannot() {
    let bed = Bed::new();
    let target = bed.dir.path().join("x.jsonl");
    let empty = Session::in_memory(Path::new("/w"), "m".into()).expect("session");
    let error = export(&empty, &target).expect_err("refused");
    assert_eq!(error.to_string(), "Nothing to export yet - start a conversation first");
    let (session, _) = Session::from_text(two_branches(), Path::new("/w")).expect("reads");
    export(&session, &target).expect("exported");
    assert_eq!(open(&target).entries().count(), 3);
    let error = export(&session, bed.dir.path()).expect_err("a folder");
    assert!(error.to_string().starts_with("Cannot write session file "), "{error}");
}

#[test]
fn sessions_exported_at_once_do_not_mix() {
    let bed = Bed::new();
    let dir = bed.dir.path();
    std::thread::scope(|scope| {
        for index in 0..8 {
            scope.spawn(move || {
                let text = format!(
                    "{}\n{}\n",
                    header(&format!("/w{index}")),
                    message("user", "a", "null")
                );
                let (session, _) = Session::from_text(text, Path::new("/w")).expect("reads");
                export(&session, &dir.join(format!("{index}.jsonl"))).expect("exported");
            });
        }
    });
    for index in 0..8 {
        let session = open(&dir.join(format!("{index}.jsonl")));
        assert_eq!(session.cwd(), Path::new(&format!("/w{index}")));
    }
}

#[test]
fn a_renamed_session_keeps_its_time_and_its_lines() {
    let bed = Bed::new();
    let path = bed.put("sessions/--w--/a.jsonl", &two_branches());
    let before = info(&bed);
    rename(&path, " new\nname ").expect("renamed");
    let after = info(&bed);
    assert_eq!(after[0].name.as_deref(), Some("new name"));
    assert_eq!(after[0].modified, before[0].modified);
    let text = fs::read_to_string(&path).expect("read");
    assert!(text.starts_with(&two_branches()));
    assert_eq!(text.lines().count(), 6);
    rename(&path, " \n").expect("cleared");
    assert_eq!(info(&bed)[0].name, None);
}

#[test]
fn only_sessions_are_renamed() {
    let bed = Bed::new();
    for (name, text) in [("empty.jsonl", ""), ("junk.jsonl", "junk\n")] {
        let path = bed.put(name, text);
        assert!(matches!(rename(&path, "n"), Err(SessionError::NotASession { .. })), "{name}");
        assert_eq!(fs::read_to_string(path).expect("read"), text);
    }
    assert!(rename(&bed.dir.path().join("none"), "n").is_err());
}

#[cfg(unix)]
mod deleting {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::session_dir::{DeleteError, Deleted};

    /// A folder with a command `trash` that does this.
    fn command(bed: &Bed, script: &str) -> PathBuf {
        let path = bed.put("bin/trash", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        path.parent().expect("folder").to_owned()
    }

    #[test]
    fn without_the_command_the_file_is_removed() {
        let bed = Bed::new();
        let path = bed.put("s.jsonl", &two_branches());
        let nowhere = bed.dir.path().join("nowhere");
        let deleted = delete(&path, None, Some(nowhere.as_os_str())).expect("deleted");
        assert_eq!((deleted, path.exists()), (Deleted::Removed, false));
        let error = delete(&path, None, None).expect_err("not there");
        assert!(matches!(error, DeleteError::Remove { .. }), "{error}");
    }

    #[test]
    fn the_command_gets_the_file() {
        let bed = Bed::new();
        let bin = command(&bed, &format!("mv \"$1\" '{}/trashed'", bed.dir.path().display()));
        let path = bed.put("-a b.jsonl", &two_branches());
        let search = format!("/nowhere:{}", bin.display());
        assert_eq!(delete(&path, None, Some(search.as_ref())).expect("deleted"), Deleted::Trashed);
        assert!(!path.exists() && bed.dir.path().join("trashed").exists());
    }

    #[test]
    fn a_command_that_fails_or_does_nothing_is_not_believed() {
        for script in ["exit 1", "exit 0"] {
            let bed = Bed::new();
            let bin = command(&bed, script);
            let path = bed.put("s.jsonl", &two_branches());
            let deleted = delete(&path, None, Some(bin.as_os_str())).expect("deleted");
            assert_eq!((deleted, path.exists()), (Deleted::Removed, false), "{script}");
        }
    }

    #[test]
    fn the_active_session_stays_under_any_name() {
        let bed = Bed::new();
        let path = bed.put("real/s.jsonl", &two_branches());
        symlink(&path, bed.dir.path().join("link.jsonl")).expect("link");
        symlink(bed.dir.path().join("real"), bed.dir.path().join("other")).expect("link");
        for name in ["real/s.jsonl", "link.jsonl", "other/s.jsonl", "real/../real/s.jsonl"] {
            let name = bed.dir.path().join(name);
            for (deleted, active) in [(&name, &path), (&path, &name)] {
                let error = delete(deleted, Some(active), None).expect_err("refused");
                assert_eq!(error.to_string(), "Cannot delete the currently active session");
            }
        }
        let other = bed.put("real/t.jsonl", &two_branches());
        assert_eq!(delete(&other, Some(&path), None).expect("deleted"), Deleted::Removed);
        assert!(path.exists());
    }
}
