//! What a run leaves on disk, line by line.

use std::path::Path;

use pi_test::{Reply, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, kinds};

#[tokio::test]
async fn the_first_prompt_writes_everything_before_the_answer_ends() {
    for model in WIRES {
        let bed = Bed::new([Reply::never()]).await;
        let args = ["--model", model, "--name", "a\nb", "-p", "hi"];
        let running = bed.pi(args).start();
        bed.server.wait_for_requests(1).await;
        let session = bed.session();
        let expected =
            ["session", "model_change", "thinking_level_change", "session_info", "system", "user"];
        assert_eq!(kinds(&session), expected, "{model}");
        let parents: Vec<&Value> = session.iter().skip(2).map(|line| &line["parentId"]).collect();
        let ids: Vec<&Value> = session.iter().skip(1).map(|line| &line["id"]).collect();
        assert_eq!(parents, ids[..4], "{model}: one chain");
        assert_eq!(session[1]["parentId"], Value::Null, "{model}");
        assert_eq!(session[3]["name"], "a b", "{model}");
        let short = |id: &&Value| {
            let id = id.as_str().unwrap();
            id.len() == 8 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        assert!(ids.iter().all(short), "{model}: {ids:?}");
        drop(running);
    }
}

#[tokio::test]
async fn the_file_is_named_after_its_time_and_id_in_the_folder_of_its_project() {
    let bed = Bed::new(["Hi."]).await;
    let here = bed.scratch.ws().join("we ird:dir\u{fc}");
    std::fs::create_dir(&here).unwrap();
    bed.pi(["-p", "hi"]).current_dir(&here).run().await;
    let file = bed.session_file();
    let header = &bed.session()[0];
    let encoded = here.to_str().unwrap().strip_prefix('/').unwrap().replace(['/', ':'], "-");
    assert_eq!(file.parent().unwrap().file_name().unwrap(), format!("--{encoded}--").as_str());
    let time = header["timestamp"].as_str().unwrap().replace([':', '.'], "-");
    let id = header["id"].as_str().unwrap();
    assert_eq!(file.file_name().unwrap(), format!("{time}_{id}.jsonl").as_str());
    assert_eq!(id.as_bytes()[14], b'7', "a UUID of version 7: {id}");
    assert_eq!((&header["version"], &header["cwd"]), (&json!(3), &json!(here)));
}

#[tokio::test]
async fn nothing_is_kept_of_a_run_without_session() {
    let bed = Bed::new(["Hi."]).await;
    assert_eq!(bed.pi(["--no-session", "--name", "x", "-p", "hi"]).run().await.code, Some(0));
    assert!(!bed.scratch.agent().join("sessions").exists());
}

#[tokio::test]
async fn going_on_appends_the_new_messages_and_nothing_else() {
    for model in WIRES {
        let bed = Bed::new(["One.", "Two."]).await;
        bed.pi(["--model", model, "-p", "a"]).run().await;
        let before = std::fs::read(bed.session_file()).unwrap();
        // The session's model, not the default one.
        bed.pi(["-c", "-p", "b"]).run().await;
        let after = std::fs::read(bed.session_file()).unwrap();
        assert!(after.starts_with(&before), "{model}: what was there stays");
        let session = bed.session();
        assert_eq!(kinds(&session).get(6..).unwrap(), ["user", "assistant"], "{model}");
        let bodies = bed.bodies();
        assert_eq!(bodies[0]["model"], bodies[1]["model"], "{model}");
        assert_eq!(bodies[0]["system"], bodies[1]["system"], "{model}: the prompt is stable");
        assert_eq!(bodies[0]["tools"], bodies[1]["tools"], "{model}");
    }
}

#[tokio::test]
async fn what_changed_since_is_recorded_before_the_next_message() {
    let bed = Bed::new(["One.", "Two."]).await;
    bed.pi(["-p", "a"]).run().await;
    let args = ["-c", "--model", "fx-openai/m-think", "--thinking", "high", "--tools", "read"];
    bed.pi(args.into_iter().chain(["-p", "b"])).run().await;
    let session = bed.session();
    let expected = ["thinking_level_change", "model_change", "system", "user", "assistant"];
    assert_eq!(kinds(&session).get(6..).unwrap(), expected);
    assert_eq!(session[6]["thinkingLevel"], "high");
    assert_eq!(
        (&session[7]["provider"], &session[7]["modelId"]),
        (&json!("fx-openai"), &json!("m-think"))
    );
    let removed: Vec<&Value> = session[8]["message"]["toolsRemoved"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(removed, ["bash", "edit", "write"]);
}

#[tokio::test]
async fn a_torn_last_line_is_closed_and_kept() {
    let bed = Bed::new(["One.", "Two."]).await;
    bed.pi(["-p", "a"]).run().await;
    let file = bed.session_file();
    let whole = std::fs::read_to_string(&file).unwrap();
    let torn = format!("{whole}{{\"type\":\"message\",\"id\":\"deadbeef\",\"mess");
    std::fs::write(&file, &torn).unwrap();
    let ended = bed.pi(["-c", "-p", "b"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Two.\n"));
    let text = std::fs::read_to_string(&file).unwrap();
    let added = text.strip_prefix(&format!("{torn}\n")).unwrap();
    let user: Value = serde_json::from_str(added.lines().next().unwrap()).unwrap();
    let last: Value = serde_json::from_str(whole.lines().last().unwrap()).unwrap();
    assert_eq!(user["message"]["role"], "user");
    assert_eq!(user["parentId"], last["id"], "the torn line is nobody's parent");
}

#[tokio::test]
async fn two_runs_on_one_session_lose_nothing() {
    let bed = Bed::new(["Zero."]).await;
    bed.pi(["-p", "start"]).run().await;
    bed.server.always(|_| Reply::turn("Yes."));
    let file = bed.session_file();
    let path = file.to_str().unwrap();
    let run = |text| bed.pi(["--session", path, "-p", text, text, text]).run();
    let (a, b) = tokio::join!(run("from a"), run("from b"));
    assert_eq!((a.code, b.code), (Some(0), Some(0)), "{} {}", a.stderr, b.stderr);
    let session = bed.session();
    let count = |role: &str| kinds(&session).iter().filter(|kind| **kind == role).count();
    assert_eq!((count("user"), count("assistant")), (7, 7));
    let ids: std::collections::BTreeSet<_> =
        session.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids.len(), session.len(), "no id is given twice");
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_one_clear_error() {
    let bed = Bed::new(Vec::<Reply>::new()).await;
    bed.server.always(|_| Reply::turn("Yes."));
    let blocked = bed.scratch.write("ws/blocked", "a file").unwrap();
    for mode in [&["-p"][..], &["--mode", "json"]] {
        let args = [mode, &["--session-dir", blocked.to_str().unwrap(), "hi"]].concat();
        let ended = bed.pi(args).run().await;
        assert_eq!(ended.code, Some(1), "{mode:?}");
        assert!(ended.stderr.starts_with("Error: "), "{}", ended.stderr);
        assert!(ended.stderr.contains("blocked"), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

#[tokio::test]
async fn a_session_of_another_program_goes_on_with_its_history_and_keeps_its_bytes() {
    let text = include_str!("sessions/made-elsewhere.jsonl");
    let bed = Bed::new(["Second ANSWER"]).await;
    let text = text.replace("@WS@", bed.scratch.ws().to_str().unwrap());
    let file = bed.scratch.write("agent/old.jsonl", &text).unwrap();
    let ended = bed.pi(["--session", file.to_str().unwrap(), "-p", "Second QUESTION"]).run().await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "Second ANSWER\n"),
        "{}",
        ended.stderr
    );
    let after = std::fs::read_to_string(&file).unwrap();
    let added = after.strip_prefix(&text).unwrap();
    let added: Vec<Value> = added.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(kinds(&added), ["system", "user", "assistant"], "its model and level go on");
    assert_eq!(added[0]["parentId"], "0000000a");

    let body = &bed.bodies()[0];
    assert_eq!(body["model"], "m-small");
    let sent: Vec<(String, String)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .map(|m| (m["role"].as_str().unwrap().to_owned(), crate::bed::text(m)))
        .collect();
    let sent: Vec<(&str, &str)> =
        sent.iter().map(|(role, text)| (role.as_str(), text.as_str())).collect();
    assert_eq!(
        sent,
        [
            ("user", "First QUESTION"),
            ("assistant", ""),
            ("tool", "the CONTENT"),
            ("assistant", "First ANSWER"),
            ("user", "Ran `date`\n```\ntoday\n\n```"),
            ("user", "A NOTE"),
            ("user", "Second QUESTION"),
        ]
    );
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "call_9");
}

/// Sessions of the original, brought here: same lines, another directory.
#[tokio::test]
async fn sessions_of_the_original_go_on() {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return;
    };
    let fixtures = shared.join("spec/fixtures");
    for (name, needles) in [
        (
            "session-basic",
            &["SAY one", "bashout", "Tool done: hello", "cxcontent", "SAY fromext"][..],
        ),
        ("session-branch-summary", &["<summary>"]),
        ("session-compactions", &["<summary>"]),
        ("session-cloned", &[]),
        ("session-forked", &[]),
        ("session-v1-input", &[]),
        ("session-v1-migrated-then-prompted", &[]),
    ] {
        for model in WIRES {
            let text =
                std::fs::read_to_string(fixtures.join(name).with_extension("jsonl")).unwrap();
            let bed = Bed::new([Turn::from("On we go.")]).await;
            let file = bed.scratch.write("agent/s.jsonl", moved(&text, &bed.scratch.ws())).unwrap();
            let before = std::fs::read_to_string(&file).unwrap();
            let args = ["--model", model, "--session", file.to_str().unwrap(), "-p", "NEXT"];
            let ended = bed.pi(args).run().await;
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (Some(0), "On we go.\n"),
                "{name} {}",
                ended.stderr
            );
            let after = std::fs::read_to_string(&file).unwrap();
            if !name.starts_with("session-v1-input") {
                assert!(after.starts_with(&before), "{name}: nothing is rewritten");
            }
            let body = bed.bodies()[0]["messages"].to_string();
            for needle in needles {
                assert!(body.contains(needle), "{name}: no {needle:?} in {body}");
            }
            assert_eq!(crate::bed::last_text(&bed.bodies()[0], "user"), "NEXT", "{name}");
        }
    }
}

/// The session with another directory in its header.
fn moved(text: &str, cwd: &Path) -> String {
    let (header, rest) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["cwd"] = json!(cwd);
    format!("{header}\n{rest}")
}
