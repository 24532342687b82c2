//! Conversations that grow too long.

use pi_test::{Reply, Signal, Tokens, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, kinds, without_updates};

/// Takes 455 tokens, by its length.
fn long(word: &str) -> String {
    format!("{word} {}", "quick ".repeat(303))
}

fn answer(text: &str, input: u64) -> Reply {
    let tokens = Tokens { input, output: 500, ..Tokens::default() };
    Reply::turn(Turn::from(text).tokens(tokens))
}

/// A window of 32,000 tokens of which 8,000 stay free.
async fn bed(replies: impl IntoIterator<Item = Reply>) -> Bed {
    let bed = Bed::new(replies).await;
    bed.settings(&json!({"compaction": {"reserveTokens": 8000, "keepRecentTokens": 300}}));
    bed
}

/// Each message of a request as one text.
fn messages(body: &Value) -> Vec<String> {
    let is_system = |role: &Value| role == "system" || role == "developer";
    let messages = body["messages"].as_array().unwrap().iter();
    messages.filter(|m| !is_system(&m["role"])).map(|m| m["content"].to_string()).collect()
}

#[tokio::test]
async fn a_run_that_ends_near_the_window_is_followed_by_a_compaction() {
    for wire in WIRES {
        let small = wire.replace("plain", "small");
        let replies = [
            answer("Alpha.", 1000),
            answer("Beta.", 25_000),
            answer("## Goal\nA summary", 100),
            answer("Gamma.", 2000),
        ];
        let bed = bed(replies).await;
        let texts = ["ALPHA", "BETA", "GAMMA"].map(long);
        let args = ["--model", &small, "--mode", "json", &texts[0], &texts[1], &texts[2]];
        let ended = bed.pi(args).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{wire}");
        let records = ended.records();
        let told = without_updates(&records);
        let at = told.iter().position(|kind| kind == "compaction_start").expect("compaction");
        assert_eq!(
            told.get(at - 1..at + 4).unwrap(),
            ["agent_end", "compaction_start", "compaction_end", "agent_settled", "agent_start"]
        );
        let end = records.iter().find(|record| record["type"] == "compaction_end").unwrap();
        assert_eq!(
            (&end["reason"], &end["aborted"], &end["willRetry"]),
            (&json!("threshold"), &json!(false), &json!(false))
        );
        let session = bed.session();
        let entry = session.iter().find(|line| line["type"] == "compaction").unwrap();
        let kept = session.iter().find(|line| line["id"] == entry["firstKeptEntryId"]).unwrap();
        assert!(kept["message"]["content"].to_string().contains("BETA"), "{wire}");
        assert_eq!(entry["summary"], end["result"]["summary"], "{wire}");
        assert_eq!(entry["systemMessage"]["role"], "system", "{wire}");

        let bodies = bed.bodies();
        assert!(bodies[2].get("tools").is_none(), "{wire}: a summary needs no tools");
        let sent = messages(&bodies[3]);
        assert_eq!(sent.len(), 4, "{wire}: summary, question, answer, question");
        assert!(sent[0].contains("<summary>\\n## Goal\\nA summary\\n</summary>"), "{}", sent[0]);
        assert!(sent[1].contains("BETA") && sent[3].contains("GAMMA"), "{wire}");

        bed.server.push(answer("Delta.", 2100));
        bed.pi(["-c", "-p", "DELTA"]).run().await;
        let resumed = bed.bodies().pop().unwrap();
        assert_eq!(messages(&resumed).get(..2), Some(&sent[..2]), "{wire}: it is read back");
        assert_eq!(kinds(&bed.session()).iter().filter(|kind| **kind == "system").count(), 1);
    }
}

#[tokio::test]
async fn a_request_that_was_too_long_is_sent_again_behind_a_summary() {
    let replies = [
        answer("Alpha.", 100),
        answer("Beta.", 100),
        Reply::error(400, "prompt is too long: 213462 tokens > 200000 maximum"),
        answer("## Goal\nA summary", 100),
        answer("Gamma.", 100),
    ];
    let bed = bed(replies).await;
    let texts = ["ALPHA", "BETA"].map(long);
    let ended = bed.pi(["-p", &texts[0], &texts[1], "GAMMA"]).run().await;
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (Some(0), "Gamma.\n", "")
    );
    let expected = ["user", "assistant", "context_edit", "compaction", "assistant"];
    assert_eq!(kinds(&bed.session()).get(8..).unwrap(), expected, "no second question");
}

#[tokio::test]
async fn a_request_that_stays_too_long_is_an_error_with_both_reasons() {
    let replies = [
        answer("Alpha.", 100),
        answer("Beta.", 100),
        Reply::error(400, "prompt is too long: 213462 tokens > 200000 maximum"),
        Reply::error(401, "no key for summaries"),
        answer("Delta.", 100),
    ];
    let bed = bed(replies).await;
    let texts = ["ALPHA", "BETA", "GAMMA"].map(long);
    let ended = bed.pi(["-p", &texts[0], &texts[1], &texts[2]]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("prompt is too long"), "{}", ended.stderr);
    let recovery = "Context overflow recovery failed: ";
    assert!(ended.stderr.contains(recovery), "{}", ended.stderr);
    assert!(ended.stderr.contains("no key for summaries"), "{}", ended.stderr);
    assert!(!kinds(&bed.session()).contains(&"compaction"));

    let ended = bed.pi(["-c", "-p", "DELTA"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Delta.\n"), "the session goes on");
}

#[tokio::test]
async fn compaction_can_be_switched_off() {
    let bed = Bed::new([answer("Alpha.", 31_000), answer("Beta.", 31_500)]).await;
    let section = json!({"enabled": false, "reserveTokens": 8000, "keepRecentTokens": 1});
    bed.settings(&json!({"compaction": section}));
    let ended = bed.pi(["--model", "fx-anthropic/m-small", "-p", "a", "b"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Beta.\n"));
    assert!(!kinds(&bed.session()).contains(&"compaction"));
}

#[tokio::test]
async fn a_size_that_makes_no_sense_stops_pi_and_another_models_is_a_warning() {
    let bed = Bed::new([answer("Hi.", 10)]).await;
    bed.settings(&json!({"compaction": {"reserveTokens": -5}}));
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    let text =
        "Invalid compaction.reserveTokens setting: -5. Expected a non-negative safe integer.";
    assert!(ended.stderr.contains(text), "{}", ended.stderr);
    assert!(bed.scratch.session_files().unwrap().is_empty(), "nothing is stored");

    let overrides = json!({"x/y": {"keepRecentTokens": 1.5}});
    bed.settings(&json!({"compaction": {"modelOverrides": overrides}}));
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hi.\n"));
    assert!(ended.stderr.contains("modelOverrides[\"x/y\"].keepRecentTokens"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_session_goes_on_with_the_tools_it_was_left_with() {
    let bed = Bed::new(["One.", "Two.", "Three."]).await;
    bed.pi(["--tools", "read", "-p", "a"]).run().await;
    bed.pi(["-c", "-p", "b"]).run().await;
    bed.pi(["-c", "--tools", "read,bash", "-p", "c"]).run().await;
    let names = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let bodies = bed.bodies();
    assert_eq!(names(&bodies[0]), ["read"]);
    assert_eq!(names(&bodies[1]), ["read"]);
    assert_eq!(names(&bodies[2]), ["read", "bash"]);
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_told_and_left_out() {
    let bed = Bed::new(["One.", "Two."]).await;
    bed.pi(["-p", "a"]).run().await;
    let file = bed.session_file();
    let mut text = std::fs::read_to_string(&file).unwrap();
    let last = bed.session().pop().unwrap()["id"].as_str().unwrap().to_owned();
    let entry = json!({"type": "message", "id": "bad00000", "parentId": last, "timestamp": "",
        "message": {"role": "user", "content": 5}});
    text.push_str(&entry.to_string());
    text.push('\n');
    std::fs::write(&file, text).unwrap();
    let ended = bed.pi(["-c", "-p", "b"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Two.\n"));
    assert!(ended.stderr.contains("entry bad00000 is left out of the context"), "{}", ended.stderr);
}

#[tokio::test]
async fn the_last_answer_does_not_wait_for_the_compaction_behind_it() {
    let bed = bed([answer("Alpha.", 1000), answer("Beta.", 25_000), Reply::never()]).await;
    let (first, second) = (long("ALPHA"), long("BETA"));
    let args = ["--model", "fx-anthropic/m-small", "-p", &first, &second];
    let mut running = bed.pi(args).start();
    bed.server.wait_for_requests(3).await;
    assert_eq!(running.line_with("Beta.").await.trim_end(), "Beta.");
    running.signal(Signal::TERM);
    assert_eq!(running.end().await.code, Some(143));
}

#[tokio::test]
async fn a_compaction_that_fails_is_told() {
    let replies = [answer("Alpha.", 1000), answer("Beta.", 25_000), Reply::error(401, "no key")];
    let bed = bed(replies).await;
    let (first, second) = (long("ALPHA"), long("BETA"));
    let args = ["--model", "fx-anthropic/m-small", "-p", &first, &second];
    let ended = bed.pi(args).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Beta.\n"));
    assert!(ended.stderr.contains("Auto-compaction failed: "), "{}", ended.stderr);
}

#[tokio::test]
async fn nothing_is_asked_when_nothing_can_be_kept() {
    let bed = Bed::new([answer("Never.", 10)]).await;
    std::fs::write(bed.scratch.agent().join("sessions"), "in the way").unwrap();
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("Cannot write session file"), "{}", ended.stderr);
    assert!(bed.bodies().is_empty());
}
