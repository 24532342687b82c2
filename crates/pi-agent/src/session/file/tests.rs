use std::sync::mpsc;
use std::thread;

use super::*;

struct Scratch {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Scratch {
    /// A file with this text.
    fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, text).expect("write");
        Self { _dir: dir, path }
    }

    /// A storage that has read the file.
    fn storage(&self) -> FileStorage {
        let mut storage = FileStorage::new(&self.path);
        storage.read().expect("read").expect("there");
        storage
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("read")
    }

    /// What another program does: adds bytes.
    fn add(&self, text: &str) {
        let mut file = OpenOptions::new().append(true).open(&self.path).expect("open");
        file.write_all(text.as_bytes()).expect("write");
    }

    /// What another program does: puts a new file in place.
    fn put(&self, text: &str) {
        let new = self.path.with_extension("new");
        fs::write(&new, text).expect("write");
        fs::rename(new, &self.path).expect("rename");
    }
}

fn added(text: &str) -> Changes {
    Changes::Added(text.into())
}

#[test]
fn what_others_do_to_the_file_is_told_apart() {
    type Act = fn(&Scratch);
    let cases: [(&str, Act, Changes); 9] = [
        ("nothing", |_| {}, Changes::None),
        ("a line", |s| s.add("b\n"), added("b\n")),
        ("several lines", |s| s.add("b\nc\n"), added("b\nc\n")),
        ("a line and a beginning", |s| s.add("b\nc"), added("b\n")),
        ("a beginning", |s| s.add("b"), Changes::None),
        ("another file of the same length", |s| s.put("A\n"), Changes::Replaced),
        ("a longer file", |s| s.put("a\nb\n"), Changes::Replaced),
        ("cut short", |s| fs::write(&s.path, "").expect("write"), Changes::Replaced),
        ("deleted", |s| fs::remove_file(&s.path).expect("remove"), Changes::Gone),
    ];
    for (what, act, expected) in cases {
        let scratch = Scratch::new("a\n");
        let mut storage = scratch.storage();
        act(&scratch);
        assert_eq!(storage.changes().expect(what), expected, "{what}");
        if matches!(expected, Changes::None | Changes::Added(_)) {
            assert_eq!(storage.changes().expect(what), Changes::None, "{what}, once");
        }
    }
}

#[test]
fn a_file_deleted_and_made_again_is_another_one() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    // Such a file often gets the number of the one before.
    fs::remove_file(&scratch.path).expect("remove");
    fs::write(&scratch.path, "a\nb\n").expect("write");
    assert_eq!(storage.changes().expect("look"), Changes::Replaced);
}

#[test]
fn own_lines_are_no_change() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    storage.append("b\n").expect("append");
    assert_eq!(storage.changes().expect("look"), Changes::None);
    storage.append("c\nd\n").expect("append");
    storage.append("e\n").expect("append");
    assert_eq!(storage.changes().expect("look"), Changes::None);
    scratch.add("f\n");
    assert_eq!(storage.changes().expect("look"), added("f\n"));
    assert_eq!(scratch.text(), "a\nb\nc\nd\ne\nf\n");
}

#[test]
fn lines_of_others_written_at_the_same_moment_are_handed_out_with_ours() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    scratch.add("theirs\n");
    storage.append("ours\n").expect("append");
    assert_eq!(storage.changes().expect("look"), added("theirs\nours\n"));
}

#[test]
fn an_unfinished_line_is_ended_before_the_next_and_handed_out_then() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    scratch.add("half");
    assert_eq!(storage.changes().expect("look"), Changes::None);
    storage.append("b\n").expect("append");
    assert_eq!(scratch.text(), "a\nhalf\nb\n");
    assert_eq!(storage.changes().expect("look"), added("half\nb\n"));
    storage.append("c\n").expect("append");
    assert_eq!(storage.changes().expect("look"), Changes::None);
    assert_eq!(scratch.text(), "a\nhalf\nb\nc\n");
}

#[test]
fn an_unfinished_line_that_its_writer_ends_is_handed_out_whole() {
    let scratch = Scratch::new("a\nhal");
    let mut storage = scratch.storage();
    assert_eq!(storage.changes().expect("look"), Changes::None);
    scratch.add("f\n");
    assert_eq!(storage.changes().expect("look"), added("half\n"));
    storage.append("b\n").expect("append");
    assert_eq!(scratch.text(), "a\nhalf\nb\n");
}

#[test]
fn an_unfinished_line_that_was_read_is_not_handed_out_again() {
    let scratch = Scratch::new("a\nhalf");
    let mut storage = scratch.storage();
    storage.append("b\n").expect("append");
    assert_eq!(storage.changes().expect("look"), Changes::None);
    assert_eq!(scratch.text(), "a\nhalf\nb\n");
}

#[test]
fn a_file_that_vanishes_under_a_write_is_noticed_after_it() {
    type Act = fn(&Scratch);
    let cases: [(Act, Changes); 3] = [
        (|s| s.put("a\n"), Changes::Replaced),
        (|s| fs::write(&s.path, "").expect("write"), Changes::Replaced),
        (|s| fs::remove_file(&s.path).expect("remove"), Changes::Gone),
    ];
    for (act, expected) in cases {
        let scratch = Scratch::new("a\nb\n");
        let mut storage = scratch.storage();
        assert_eq!(storage.changes().expect("look"), Changes::None);
        act(&scratch);
        storage.append("c\n").expect("the old file takes it");
        assert_eq!(storage.changes().expect("look"), expected);
    }
}

#[test]
fn only_what_was_read_is_replaced() {
    type Act = fn(&Scratch);
    let cases: [Act; 4] = [
        |s| s.add("b\n"),
        |s| s.put("a\n"),
        |s| fs::write(&s.path, "").expect("write"),
        |s| fs::remove_file(&s.path).expect("remove"),
    ];
    for act in cases {
        let scratch = Scratch::new("a\n");
        let mut storage = scratch.storage();
        act(&scratch);
        let before = fs::read(&scratch.path).ok();
        assert!(!storage.replace(b"new\n").expect("no error"));
        assert_eq!(fs::read(&scratch.path).ok(), before);
    }
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    assert!(storage.replace(b"new\n").expect("no error"));
    storage.append("b\n").expect("append");
    assert_eq!(
        (scratch.text().as_str(), storage.changes().expect("look")),
        ("new\nb\n", Changes::None)
    );
}

#[test]
fn a_file_is_made_only_where_none_is() {
    let scratch = Scratch::new("a\n");
    let mut storage = FileStorage::new(&scratch.path);
    assert!(!storage.replace(b"new\n").expect("no error"));
    assert_eq!(scratch.text(), "a\n");
    fs::remove_file(&scratch.path).expect("remove");
    assert!(storage.replace(b"new\n").expect("no error"));
    assert_eq!(scratch.text(), "new\n");
}

#[test]
fn what_reaches_the_old_file_at_the_last_moment_is_carried_over() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    let mut seen = storage.seen.take().expect("read");
    let successor = Successor::prepare(&scratch.path, &seen, b"A\n").expect("prepared");
    scratch.add("late\n");
    storage.seen = Some(successor.expect("current").publish(&mut seen, b"A\n").expect("published"));
    assert_eq!(scratch.text(), "A\nlate\n");
    assert_eq!(storage.changes().expect("look"), added("late\n"));
}

#[test]
fn a_replaced_file_is_looked_at_when_its_writer_is_done() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    let lock = FileLock::acquire(&scratch.path).expect("lock");
    scratch.put("A\n");
    let (tell, told) = mpsc::channel();
    let looking = thread::spawn(move || {
        let changes = storage.changes();
        tell.send(()).expect("listening");
        (changes.expect("look"), storage.read().expect("read").expect("there"))
    });
    told.recv_timeout(Duration::from_millis(50)).expect_err("the writer is not done");
    scratch.add("late\n");
    drop(lock);
    assert_eq!(looking.join().expect("no panic"), (Changes::Replaced, b"A\nlate\n".to_vec()));
}

#[test]
fn a_held_lock_stops_nobody_from_reading_and_adding() {
    let scratch = Scratch::new("a\n");
    let _lock = FileLock::acquire(&scratch.path).expect("lock");
    let mut storage = scratch.storage();
    assert_eq!(storage.changes().expect("look"), Changes::None);
    storage.append("b\n").expect("append");
    assert_eq!(scratch.text(), "a\nb\n");
}

/// Whoever holds the lock may be about to replace the file without having seen the line.
#[test]
fn a_line_counts_as_kept_once_nobody_holds_the_lock() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    let lock = FileLock::acquire(&scratch.path).expect("lock");
    storage.append("b\n").expect("append");
    let (tell, told) = mpsc::channel();
    let looking = thread::spawn(move || {
        let changes = storage.changes();
        tell.send(()).expect("listening");
        changes.expect("look")
    });
    told.recv_timeout(Duration::from_millis(50)).expect_err("somebody is at it");
    // They put their file in place and are killed before they carry anything over.
    scratch.put("A\n");
    drop(lock);
    assert_eq!(looking.join().expect("no panic"), Changes::Replaced);
}

#[test]
fn own_lines_that_were_added_are_not_carried_over() {
    let scratch = Scratch::new("a\n");
    let mut storage = scratch.storage();
    storage.append("b\n").expect("append");
    assert!(storage.replace(b"a\nb\nc\n").expect("replaces"));
    assert_eq!(scratch.text(), "a\nb\nc\n");
    assert_eq!(storage.changes().expect("look"), Changes::None);
}

#[test]
fn a_file_whose_lock_was_taken_over_is_not_made() {
    let dir = tempfile::tempdir().expect("temp dir");
    let mut storage = FileStorage::new(dir.path().join("s.jsonl"));
    let lock = FileLock::acquire(&dir.path().join("x")).expect("lock");
    fs::remove_dir(lock.dir()).expect("somebody takes it for one left behind");
    assert!(!storage.publish(b"a\n", || lock.check().is_ok()).expect("no error"));
    assert!(!storage.is_there());
    assert_eq!(storage.read().expect("read"), None);
    assert!(storage.replace(b"a\n").expect("the next try"));
    assert!(storage.is_there());
}

#[test]
fn a_lock_left_behind_stops_nobody_from_replacing() {
    let scratch = Scratch::new("a\n");
    let lock = scratch.path.with_extension("jsonl.lock");
    fs::create_dir(&lock).expect("mkdir");
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(60);
    File::open(&lock).expect("open").set_modified(long_ago).expect("set time");
    assert!(scratch.storage().replace(b"A\n").expect("no error"));
    assert!(!lock.exists());
}

#[cfg(unix)]
#[test]
fn links_and_permissions_survive_a_replacement() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("a\n");
    fs::set_permissions(&scratch.path, PermissionsExt::from_mode(0o640)).expect("chmod");
    let link = scratch.path.with_extension("link");
    std::os::unix::fs::symlink(&scratch.path, &link).expect("link");
    let mut storage = FileStorage::new(&link);
    storage.read().expect("read");
    assert!(storage.replace(b"A\n").expect("replace"));
    assert!(fs::symlink_metadata(&link).expect("metadata").is_symlink());
    assert_eq!(scratch.text(), "A\n");
    assert_eq!(fs::metadata(&scratch.path).expect("metadata").permissions().mode() & 0o777, 0o640);
}

#[test]
fn temporary_files_that_were_left_behind_are_removed_a_day_later() {
    let scratch = Scratch::new("a\n");
    let dir = scratch.path.parent().expect("folder");
    let now = std::time::SystemTime::now();
    for (name, age) in [(".session-old", 25), (".session-new", 0), ("session-old", 25)] {
        let file = File::create(dir.join(name)).expect("create");
        file.set_modified(now - Duration::from_secs(age * 60 * 60)).expect("set time");
    }
    assert!(scratch.storage().replace(b"A\n").expect("replaces"));
    let mut names: Vec<_> =
        fs::read_dir(dir).expect("dir").map(|item| item.expect("item").file_name()).collect();
    names.sort();
    assert_eq!(names, [".session-new", "s.jsonl", "session-old"]);
}
