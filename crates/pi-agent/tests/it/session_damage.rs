//! Whatever a file has been through: loading does not panic, a well-formed entry is never lost, and
//! what is added next can be read by the strictest reader.

use std::fs;
use std::path::Path;

use pi_agent::AgentMessage;
use pi_agent::session::{EntryBody, MemoryStorage, Session};
use proptest::prelude::*;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#;

#[derive(Debug, Clone)]
enum Piece {
    /// An entry of some type; the number picks its parent among those before, or none.
    Entry(&'static str, usize),
    Garbage(String),
    Bytes(Vec<u8>),
}

fn piece() -> impl Strategy<Value = Piece> {
    let kind = prop::sample::select(vec!["label", "custom", "weird", "message", "context_edit"]);
    prop_oneof![
        4 => (kind, any::<usize>()).prop_map(|(kind, parent)| Piece::Entry(kind, parent)),
        1 => "[^\n\"]{0,12}".prop_map(Piece::Garbage),
        1 => prop::sample::select(vec!["{", "{}", "null", "[1]", "  ", "{\"type\":\"x\"}"])
            .prop_map(|text| Piece::Garbage(text.to_owned())),
        1 => prop::collection::vec(128u8.., 0..6).prop_map(Piece::Bytes),
    ]
}

/// The file, and the ids of its entries in order.
fn file_of(pieces: &[Piece]) -> (Vec<u8>, Vec<String>) {
    let mut bytes = format!("{HEADER}\n").into_bytes();
    let mut ids: Vec<String> = vec![];
    for piece in pieces {
        match piece {
            Piece::Entry(kind, pick) => {
                let id = format!("{:08x}", ids.len());
                let parent = match pick % (ids.len() + 2) {
                    0 => "null".to_owned(),
                    1 => "\"missing\"".to_owned(),
                    at => format!("{:?}", ids[at - 2]),
                };
                let entry = format!(
                    r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"more":[1,{{}}]}}"#
                );
                bytes.extend(entry.bytes());
                ids.push(id);
            }
            Piece::Garbage(text) => bytes.extend(text.bytes()),
            Piece::Bytes(more) => bytes.extend(more),
        }
        bytes.push(b'\n');
    }
    (bytes, ids)
}

fn user(text: &str) -> EntryBody {
    let content = vec![pi_ai::InputBlock::text(text)];
    EntryBody::Message { message: AgentMessage::user(content, 0) }
}

/// Opens, adds an entry, and checks that the file still begins as it did and ends with the entry.
fn add_to(bytes: &[u8], must_hold: &[String]) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    fs::write(&path, bytes).expect("write");
    let (mut session, _) = Session::open(&path, Path::new("/w")).expect("has a header");
    let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
    for id in must_hold {
        prop_assert!(ids.contains(id), "{id} is lost");
    }
    prop_assert_eq!(session.leaf().map(|leaf| leaf.id()), ids.last().map(String::as_str));
    drop(session.context());
    prop_assert!(session.branch().len() <= ids.len());

    let entry = session.append(user("on")).expect("append");
    let after = fs::read(&path).expect("read");
    prop_assert!(after.starts_with(bytes), "what was there is there");
    let last = after.strip_suffix(b"\n").expect("ends in a line end");
    let last = last.rsplit(|byte| *byte == b'\n').next().expect("line");
    let read: serde_json::Value = serde_json::from_slice(last).expect("strict JSON");
    prop_assert_eq!(read["id"].as_str(), Some(entry.id.as_str()));
    prop_assert_eq!(read["parentId"].as_str(), ids.last().map(String::as_str));

    let (again, _) = Session::open(&path, Path::new("/w")).expect("opens again");
    let found: Vec<_> = again.entries().map(|entry| entry.id().to_owned()).collect();
    prop_assert_eq!(&found[..ids.len()], &ids[..]);
    prop_assert_eq!(found.len(), ids.len() + 1);
    Ok(())
}

/// What a session is told to do.
#[derive(Debug, Clone)]
enum Step {
    Say(String),
    Name(String),
    /// Goes back to one of the entries, by number.
    Back(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => ".{0,20}".prop_map(Step::Say),
        1 => ".{0,8}".prop_map(Step::Name),
        1 => any::<usize>().prop_map(Step::Back),
    ]
}

/// The text of a session that did these steps, and for each entry how long the text was then and
/// the entry's id.
fn written(steps: &[Step]) -> (Vec<u8>, Vec<(usize, String)>) {
    let memory = MemoryStorage::default();
    let (mut session, _) =
        Session::open_storage(Box::new(memory.clone()), Path::new("/w")).expect("new");
    let mut acknowledged = vec![];
    for step in [Step::Say("start".to_owned())].iter().chain(steps) {
        let body = match step {
            Step::Say(text) => user(text),
            Step::Name(name) => EntryBody::SessionInfo { name: Some(name.clone()) },
            Step::Back(pick) => {
                let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
                session.set_leaf(Some(&ids[pick % ids.len()])).expect("there");
                continue;
            }
        };
        let entry = session.append(body).expect("append");
        acknowledged.push((memory.text().expect("text").len(), entry.id.clone()));
    }
    (memory.text().expect("text"), acknowledged)
}

/// A cut text gives the entries that are whole in it, takes another, and gives all of them again.
fn assert_prefix(
    text: &[u8],
    cut: usize,
    acknowledged: &[(usize, String)],
) -> Result<(), TestCaseError> {
    let memory = MemoryStorage::new(&text[..cut]);
    let open = || Session::open_storage(Box::new(memory.clone()), Path::new("/w"));
    let (mut session, _) = open().expect("opens");
    let ids = |session: &Session| -> Vec<String> {
        session.entries().map(|entry| entry.id().to_owned()).collect()
    };
    // A line that lacks no more than its end counts.
    let whole = acknowledged.iter().filter(|(end, _)| end - 1 <= cut);
    let mut expected: Vec<String> = whole.map(|(_, id)| id.clone()).collect();
    prop_assert_eq!(&ids(&session), &expected);
    for text in ["on", "and on"] {
        expected.push(session.append(user(text)).expect("append").id.clone());
    }
    let (again, _) = open().expect("opens again");
    prop_assert_eq!(ids(&again), expected);
    prop_assert!(memory.text().expect("text").starts_with(&text[..cut]));
    Ok(())
}

#[test]
fn a_session_cut_at_any_byte_goes_on_from_what_is_whole() {
    let steps = [
        Step::Name("Ünï".to_owned()),
        Step::Say("quotes \" and\nlines \u{1F600}".to_owned()),
        Step::Back(0),
        Step::Say("another way".to_owned()),
    ];
    let (text, acknowledged) = written(&steps);
    let header = text.iter().position(|byte| *byte == b'\n').expect("a header");
    for cut in header..=text.len() {
        assert_prefix(&text, cut, &acknowledged).unwrap_or_else(|error| panic!("{cut}: {error}"));
    }
}

#[test]
fn a_session_cut_within_its_header_is_refused_and_left_alone() {
    let (text, _) = written(&[]);
    let header = text.iter().position(|byte| *byte == b'\n').expect("a header");
    for cut in 1..header {
        let memory = MemoryStorage::new(&text[..cut]);
        Session::open_storage(Box::new(memory.clone()), Path::new("/w")).expect_err("no header");
        assert_eq!(memory.text().as_deref(), Some(&text[..cut]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_damaged_file_keeps_its_entries(pieces in prop::collection::vec(piece(), 0..24)) {
        let (bytes, ids) = file_of(&pieces);
        add_to(&bytes, &ids)?;
    }

    #[test]
    fn a_file_cut_anywhere_keeps_what_was_whole(
        pieces in prop::collection::vec(piece(), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, _) = file_of(&pieces);
        let header = HEADER.len() + 1;
        let at = header + cut.index(bytes.len() - header);
        let whole = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let kept: Vec<_> = bytes[..whole]
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
            .filter(|line| line["parentId"] != serde_json::Value::Null || line["id"] != "s")
            .filter_map(|line| Some(line["id"].as_str()?.to_owned()))
            .collect();
        add_to(&bytes[..at], &kept)?;
    }

    #[test]
    fn any_session_cut_anywhere_goes_on_from_what_is_whole(
        steps in prop::collection::vec(step(), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let (text, acknowledged) = written(&steps);
        let header = text.iter().position(|byte| *byte == b'\n').expect("a header");
        assert_prefix(&text, header + cut.index(text.len() - header), &acknowledged)?;
    }

    #[test]
    fn any_bytes_at_all_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, &bytes).expect("write");
        if let Ok((session, _)) = Session::open(&path, Path::new("/w")) {
            drop(session.context());
        } else {
            prop_assert_eq!(fs::read(&path).expect("read"), bytes);
        }
    }

    #[test]
    fn old_versions_of_any_shape_do_not_panic(
        pieces in prop::collection::vec(piece(), 0..12),
        version in 0u64..3,
    ) {
        let (bytes, ids) = file_of(&pieces);
        let text = String::from_utf8_lossy(&bytes)
            .replacen("\"version\":3", &format!("\"version\":{version}"), 1);
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, text).expect("write");
        let (session, _) = Session::open(&path, Path::new("/w")).expect("opens");
        prop_assert!(session.entries().count() >= ids.len());
        let (again, _) = Session::open(&path, Path::new("/w")).expect("opens again");
        prop_assert_eq!(again.entries().count(), session.entries().count());
    }
}
