//! What only shows in a process of its own: a disk that takes no more, and a sudden end.

use std::env::{current_dir, current_exe};
use std::process::{Child, Command, Stdio};

use super::*;

/// A folder with this file in it is the working directory of a child.
const MARK: &str = "child";

/// Starts one test of this module again, in `dir`, after `preparation` by a shell.
fn child(test: &str, dir: &Path, preparation: &str) -> Child {
    fs::write(dir.join(MARK), "").unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    Command::new("sh")
        .args(["-c", &format!("{preparation} exec \"$0\" --exact \"$1\"")])
        .arg(current_exe().unwrap())
        .arg(format!("{module}::{test}"))
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn is_child() -> bool {
    current_dir().unwrap().join(MARK).exists()
}

#[test]
fn a_disk_that_takes_no_more_leaves_the_old_content_and_nothing_beside_it() {
    if is_child() {
        for name in ["alone", "linked", "new"] {
            let failed =
                replace_file(&Stages::default(), Path::new(name), &vec![b'n'; 1 << 20], || Ok(()));
            let Err(Refusal::Os(error)) = failed else { panic!("{name}: {failed:?}") };
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{name}");
        }
        return fs::write("done", "").unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    for name in ["alone", "linked"] {
        fs::write(dir.path().join(name), format!("old {name}")).unwrap();
    }
    fs::hard_link(dir.path().join("linked"), dir.path().join("other")).unwrap();
    let test = "a_disk_that_takes_no_more_leaves_the_old_content_and_nothing_beside_it";
    // Some files may grow to a few KiB then; what is written beyond fails in the middle.
    let mut child = child(test, dir.path(), "trap '' XFSZ; ulimit -f 8;");
    assert!(child.wait().unwrap().success());
    assert_eq!(names(dir.path()), ["alone", MARK, "done", "linked", "other"]);
    for name in ["alone", "linked"] {
        assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), format!("old {name}"));
    }
}

/// What the child of the next test writes again and again.
fn contents() -> [Vec<u8>; 2] {
    [vec![b'a'; 300_000], vec![b'b'; 200_000]]
}

#[test]
fn a_process_killed_at_any_time_leaves_the_old_or_the_new_content() {
    if is_child() {
        while is_child() {
            for content in contents() {
                replace_file(&Stages::default(), Path::new("f"), &content, || Ok(())).unwrap();
            }
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    let [first, second] = contents();
    fs::write(&file, &first).unwrap();
    let check = || {
        let content = fs::read(&file).unwrap();
        assert!(content == first || content == second, "{} bytes", content.len());
        content.len()
    };
    for changes in 0..12 {
        let test = "a_process_killed_at_any_time_leaves_the_old_or_the_new_content";
        let mut child = child(test, dir.path(), "");
        let (mut seen, mut last) = (0, check());
        while seen <= changes {
            assert!(child.try_wait().unwrap().is_none(), "the child has ended");
            let now = check();
            seen += u32::from(now != last);
            last = now;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        check();
    }
    let mut left = names(dir.path());
    left.retain(|name| !name.starts_with(".pi-"));
    assert_eq!(left, [MARK, "f"]);
}
