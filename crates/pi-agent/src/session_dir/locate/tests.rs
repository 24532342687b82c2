use std::time::{Duration, SystemTime};

use super::*;

/// Writes a session file that was touched `age` seconds before now.
fn put(dir: &Path, name: &str, id: &str, cwd: &Path, age: u64) {
    fs::create_dir_all(dir).expect("folder");
    let header = serde_json::json!({"type": "session", "version": 3, "id": id, "cwd": cwd});
    let path = dir.join(name);
    fs::write(&path, format!("{header}\n")).expect("write");
    let time = SystemTime::now() - Duration::from_secs(age);
    File::options().append(true).open(path).expect("open").set_modified(time).expect("mtime");
}

fn newest(dirs: &SessionDir, cwd: &Path) -> Option<Found> {
    dirs.newest(cwd).found
}

#[test]
fn the_newest_by_file_time_wins_if_its_header_names_the_directory() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let (here, twin) = (Path::new("/w/a-b"), Path::new("/w/a/b"));
    let folder = dirs.for_cwd(here);
    assert_eq!(folder, dirs.for_cwd(twin));
    assert_eq!(dirs.newest(here), Newest::default());
    put(&folder, "2.jsonl", "touched", here, 10);
    put(&folder, "3.jsonl", "older", here, 20);
    put(&folder, "4.jsonl", "elsewhere", twin, 0);
    fs::write(folder.join("5.jsonl"), "not a session\n").expect("write");
    fs::write(folder.join("6.txt"), "{}").expect("write");
    assert_eq!(newest(&dirs, here).expect("found").header.id, "touched");
    assert_eq!(newest(&dirs, twin).expect("found").header.id, "elsewhere");
}

#[test]
fn damaged_sessions_newer_than_the_one_found_are_named() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let here = Path::new("/w");
    let folder = dirs.for_cwd(here);
    put(&folder, "good.jsonl", "good", here, 20);
    let damaged = "2026-01-02T03-04-05-006Z_x.jsonl";
    for (name, age) in
        [(damaged, 10), ("2026-01-02T03-04-05-006Z_old.jsonl", 30), ("junk.jsonl", 0)]
    {
        put(&folder, name, "x", here, age);
        let time = fs::metadata(folder.join(name)).expect("file").modified().expect("mtime");
        fs::write(folder.join(name), "{\"type\":\"session\",\"id\nand then\n").expect("write");
        let file = File::options().append(true).open(folder.join(name)).expect("open");
        file.set_modified(time).expect("mtime");
    }
    let newest = dirs.newest(here);
    assert_eq!(newest.found.expect("found").header.id, "good");
    assert_eq!(newest.damaged, [folder.join(damaged)], "not what is older or never was a session");
}

#[test]
fn no_more_heads_are_read_than_needed() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let here = Path::new("/w");
    put(&dirs.for_cwd(here), "2026-01-02T03-04-05-006Z_a.jsonl", "a", here, 20);
    put(&dirs.for_cwd(here), "2026-01-02T03-04-05-006Z_b.jsonl", "b", here, 10);
    fs::write(dirs.for_cwd(here).join("2026-01-02T03-04-05-006Z_a.jsonl"), "broken")
        .expect("write");
    put(&dirs.for_cwd(here), "2026-01-02T03-04-05-006Z_c.jsonl", "c", here, 0);
    let newest = dirs.newest(here);
    assert_eq!(newest.found.expect("found").header.id, "c");
    assert_eq!(newest.damaged, [] as [PathBuf; 0]);
}

#[test]
fn paths_differ_by_case_but_for_windows() {
    let (upper, lower) = (Path::new("C:/Users/Me"), Path::new("c:/users/me"));
    for (ignores_case, expected) in [(true, true), (false, false)] {
        assert_eq!(is_same_path(upper, lower, ignores_case), expected);
        assert!(is_same_path(upper, upper, ignores_case));
    }
}

#[cfg(unix)]
#[test]
fn a_file_with_a_link_beside_it_is_one_session() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let here = Path::new("/w");
    let folder = dirs.for_cwd(here);
    put(&folder, "b.jsonl", "abc", here, 0);
    std::os::unix::fs::symlink(folder.join("b.jsonl"), folder.join("a.jsonl")).expect("link");
    std::os::unix::fs::symlink(folder.join("b.jsonl"), folder.join("c.jsonl")).expect("link");
    let found = dirs.by_id("ab", here);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path, folder.join("b.jsonl"));
}

#[test]
fn a_flat_folder_is_still_limited_to_the_directory() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::Flat(root.path().to_owned());
    put(root.path(), "1.jsonl", "mine", Path::new("/w/a"), 10);
    put(root.path(), "2.jsonl", "other", Path::new("/w/b"), 0);
    assert_eq!(newest(&dirs, Path::new("/w/a")).expect("found").header.id, "mine");
    assert_eq!(newest(&dirs, Path::new("/w/c")), None);
}

#[test]
fn ids_are_found_here_first_then_everywhere_exact_before_prefix() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let (here, there) = (Path::new("/w/a"), Path::new("/w/b"));
    put(&dirs.for_cwd(here), "1.jsonl", "abc-1", here, 20);
    put(&dirs.for_cwd(here), "2.jsonl", "abc-1-2", here, 10);
    put(&dirs.for_cwd(there), "3.jsonl", "abc-9", there, 0);
    let find = |id: &str| -> Vec<(String, bool)> {
        dirs.by_id(id, here).into_iter().map(|found| (found.header.id, found.is_here)).collect()
    };
    let found = |id: &str, is_here| (id.to_owned(), is_here);
    assert_eq!(find("abc-1"), [found("abc-1", true)]);
    assert_eq!(find("abc-1-"), [found("abc-1-2", true)]);
    assert_eq!(find("abc"), [found("abc-1-2", true), found("abc-1", true)], "newest first");
    assert_eq!(find("abc-9"), [found("abc-9", false)]);
    assert_eq!((find("zzz"), find("")), (vec![], vec![]));
    assert!(dirs.by_exact_id("abc", here).is_none());
    assert_eq!(dirs.by_exact_id("abc-1", here).expect("found").header.id, "abc-1");
    assert!(dirs.by_exact_id("abc-9", here).is_none());
}

#[test]
fn a_session_that_names_no_directory_is_at_home_in_a_projects_own_folder() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let here = Path::new("/w/a");
    put(&dirs.for_cwd(here), "old.jsonl", "old", Path::new(""), 0);
    assert_eq!(newest(&dirs, here).expect("found").header.id, "old");
    assert!(dirs.by_exact_id("old", here).is_some());
    assert!(dirs.by_id("ol", here)[0].is_here);
}

#[test]
fn an_exact_id_is_found_in_files_of_any_name() {
    let root = tempfile::tempdir().expect("temp dir");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    let here = Path::new("/w/a");
    for name in
        ["copy.jsonl", "2026-01-02T03-04-05-006Z_abc.jsonl", "2026-01-02T03-04-05-006Z_abc-2.jsonl"]
    {
        put(&dirs.for_cwd(here), name, "abc", here, 0);
        assert!(dirs.by_exact_id("abc", here).is_some(), "{name}");
        assert!(dirs.by_exact_id("ab", here).is_none(), "{name}");
        fs::remove_file(dirs.for_cwd(here).join(name)).expect("remove");
    }
}

#[cfg(unix)]
#[test]
fn linked_folders_are_searched() {
    let (root, far) = (tempfile::tempdir().expect("dir"), tempfile::tempdir().expect("dir"));
    put(far.path(), "1.jsonl", "linked", Path::new("/w/x"), 0);
    std::os::unix::fs::symlink(far.path(), root.path().join("--w-x--")).expect("link");
    let dirs = SessionDir::PerProject(root.path().to_owned());
    assert_eq!(dirs.by_id("link", Path::new("/w/y")).len(), 1);
    assert!(newest(&dirs, Path::new("/w/x")).is_some());
}

#[test]
fn heads_are_read_within_bounds() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("a.jsonl");
    let header = r#"{"type":"session","id":"s"}"#;
    for (text, readable) in [
        (format!("{header}\n"), true),
        (format!("\nbroken\n{header}\n"), true),
        (header.to_owned(), true),
        ("{\"type\":\"message\"}\n".to_owned(), false),
        (format!("{}\n{header}\n", "x".repeat(70_000)), false),
        (String::new(), false),
    ] {
        fs::write(&path, &text).expect("write");
        assert_eq!(read_header(&path).is_some(), readable, "{text:.40}");
    }
}
