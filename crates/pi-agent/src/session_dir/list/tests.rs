use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::*;

impl SessionInfo {
    /// A session nobody said anything in.
    pub(in crate::session_dir) fn sample(path: &str, modified: i64) -> Self {
        Self {
            path: path.into(),
            id: String::new(),
            cwd: String::new(),
            name: None,
            parent_session: None,
            created: modified,
            modified,
            message_count: 0,
            first_message: String::new(),
            cost: 0.0,
            all_messages_text: None,
        }
    }
}

const ONE_BY_ONE: ListOptions = ListOptions { threads: 1, with_text: false };

struct Root {
    dir: tempfile::TempDir,
    sessions: SessionDir,
}

impl Root {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let sessions = SessionDir::PerProject(dir.path().to_owned());
        Self { dir, sessions }
    }

    /// A file in the folder of `cwd`, touched `age` seconds before now.
    fn put(&self, cwd: &str, name: &str, age: u64, lines: &[Value]) -> PathBuf {
        let folder = self.sessions.for_cwd(Path::new(cwd));
        fs::create_dir_all(&folder).expect("folder");
        let path = folder.join(name);
        let head = header(name, cwd);
        let lines = std::iter::once(&head).chain(lines).map(|line| format!("{line}\n"));
        fs::write(&path, lines.collect::<String>()).expect("write");
        touch(&path, age);
        path
    }

    fn list(&self, scope: Scope<'_>) -> Vec<SessionInfo> {
        self.sessions.list(scope, ONE_BY_ONE, &AtomicBool::new(false), |_| {})
    }

    /// What is said of one file with these lines.
    fn one(&self, lines: &[Value]) -> SessionInfo {
        self.put("/w", "one.jsonl", 0, lines);
        self.list(Scope::All).pop().expect("a session")
    }
}

fn touch(path: &Path, age: u64) {
    let time = SystemTime::now() - Duration::from_secs(age);
    fs::File::options().append(true).open(path).expect("open").set_modified(time).expect("mtime");
}

fn header(id: &str, cwd: &str) -> Value {
    json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd})
}

const CREATED: i64 = 1_767_225_600_000;

fn said(role: &str, text: &str, timestamp: i64) -> Value {
    json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-02T00:00:00.000Z",
        "message": {"role": role, "content": [{"type": "text", "text": text}], "timestamp": timestamp}})
}

fn named(name: &Value) -> Value {
    json!({"type": "session_info", "id": "n", "parentId": null, "timestamp": "2027-01-01T00:00:00.000Z", "name": name})
}

fn ids(sessions: &[SessionInfo]) -> Vec<&str> {
    sessions.iter().map(|session| session.id.as_str()).collect()
}

#[test]
fn a_session_is_summed_up_from_its_lines() {
    let root = Root::new();
    let path = root.put(
        "/w/a b",
        "x.jsonl",
        0,
        &[
            said("system", "prompt", CREATED + 1),
            said("user", "the first\nquestion", CREATED + 2),
            said("assistant", "an answer", CREATED + 3),
            said("user", "the second", CREATED + 5),
            said("toolResult", "files", CREATED + 9),
            named(&json!("first name")),
            named(&json!("last name")),
            json!({"type": "label", "id": "l", "parentId": "n", "targetId": "a", "label": "no message"}),
        ],
    );
    let sessions = root.list(Scope::All);
    let expected = SessionInfo {
        path: fs::canonicalize(path).expect("path"),
        id: "x.jsonl".into(),
        cwd: "/w/a b".into(),
        name: Some("last name".into()),
        parent_session: None,
        created: CREATED,
        modified: CREATED + 5,
        message_count: 5,
        first_message: "the first\nquestion".into(),
        cost: 0.0,
        all_messages_text: None,
    };
    assert_eq!(sessions, [expected]);
}

#[test]
fn the_time_of_a_session_is_that_of_its_last_user_or_assistant_message() {
    let root = Root::new();
    let without_time = json!({"type": "message", "timestamp": "2026-01-02T00:00:00.000Z",
        "message": {"role": "assistant", "content": []}});
    let cases: [(&[Value], i64); 5] = [
        (&[], CREATED),
        (&[named(&json!("later"))], CREATED),
        (&[said("toolResult", "", CREATED + 7)], CREATED),
        (&[said("user", "", CREATED + 9), said("assistant", "", CREATED + 8)], CREATED + 9),
        (&[without_time], CREATED + 86_400_000),
    ];
    for (lines, expected) in cases {
        assert_eq!(root.one(lines).modified, expected, "{lines:?}");
    }
}

#[test]
fn without_any_time_in_it_the_time_of_the_file_counts() {
    let root = Root::new();
    let path = root.put("/w", "one.jsonl", 0, &[]);
    fs::write(&path, r#"{"type":"session","id":"old"}"#).expect("write");
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1234);
    fs::File::options().append(true).open(path).expect("open").set_modified(time).expect("mtime");
    let session = root.list(Scope::All).pop().expect("session");
    assert_eq!((session.created, session.modified, session.cwd.as_str()), (1234, 1234, ""));
}

#[test]
fn the_name_can_be_cleared() {
    let root = Root::new();
    for cleared in [json!(null), json!("")] {
        assert_eq!(root.one(&[named(&json!("a")), named(&cleared)]).name, None);
    }
}

#[test]
fn every_kind_of_usage_costs() {
    let usage = |total: f64| json!({"input": 1, "cost": {"input": 9, "total": total}});
    let message = |role: &str, total| json!({"type": "message", "message": {"role": role, "usage": usage(total)}});
    let entry = |kind: &str, total| json!({"type": kind, "usage": usage(total)});
    let root = Root::new();
    let lines = [
        message("assistant", 0.5),
        message("toolResult", 0.25),
        message("user", 100.0),
        entry("compaction", 2.0),
        entry("branch_summary", 4.0),
        entry("usage", 8.0),
        entry("custom", 100.0),
        json!({"type": "usage", "usage": {"cost": null}}),
        json!({"type": "custom", "data": {"usage": usage(100.0)}}),
        json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall",
            "arguments": {"content": [], "api": "a", "usage": usage(100.0)}}]}}),
    ];
    assert_eq!(root.one(&lines).cost, 14.75);
}

#[test]
fn the_text_for_searching_is_there_when_asked_for() {
    let root = Root::new();
    let image = json!({"type": "message", "message": {"role": "user", "content": [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": "look"}, {"type": "text", "text": "here"}]}});
    let plain = json!({"type": "message", "message": {"role": "assistant", "content": "plain"}});
    let thought = json!({"type": "message", "message": {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]}});
    root.put("/w", "one.jsonl", 0, &[image, plain, said("toolResult", "files", 0), thought]);
    let options = ListOptions { threads: 1, with_text: true };
    let list = root.sessions.list(Scope::All, options, &AtomicBool::new(false), |_| {});
    assert_eq!(list[0].all_messages_text.as_deref(), Some("look\nhere\nplain\nso"));
    assert_eq!(list[0].first_message, "look\nhere");
}

#[test]
fn lines_that_cannot_be_read_count_for_nothing() {
    let root = Root::new();
    let path = root.put("/w", "one.jsonl", 0, &[said("user", "hi", CREATED + 1)]);
    let mut bytes = fs::read(&path).expect("read");
    for line in [
        &b"\n"[..],
        b"not json\n",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[{}\n",
        b"{\"type\":\"message\"}\n",
        b"{\"type\":\"message\",\"message\":\"odd\"}\n",
        b"{\"type\":\"message\",\"message\":{\"role\":7}}\n",
        b"{\"type\":7}\n",
        b"[]\n",
        // These two count: JavaScript writes half surrogate pairs, and other tools other bytes.
        b"{\"type\":\"session_info\",\"name\":\"\\ud83d!\"}\n",
        b"{\"type\":\"message\",\"message\":{\"role\":\"custom\",\"content\":\"\xff\"}}\n",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"cont",
    ] {
        bytes.extend_from_slice(line);
    }
    fs::write(&path, bytes).expect("write");
    let session = root.list(Scope::All).pop().expect("session");
    assert_eq!((session.message_count, session.name.as_deref()), (2, Some("\u{fffd}!")));
}

#[test]
fn what_is_no_session_is_left_out() {
    let root = Root::new();
    let path = root.put("/w", "good.jsonl", 5, &[]);
    for (name, text) in [
        ("other.jsonl", "{\"type\":\"message\"}\n"),
        ("junk.jsonl", "junk\n"),
        ("empty.jsonl", ""),
        ("good.txt", "{\"type\":\"session\",\"id\":\"txt\"}\n"),
    ] {
        fs::write(path.with_file_name(name), text).expect("write");
    }
    fs::create_dir(path.with_file_name("folder.jsonl")).expect("folder");
    let mut heard = Vec::new();
    let list = root.sessions.list(Scope::All, ONE_BY_ONE, &AtomicBool::new(false), |progress| {
        heard.push((progress.loaded, progress.total, progress.info.is_some()));
    });
    assert_eq!(ids(&list), ["good.jsonl"]);
    assert_eq!(heard.iter().filter(|(_, _, is_session)| *is_session).count(), 1);
    assert_eq!(
        heard.iter().map(|(loaded, total, _)| (*loaded, *total)).collect::<Vec<_>>(),
        [(1, 4), (2, 4), (3, 4), (4, 4)]
    );
}

#[test]
fn a_project_has_the_sessions_whose_header_names_it() {
    let root = Root::new();
    // Both directories have one folder.
    root.put("/w/a-b", "mine.jsonl", 0, &[]);
    root.put("/w/a/b", "twin.jsonl", 0, &[]);
    root.put("/w/c", "other.jsonl", 0, &[]);
    assert_eq!(ids(&root.list(Scope::Project(Path::new("/w/a-b")))), ["mine.jsonl"]);
    assert_eq!(root.list(Scope::Project(Path::new("/w/none"))), []);
    assert_eq!(root.list(Scope::All).len(), 3);
}

#[test]
fn a_folder_of_the_users_choice_is_listed_alike() {
    let dir = tempfile::tempdir().expect("temp dir");
    for (name, cwd) in [("a.jsonl", "/w/a"), ("b.jsonl", "/w/b")] {
        fs::write(dir.path().join(name), format!("{}\n", header(name, cwd))).expect("write");
    }
    let sessions = SessionDir::Flat(dir.path().to_owned());
    let list = |scope| sessions.list(scope, ONE_BY_ONE, &AtomicBool::new(false), |_| {});
    assert_eq!(ids(&list(Scope::Project(Path::new("/w/a")))), ["a.jsonl"]);
    assert_eq!(list(Scope::All).len(), 2);
}

#[cfg(unix)]
#[test]
fn linked_folders_and_files_are_listed_once() {
    use std::os::unix::fs::symlink;
    let root = Root::new();
    let far = tempfile::tempdir().expect("temp dir");
    fs::write(far.path().join("far.jsonl"), format!("{}\n", header("far", "/w"))).expect("write");
    symlink(far.path(), root.dir.path().join("--w--")).expect("link");
    symlink(far.path(), root.dir.path().join("--again--")).expect("link");
    symlink(far.path().join("far.jsonl"), far.path().join("link.jsonl")).expect("link");
    symlink(far.path().join("gone.jsonl"), far.path().join("broken.jsonl")).expect("link");
    for scope in [Scope::All, Scope::Project(Path::new("/w"))] {
        let list = root.list(scope);
        assert_eq!(ids(&list), ["far"], "{scope:?}");
        assert_eq!(list[0].path.file_name().expect("name"), "far.jsonl");
    }
}

#[test]
fn the_list_is_sorted_by_last_activity_and_arrives_by_file_time() {
    let root = Root::new();
    root.put("/w", "1.jsonl", 30, &[said("user", "a", CREATED + 900)]);
    root.put("/w", "2.jsonl", 10, &[said("user", "b", CREATED + 100)]);
    root.put("/x", "3.jsonl", 20, &[said("user", "c", CREATED + 500)]);
    let mut arrived = Vec::new();
    let list = root.sessions.list(Scope::All, ONE_BY_ONE, &AtomicBool::new(false), |progress| {
        arrived.extend(progress.info.map(|info| info.id.clone()));
    });
    assert_eq!(arrived, ["2.jsonl", "3.jsonl", "1.jsonl"]);
    assert_eq!(ids(&list), ["1.jsonl", "3.jsonl", "2.jsonl"]);
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let root = Root::new();
    for index in 0..40 {
        let lines = [said("user", "x", CREATED + i64::from(index))];
        root.put("/w", &format!("{index}.jsonl"), 0, &lines);
    }
    let list = |threads| {
        let options = ListOptions { threads, with_text: false };
        root.sessions.list(Scope::All, options, &AtomicBool::new(false), |_| {})
    };
    let one = list(1);
    assert_eq!(one.len(), 40);
    for threads in [0, 3, 1000] {
        assert_eq!(list(threads), one, "{threads}");
    }
}

#[test]
fn cancelling_stops_reading_and_keeps_what_was_read() {
    let root = Root::new();
    for index in 0..60 {
        root.put("/w", &format!("{index}.jsonl"), 0, &vec![said("user", "x", CREATED); 200]);
    }
    for threads in [1, 4] {
        let cancel = AtomicBool::new(false);
        let options = ListOptions { threads, with_text: false };
        let mut heard = 0;
        let list = root.sessions.list(Scope::All, options, &cancel, |_| {
            heard += 1;
            cancel.store(true, Ordering::Relaxed);
        });
        assert_eq!(list.len(), heard);
        assert!(heard > 0);
        assert_eq!(root.sessions.list(Scope::All, options, &cancel, |_| {}), []);
    }
}

#[test]
fn titles_fit_on_one_line_of_a_terminal() {
    let title = |name: Option<&str>, first: &str| {
        let info = SessionInfo::sample("/s", 0);
        SessionInfo { name: name.map(str::to_owned), first_message: first.to_owned(), ..info }
            .title()
    };
    assert_eq!(title(Some("name"), "first"), "name");
    assert_eq!(title(None, "first\n\n  line\tand\r\nmore "), "first line and more");
    assert_eq!(title(Some("\u{1b}]0;evil\u{7}\u{9b}31m x\u{0}"), ""), "]0;evil31m x");
    assert_eq!(title(Some("a\u{202e}b \u{200f} c"), ""), "ab c");
    assert_eq!(title(Some("\u{7}"), "first"), "first");
    assert_eq!(title(None, ""), "");
}

mod any_file {
    use proptest::prelude::*;

    use super::*;
    use crate::message::AgentMessage;
    use crate::session::{EntryBody, Session};

    fn line() -> impl Strategy<Value = String> {
        let usage = json!({"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}});
        let role =
            prop::sample::select(vec!["user", "assistant", "toolResult", "custom", "system"]);
        // Texts that look like what the list looks for.
        let text = prop_oneof![
            "[a-z \"\\\\{}:,\u{e4}]{0,12}",
            Just(r#","usage":{"cost":{"total":9}}"#.to_owned()),
            Just(r#"{"type":"session_info","name":"no"}"#.to_owned()),
        ];
        let message = (role, text.clone(), 0i64..9, any::<bool>()).prop_map(move |(role, text, time, nested)| {
            let mut message = json!({"role": role, "content": [{"type": "text", "text": text}],
                "usage": usage, "timestamp": time, "toolCallId": "t", "toolName": "n", "customType": "c", "stopReason": "stop"});
            if nested {
                message["details"] = json!({"content": [], "usage": usage, "role": "user"});
            }
            json!({"type": "message", "message": message, "usage": usage, "name": "no"})
        });
        let other = (prop::sample::select(vec!["session_info", "usage", "custom", "zork"]), text);
        let other = other.prop_map(|(kind, text)| {
            json!({"type": kind, "name": text, "customType": "c", "kind": "k", "provider": "p",
                "model": "m", "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": 2, "cost": {"input": 0, "output": 0, "cacheRead": 0,
                "cacheWrite": 0, "total": 0.5}}})
        });
        let cut = any::<Option<prop::sample::Index>>();
        (prop_oneof![3 => message, 1 => other], cut).prop_map(|(entry, cut)| {
            let text = entry.to_string();
            match cut {
                // A torn line.
                Some(cut) if text.is_char_boundary(cut.index(text.len())) => {
                    text.split_at(cut.index(text.len())).0.to_owned()
                }
                _ => text,
            }
        })
    }

    /// The line as an entry of a session.
    fn with_id(line: &str, index: usize) -> String {
        line.replacen('{', &format!(r#"{{"id":"{index:08x}","parentId":null,"#), 1)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_list_says_what_opening_the_file_would(lines in prop::collection::vec(line(), 0..12)) {
            let root = Root::new();
            let path = root.put("/w", "one.jsonl", 0, &[]);
            let mut text = fs::read_to_string(&path).expect("read");
            for (index, line) in lines.iter().enumerate() {
                text.push_str(&with_id(line, index));
                text.push('\n');
            }
            fs::write(&path, text).expect("write");
            let info = root.list(Scope::All).pop().expect("session");

            let (session, _) = Session::open(&path, Path::new("/w")).expect("opens");
            let messages: Vec<AgentMessage> = session
                .entries()
                .filter_map(|entry| match &entry.parse().ok()?.body {
                    EntryBody::Message { message } => Some(message.clone()),
                    _ => None,
                })
                .collect();
            let said = messages.iter().find_map(|message| match message {
                AgentMessage::User(user) => Some(user.content.to_text()).filter(|t| !t.is_empty()),
                _ => None,
            });
            let times = messages.iter().filter_map(|message| match message {
                AgentMessage::User(user) => Some(user.timestamp),
                AgentMessage::Assistant(answer) => Some(answer.timestamp),
                _ => None,
            });
            prop_assert_eq!(info.message_count, messages.len());
            prop_assert_eq!(info.name, session.name());
            prop_assert_eq!(info.first_message, said.unwrap_or_default());
            prop_assert_eq!(info.modified, times.max().unwrap_or(CREATED));
            prop_assert_eq!(info.cost, session.totals().cost);
        }
    }
}

#[test]
fn a_file_is_not_read_to_its_end_once_nobody_wants_it() {
    let root = Root::new();
    root.put("/w", "a.jsonl", 0, &[said("user", "x", CREATED)]);
    let files = candidates(root.sessions.folders());
    let cancel = AtomicBool::new(false);
    let mut scanner = Scanner::new(false, &cancel);
    assert!(scanner.scan(&files[0], |_| true).is_some());
    let cancelled_at_header = scanner.scan(&files[0], |_| {
        cancel.store(true, Ordering::Relaxed);
        true
    });
    assert_eq!(cancelled_at_header, None);
}
