//! Sessions that begin with the past of another, made by either program.

use std::path::{Path, PathBuf};

use pi_agent::session::{ForkPoint, new_session_id};
use pi_agent::session_dir::SessionDir;
use serde_json::{Value, json};

use super::bed::{Pair, SIDES, SMALL, lines};
use super::view::{assert_same, assert_same_view};
use crate::bed::text;

/// A session of ours with one more prompt, and the entry of that.
async fn source() -> Option<(Pair, PathBuf, String)> {
    let (pair, file) = super::ours_first::pair(SMALL[0]).await?;
    pair.bed.server.push("Answer gamma.");
    pair.ours(&["-c", "-p", "GAMMA"]).await;
    let gamma = lines(&file).into_iter().find(|line| text(&line["message"]) == "GAMMA").unwrap();
    let id = gamma["id"].as_str().unwrap().to_owned();
    Some((pair, file, id))
}

/// A fork of the session made with a command of theirs.
async fn their_fork(pair: &Pair, file: &Path, command: Value) -> PathBuf {
    let mut theirs = pair.theirs_on(file);
    theirs.call(command).await;
    let forked = theirs.get("state").await["sessionFile"].as_str().unwrap().into();
    theirs.end().await;
    forked
}

/// Our fork of the same, in the same folder.
fn our_fork(pair: &Pair, file: &Path, point: ForkPoint<'_>) -> PathBuf {
    let sessions = SessionDir::Flat(file.parent().unwrap().to_owned());
    let forked = sessions.fork(&pair.open(file), point, new_session_id()).unwrap();
    forked.session.path().unwrap().to_owned()
}

/// The lines of a fork without what is made up for it: its id and time, and the ids of labels.
fn comparable(file: &Path) -> Value {
    let mut lines = lines(file);
    for field in ["id", "timestamp"] {
        lines[0][field].take();
    }
    let mut text = Value::Array(lines.clone()).to_string();
    for (number, label) in lines.iter().filter(|line| line["type"] == "label").enumerate() {
        text = text.replace(label["id"].as_str().unwrap(), &format!("label {number}"));
    }
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_fork_before_a_prompt_is_the_same_made_by_either() {
    let Some((pair, file, gamma)) = source().await else { return };
    let before = std::fs::read(&file).unwrap();
    let theirs = their_fork(&pair, &file, json!({"type": "fork", "entryId": gamma})).await;
    let ours = our_fork(&pair, &file, ForkPoint::Before(&gamma));
    assert_same("fork", &comparable(&theirs), &comparable(&ours));
    assert_same_view(&pair, &[&ours, &theirs]).await;
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn a_clone_is_the_same_made_by_either() {
    let Some((pair, file, _)) = source().await else { return };
    let theirs = their_fork(&pair, &file, json!({"type": "clone"})).await;
    let ours = our_fork(&pair, &file, ForkPoint::Leaf);
    assert_same("clone", &comparable(&theirs), &comparable(&ours));
    assert_same_view(&pair, &[&ours, &theirs]).await;
}

#[tokio::test]
async fn a_fork_from_the_command_line_is_the_same_made_by_either() {
    let Some((pair, file, gamma)) = source().await else { return };
    // A second branch, which goes along.
    let mut session = pair.open(&file);
    session.set_leaf(Some(&gamma)).unwrap();
    let name = Some("on the other branch".to_owned());
    session.append(pi_agent::session::EntryBody::SessionInfo { name }).unwrap();
    pair.bed.server.always(|_| "On.".into());
    let mut forks = Vec::new();
    for side in SIDES {
        let id = format!("by.{side:?}");
        let args = ["--fork", file.to_str().unwrap(), "--session-id", &id, "-p", "on"];
        pair.run(side, &args).await;
        let files = pair.bed.scratch.session_files().unwrap().into_iter();
        let mut files =
            files.filter(|file| file.to_str().unwrap().ends_with(&format!("_{id}.jsonl")));
        forks.push(files.next().unwrap());
    }
    let copied = lines(&file).len();
    let comparable = |fork: &Path| {
        let mut lines = comparable(fork);
        lines.as_array_mut().unwrap().truncate(copied);
        lines
    };
    assert_same("fork", &comparable(&forks[0]), &comparable(&forks[1]));
    assert_same_view(&pair, &[&forks[0], &forks[1]]).await;
}
