use super::*;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("temp dir"))
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("file")
    }

    fn dir(&self) -> PathBuf {
        self.0.path().join("file.lock")
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).expect("dir");
        names.map(|item| item.expect("item").file_name().into_string().expect("UTF-8")).collect()
    }

    /// A lock of another process, touched so long ago.
    fn foreign(&self, age: Duration) {
        fs::create_dir(self.dir()).expect("mkdir");
        let dir = File::open(self.dir()).expect("open");
        dir.set_modified(SystemTime::now() - age).expect("set time");
    }

    fn touch_at(&self, time: SystemTime) {
        File::open(self.dir()).expect("open").set_modified(time).expect("set time");
    }

    fn modified(&self) -> SystemTime {
        fs::metadata(self.dir()).expect("metadata").modified().expect("time")
    }
}

fn at_once(target: &Path) -> Result<FileLock, LockError> {
    FileLock::acquire_within(target, Duration::ZERO)
}

#[test]
fn a_lock_is_a_directory_beside_the_file_while_it_is_held() {
    let scratch = Scratch::new();
    let lock = FileLock::acquire(&scratch.target()).expect("free");
    assert!(scratch.dir().is_dir());
    assert_eq!(lock.dir(), scratch.dir().canonicalize().expect("path"));
    lock.check().expect("ours");
    drop(lock);
    assert!(scratch.names().is_empty());
}

#[test]
fn a_held_lock_is_refused_with_its_directory_named() {
    let scratch = Scratch::new();
    let _held = at_once(&scratch.target()).expect("free");
    let error = FileLock::acquire_within(&scratch.target(), Duration::from_millis(20));
    let error = error.expect_err("held").to_string();
    assert!(error.contains(&scratch.dir().display().to_string()), "{error}");
    assert!(scratch.dir().is_dir(), "the refused one takes nothing away");
}

#[test]
fn a_lock_is_waited_for() {
    let scratch = Scratch::new();
    let held = at_once(&scratch.target()).expect("free");
    let target = scratch.target();
    let waiting = thread::spawn(move || FileLock::acquire(&target));
    drop(held);
    waiting.join().expect("no panic").expect("free in the end");
}

#[test]
fn locks_exclude_each_other() {
    let scratch = Scratch::new();
    let counter = scratch.0.path().join("counter");
    fs::write(&counter, "0").expect("write");
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                for _ in 0..25 {
                    let _lock = FileLock::acquire(&counter).expect("lock");
                    let count: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                    fs::write(&counter, (count + 1).to_string()).unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().expect("no panic");
    }
    assert_eq!(fs::read_to_string(&counter).expect("read"), "100");
}

#[test]
fn a_lock_without_a_touch_for_ten_seconds_is_stale() {
    let touched = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    for (age, expected) in [(0, false), (10_000, false), (10_001, true), (60_000, true)] {
        assert_eq!(is_stale_at(touched, touched + Duration::from_millis(age)), expected, "{age}");
    }
    assert!(!is_stale_at(touched, touched - Duration::from_secs(3600)), "a clock was set back");
}

#[test]
fn a_stale_lock_is_taken_over() {
    let scratch = Scratch::new();
    // Until a time in the future has come it is as if it were touched all the while.
    scratch.foreign(Duration::ZERO);
    scratch.touch_at(SystemTime::now() + Duration::from_secs(3600));
    at_once(&scratch.target()).expect_err("its holder is alive");
    scratch.touch_at(SystemTime::now() - Duration::from_secs(60));
    let before = scratch.modified();
    let lock = FileLock::acquire(&scratch.target()).expect("stale");
    assert!(scratch.modified() > before);
    assert_eq!(scratch.names(), ["file.lock"]);
    drop(lock);
    assert!(scratch.names().is_empty());
}

#[test]
fn what_is_no_lock_stays_whatever_its_age() {
    let scratch = Scratch::new();
    fs::write(scratch.dir(), "mine").expect("write");
    let old = SystemTime::now() - Duration::from_secs(60);
    File::open(scratch.dir()).expect("open").set_modified(old).expect("set time");
    at_once(&scratch.target()).expect_err("something is there");
    assert_eq!(fs::read_to_string(scratch.dir()).expect("read"), "mine");

    fs::remove_file(scratch.dir()).expect("remove");
    scratch.foreign(Duration::from_secs(60));
    fs::write(scratch.dir().join("note"), "mine").expect("write");
    File::open(scratch.dir()).expect("open").set_modified(old).expect("set time");
    at_once(&scratch.target()).expect_err("it is not empty");
    assert_eq!(fs::read_to_string(scratch.dir().join("note")).expect("read"), "mine");
    assert_eq!(scratch.names(), ["file.lock"]);
}

#[test]
fn only_one_of_many_takes_a_stale_lock_over() {
    let scratch = Scratch::new();
    scratch.foreign(Duration::from_secs(60));
    let mut workers = vec![];
    for _ in 0..8 {
        let target = scratch.target();
        workers
            .push(thread::spawn(move || FileLock::acquire_within(&target, Duration::from_secs(1))));
    }
    let locks: Vec<_> =
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect();
    // One that was put aside by mistake comes back, and whoever came in between knows.
    let valid = locks.iter().flatten().filter(|lock| lock.check().is_ok());
    assert_eq!(valid.count(), 1);
}

#[test]
fn touching_keeps_a_lock_fresh() {
    let scratch = Scratch::new();
    let lock = at_once(&scratch.target()).expect("free");
    let dir = File::open(scratch.dir()).expect("open");
    dir.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("set time");
    assert!(lock.held.touch());
    at_once(&scratch.target()).expect_err("held");
}

#[test]
fn a_lock_that_was_taken_over_is_noticed_and_left_to_its_new_holder() {
    let scratch = Scratch::new();
    let lost = at_once(&scratch.target()).expect("free");
    fs::remove_dir(scratch.dir()).expect("rmdir");
    assert!(matches!(lost.check(), Err(LockError::Lost { .. })));
    let new = at_once(&scratch.target()).expect("free");
    assert!(matches!(lost.check(), Err(LockError::Lost { .. })));
    assert!(!lost.held.touch());
    drop(lost);
    new.check().expect("still held");
}

#[test]
fn a_time_in_the_future_does_not_make_a_lock_stale() {
    let scratch = Scratch::new();
    scratch.foreign(Duration::ZERO);
    let dir = File::open(scratch.dir()).expect("open");
    dir.set_modified(SystemTime::now() + Duration::from_secs(3600)).expect("set time");
    at_once(&scratch.target()).expect_err("held");
}

#[cfg(unix)]
#[test]
fn links_to_a_file_share_its_lock() {
    let scratch = Scratch::new();
    fs::write(scratch.target(), "").expect("write");
    let link = scratch.0.path().join("link");
    std::os::unix::fs::symlink(scratch.target(), &link).expect("link");
    let _held = at_once(&link).expect("free");
    at_once(&scratch.target()).expect_err("held");
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_the_lock() {
    let scratch = Scratch::new();
    let error = FileLock::acquire(&scratch.target().join("deeper")).expect_err("no folder");
    assert!(matches!(error, LockError::Io { .. }) && error.to_string().contains("deeper.lock"));
}
