//! The tools reach files and processes through their environment alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::testing::{Bed, Elsewhere, Tools, Updates, text_of};

/// A scratch folder that the tools know as `/`, with `project`, `home` and `tmp` in it. No such
/// project exists on the machine.
fn moved(bed: &Bed) -> Elsewhere {
    assert!(!std::path::Path::new("/project").exists());
    fs::create_dir(bed.root().join("project")).unwrap();
    fs::write(bed.root().join("project/f"), "one\ntwo\n").unwrap();
    Elsewhere::moved(bed.env(), bed.root())
}

async fn text(tools: &Tools, name: &str, arguments: Value) -> String {
    match tools.call(name, arguments).await {
        Ok(output) => text_of(&output),
        Err(error) => error.0,
    }
}

fn edit_of(path: &str) -> Value {
    json!({"path": path, "edits": [{"oldText": "two", "newText": "2"}]})
}

#[tokio::test]
async fn searches_are_those_of_the_environment() {
    let bed = Bed::new();
    let tools = bed.tools_in(Arc::new(moved(&bed)));
    let grep = json!({"pattern": "TWO", "ignoreCase": true, "context": 1});
    assert_eq!(text(&tools, "grep", grep).await, "f-1- one\nf:2: two");
    assert_eq!(text(&tools, "grep", json!({"pattern": "two", "path": "f"})).await, "f:2: two");
    assert_eq!(text(&tools, "find", json!({"pattern": "/project/*"})).await, "f");
    assert_eq!(
        text(&tools, "ls", json!({"path": "/"})).await,
        "agent/\nhome/\nproject/\ntmp/\nwork/"
    );
    assert_eq!(text(&tools, "ls", json!({"path": "/no"})).await, "Path not found: /no");
}

#[tokio::test]
async fn files_and_commands_are_those_of_the_environment() {
    let bed = Bed::new();
    let env = Arc::new(moved(&bed));
    let tools = bed.tools_in(Arc::<Elsewhere>::clone(&env));
    assert_eq!(text(&tools, "read", json!({"path": "f"})).await, "one\ntwo\n");
    assert_eq!(text(&tools, "edit", edit_of("f")).await, "Successfully replaced 1 block(s) in f.");
    let written = text(&tools, "write", json!({"path": "~/a/b", "content": "new"})).await;
    assert_eq!(written, "Successfully wrote to ~/a/b");
    assert_eq!(text(&tools, "bash", json!({"command": "cat f"})).await, "one\n2\n");
    assert_eq!(fs::read(bed.root().join("project/f")).unwrap(), b"one\n2\n");
    assert_eq!(fs::read(bed.root().join("home/a/b")).unwrap(), b"new");
    assert_eq!(
        env.calls(),
        [
            "open /project/f",
            "open /project/f",
            "replace /project/f",
            "make_dirs /home/a",
            "replace /home/a/b",
            "stat /bin/bash",
            &format!("stat {}/agent/bin/bash", bed.root().display()),
            "stat /usr/local/bin/bash",
            "stat /usr/bin/bash",
            "stat /bin/bash",
            "spawn /project",
        ]
    );
}

#[tokio::test]
async fn the_shell_and_the_file_of_long_output_are_the_environments_too() {
    let mut bed = Bed::new();
    let env = Arc::new(moved(&bed));
    let shell = bed.root().join("project/shell");
    fs::write(&shell, "#!/bin/sh\necho \"mine: $2\"\nexec sh \"$@\"\n").unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    bed.shell = Some("/project/shell".to_owned());
    let tools = bed.tools_in(Arc::<Elsewhere>::clone(&env));
    let output = tools.call("bash", json!({"command": "seq 1 3000"})).await.unwrap();
    let path = output.details.unwrap()["fullOutputPath"].as_str().unwrap().to_owned();
    let real = bed.root().join("tmp").join(path.strip_prefix("/tmp/").unwrap());
    let kept = fs::read_to_string(&real).unwrap();
    assert!(kept.starts_with("mine: seq 1 3000\n1\n") && kept.ends_with("\n3000\n"));
    assert_eq!(fs::metadata(real).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(env.calls(), ["stat /project/shell", "spawn /project", "temporary_file /tmp"]);
}

#[tokio::test]
async fn what_the_environment_denies_is_the_tools_error() {
    let bed = Bed::new();
    let env = moved(&bed).denying("/project");
    let tools = bed.tools_in(Arc::new(env));
    let cases = [
        ("read", json!({"path": "f"}), "EACCES: permission denied, access '/project/f'"),
        ("edit", edit_of("f"), "Could not edit file: f. Error code: EACCES."),
        (
            "write",
            json!({"path": "sub/f", "content": ""}),
            "EACCES: permission denied, mkdir '/project/sub'",
        ),
        (
            "bash",
            json!({"command": "true"}),
            "Cannot use the working directory /project: permission denied",
        ),
    ];
    for (name, arguments, want) in cases {
        assert_eq!(text(&tools, name, arguments).await, want);
    }
    assert_eq!(fs::read(bed.root().join("project/f")).unwrap(), b"one\ntwo\n");
    assert_eq!(fs::read_dir(bed.root().join("project")).unwrap().count(), 1);
    let written = text(&tools, "write", json!({"path": "/home/f", "content": "free"})).await;
    assert_eq!(written, "Successfully wrote to /home/f");
}

#[tokio::test]
async fn output_that_cannot_be_kept_is_told_and_shown() {
    let bed = Bed::new();
    let tools = bed.tools_in(Arc::new(moved(&bed).denying("/tmp")));
    let shown = text(&tools, "bash", json!({"command": "seq 1 3000"})).await;
    let end = "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output could not be saved: \
               permission denied]";
    assert!(shown.ends_with(end), "{shown}");
}

#[tokio::test]
async fn links_of_the_environment_share_one_line() {
    let bed = Bed::new();
    let env = Arc::new(moved(&bed));
    let gate = env.slow("replace");
    std::os::unix::fs::symlink("f", bed.root().join("project/link")).unwrap();
    let tools = bed.tools_in(Arc::<Elsewhere>::clone(&env));
    let start = |name, arguments| {
        tools.call_with(name, arguments, CancellationToken::new(), &Updates::default())
    };
    let write = start("write", json!({"path": "link", "content": "two three"}));
    let edit = start("edit", edit_of("f"));
    let release = async {
        // The edit must know who is at work before it can tell that it has to wait.
        let asked = || env.calls().contains(&"real_path /project/link".to_owned());
        for _ in 0..1000 {
            if asked() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        gate.release();
        asked()
    };
    // Polled the other way round.
    let (edit, write, asked) = tokio::join!(edit, write, release);
    assert!(asked);
    write.unwrap();
    edit.unwrap();
    assert_eq!(fs::read(bed.root().join("project/f")).unwrap(), b"2 three");
}
