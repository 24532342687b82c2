//! JSON mode: the session header, then every event as one line.

use std::time::Duration;

use pi_test::{Block, Reply, Turn};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::bed::{Bed, WIRES, events, kinds};

#[tokio::test]
async fn a_plain_answer_is_told_from_the_header_to_the_settled_event() {
    for model in WIRES {
        let bed = Bed::new(["Hello, world. How are you?"]).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{model}");
        let records = ended.records();
        let expected = [
            "session",
            "agent_start",
            "turn_start",
            "message_start system",
            "message_end system",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "text_start",
            "text_delta",
            "text_delta",
            "text_delta",
            "text_end",
            "message_end assistant",
            "turn_end",
            "agent_end",
            "agent_settled",
        ];
        assert_eq!(events(&records), expected, "{model}");
        let session = bed.session();
        assert_eq!(records[0], session[0], "{model}: the header is the one on disk");
        let keys: Vec<&String> = records[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "version", "id", "timestamp", "cwd"], "{model}");

        let update = records.iter().find(|record| record["type"] == "message_update").unwrap();
        let keys: Vec<&String> = update.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "usage", "assistantMessageEvent"], "{model}");

        let end = records.iter().find(|record| record["type"] == "agent_end").unwrap();
        assert_eq!(end["willRetry"], false, "{model}");
        let stored: Vec<&Value> =
            session.iter().map(|line| &line["message"]).filter(|m| !m.is_null()).collect();
        let told: Vec<&Value> = end["messages"].as_array().unwrap().iter().collect();
        assert_eq!(told, stored, "{model}: what was told is what was stored");
        assert_eq!(records.last().unwrap()["aborted"], false, "{model}");
    }
}

#[tokio::test]
async fn each_prompt_has_its_own_group_and_the_prompt_is_told_once() {
    let bed = Bed::new(["One.", "Two."]).await;
    let records = bed.pi(["--mode", "json", "a", "b"]).run().await.records();
    let count = |name: &str| events(&records).iter().filter(|event| *event == name).count();
    assert_eq!(count("session"), 1);
    assert_eq!(count("agent_start"), 2);
    assert_eq!(count("agent_settled"), 2);
    assert_eq!(count("message_end system"), 1);
    assert_eq!(events(&records).last().unwrap(), "agent_settled");
}

#[tokio::test]
async fn a_session_that_is_not_kept_has_a_header_too() {
    let bed = Bed::new(["One."]).await;
    let ended = bed.pi(["--mode", "json", "--no-session", "a"]).run().await;
    assert_eq!(ended.code, Some(0));
    let header = &ended.records()[0];
    assert_eq!(header["type"], "session");
    assert_eq!(header["cwd"], json!(bed.scratch.ws()));
    assert!(!bed.scratch.agent().join("sessions").exists());
}

#[tokio::test]
async fn a_failed_answer_is_only_in_the_events() {
    for model in WIRES {
        let bed = Bed::new([Reply::error(403, "go away")]).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{model}");
        let records = ended.records();
        let told = events(&records);
        assert_eq!(
            told.get(7..).unwrap(),
            [
                "message_start assistant",
                "message_end assistant",
                "turn_end",
                "agent_end",
                "agent_settled"
            ],
            "{model}"
        );
        assert_eq!(records[7]["message"]["stopReason"], "error", "{model}: failed from its start");
        let message = records[8]["message"]["errorMessage"].as_str().unwrap();
        assert!(message.contains("go away"), "{model}: {message}");
        assert_eq!(kinds(&bed.session()).last(), Some(&"assistant"), "{model}");
    }
}

#[tokio::test]
async fn the_header_comes_before_a_start_that_fails() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/models.json", "{}").unwrap();
    bed.scratch.write("agent/settings.json", "{}").unwrap();
    let ended = bed.pi(["--mode", "json", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(events(&ended.records()), ["session"]);
    assert!(
        ended.stderr.starts_with("Error: No API key found for the selected model."),
        "{}",
        ended.stderr
    );
    assert_eq!(bed.scratch.session_files().unwrap().len(), 0);
}

#[tokio::test]
async fn thinking_and_text_are_blocks_of_their_own() {
    for model in ["fx-anthropic/m-think", "fx-openai/m-think"] {
        let bed = Bed::new([Turn::new([Block::thinking("Hm."), Block::text("Yes.")])]).await;
        let records = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await.records();
        let of = |kind: &str| {
            records
                .iter()
                .map(|record| &record["assistantMessageEvent"])
                .find(|event| event["type"] == kind)
                .cloned()
                .unwrap()
        };
        assert_eq!(
            of("thinking_end"),
            json!({"type": "thinking_end", "contentIndex": 0, "content": "Hm."}),
            "{model}"
        );
        assert_eq!(
            of("text_end"),
            json!({"type": "text_end", "contentIndex": 1, "content": "Yes."}),
            "{model}"
        );
    }
}

#[tokio::test]
async fn line_separators_of_unicode_do_not_end_a_record() {
    let answer = "a\u{2028}b\u{2029}c\r\nd\u{0}";
    let bed = Bed::new([answer]).await;
    let ended = bed.pi(["--mode", "json", "hi"]).run().await;
    assert!(ended.stdout.contains('\u{2028}') && ended.stdout.contains('\u{2029}'));
    let records = ended.records();
    let end = records.iter().rfind(|record| record["type"] == "message_end").unwrap();
    assert_eq!(end["message"]["content"][0]["text"], answer);
}

/// Hundreds of kilobytes in a thousand events, more than any buffer on the way holds.
fn long_answer() -> Turn {
    let call = Block::tool("call_1", "bash", json!({"command": "true"}));
    let blocks = [Block::text(&"0123456789".repeat(60_000)), call];
    Turn { delta_chars: 500, ..Turn::new(blocks) }
}

#[tokio::test]
async fn a_reader_that_stops_reading_stalls_the_run_until_it_reads_on() {
    let bed = Bed::new([long_answer()]).await;
    bed.server.push("Done.");
    let mut running = bed.pi(["--mode", "json", "hi"]).start();
    running.line_with("text_start").await;
    // Nothing can tell that something will never happen; unhindered, it takes a tenth of this.
    let stalled = timeout(Duration::from_millis(400), bed.server.wait_for_requests(2)).await;
    assert!(stalled.is_err(), "the run goes on though nobody reads");
    assert_eq!(kinds(&bed.session()).last(), Some(&"user"), "the answer is not over yet");
    let ended = running.end().await;
    assert_eq!(ended.code, Some(0));
    let told = events(&ended.records());
    assert_eq!(told.last().unwrap(), "agent_settled");
    assert_eq!(kinds(&bed.session()).last(), Some(&"assistant"));
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_run_in_order() {
    let bed = Bed::new([long_answer()]).await;
    let mut running = bed.pi(["--mode", "json", "hi"]).start();
    running.line_with("text_start").await;
    running.close_stdout();
    let ended = running.end().await;
    assert_eq!((ended.signal, ended.stderr.as_str()), (None, ""));
    let session = bed.session();
    assert_eq!(session.last().unwrap()["message"]["stopReason"], "aborted");
}
