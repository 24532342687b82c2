use std::fs;

use pi_ai::InputBlock;

use super::*;
use crate::message::AgentMessage;
use crate::session::{EntryBody, new_session_id};

fn user(text: &str) -> EntryBody {
    EntryBody::Message { message: AgentMessage::user(vec![InputBlock::text(text)], 1) }
}

#[test]
fn directories_are_encoded_by_dropping_one_separator() {
    let cases = [
        ("/tmp/we ird:dir/ü", "--tmp-we ird-dir-ü--"),
        ("/home/u/proj", "--home-u-proj--"),
        ("//x", "---x--"),
        (r"C:\Users\u", "--C--Users-u--"),
        ("/", "----"),
    ];
    for (cwd, expected) in cases {
        assert_eq!(encode_cwd(Path::new(cwd)), expected, "{cwd}");
    }
}

#[test]
fn a_new_session_is_found_from_its_first_message_on() {
    let root = tempfile::tempdir().expect("temp dir");
    let sessions = SessionDir::PerProject(root.path().join("sessions"));
    let (cwd, id) = (Path::new("/w"), new_session_id());
    let mut session = sessions.create(cwd, id.clone(), None).expect("session");
    assert_eq!((session.id(), session.cwd()), (&*id, cwd));
    assert_eq!(sessions.by_exact_id(&id, cwd), None);
    assert_eq!(fs::read_dir(root.path()).expect("dir").count(), 0, "nothing is made before");
    session.append(user("hi")).expect("append");
    let found = sessions.by_exact_id(&id, cwd).expect("found");
    assert_eq!(Some(&*found.path), session.path());
    assert_eq!(found.path.parent(), Some(&*sessions.for_cwd(cwd)));
}

#[test]
fn a_session_that_another_process_began_under_the_same_id_is_joined() {
    let root = tempfile::tempdir().expect("temp dir");
    let sessions = SessionDir::Flat(root.path().to_owned());
    let begin = |id: &str| sessions.create(Path::new("/w"), id.into(), None).expect("session");
    let (mut one, mut two) = (begin("same"), begin("same"));
    one.append(user("one")).expect("append");
    // As it may be called after people tidied up.
    let kept = root.path().join("kept.jsonl");
    fs::rename(one.path().expect("path"), &kept).expect("rename");
    two.append(user("two")).expect("append");
    assert_eq!(two.path(), Some(&*kept));
    assert_eq!((two.entries().count(), two.branch().len()), (2, 1));
    assert!(sessions.create(Path::new("/w"), "-".into(), None).is_err(), "a bad id");
}
