//! Sessions in storages of all kinds, good and bad.

use std::fmt;
use std::fs;
use std::io::Write;
use std::sync::{Arc, Mutex};

use super::entry::CompactionEntry;
use super::*;
use crate::message::AgentMessage;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#;

fn user(text: &str) -> EntryBody {
    EntryBody::Message { message: AgentMessage::user(vec![pi_ai::InputBlock::text(text)], 1) }
}

fn named(name: &str) -> EntryBody {
    EntryBody::SessionInfo { name: Some(name.to_owned()) }
}

fn cwd() -> &'static Path {
    Path::new("/w")
}

fn open(storage: impl SessionStorage + 'static) -> Session {
    Session::open_storage(Box::new(storage), cwd()).expect("opens").0
}

fn text(storage: &MemoryStorage) -> String {
    String::from_utf8(storage.text().expect("text")).expect("UTF-8")
}

fn ids(session: &Session) -> Vec<String> {
    session.entries().map(|entry| entry.id().to_owned()).collect()
}

fn branch(session: &Session) -> Vec<String> {
    session.branch().iter().map(|entry| entry.id().to_owned()).collect()
}

/// A storage in which something goes wrong, once.
struct Bad<S> {
    inner: S,
    is_blind: bool,
    fault: Arc<Mutex<Option<Fault>>>,
}

enum Fault {
    /// Keeps so many bytes of what is added, and fails.
    Full(usize),
    /// Fails to put anything in place.
    NoReplace,
    /// Puts it in place and says it failed.
    ReplacedUntold,
    /// Fails to look after it has added.
    Blind,
    /// Another process does this, between look and write.
    Meanwhile(Box<dyn FnOnce() + Send>),
}

impl Fault {
    fn is_of_replacing(&self) -> bool {
        matches!(self, Self::NoReplace | Self::ReplacedUntold)
    }
}

impl<S> Bad<S> {
    fn new(inner: S) -> (Self, Arc<Mutex<Option<Fault>>>) {
        let fault = Arc::default();
        (Self { inner, is_blind: false, fault: Arc::clone(&fault) }, fault)
    }
}

impl<S> fmt::Debug for Bad<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bad")
    }
}

fn meanwhile(fault: &Mutex<Option<Fault>>, act: impl FnOnce() + Send + 'static) {
    set(fault, Fault::Meanwhile(Box::new(act)));
}

fn set(at: &Mutex<Option<Fault>>, fault: Fault) {
    *at.lock().expect("lock") = Some(fault);
}

/// What another process does: puts another text in place.
fn put(memory: &MemoryStorage, text: impl AsRef<[u8]>) {
    let mut other = memory.clone();
    other.read().expect("read");
    assert!(other.replace(text.as_ref()).expect("replace"));
}

impl<S: SessionStorage> SessionStorage for Bad<S> {
    fn path(&self) -> Option<&Path> {
        self.inner.path()
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.inner.read()
    }

    fn changes(&mut self) -> io::Result<Changes> {
        if std::mem::take(&mut self.is_blind) {
            return Err(io::Error::other("out of sight"));
        }
        self.inner.changes()
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        let fault = self.fault.lock().expect("lock").take_if(|fault| !fault.is_of_replacing());
        match fault {
            Some(Fault::Full(kept)) => {
                self.inner.append(lines.get(..kept).expect("ASCII"))?;
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some(Fault::Meanwhile(act)) => act(),
            Some(Fault::Blind) => self.is_blind = true,
            Some(Fault::NoReplace | Fault::ReplacedUntold) | None => {}
        }
        self.inner.append(lines)
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        match self.fault.lock().expect("lock").take() {
            Some(Fault::NoReplace) => return Err(io::ErrorKind::StorageFull.into()),
            Some(Fault::ReplacedUntold) => {
                assert!(self.inner.replace(text)?);
                return Err(io::Error::other("out of sight"));
            }
            Some(Fault::Meanwhile(act)) => act(),
            Some(Fault::Full(_) | Fault::Blind) | None => {}
        }
        self.inner.replace(text)
    }
}

#[test]
fn a_storage_is_filled_with_the_first_user_or_assistant_message() {
    let assistant = AgentMessage::Assistant(Arc::new(pi_ai::AssistantMessage::pending(
        &pi_ai::faux::FauxProvider::model(),
        1,
    )));
    for first in [user("hi"), EntryBody::Message { message: assistant }] {
        let memory = MemoryStorage::default();
        let header = Header::new(cwd(), "x".into(), None);
        let mut session = Session::with_storage(header, Box::new(memory.clone())).expect("session");
        session.append(named("n")).expect("append");
        assert_eq!((memory.text(), session.is_saved()), (None, false));
        session.append(first).expect("append");
        session.append(named("m")).expect("append");
        assert_eq!((text(&memory).lines().count(), session.is_saved()), (4, true));
        assert_eq!(ids(&open(memory)), ids(&session));
    }
}

#[test]
fn opening_writes_nothing() {
    let line = r#"{"type":"label","id":"a","parentId":null,"timestamp":"","targetId":"x"}"#;
    let memory = MemoryStorage::new(format!("{HEADER}\n{line}"));
    let before = text(&memory);
    drop(open(memory.clone()));
    assert_eq!(text(&memory), before);
}

#[test]
fn a_storage_that_holds_nothing_gets_a_new_session() {
    let memory = MemoryStorage::default();
    let mut session = open(memory.clone());
    assert_eq!((session.cwd(), session.is_saved()), (cwd(), false));
    session.append(user("hi")).expect("append");
    assert_eq!(open(memory).id(), session.id());
}

#[test]
fn a_session_in_memory_can_begin_with_a_text_and_be_kept_later() {
    let memory = MemoryStorage::default();
    let mut first = open(memory.clone());
    let told = [first.append(user("a")), first.append(user("b"))];
    let told = told.map(|entry| entry.expect("append").id.clone());

    let (mut session, problems) = Session::from_text(text(&memory), cwd()).expect("session");
    assert_eq!((branch(&session), problems), (told.to_vec(), vec![]));
    assert_eq!((session.id(), session.path(), session.is_saved()), (first.id(), None, false));
    session.append(user("c")).expect("append");
    assert_eq!(text(&memory).lines().count(), 3, "it is a copy");

    let other = MemoryStorage::default();
    let mut session = session.keep_in(Box::new(other.clone()));
    session.append(named("n")).expect("append");
    assert_eq!(other.text(), None);
    session.append(user("d")).expect("append");
    assert_eq!(ids(&open(other)), ids(&session));
    assert_eq!(session.entries().count(), 5);
}

#[test]
fn texts_that_are_no_session_are_refused_and_empty_ones_are_new() {
    let error = Session::from_text("hello".into(), cwd()).expect_err("refused");
    assert_eq!(error.to_string(), "The text is not a valid pi session");
    let (session, problems) = Session::from_text(String::new(), cwd()).expect("new");
    assert_eq!((session.cwd(), session.entries().count(), problems), (cwd(), 0, vec![]));
    let old = r#"{"type":"session","id":"s"}"#.to_owned() + "\n" + r#"{"type":"custom"}"#;
    let (session, _) = Session::from_text(old, cwd()).expect("migrated");
    assert_eq!((session.header().version, session.entries().count()), (CURRENT_VERSION, 1));
}

#[test]
fn a_compaction_that_keeps_nothing_names_itself() {
    let mut session = Session::in_memory(cwd(), "x".into()).expect("session");
    let kept = session.append(user("a")).expect("append").id.clone();
    for first in ["", &kept] {
        let body = EntryBody::Compaction(Box::new(CompactionEntry {
            summary: "s".into(),
            first_kept_entry_id: first.into(),
            tokens_before: 1,
            details: None,
            usage: None,
            from_hook: None,
            system_message: None,
        }));
        let entry = session.append(body).expect("append");
        let EntryBody::Compaction(compaction) = &entry.body else { panic!("{entry:?}") };
        let expected = if first.is_empty() { &entry.id } else { &kept };
        assert_eq!(&compaction.first_kept_entry_id, expected);
    }
}

/// Every place at which a disk can be full, from before the first byte to after the last.
#[test]
fn an_entry_that_was_not_known_to_be_kept_is_not_in_memory_and_its_second_try_makes_one_of_it() {
    for kept in 0.. {
        let memory = MemoryStorage::default();
        let (bad, fault) = Bad::new(memory.clone());
        let mut session = open(bad);
        let first = session.append(user("a")).expect("append");
        let before = text(&memory).len();
        let draft = session.draft(user("b"));
        set(&fault, Fault::Full(kept));
        let error = session.append_draft(&draft).expect_err("full");
        assert!(matches!(error, SessionError::Storage { .. }), "{error}");
        let is_whole = text(&memory).ends_with('\n') && text(&memory).len() > before;
        assert_eq!(ids(&session), [first.id.as_str()]);
        assert_eq!(session.leaf().map(|leaf| leaf.id()), Some(first.id.as_str()));

        let second = session.append_draft(&draft).expect("append");
        assert_eq!(second.parent_id.as_ref(), Some(&first.id));
        let third = session.append(user("c")).expect("append");
        let again = open(memory.clone());
        assert_eq!(branch(&again), [&*first.id, &*second.id, &*third.id], "{kept}");
        assert_eq!((ids(&again), branch(&again)), (ids(&session), branch(&session)), "{kept}");
        if is_whole {
            return;
        }
    }
}

#[test]
fn an_entry_that_is_given_up_after_a_failed_write_is_a_branch_of_its_own_at_most() {
    for kept in 0..300 {
        let memory = MemoryStorage::default();
        let (bad, fault) = Bad::new(memory.clone());
        let mut session = open(bad);
        let first = session.append(user("a")).expect("append");
        set(&fault, Fault::Full(kept.min(120)));
        session.append(user(&"b".repeat(kept))).expect_err("full");
        let next = session.append(user("c")).expect("append");
        assert_eq!(next.parent_id.as_ref(), Some(&first.id));
        let again = open(memory);
        assert_eq!(branch(&again), [&*first.id, &*next.id]);
        assert_eq!(ids(&again), ids(&session));
    }
}

#[test]
fn a_write_that_cannot_be_looked_at_is_found_by_its_second_try() {
    let (_dir, path, mut session, fault) = on_disk();
    let draft = session.draft(user("c"));
    set(&fault, Fault::Blind);
    session.append_draft(&draft).expect_err("out of sight");
    assert_eq!(session.entries().count(), 2);
    let entry = session.append_draft(&draft).expect("append");
    assert_eq!(branch(&session)[2], entry.id);
    assert_eq!(ids(&open(FileStorage::new(&path))), ids(&session));
    assert_eq!(session.entries().count(), 3);
}

#[test]
fn a_session_that_began_without_anybody_knowing_is_found_by_the_second_try() {
    for is_same_draft in [true, false] {
        let memory = MemoryStorage::default();
        let (bad, fault) = Bad::new(memory.clone());
        let mut session = open(bad);
        session.append(named("n")).expect("append");
        let draft = session.draft(user("a"));
        set(&fault, Fault::ReplacedUntold);
        session.append_draft(&draft).expect_err("out of sight");
        session.append(named("m")).expect("waits in memory");
        let next = if is_same_draft { draft } else { session.draft(user("b")) };
        session.append_draft(&next).expect("append");
        let again = open(memory);
        assert_eq!(again.entries().count(), if is_same_draft { 3 } else { 4 });
        assert_eq!(ids(&again), ids(&session));
    }
}

#[test]
fn another_session_in_its_place_is_never_written_to_however_often_that_is_tried() {
    type Begin = fn(Box<dyn SessionStorage>) -> Session;
    let begins: [(&str, Begin); 3] = [
        ("new", |storage| {
            let header = Header::new(cwd(), "mine".into(), None);
            Session::with_storage(header, storage).expect("session")
        }),
        ("kept later", |storage| {
            let mut session = Session::in_memory(cwd(), "mine".into()).expect("session");
            session.append(user("before")).expect("append");
            session.keep_in(storage)
        }),
        ("looked at before", |mut storage| {
            storage.read().expect("read");
            let header = Header::new(cwd(), "mine".into(), None);
            Session::with_storage(header, storage).expect("session")
        }),
    ];
    for (how, begin) in begins {
        for theirs in [format!("{HEADER}\n"), "no session\n".to_owned()] {
            let dir = tempfile::tempdir().expect("temp dir");
            let path = dir.path().join("s.jsonl");
            fs::write(&path, &theirs).expect("write");
            let memory = MemoryStorage::new(theirs.clone());
            for storage in [
                Box::new(FileStorage::new(&path)) as Box<dyn SessionStorage>,
                Box::new(memory.clone()),
            ] {
                let mut session = begin(storage);
                for _ in 0..3 {
                    session.append(user("mine")).expect_err(how);
                }
                assert!(!session.is_saved());
            }
            assert_eq!(fs::read_to_string(&path).expect("read"), theirs, "{how}");
            assert_eq!(text(&memory), theirs, "{how}");
        }
    }
}

#[test]
fn a_merge_that_fails_is_done_before_anything_is_written() {
    type Act = fn(&Path);
    let acts: [(&str, Act); 2] = [
        ("a file with less in it", |path| {
            let text = fs::read_to_string(path).expect("read");
            let lines: Vec<_> = text.lines().take(2).map(|line| format!("{line}\n")).collect();
            fs::write(path.with_extension("new"), lines.concat()).expect("write");
            fs::rename(path.with_extension("new"), path).expect("rename");
        }),
        ("no file", |path| fs::remove_file(path).expect("remove")),
    ];
    for (what, act) in acts {
        let (_dir, path, mut session, fault) = on_disk();
        act(&path);
        for _ in 0..2 {
            set(&fault, Fault::NoReplace);
            session.append(user("no room")).expect_err(what);
            assert_eq!(session.entries().count(), 2, "{what}");
        }
        session.append(user("c")).expect(what);
        let again = open(FileStorage::new(&path));
        assert_eq!(branch(&again), branch(&session), "{what}");
        assert_eq!((again.entries().count(), again.branch().len()), (3, 3), "{what}");
    }
}

#[test]
fn what_another_file_in_its_place_lacks_is_put_back_whatever_branch_it_is_on() {
    let (_dir, path, mut session, _) = on_disk();
    let before = fs::read_to_string(&path).expect("read");
    let theirs = r#"{"type":"label","id":"x","parentId":null,"timestamp":""}"#;
    fs::write(&path, format!("{before}{theirs}\n")).expect("write");
    let first = branch(&session)[0].clone();
    session.set_leaf(Some(&first)).expect("leaf");
    session.append(user("c")).expect("append");
    let all = ids(&session);
    assert_eq!(all.len(), 4);
    session.set_leaf(Some(&first)).expect("leaf");
    let header = before.lines().next().expect("header");
    fs::write(path.with_extension("new"), format!("{header}\n")).expect("write");
    fs::rename(path.with_extension("new"), &path).expect("rename");
    let entry = session.append(user("d")).expect("append");
    assert_eq!(entry.parent_id.as_ref(), Some(&first));
    let again = open(FileStorage::new(&path));
    assert_eq!(ids(&again), [&all[..], std::slice::from_ref(&entry.id)].concat());
}

#[test]
fn memory_has_the_order_of_the_file() {
    let (_dir, path, mut session, fault) = on_disk();
    let meddled = path.clone();
    meanwhile(&fault, move || {
        let mut file = fs::OpenOptions::new().append(true).open(meddled).expect("open");
        let line = r#"{"type":"label","id":"x","parentId":null,"timestamp":""}"#;
        file.write_all(format!("{line}\n").as_bytes()).expect("write");
    });
    session.append(user("c")).expect("append");
    assert_eq!(session.entries().count(), 4);
    assert_eq!(ids(&open(FileStorage::new(&path))), ids(&session));
}

#[test]
fn bytes_that_are_not_utf_8_stay_when_entries_are_put_back() {
    let memory = MemoryStorage::new(HEADER);
    let mut session = open(memory.clone());
    session.append(user("a")).expect("append");
    let odd =
        [HEADER.as_bytes(), b"\n{\"type\":\"label\",\"id\":\"x\",\"label\":\"\xff\"}"].concat();
    put(&memory, &odd);
    session.append(user("b")).expect("append");
    assert_eq!(session.entries().count(), 3);
    assert_eq!(memory.text().expect("text").get(..odd.len()), Some(&odd[..]));
    let problems: Vec<_> = session.take_diagnostics().into_iter().map(|d| d.problem).collect();
    assert_eq!(problems, [Problem::NotUtf8]);
}

/// A session file with two entries, its storage, and what can go wrong there.
fn on_disk() -> (tempfile::TempDir, PathBuf, Session, Arc<Mutex<Option<Fault>>>) {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    let (bad, fault) = Bad::new(FileStorage::new(&path));
    let mut session = open(bad);
    session.append(user("a")).expect("append");
    session.append(user("b")).expect("append");
    (dir, path, session, fault)
}

#[test]
fn whatever_happens_between_look_and_write_the_entry_is_kept_with_its_branch() {
    type Act = fn(&Path);
    let acts: [(&str, Act); 5] = [
        ("half a line of a writer that was cut off", |path| {
            let mut file = fs::OpenOptions::new().append(true).open(path).expect("open");
            file.write_all(b"{\"type\":").expect("write");
        }),
        ("a whole line", |path| {
            let mut file = fs::OpenOptions::new().append(true).open(path).expect("open");
            let line = r#"{"type":"label","id":"x","parentId":null,"timestamp":""}"#;
            file.write_all(format!("{line}\n").as_bytes()).expect("write");
        }),
        ("the same text in another file", |path| {
            fs::copy(path, path.with_extension("new")).expect("copy");
            fs::rename(path.with_extension("new"), path).expect("rename");
        }),
        ("another file with less in it", |path| {
            let text = fs::read_to_string(path).expect("read");
            let lines: Vec<_> = text.lines().take(2).map(|line| format!("{line}\n")).collect();
            fs::write(path.with_extension("new"), lines.concat()).expect("write");
            fs::rename(path.with_extension("new"), path).expect("rename");
        }),
        ("no file", |path| fs::remove_file(path).expect("remove")),
    ];
    for (what, act) in acts {
        let (_dir, path, mut session, fault) = on_disk();
        let meddled = path.clone();
        meanwhile(&fault, move || act(&meddled));
        let entry = session.append(user("c")).expect(what);
        assert_eq!(session.leaf().map(|leaf| leaf.id()), Some(entry.id.as_str()), "{what}");
        assert_eq!(session.branch().len(), 3, "{what}");
        let again = open(FileStorage::new(&path));
        assert_eq!(branch(&again), branch(&session), "{what}");
        let text = fs::read_to_string(&path).expect("read");
        for id in branch(&session) {
            let own = format!(r#""id":"{id}""#);
            // The glued line cannot be taken back.
            let whole = text.lines().filter(|line| line.starts_with(r#"{"type":"message""#));
            assert_eq!(whole.filter(|line| line.contains(&own)).count(), 1, "{what}");
        }
        session.append(user("d")).expect(what);
        assert_eq!(open(FileStorage::new(&path)).branch().len(), 4, "{what}");
    }
}

#[test]
fn an_entry_that_was_carried_over_is_not_written_again() {
    let memory = MemoryStorage::default();
    let mut session = open(Carrying { memory: memory.clone(), looks: 0 });
    session.append(user("a")).expect("append");
    let entry = session.append(user("b")).expect("append");
    assert_eq!(session.leaf().map(|leaf| leaf.id()), Some(entry.id.as_str()));
    assert_eq!((session.entries().count(), text(&memory).lines().count()), (2, 3));
}

/// Says after the first addition that everything was replaced, by the same.
#[derive(Debug)]
struct Carrying {
    memory: MemoryStorage,
    looks: usize,
}

impl SessionStorage for Carrying {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.memory.read()
    }

    fn changes(&mut self) -> io::Result<Changes> {
        self.looks += 1;
        if self.looks == 2 { Ok(Changes::Replaced) } else { self.memory.changes() }
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.memory.append(lines)
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        self.memory.replace(text)
    }
}

#[test]
fn sessions_on_one_storage_branch_and_lose_nothing() {
    let memory = MemoryStorage::default();
    let mut one = open(memory.clone());
    one.append(user("start")).expect("append");
    let mut two = open(memory.clone());
    for round in 0..3 {
        one.append(user(&format!("one {round}"))).expect("append");
        two.append(user(&format!("two {round}"))).expect("append");
    }
    assert_eq!((one.branch().len(), two.branch().len()), (4, 4));
    assert_eq!(open(memory).entries().count(), 7);
}

#[test]
fn an_old_session_migrated_by_another_at_the_same_moment_keeps_the_others_ids() {
    let old = format!("{}\n{}\n", r#"{"type":"session","id":"s"}"#, r#"{"type":"custom"}"#);
    let memory = MemoryStorage::new(old.clone());
    let theirs = ids(&Session::from_text(old, cwd()).expect("migrates").0);
    let migrated = format!(
        "{HEADER}\n{{\"type\":\"custom\",\"id\":\"{}\",\"parentId\":null,\"timestamp\":\"\"}}\n",
        theirs[0]
    );
    let (bad, fault) = Bad::new(memory.clone());
    let (other, theirs_now) = (memory.clone(), migrated.clone());
    meanwhile(&fault, move || put(&other, &theirs_now));
    assert_eq!(ids(&open(bad)), theirs);
    assert_eq!(text(&memory), migrated);
}

#[test]
fn a_migration_that_fails_leaves_the_old_text() {
    let old = format!("{}\n{}\n", r#"{"type":"session","id":"s"}"#, r#"{"type":"custom"}"#);
    let memory = MemoryStorage::new(old.clone());
    let (bad, fault) = Bad::new(memory.clone());
    set(&fault, Fault::NoReplace);
    Session::open_storage(Box::new(bad), cwd()).expect_err("no room");
    assert_eq!(text(&memory), old);
}

#[test]
fn a_session_that_somebody_else_began_first_is_joined_with_all_that_waited() {
    let memory = MemoryStorage::default();
    let start = || {
        let header = Header::new(cwd(), "same".into(), None);
        Session::with_storage(header, Box::new(memory.clone())).expect("session")
    };
    let (mut one, mut two) = (start(), start());
    one.append(user("one")).expect("append");
    let aside = two.append(named("aside")).expect("append");
    two.set_leaf(None).expect("leaf");
    let entry = two.append(user("two")).expect("append");
    assert_eq!(text(&memory).lines().filter(|line| line.contains("\"session\"")).count(), 1);
    assert_eq!(branch(&two), [entry.id.as_str()]);
    assert!(two.entry(&aside.id).is_some());
    assert_eq!(open(memory).entries().count(), 3);
}

#[test]
fn a_storage_that_cannot_be_reached_is_an_error_that_says_so() {
    #[derive(Debug)]
    struct Gone;
    impl SessionStorage for Gone {
        fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
            Err(io::Error::other("the line is dead"))
        }

        fn append(&mut self, _: &str) -> io::Result<()> {
            Err(io::Error::other("the line is dead"))
        }

        fn replace(&mut self, _: &[u8]) -> io::Result<bool> {
            Err(io::Error::other("the line is dead"))
        }
    }
    let error = Session::open_storage(Box::new(Gone), cwd()).expect_err("dead");
    assert_eq!(error.to_string(), "Cannot reach what keeps the session: the line is dead");
    let header = Header::new(cwd(), "x".into(), None);
    let mut session = Session::with_storage(header, Box::new(Gone)).expect("session");
    session.append(user("hi")).expect_err("dead");
    assert_eq!(session.entries().count(), 0);
}

#[test]
fn of_two_sessions_begun_in_one_named_file_the_second_is_refused() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    let begin = |id: &str| Session::create(&path, cwd(), id.to_owned()).expect("session");
    let (mut one, mut two) = (begin("one"), begin("two"));
    one.append(user("one")).expect("append");
    for _ in 0..2 {
        let error = two.append(user("two")).expect_err("taken");
        assert!(error.to_string().ends_with("it holds another session now"), "{error}");
    }
    assert_eq!(two.entries().count(), 0);
    one.append(user("on")).expect("append");
    assert_eq!(ids(&open(FileStorage::new(&path))), ids(&one));
}
