//! Which session a run goes on with, and where it lies.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pi_test::{Ended, Reply};
use serde_json::{Value, json};

use crate::bed::{Bed, last_text, roles};

/// A bed that always answers.
async fn talkative() -> Bed {
    let bed = Bed::new(Vec::<Reply>::new()).await;
    bed.server.always(|_| Reply::turn("Yes."));
    bed
}

async fn ok(bed: &Bed, args: &[&str]) -> Ended {
    let ended = bed.pi(args.iter().copied()).run().await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "Yes.\n"),
        "{args:?} {}",
        ended.stderr
    );
    ended
}

/// Runs a new session and gives its file.
async fn new_session(bed: &Bed, text: &str) -> PathBuf {
    let before = bed.scratch.session_files().unwrap();
    ok(bed, &["-p", text]).await;
    let after = bed.scratch.session_files().unwrap();
    after.into_iter().find(|file| !before.contains(file)).unwrap()
}

fn header(file: &Path) -> Value {
    header_of(&std::fs::read_to_string(file).unwrap())
}

fn header_of(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

fn id(file: &Path) -> String {
    header(file)["id"].as_str().unwrap().to_owned()
}

/// The first message the model was told in the last request.
fn first_text(bed: &Bed) -> String {
    let body = bed.bodies().pop().unwrap();
    crate::bed::text(&body["messages"][0])
}

fn count(bed: &Bed) -> usize {
    bed.scratch.session_files().unwrap().len()
}

#[tokio::test]
async fn continue_takes_the_session_whose_file_was_touched_last() {
    let bed = talkative().await;
    let old = new_session(&bed, "old").await;
    new_session(&bed, "new").await;
    let later = SystemTime::now() + Duration::from_secs(5);
    std::fs::File::options().append(true).open(old).unwrap().set_modified(later).unwrap();
    ok(&bed, &["-c", "-p", "on"]).await;
    assert_eq!(first_text(&bed), "old");
    assert_eq!(count(&bed), 2);
}

#[tokio::test]
async fn continue_looks_at_the_header_for_the_directory() {
    let bed = talkative().await;
    let mine = new_session(&bed, "mine").await;
    // Same folder name, other directory: `-` and `/` look alike there.
    let foreign = json!({"type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": bed.scratch.ws().to_str().unwrap().replace("/ws", "-ws")});
    std::fs::write(mine.with_file_name("9_x.jsonl"), format!("{foreign}\n")).unwrap();
    std::fs::write(mine.with_file_name("junk.jsonl"), "junk\n").unwrap();
    ok(&bed, &["-c", "-p", "on"]).await;
    assert_eq!(first_text(&bed), "mine");
}

#[tokio::test]
async fn continue_says_which_newer_session_is_damaged() {
    let bed = talkative().await;
    let good = new_session(&bed, "good").await;
    let damaged = new_session(&bed, "damaged").await;
    let text = std::fs::read_to_string(&damaged).unwrap();
    std::fs::write(&damaged, text.strip_prefix('{').unwrap()).unwrap();
    let later = SystemTime::now() + Duration::from_secs(5);
    std::fs::File::options().append(true).open(&damaged).unwrap().set_modified(later).unwrap();
    let ended = ok(&bed, &["-c", "-p", "on"]).await;
    assert_eq!(first_text(&bed), "good");
    let warning =
        format!("Warning: Not continued, its first line is damaged: {}\n", damaged.display());
    assert_eq!(ended.stderr, warning);
    assert!(std::fs::read_to_string(&good).unwrap().contains("\"on\""));
}

#[tokio::test]
async fn an_imported_session_that_names_no_directory_goes_on_in_this_one() {
    let bed = talkative().await;
    let old = new_session(&bed, "old").await;
    let text = std::fs::read_to_string(&old).unwrap();
    std::fs::remove_file(&old).unwrap();
    let mut head = header_of(&text);
    head["cwd"] = json!("");
    let source = bed.scratch.ws().join("backup.jsonl");
    let rest = text.split_once('\n').unwrap().1;
    std::fs::write(&source, format!("{head}\n{rest}")).unwrap();
    let root = old.parent().unwrap().parent().unwrap().to_owned();
    let dir = pi_agent::session_dir::SessionDir::PerProject(root);
    let copy = dir.import(&source, &bed.scratch.ws()).unwrap();
    assert_eq!(copy.parent(), old.parent());
    let id = head["id"].as_str().unwrap();
    for choice in [&["--session", copy.to_str().unwrap()][..], &["--session", id], &["-c"]] {
        ok(&bed, &[choice, &["-p", "on"]].concat()).await;
        assert_eq!(first_text(&bed), "old", "{choice:?}");
    }
    assert_eq!(count(&bed), 1);
}

#[tokio::test]
async fn continue_without_a_session_begins_one() {
    let bed = talkative().await;
    ok(&bed, &["-c", "-p", "hi"]).await;
    assert_eq!(count(&bed), 1);
}

#[tokio::test]
async fn a_session_is_found_by_path_id_and_beginning_of_an_id() {
    let bed = talkative().await;
    let file = new_session(&bed, "the one").await;
    new_session(&bed, "another").await;
    let id = id(&file);
    // Ids begin with the time, so only a long beginning tells two of one moment apart.
    let beginning = id.get(..30).unwrap();
    let relative =
        Path::new("..").join(file.strip_prefix(bed.scratch.ws().parent().unwrap()).unwrap());
    for name in [file.to_str().unwrap(), relative.to_str().unwrap(), &id, beginning] {
        ok(&bed, &["--session", name, "-p", "on"]).await;
        assert_eq!(first_text(&bed), "the one", "{name}");
    }
    assert_eq!(count(&bed), 2);
}

#[tokio::test]
async fn a_session_nobody_knows_is_an_error() {
    let bed = Bed::idle().await;
    let ended = bed.pi(["--session", "0123abcd", "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_eq!(ended.stderr, "Error: No session found matching '0123abcd'\n");
}

#[tokio::test]
async fn a_path_that_does_not_exist_becomes_a_session_there() {
    let bed = talkative().await;
    ok(&bed, &["--session", "deep/new.jsonl", "-p", "hi"]).await;
    let file = bed.scratch.ws().join("deep/new.jsonl");
    assert_eq!(header(&file)["cwd"], json!(bed.scratch.ws()));
    ok(&bed, &["--session", "deep/new.jsonl", "-p", "on"]).await;
    assert_eq!(first_text(&bed), "hi");
    assert_eq!(count(&bed), 0, "nothing in the usual place");
}

#[tokio::test]
async fn an_empty_file_becomes_a_session_and_garbage_stays_untouched() {
    let bed = talkative().await;
    let empty = bed.scratch.write("ws/empty.jsonl", "").unwrap();
    ok(&bed, &["--session", "empty.jsonl", "-p", "hi"]).await;
    assert_eq!(header(&empty)["type"], "session");

    let garbage = bed.scratch.write("ws/garbage.jsonl", "hello\nworld\n").unwrap();
    let ended = bed.pi(["--session", "garbage.jsonl", "-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    let message = format!("Error: Session file is not a valid pi session: {}\n", garbage.display());
    assert_eq!(ended.stderr, message);
    assert_eq!(std::fs::read_to_string(garbage).unwrap(), "hello\nworld\n");
}

#[tokio::test]
async fn an_exact_id_is_opened_or_made_with_a_warning() {
    let bed = talkative().await;
    let made = ok(&bed, &["--session-id", "my.task-1", "-p", "hi"]).await;
    assert!(
        made.stderr.starts_with("Warning: ") && made.stderr.contains("my.task-1"),
        "{}",
        made.stderr
    );
    assert_eq!(id(&bed.session_file()), "my.task-1");
    let opened = ok(&bed, &["--session-id", "my.task-1", "-p", "on"]).await;
    assert_eq!(opened.stderr, "");
    assert_eq!(first_text(&bed), "hi");
    assert_eq!(count(&bed), 1);
    for bad in ["", "-a", "a/b", "a b", "\u{e9}", "a."] {
        let ended = bed.pi(["--session-id", bad, "-p", "hi"]).run().await;
        assert_eq!(ended.code, Some(1), "{bad:?}");
        assert!(ended.stderr.starts_with("Error: "), "{bad:?}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn an_exact_id_without_session_is_only_an_id() {
    let bed = Bed::new(["Yes."]).await;
    let args = ["--mode", "json", "--no-session", "--session-id", "cache-me", "hi"];
    let ended = bed.pi(args).run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.records()[0]["id"], "cache-me");
    assert!(!bed.scratch.agent().join("sessions").exists());
}

#[tokio::test]
async fn the_option_wins_over_the_variable_and_the_variable_over_the_setting() {
    let bed = talkative().await;
    let files =
        |dir: &str| std::fs::read_dir(bed.scratch.ws().join(dir)).map_or(0, |files| files.count());
    bed.settings(&json!({"sessionDir": "by-setting"}));
    ok(&bed, &["-p", "hi"]).await;
    assert_eq!(files("by-setting"), 1, "relative to where pi runs");

    let variable = bed.scratch.ws().join("by-variable");
    let program = || bed.pi([]).env("PI_CODING_AGENT_SESSION_DIR", &variable);
    program().args(["-p", "hi"]).run().await;
    assert_eq!((files("by-setting"), files("by-variable")), (1, 1));

    program().args(["--session-dir", "by-option", "-p", "hi"]).run().await;
    assert_eq!((files("by-setting"), files("by-variable"), files("by-option")), (1, 1, 1));
    program().args(["--session-dir", "by-option", "-c", "-p", "on"]).run().await;
    assert_eq!(files("by-option"), 1, "found there again");
    assert_eq!(count(&bed), 0);
}

#[tokio::test]
async fn continue_in_a_shared_folder_stays_in_its_directory() {
    let bed = talkative().await;
    let dir = bed.scratch.ws().join("all");
    let run = |args: &[&str], cwd: &str| {
        let cwd = bed.scratch.ws().join(cwd);
        std::fs::create_dir_all(&cwd).unwrap();
        let dir = dir.to_str().unwrap();
        bed.pi([&["--session-dir", dir], args].concat()).current_dir(cwd).run()
    };
    run(&["-p", "from a"], "a").await;
    run(&["-p", "from b"], "b").await;
    run(&["-c", "-p", "on"], "a").await;
    assert_eq!(first_text(&bed), "from a");
}

#[tokio::test]
async fn a_session_of_another_directory_is_named_and_not_taken_without_a_terminal() {
    let bed = talkative().await;
    let file = new_session(&bed, "hi").await;
    let other = bed.scratch.ws().join("other");
    std::fs::create_dir(&other).unwrap();
    let before = std::fs::read(&file).unwrap();
    let requests = bed.bodies().len();
    for input in ["", "y\n"] {
        let program = bed.pi(["--session", &id(&file), "-p", "on"]).current_dir(&other);
        let ended = program.input(input).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
        let found = format!("Session found in different project: {}\n", bed.scratch.ws().display());
        assert!(ended.stderr.starts_with(&found), "{}", ended.stderr);
        assert!(ended.stderr.contains(&format!("pi --fork {}", id(&file))), "{}", ended.stderr);
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!((bed.bodies().len(), count(&bed)), (requests, 1));
}

#[tokio::test]
async fn a_session_given_by_path_runs_in_its_own_directory() {
    let bed = talkative().await;
    let file = new_session(&bed, "hi").await;
    let other = bed.scratch.ws().join("other");
    std::fs::create_dir(&other).unwrap();
    bed.scratch.write("ws/AGENTS.md", "HOME RULES").unwrap();
    let program = bed.pi(["--session", file.to_str().unwrap(), "-p", "on"]);
    assert_eq!(program.current_dir(&other).run().await.code, Some(0));
    let body = bed.bodies().pop().unwrap();
    assert!(body.to_string().contains("HOME RULES"), "{body}");
    assert!(!body.to_string().contains("ws/other"), "{body}");
}

#[tokio::test]
async fn a_session_whose_directory_is_gone_is_an_error_that_names_both() {
    let bed = talkative().await;
    let gone = bed.scratch.ws().join("gone");
    std::fs::create_dir(&gone).unwrap();
    bed.pi(["-p", "hi"]).current_dir(&gone).run().await;
    std::fs::remove_dir(&gone).unwrap();
    let file = bed.session_file();
    let ended = bed.pi(["--session", file.to_str().unwrap(), "-p", "on"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    for part in [gone.as_path(), &file, &bed.scratch.ws()] {
        assert!(ended.stderr.contains(part.to_str().unwrap()), "{}", ended.stderr);
    }
    assert_eq!(bed.server.requests().len(), 1);
}

#[tokio::test]
async fn a_resumed_session_sends_its_whole_history() {
    let bed = talkative().await;
    new_session(&bed, "one").await;
    ok(&bed, &["-c", "-p", "two"]).await;
    ok(&bed, &["-c", "-p", "three"]).await;
    let body = bed.bodies().pop().unwrap();
    assert_eq!(roles(&body), ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(last_text(&body, "user"), "three");
}

#[tokio::test]
async fn a_recorded_model_that_is_gone_is_told_and_replaced() {
    let bed = talkative().await;
    ok(&bed, &["--model", "fx-openai/m-small", "-p", "hi"]).await;
    let models = bed.scratch.read("agent/models.json").unwrap().replace("fx-openai", "fx-other");
    bed.scratch.write("agent/models.json", models).unwrap();
    let ended = ok(&bed, &["-c", "-p", "on"]).await;
    assert!(ended.stderr.starts_with("Warning: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("fx-openai/m-small"), "{}", ended.stderr);
    assert_eq!(bed.bodies().pop().unwrap()["model"], "m-plain");
}
