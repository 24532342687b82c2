use std::path::Path;

use serde_json::{Value, json};

use super::{EntryRef, SelectedTarget, Session, SessionTotals, TokenTotals};

/// A session of `(id, parent)` lines of no matter what type.
fn session(entries: &[(&str, Option<&str>)]) -> Session {
    let entry = |(id, parent): &_| json!({"type": "weird", "id": id, "parentId": parent});
    session_of(entries.iter().map(entry))
}

fn session_of(entries: impl IntoIterator<Item = Value>) -> Session {
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#.to_owned();
    for entry in entries {
        text.push('\n');
        text.push_str(&entry.to_string());
    }
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).expect("write");
    Session::open(&path, Path::new("/w")).expect("opens").0
}

fn ids<'a>(entries: impl IntoIterator<Item = EntryRef<'a>>) -> Vec<&'a str> {
    entries.into_iter().map(|entry| entry.id()).collect()
}

/// Two roots; the first has two branches.
fn forest() -> Session {
    session(&[
        ("a", None),
        ("b", Some("a")),
        ("c", Some("b")),
        ("d", Some("a")),
        ("e", Some("d")),
        ("f", Some("b")),
        ("r", None),
        ("s", Some("r")),
        ("o", Some("lost")),
    ])
}

#[test]
fn children_stand_in_file_order_and_orphans_are_roots() {
    let session = forest();
    assert_eq!(ids(session.children(None)), ["a", "r", "o"]);
    assert_eq!(ids(session.children(Some("a"))), ["b", "d"]);
    assert_eq!(ids(session.children(Some("b"))), ["c", "f"]);
    for childless in ["c", "o", "lost"] {
        assert_eq!(ids(session.children(Some(childless))), [""; 0], "{childless}");
    }
}

#[test]
fn a_parent_that_stands_below_its_child_is_found_all_the_same() {
    let session = session(&[("c", Some("p")), ("d", Some("c")), ("p", None), ("e", Some("p"))]);
    assert_eq!(ids(session.children(None)), ["p"]);
    assert_eq!(ids(session.children(Some("p"))), ["c", "e"]);
    assert_eq!(ids(session.branch_to("d").expect("branch")), ["p", "c", "d"]);
}

#[test]
fn the_common_ancestor_is_the_deepest_entry_of_both_paths() {
    let session = forest();
    let cases = [
        ("c", "f", Some("b")),
        ("c", "e", Some("a")),
        ("e", "c", Some("a")),
        ("c", "b", Some("b")),
        ("a", "c", Some("a")),
        ("c", "c", Some("c")),
        ("c", "s", None),
        ("o", "a", None),
        ("c", "lost", None),
    ];
    for (a, b, expected) in cases {
        assert_eq!(session.common_ancestor(a, b).map(|e| e.id()), expected, "{a} {b}");
    }
}

#[test]
fn walking_up_is_the_branch_backwards() {
    let mut session = forest();
    session.set_leaf(Some("f")).expect("leaf");
    assert_eq!(ids(session.walk_up()), ["f", "b", "a"]);
    session.set_leaf(None).expect("leaf");
    assert_eq!(ids(session.walk_up()), [""; 0]);
}

#[test]
fn a_ring_of_parents_is_cut_at_its_first_entry() {
    let session = session(&[
        ("x", Some("y")),
        ("a", Some("c")),
        ("b", Some("a")),
        ("c", Some("b")),
        ("y", Some("b")),
        ("own", Some("own")),
    ]);
    assert_eq!(ids(session.children(None)), ["a", "own"]);
    assert_eq!(ids(session.branch_to("x").expect("branch")), ["a", "b", "y", "x"]);
    assert_eq!(ids(session.branch_to("c").expect("branch")), ["a", "b", "c"]);
}

/// Entries in a line, `e0` and on.
fn chain(entries: &[Value]) -> Session {
    session_of(entries.iter().enumerate().map(|(index, entry)| {
        let mut entry = entry.clone();
        entry["id"] = format!("e{index}").into();
        entry["parentId"] = index.checked_sub(1).map(|parent| format!("e{parent}")).into();
        entry["timestamp"] = format!("time {index}").into();
        entry
    }))
}

fn label(target: &str, text: impl Into<Value>) -> Value {
    json!({"type": "label", "targetId": target, "label": text.into()})
}

#[test]
fn the_newest_label_of_an_entry_counts_on_every_branch() {
    let mut session = chain(&[
        json!({"type": "weird"}),
        label("e0", "old"),
        label("e0", "new"),
        label("e1", "gone"),
        label("e1", ""),
        label("e2", "gone"),
        json!({"type": "label", "targetId": "e2"}),
        label("lost", "mark"),
    ]);
    session.set_leaf(Some("e0")).expect("leaf");
    let labels = session.labels();
    let found: Vec<_> = labels
        .iter()
        .map(|(id, label)| (id.as_str(), label.text.as_str(), label.timestamp.as_str()))
        .collect();
    assert_eq!(found, [("e0", "new", "time 2"), ("lost", "mark", "time 7")]);
    for id in ["e0", "e1", "e2", "e3", "lost"] {
        assert_eq!(session.label(id).as_ref(), labels.get(id), "{id}");
    }
}

#[test]
fn labels_come_in_the_order_they_were_set_in() {
    let session = chain(&[
        label("e9", "nine"),
        label("e2", "two"),
        label("e5", "five"),
        label("e9", "nine again"),
        label("e2", ""),
        label("e2", "two again"),
    ]);
    let labels = session.labels();
    let found: Vec<_> = labels.iter().map(|(id, label)| (&**id, &*label.text)).collect();
    assert_eq!(found, [("e9", "nine again"), ("e5", "five"), ("e2", "two again")]);
}

#[test]
fn the_tree_as_json_has_the_entries_as_the_file_has_them() {
    let session = session_of([
        json!({"more": 1, "type": "weird", "id": "a", "parentId": null}),
        json!({"type": "weird", "id": "b", "parentId": "a"}),
        json!({"type": "weird", "id": "c", "parentId": "a"}),
        json!({"type": "label", "id": "l", "parentId": "b", "timestamp": "t", "targetId": "a",
            "label": "\"quoted\""}),
        json!({"type": "weird", "id": "o", "parentId": "lost"}),
    ]);
    let raw = |id: &str| session.entry(id).expect(id).json().into_owned();
    assert_eq!(
        session.tree().to_json(),
        format!(
            r#"[{{"entry":{},"children":[{{"entry":{},"children":[{{"entry":{},"children":[]}}]}},{{"entry":{},"children":[]}}],"label":"\"quoted\"","labelTimestamp":"t"}},{{"entry":{},"children":[]}}]"#,
            raw("a"),
            raw("b"),
            raw("l"),
            raw("c"),
            raw("o")
        )
    );
    let tree = session.tree();
    let walked: Vec<_> = tree.walk().map(|(depth, entry)| (depth, entry.id())).collect();
    assert_eq!(walked, [(0, "a"), (1, "b"), (2, "l"), (1, "c"), (0, "o")]);
    assert_eq!(
        (ids(tree.roots()).len(), ids(tree.children(walked_entry(&session)))),
        (2, vec!["l"])
    );
    assert_eq!(chain(&[]).tree().to_json(), "[]");
}

fn walked_entry(session: &Session) -> EntryRef<'_> {
    session.entry("b").expect("b")
}

#[test]
fn a_hundred_thousand_entries_in_a_line_are_a_tree_like_any_other() {
    let size = 100_000;
    let session = chain(&vec![json!({"type": "weird"}); size]);
    let json = session.tree().to_json();
    assert_eq!(json.matches(r#""children":["#).count(), size);
    assert_eq!(json.len() - json.trim_end_matches(['}', ']']).len(), 2 * size + 1);
    let last = format!("e{}", size - 1);
    assert_eq!(session.common_ancestor(&last, "e7").map(|entry| entry.id()), Some("e7"));
    let found: usize =
        session.entries().map(|entry| session.children(Some(entry.id())).len()).sum();
    assert_eq!(found, size - 1);
}

#[test]
fn choosing_what_was_said_goes_before_it_and_gives_its_text() {
    let said = |role: &str, content: Value| {
        json!({"type": "message", "message": {"role": role, "content": content,
            "stopReason": "stop", "toolCallId": "c", "customType": "x"}})
    };
    let blocks = json!([{"type": "text", "text": "a "}, {"type": "image", "data": "", "mimeType": ""},
        {"type": "text", "text": "b"}]);
    let session = chain(&[
        said("user", json!("first")),
        said("assistant", json!([{"type": "text", "text": "answer"}])),
        said("user", blocks),
        json!({"type": "custom_message", "customType": "x", "content": "of an extension"}),
        said("custom", json!("c")),
        said("toolResult", json!([])),
        json!({"type": "branch_summary", "fromId": "root", "summary": "s"}),
        label("e0", "l"),
        said("alien", json!("unreadable")),
    ]);
    let before = |leaf, text: &str| (leaf, Some(text.to_owned()));
    let cases = [
        ("e0", before(None, "first")),
        ("e1", (Some("e1"), None)),
        ("e2", before(Some("e1"), "a b")),
        ("e3", before(Some("e2"), "of an extension")),
        ("e4", (Some("e4"), None)),
        ("e5", (Some("e5"), None)),
        ("e6", (Some("e6"), None)),
        ("e7", (Some("e7"), None)),
        ("e8", (Some("e8"), None)),
    ];
    for (id, (leaf, editor_text)) in cases {
        let expected = SelectedTarget { leaf, editor_text };
        assert_eq!(session.select_target(id).expect(id), expected, "{id}");
    }
    let error = session.select_target("lost").expect_err("not there");
    assert_eq!(error.to_string(), "Entry lost not found");
}

/// The numbers are those the original gives for the same entries.
#[test]
fn totals_count_every_branch_and_everything_that_was_paid_for() {
    let usage = |input: u64, others: u64, cost: f64| {
        json!({"input": input, "output": others, "cacheRead": others, "cacheWrite": others,
            "totalTokens": 77, "cost": {"input": 9, "total": cost}})
    };
    let message = |fields: Value| json!({"type": "message", "message": fields});
    let call = json!({"type": "toolCall", "id": "c", "name": "t", "arguments": {}});
    let mut entries = vec![
        message(json!({"role": "system", "content": "", "sections": {}})),
        message(json!({"role": "user", "content": [{"type": "text", "text": "a"}]})),
        message(json!({"role": "assistant", "stopReason": "toolUse",
            "content": [{"type": "text", "text": "x"}, call, call], "usage": usage(1, 2, 0.5)})),
        message(json!({"role": "toolResult", "toolCallId": "c", "content": [],
            "usage": usage(100, 0, 1.0)})),
        message(json!({"role": "toolResult", "toolCallId": "c", "content": null})),
        message(json!({"role": "bashExecution", "command": "ls"})),
        json!({"type": "custom_message", "customType": "x", "content": "c", "display": true}),
        json!({"type": "branch_summary", "fromId": "root", "summary": "s",
            "usage": usage(1000, 0, 2.0)}),
        json!({"type": "usage", "kind": "any", "provider": "p", "model": "m",
            "usage": usage(10_000, 0, 4.0)}),
        message(json!({"role": "assistant", "stopReason": "error", "content": [],
            "usage": usage(5, 5, 8.0)})),
        message(json!({"role": "custom", "customType": "x", "content": "c",
            "usage": usage(7, 7, 7.0)})),
        json!({"type": "compaction", "summary": "s", "firstKeptEntryId": "", "tokensBefore": 1,
            "usage": usage(100_000, 0, 16.0)}),
        json!({"type": "context_edit", "targetId": "e2", "replacement": null}),
        message(json!({"role": "alien", "usage": usage(9, 9, 9.0)})),
        message(json!({"role": "assistant", "content": "old text", "usage": "odd"})),
    ];
    let expected = SessionTotals {
        user_messages: 1,
        assistant_messages: 3,
        tool_calls: 2,
        tool_results: 2,
        total_messages: 10,
        tokens: TokenTotals { input: 111_106, output: 7, cache_read: 7, cache_write: 7 },
        cost: 31.5,
    };
    assert_eq!(expected.tokens.total(), 111_127);
    let session = chain(&entries);
    assert_eq!(session.totals(), expected);
    // Another branch counts just the same.
    for entry in &mut entries {
        entry["parentId"] = Value::Null;
    }
    let apart = entries.into_iter().enumerate().map(|(index, mut entry)| {
        entry["id"] = format!("e{index}").into();
        entry
    });
    assert_eq!(session_of(apart).totals(), expected);
}
