use std::os::unix::fs::symlink;

use super::*;

mod attributes;
mod processes;

fn put(path: &Path, content: &str) {
    replace_file(&Stages::default(), path, content.as_bytes(), || Ok(())).unwrap();
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn mode_is_kept_and_nothing_is_left_beside() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.sh");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o754)).unwrap();
    let before = fs::metadata(&file).unwrap();
    put(&file, "new");
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(after.mode() & 0o7777, 0o754);
    assert_ne!(after.ino(), before.ino());
    assert_eq!(names(dir.path()), ["run.sh"]);
}

#[test]
fn a_new_file_gets_the_usual_mode() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("usual"), "").unwrap();
    put(&dir.path().join("new"), "x");
    let mode = |name| fs::metadata(dir.path().join(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("usual"));
}

#[test]
fn links_are_followed_and_stay_links() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("real"), "old").unwrap();
    symlink("real", dir.path().join("link")).unwrap();
    symlink("later", dir.path().join("dangling")).unwrap();
    put(&dir.path().join("link"), "new");
    put(&dir.path().join("dangling"), "made");
    assert_eq!(fs::read_to_string(dir.path().join("real")).unwrap(), "new");
    assert_eq!(fs::read_to_string(dir.path().join("later")).unwrap(), "made");
    assert!(dir.path().join("link").is_symlink() && dir.path().join("dangling").is_symlink());
}

#[test]
fn hard_links_keep_seeing_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    fs::write(&one, "old").unwrap();
    fs::hard_link(&one, &two).unwrap();
    put(&one, "new");
    assert_eq!(fs::read_to_string(&two).unwrap(), "new");
}

#[test]
fn a_file_written_in_place_becomes_longer_or_shorter_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    fs::write(&one, "old content").unwrap();
    fs::hard_link(&one, &two).unwrap();
    for content in ["new", "", "much longer new content", "much shorter"] {
        put(&one, content);
        assert_eq!(fs::read_to_string(&two).unwrap(), content);
    }
}

#[test]
fn a_refusal_before_the_commit_leaves_the_old_content() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    let refused =
        replace_file(&Stages::default(), &file, b"new", || Err(EnvErrorKind::Changed.into()));
    assert!(refused.is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(names(dir.path()), ["f"]);
}

#[test]
fn folders_and_devices_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = |path| match replace_file(&Stages::default(), path, b"x", || Ok(())) {
        Err(Refusal::Kind(kind)) => kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(refusal(dir.path()), EnvErrorKind::IsDirectory);
    assert_eq!(refusal(Path::new("/dev/null")), EnvErrorKind::NotRegularFile);
}

#[test]
fn what_is_half_written_is_removed_before_the_process_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "old").unwrap();
    let stages = Stages::default();
    let ended = replace_file(&stages, &file, b"new", || {
        assert_eq!(names(dir.path()).len(), 2);
        stages.remove_all();
        assert_eq!(names(dir.path()), ["f"]);
        Ok(())
    });
    assert!(ended.is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    let late = replace_file(&stages, &file, b"new", || Ok(()));
    assert!(matches!(late, Err(Refusal::Kind(EnvErrorKind::Aborted))));
    assert_eq!(
        (fs::read_to_string(&file).unwrap().as_str(), names(dir.path())),
        ("old", vec!["f".into()])
    );
}
