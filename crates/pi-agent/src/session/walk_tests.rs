use std::path::Path;

use super::{EntryRef, Session};

/// A session of `(id, parent)` lines of no matter what type.
fn session(entries: &[(&str, Option<&str>)]) -> Session {
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#.to_owned();
    for (id, parent) in entries {
        let entry = serde_json::json!({"type": "weird", "id": id, "parentId": parent});
        text = format!("{text}\n{entry}");
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
