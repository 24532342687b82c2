use std::fs;

use serde_json::{Value, json};

use super::samples::*;
use super::*;
use crate::session::{FileStorage, MemoryStorage, new_session_id};

impl Bed {
    fn fork(&self, point: ForkPoint<'_>) -> Forked {
        let before = fs::read(&self.source).expect("read");
        let forked = self.begin(&self.session, point, new_session_id()).expect("forks");
        assert_eq!(fs::read(&self.source).expect("read"), before, "the source stays as it is");
        forked
    }

    /// A fork in a file named by its id.
    fn begin(
        &self,
        session: &Session,
        point: ForkPoint<'_>,
        id: String,
    ) -> Result<Forked, ForkError> {
        session.fork(point, id, |header| {
            let path = self.folder().join(format!("{}.jsonl", header.id));
            Some(Box::new(FileStorage::new(path)))
        })
    }

    fn files(&self) -> usize {
        let jsonl = |item: &fs::DirEntry| item.path().extension().is_some_and(|e| e == "jsonl");
        fs::read_dir(self.folder()).map_or(0, |dir| dir.flatten().filter(jsonl).count())
    }
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
    let forked = bed.begin(&bed.session, ForkPoint::Leaf, id.clone()).expect("forks");
    let header = lines_of(&forked.session).swap_remove(0);
    let timestamp = header["timestamp"].as_str().expect("time");
    assert_eq!(
        header,
        json!({"type": "session", "version": 3, "id": id, "timestamp": timestamp, "cwd": "/w",
            "parentSession": bed.source})
    );
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
    let again = bed.fork(ForkPoint::Leaf);
    let grandchild = bed.begin(&again.session, ForkPoint::Leaf, new_session_id());
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
        let error = bed.begin(&bed.session, point, new_session_id()).expect_err("refused");
        assert_eq!(error.to_string(), "Invalid entry ID for forking", "{point:?}");
    }
    assert_eq!(bed.files(), 0);
}

#[test]
fn a_session_that_is_not_saved_cannot_be_forked() {
    let dir = tempfile::tempdir().expect("temp dir");
    let mut session =
        Session::create(&dir.path().join("s.jsonl"), Path::new("/w"), "x".into()).expect("session");
    session.append(EntryBody::SessionInfo { name: None }).expect("waits");
    let fork = |point| session.fork(point, new_session_id(), |_| None);
    assert!(matches!(fork(ForkPoint::Leaf), Err(ForkError::NotSaved)));
    let invalid = fork(ForkPoint::Before("nope"));
    assert!(matches!(invalid, Err(ForkError::InvalidEntry)), "{invalid:?}");
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
fn a_fork_is_kept_where_somebody_says() {
    let bed = Bed::of(&two_branches());
    let memory = MemoryStorage::default();
    let fork = |point| {
        let kept = memory.clone();
        bed.session.fork(point, "mine".into(), move |header| {
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
    let nowhere = bed.session.fork(ForkPoint::Leaf, "mine".into(), |_| None).expect("forks");
    assert!(!nowhere.session.is_saved());
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
