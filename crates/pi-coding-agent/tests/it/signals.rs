//! Being told to stop: what is left running, what is on disk, how the process ends.

use pi_test::scratch::API_KEY;
use pi_test::{Block, Ended, Lifeline, Reply, Running, Signal, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, kinds};

/// The signals that end a run in order, with their exit codes.
const ORDERLY: [(Signal, i32); 2] = [(Signal::TERM, 143), (Signal::HUP, 129)];

/// A bed whose model says half a sentence and then nothing more.
async fn in_a_stream(args: &[&str]) -> (Bed, Running) {
    let turn = Turn { delta_chars: 4, ..Turn::from("PART one and a lot more") };
    let bed = Bed::new([Reply::turn(turn).silent_after(5)]).await;
    let running = bed.pi(args.iter().copied()).start();
    bed.server.wait_for_requests(1).await;
    (bed, running)
}

/// A bed whose model calls two commands that never end; both run.
async fn in_two_tools(model: &str, mode: &[&str]) -> (Bed, Running, [Lifeline; 2]) {
    let mut lines = [Lifeline::new().await, Lifeline::new().await];
    let command = |line: &Lifeline| format!("{}; echo begun; sleep 1000 & sleep 1000", line.hold());
    let calls = Turn::new([
        Block::tool("call_1", "bash", json!({"command": command(&lines[0])})),
        Block::tool("call_2", "bash", json!({"command": command(&lines[1])})),
    ]);
    let bed = Bed::new([calls]).await;
    let args = [&["--model", model], mode, &["hi"]].concat();
    let running = bed.pi(args).start();
    for line in &mut lines {
        line.held().await;
    }
    (bed, running, lines)
}

/// A bed whose model failed and is asked again in a minute.
async fn in_a_retry_wait() -> (Bed, Running) {
    let bed = Bed::new([Reply::error(500, "oops")]).await;
    bed.settings(&json!({"retry": {"baseDelayMs": 60_000}}));
    let mut running = bed.pi(["--mode", "json", "hi"]).start();
    running.line_with("\"entry_appended\"").await;
    (bed, running)
}

fn bytes(bed: &Bed) -> Vec<u8> {
    std::fs::read(bed.session_file()).unwrap()
}

fn assert_died_by_interrupt(ended: &Ended) {
    assert_eq!((ended.code, ended.signal, ended.stderr.as_str()), (None, Some(2), ""));
}

fn last(session: &[Value]) -> &Value {
    &session.last().unwrap()["message"]
}

#[tokio::test]
async fn an_orderly_signal_in_a_stream_keeps_what_had_come() {
    for (signal, code) in ORDERLY {
        for model in WIRES {
            let (bed, mut running) = in_a_stream(&["--model", model, "--mode", "json", "hi"]).await;
            running.line_with("PART").await;
            running.signal(signal);
            let ended = running.end().await;
            let end = (ended.code, ended.signal, ended.stderr.as_str());
            assert_eq!(end, (Some(code), None, ""), "{model}");
            bed.server.wait_for_abandoned(1).await;
            let session = bed.session();
            assert_eq!(kinds(&session).get(4..).unwrap(), ["user", "assistant"], "{model}");
            assert_eq!(last(&session)["stopReason"], "aborted", "{model}");
            let text = last(&session)["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("PART"), "{model}: {text}");
            ended.records();
        }
    }
}

#[tokio::test]
async fn print_mode_says_that_it_was_stopped() {
    for (signal, code) in ORDERLY {
        let (bed, running) = in_a_stream(&["-p", "hi"]).await;
        running.signal(signal);
        let ended = running.end().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""));
        assert_eq!(ended.stderr, "Request was aborted\n");
        assert_eq!(last(&bed.session())["stopReason"], "aborted");
    }
}

#[tokio::test]
async fn no_further_prompt_begins_after_a_signal() {
    let (bed, running) = in_a_stream(&["-p", "one", "two"]).await;
    running.signal(Signal::TERM);
    assert_eq!(running.end().await.code, Some(143));
    assert_eq!(bed.server.requests().len(), 1);
    let session = bed.session();
    assert_eq!(kinds(&session).iter().filter(|kind| **kind == "user").count(), 1);
}

#[tokio::test]
async fn an_interrupt_in_a_stream_ends_at_once_and_records_nothing() {
    for mode in [&["-p"][..], &["--mode", "json"]] {
        let (bed, running) = in_a_stream(&[mode, &["hi"]].concat()).await;
        let before = bytes(&bed);
        running.signal(Signal::INT);
        assert_died_by_interrupt(&running.end().await);
        assert_eq!(bytes(&bed), before, "{mode:?}");
        assert_eq!(kinds(&bed.session()).last(), Some(&"user"), "{mode:?}");
    }
}

#[tokio::test]
async fn the_session_goes_on_after_an_interrupt() {
    let (bed, running) = in_a_stream(&["-p", "hi"]).await;
    running.signal(Signal::INT);
    running.end().await;
    bed.server.push("Back.");
    let ended = bed.pi(["-c", "-p", "again"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Back.\n"));
    let kinds: Vec<_> = bed.session().iter().map(|l| l["message"]["role"].clone()).collect();
    assert_eq!(kinds.get(4..).unwrap(), ["user", "user", "assistant"]);
}

#[tokio::test]
async fn an_orderly_signal_in_tools_kills_them_and_gives_each_call_a_result() {
    for (signal, code) in ORDERLY {
        for model in WIRES {
            let (bed, running, mut lines) = in_two_tools(model, &["--mode", "json"]).await;
            running.signal(signal);
            for line in &mut lines {
                line.released().await;
            }
            let ended = running.end().await;
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{model}");
            let session = bed.session();
            let expected = ["user", "assistant", "toolResult", "toolResult", "assistant"];
            assert_eq!(kinds(&session).get(4..).unwrap(), expected, "{model}");
            for (result, id) in session[6..8].iter().zip(["call_1", "call_2"]) {
                let result = &result["message"];
                assert_eq!((&result["toolCallId"], &result["isError"]), (&json!(id), &json!(true)));
                let text = result["content"][0]["text"].as_str().unwrap();
                assert!(text.ends_with("Command aborted"), "{model}: {text}");
            }
            assert_eq!(last(&session)["stopReason"], "aborted", "{model}");
            assert_eq!(last(&session)["content"], json!([]), "{model}");
            assert_eq!(bed.server.requests().len(), 1, "{model}: no request for it");
        }
    }
}

#[tokio::test]
async fn an_interrupt_in_tools_kills_them_and_records_nothing() {
    for mode in [&["-p"][..], &["--mode", "json"]] {
        let (bed, running, mut lines) = in_two_tools(WIRES[0], mode).await;
        let before = bytes(&bed);
        running.signal(Signal::INT);
        for line in &mut lines {
            line.released().await;
        }
        assert_died_by_interrupt(&running.end().await);
        assert_eq!(bytes(&bed), before, "{mode:?}");
    }
}

#[tokio::test]
async fn calls_an_interrupt_left_open_are_answered_for_the_model_when_the_session_goes_on() {
    for model in WIRES {
        let (bed, running, _lines) = in_two_tools(model, &["-p"]).await;
        running.signal(Signal::INT);
        running.end().await;
        bed.server.push("Back.");
        let ended = bed.pi(["-c", "-p", "again"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Back.\n"), "{model}");
        let sent = bed.bodies()[1]["messages"].to_string();
        assert_eq!(sent.matches("No result provided").count(), 2, "{model}: {sent}");
    }
}

#[tokio::test]
async fn what_a_command_left_behind_ends_with_an_interrupt_too() {
    let mut line = Lifeline::new().await;
    let command = format!("({}; exec sleep 1000) >/dev/null 2>&1 &", line.hold());
    let call = Turn::tool("call_1", "bash", json!({"command": command}));
    let bed = Bed::new([Reply::turn(call), Reply::never()]).await;
    let running = bed.pi(["-p", "hi"]).start();
    line.held().await;
    bed.server.wait_for_requests(2).await;
    running.signal(Signal::INT);
    line.released().await;
    assert_died_by_interrupt(&running.end().await);
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_a_retry() {
    for (signal, code) in ORDERLY {
        let (bed, running) = in_a_retry_wait().await;
        running.signal(signal);
        let ended = running.end().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""));
        let session = bed.session();
        assert_eq!(kinds(&session).get(4..).unwrap(), ["user", "assistant", "context_edit"]);
        assert_eq!(bed.server.requests().len(), 1);
    }
    let (bed, running) = in_a_retry_wait().await;
    let before = bytes(&bed);
    running.signal(Signal::INT);
    assert_died_by_interrupt(&running.end().await);
    assert_eq!(bytes(&bed), before);
}

/// A run whose reader does not read, with more to tell than the way to it holds.
async fn unread() -> (Bed, Running) {
    let long = Turn { delta_chars: 500, ..Turn::from("0123456789".repeat(60_000).as_str()) };
    let bed = Bed::new([long]).await;
    let mut running = bed.pi(["--mode", "json", "hi"]).start();
    running.line_with("text_start").await;
    running.full().await;
    (bed, running)
}

#[tokio::test]
async fn a_reader_that_does_not_read_cannot_hold_up_an_orderly_end() {
    let (bed, mut running) = unread().await;
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code().await, Some(143));
    assert_eq!(last(&bed.session())["stopReason"], "aborted");
}

#[tokio::test]
async fn signals_end_a_program_that_waits_for_someone_to_read_the_answer() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let bed = Bed::new(["0123456789".repeat(60_000).as_str()]).await;
        let mut running = bed.pi(["-p", "hi"]).start();
        running.full().await;
        running.signal(signal);
        assert_eq!(running.exit_code().await, None, "it died by the signal");
        assert_eq!(last(&bed.session())["stopReason"], "stop");
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_cannot_hold_up_an_interrupt() {
    let (bed, mut running) = unread().await;
    let before = bytes(&bed);
    running.signal(Signal::INT);
    assert_eq!(running.exit_code().await, None);
    assert_eq!(bytes(&bed), before);
}

#[tokio::test]
async fn a_command_that_prints_no_key_cannot_hold_up_the_end_nor_outlive_it() {
    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::INT, None)] {
        let bed = Bed::idle().await;
        let text = bed.scratch.read("agent/models.json").unwrap();
        let mut line = Lifeline::new().await;
        let command = format!("!bash -c '{}; exec sleep 1000'", line.hold());
        bed.scratch.write("agent/models.json", text.replace(API_KEY, &command)).unwrap();
        let mut running = bed.pi(["-p", "hi"]).start();
        line.held().await;
        running.signal(signal);
        assert_eq!(running.exit_code().await, code);
        line.released().await;
    }
}
