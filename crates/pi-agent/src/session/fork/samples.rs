//! Sessions to fork, and what is read of forks, for tests here and of directories.

use std::fs;
use std::path::{Path, PathBuf};

use pi_ai::InputBlock;
use serde_json::{Value, json};

use crate::message::AgentMessage;
use crate::session::{EntryBody, Session};

/// A folder with one session in it, and room for forks.
pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) source: PathBuf,
    pub(crate) session: Session,
}

impl Bed {
    pub(crate) fn of(lines: &[Value]) -> Self {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        Self::of_text(&(format!("{}\n", header()) + &lines.collect::<String>()))
    }

    pub(crate) fn of_text(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let source = dir.path().join("source.jsonl");
        fs::write(&source, text).expect("write");
        let session = Session::open(&source, Path::new("/w")).expect("opens").0;
        Self { dir, source, session }
    }

    /// Where forks go; it is not there yet.
    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("forks")
    }
}

pub(crate) fn header() -> Value {
    json!({"type": "session", "version": 3, "id": "src", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/w", "custom": 1})
}

pub(crate) fn entry(kind: &str, id: &str, parent: &str, more: Value) -> Value {
    let parent = Some(parent).filter(|parent| !parent.is_empty());
    let timestamp = format!("2026-01-01T00:00:00.{:03}Z", id.bytes().map(u64::from).sum::<u64>());
    let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": timestamp});
    let (Value::Object(fields), Value::Object(more)) = (&mut entry, more) else { panic!() };
    fields.extend(more);
    entry
}

pub(crate) fn message(role: &str, id: &str, parent: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    entry(
        "message",
        id,
        parent,
        json!({"message": {"role": role, "content": content, "timestamp": 1}}),
    )
}

pub(crate) fn label(id: &str, parent: &str, target: &str, text: &str) -> Value {
    let label = Some(text).filter(|text| !text.is_empty());
    entry("label", id, parent, json!({"targetId": target, "label": label}))
}

pub(crate) fn compaction(id: &str, parent: &str, first_kept: &str) -> Value {
    let fields = json!({"summary": "s", "firstKeptEntryId": first_kept, "tokensBefore": 1});
    entry("compaction", id, parent, fields)
}

/// Lines of a file, read as strictly as can be: ids are unique, parents stand before.
pub(crate) fn strict(path: &Path) -> Vec<Value> {
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

pub(crate) fn lines_of(session: &Session) -> Vec<Value> {
    strict(session.path().expect("path"))
}

/// Ids, those of labels replaced by what they say of whom.
pub(crate) fn ids(lines: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let name = |line: &Value| match line["type"].as_str() {
        Some("label") => format!("{}={}", text(&line["targetId"]), text(&line["label"])),
        _ => text(&line["id"]),
    };
    lines[1..].iter().map(name).collect()
}

pub(crate) fn user(text: &str) -> EntryBody {
    EntryBody::Message { message: AgentMessage::user(vec![InputBlock::text(text)], 1) }
}

/// Two branches: 6 to 10 was left for 11 and 12.
pub(crate) fn two_branches() -> Vec<Value> {
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
pub(crate) fn labelled() -> Vec<Value> {
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
