//! A session that begins with all that is in another.

use std::path::{Path, PathBuf};

use pi_test::{Ended, Reply};
use serde_json::{Value, json};

use crate::bed::{Bed, kinds};

/// A bed that always answers.
async fn talkative() -> Bed {
    let bed = Bed::new(Vec::<Reply>::new()).await;
    bed.server.always(|_| Reply::turn("Yes."));
    bed
}

/// A session of two branches, in a folder of its own.
fn source(bed: &Bed) -> PathBuf {
    let entry = |kind: &str, id: &str, parent: Value, role: &str| {
        json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": role, "content": [{"type": "text", "text": format!("text {id}")}],
                "provider": "fx-anthropic", "model": "m-plain", "api": "anthropic-messages",
                "stopReason": "stop", "timestamp": 1}})
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "src.1", "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": "/of/somebody/else"}),
        entry("message", "a", Value::Null, "user"),
        entry("message", "b", json!("a"), "assistant"),
        entry("message", "c", json!("b"), "user"),
        entry("message", "d", json!("b"), "user"),
        entry("message", "e", json!("d"), "assistant"),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    bed.scratch.write("ws/elsewhere/src.jsonl", &text).unwrap()
}

async fn fork(bed: &Bed, args: &[&str]) -> Ended {
    bed.pi(args.iter().copied()).run().await
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_fork_has_the_whole_history_and_goes_on_here() {
    let bed = talkative().await;
    let source = source(&bed);
    let before = std::fs::read(&source).unwrap();
    let ended = fork(&bed, &["--fork", "elsewhere/src.jsonl", "-p", "on"]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{}", ended.stderr);
    assert_eq!(std::fs::read(&source).unwrap(), before);

    let session = bed.session();
    assert_eq!(session[0]["cwd"], json!(bed.scratch.ws()));
    assert_eq!(session[0]["parentSession"], json!(source));
    assert_ne!(session[0]["id"], "src.1");
    assert_eq!(session[1..6], lines(&source)[1..]);
    assert_eq!(kinds(&session[6..])[..], ["thinking_level_change", "system", "user", "assistant"]);
    assert_eq!(session[6]["parentId"], "e");
    let told: Vec<String> =
        bed.bodies()[0]["messages"].as_array().unwrap().iter().map(crate::bed::text).collect();
    assert_eq!(told, ["text a", "text b", "text d", "text e", "on"]);
}

#[tokio::test]
async fn without_a_prompt_no_copy_is_left() {
    let bed = Bed::idle().await;
    source(&bed);
    let ended = fork(&bed, &["--fork", "elsewhere/src.jsonl", "-p"]).await;
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    assert!(bed.scratch.session_files().unwrap().is_empty());
}

#[tokio::test]
async fn a_session_of_any_directory_is_forked_by_id() {
    let bed = talkative().await;
    let there = bed.scratch.ws().join("there");
    std::fs::create_dir(&there).unwrap();
    bed.pi(["--session-id", "made-there", "-p", "hi"]).current_dir(&there).run().await;
    for name in ["made-there", "made-"] {
        let ended = fork(&bed, &["--fork", name, "--session-dir", "out", "-p", "on"]).await;
        let stderr = "Error: No session found matching ";
        assert!(ended.stderr.starts_with(stderr), "only where sessions are kept: {}", ended.stderr);
        let ended = fork(&bed, &["--fork", name, "-p", "on"]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{}", ended.stderr);
    }
    let files = bed.scratch.session_files().unwrap();
    assert_eq!(files.len(), 3);
    let parents = files.iter().filter(|file| !lines(file)[0]["parentSession"].is_null());
    assert_eq!(parents.count(), 2);
}

#[tokio::test]
async fn a_fork_can_have_an_id_of_choice_once() {
    let bed = talkative().await;
    source(&bed);
    let args = ["--fork", "elsewhere/src.jsonl", "--session-id", "mine", "-p", "on"];
    let ended = fork(&bed, &args).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let file = bed.session_file();
    assert_eq!(lines(&file)[0]["id"], "mine");
    let before = std::fs::read(&file).unwrap();
    let ended = fork(&bed, &args).await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stderr, "Error: Session already exists with id 'mine'\n");
    assert_eq!(std::fs::read(bed.session_file()).unwrap(), before);
}

#[tokio::test]
async fn what_cannot_be_forked_is_one_clear_error() {
    let bed = Bed::idle().await;
    source(&bed);
    let ws = bed.scratch.ws();
    bed.scratch.write("ws/junk.jsonl", "hello\n").unwrap();
    bed.scratch.write("ws/empty.jsonl", "").unwrap();
    let invalid = |name: &str| {
        let path = ws.join(name);
        format!("Cannot fork: source session file is empty or invalid: {}", path.display())
    };
    let src = "elsewhere/src.jsonl";
    for (args, message) in [
        (&["--fork", "nope"][..], "No session found matching 'nope'".to_owned()),
        (&["--fork", "./none.jsonl"], invalid("none.jsonl")),
        (&["--fork", "junk.jsonl"], invalid("junk.jsonl")),
        (&["--fork", "empty.jsonl"], invalid("empty.jsonl")),
        (&["--fork", src, "-c"], "--fork cannot be combined with --continue".to_owned()),
        (&["--fork", src, "--session", "x"], "--fork cannot be combined with --session".to_owned()),
        (
            &["--fork", src, "--no-session"],
            "--fork cannot be combined with --no-session".to_owned(),
        ),
    ] {
        let ended = fork(&bed, &[args, &["-p", "hi"]].concat()).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert_eq!(ended.stderr, format!("Error: {message}\n"), "{args:?}");
    }
    assert_eq!(bed.scratch.session_files().unwrap(), [] as [PathBuf; 0]);
    assert_eq!(std::fs::read_to_string(ws.join("empty.jsonl")).unwrap(), "");
}

#[tokio::test]
async fn a_torn_source_is_forked_with_a_warning() {
    let bed = talkative().await;
    let source = source(&bed);
    let torn = std::fs::read_to_string(&source).unwrap() + "{\"type\":\"mess";
    std::fs::write(&source, &torn).unwrap();
    let ended = fork(&bed, &["--fork", "elsewhere/src.jsonl", "-p", "on"]).await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.starts_with("Warning: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("src.jsonl"), "{}", ended.stderr);
    assert_eq!(bed.session().len(), 10);
    assert_eq!(std::fs::read_to_string(&source).unwrap(), torn);
}

#[tokio::test]
async fn a_run_that_cannot_begin_leaves_no_fork() {
    let bed = Bed::new(["One.", "Two."]).await;
    bed.pi(["-p", "a"]).run().await;
    let source = bed.session_file();
    let args = ["--fork", source.to_str().unwrap(), "--session-id", "copy", "-p"];
    let ended = bed.pi(args.into_iter().chain(["@nothing.md", "b"])).run().await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(bed.scratch.session_files().unwrap(), std::slice::from_ref(&source));
    let ended = bed.pi(args.into_iter().chain(["b"])).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Two.\n"), "{}", ended.stderr);
    assert_eq!(bed.scratch.session_files().unwrap().len(), 2);
}

#[tokio::test]
async fn a_session_that_is_no_file_is_refused_and_left_alone() {
    let bed = Bed::idle().await;
    let pipe = bed.scratch.ws().join("pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let folder = bed.scratch.ws().join("folder.jsonl");
    std::fs::create_dir(&folder).unwrap();
    for path in [&pipe, &folder] {
        let ended = bed.pi(["--session", path.to_str().unwrap(), "-p", "hi"]).run().await;
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains("it is not a regular file"), "{}", ended.stderr);
    }
    assert!(folder.is_dir() && pipe.exists());
}
