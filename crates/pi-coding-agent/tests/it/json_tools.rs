//! Runs with tools, seen through JSON mode, the session file and the next request.

use pi_test::{Block, Lifeline, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, events, kinds, roles, without_updates};

fn ids<'a>(records: &'a [Value], kind: &str) -> Vec<&'a str> {
    records
        .iter()
        .filter(|record| record["type"] == kind)
        .map(|record| {
            let id = &record["toolCallId"];
            id.as_str().or(record["message"]["toolCallId"].as_str()).unwrap_or_default()
        })
        .filter(|id| !id.is_empty())
        .collect()
}

fn result_text(record: &Value) -> &str {
    record["result"]["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn one_tool_is_told_stored_and_sent_back() {
    for model in WIRES {
        let call = Turn::tool("call_1", "read", json!({"path": "a.txt"}));
        let bed = Bed::new([call, Turn::from("I see.")]).await;
        bed.scratch.write("ws/a.txt", "hello\n").unwrap();
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        let records = ended.records();
        let expected = [
            "message_end user",
            "message_start assistant",
            "message_end assistant",
            "tool_execution_start",
            "tool_execution_end",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
            "turn_start",
            "message_start assistant",
            "message_end assistant",
            "turn_end",
            "agent_end",
            "agent_settled",
        ];
        assert_eq!(without_updates(&records).get(6..).unwrap(), expected, "{model}");
        let of = |kind: &str| records.iter().find(|record| record["type"] == kind).unwrap();
        assert_eq!(
            of("tool_execution_start"),
            &json!({"type": "tool_execution_start", "toolCallId": "call_1", "toolName": "read",
                    "args": {"path": "a.txt"}}),
            "{model}"
        );
        let end = of("tool_execution_end");
        assert_eq!(result_text(end), "hello\n", "{model}");
        assert_eq!(end["isError"], false, "{model}");
        assert!(end["durationMs"].is_u64(), "{model}: {end}");
        let start = records
            .iter()
            .map(|record| &record["assistantMessageEvent"])
            .find(|event| event["type"] == "toolcall_start")
            .unwrap();
        assert_eq!((&start["id"], &start["toolName"]), (&json!("call_1"), &json!("read")));

        let session = bed.session();
        let stored = &session.iter().find(|l| l["message"]["role"] == "toolResult").unwrap();
        assert_eq!(stored["message"]["toolCallId"], "call_1", "{model}");
        assert_eq!(stored["message"].get("structuredContent"), None, "{model}");
        let sent = &bed.bodies()[1];
        assert!(sent.to_string().contains("hello\\n"), "{model}: {sent}");
    }
}

#[tokio::test]
async fn parallel_calls_end_as_they_finish_and_are_answered_as_they_were_asked() {
    for model in WIRES {
        let slow = "until test -e go; do sleep 0.01; done; echo slow";
        let calls = Turn::new([
            Block::tool("call_slow", "bash", json!({"command": slow})),
            Block::tool("call_fast", "bash", json!({"command": "echo fast"})),
        ]);
        let bed = Bed::new([calls, Turn::from("Done.")]).await;
        let mut running = bed.pi(["--model", model, "--mode", "json", "hi"]).start();
        running.line_with("\"tool_execution_end\"").await;
        bed.scratch.write("ws/go", "").unwrap();
        let records = running.end().await.records();
        assert_eq!(ids(&records, "tool_execution_start"), ["call_slow", "call_fast"], "{model}");
        assert_eq!(ids(&records, "tool_execution_end"), ["call_fast", "call_slow"], "{model}");
        assert_eq!(ids(&records, "message_end"), ["call_slow", "call_fast"], "{model}");
        let told = events(&records);
        let last = |name: &str| told.iter().rposition(|event| event == name).unwrap();
        let first = |name: &str| told.iter().position(|event| event == name).unwrap();
        assert!(last("tool_execution_start") < first("tool_execution_end"), "{model}");
        assert!(last("tool_execution_end") < first("message_start toolResult"), "{model}");
        let turn = records.iter().find(|record| record["type"] == "turn_end").unwrap();
        let results = turn["toolResults"].as_array().unwrap();
        assert_eq!((&results[0]["toolCallId"], results.len()), (&json!("call_slow"), 2), "{model}");
        let session = bed.session();
        let stored: Vec<_> =
            session.iter().filter_map(|l| l["message"]["toolCallId"].as_str()).collect();
        assert_eq!(stored, ["call_slow", "call_fast"], "{model}");
    }
}

#[tokio::test]
async fn calls_that_cannot_run_fail_alone_and_before_any_runs() {
    for model in WIRES {
        let calls = Turn::new([
            Block::tool("call_1", "bash", json!({"command": "echo fine"})),
            Block::tool("call_2", "teleport", json!({})),
            Block::tool("call_3", "read", json!({"offset": "x"})),
        ]);
        let bed = Bed::new([calls, Turn::from("Done.")]).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!(ended.code, Some(0), "{model}");
        let records = ended.records();
        let tool_events: Vec<(&str, &str)> = records
            .iter()
            .filter(|r| r["type"] != "tool_execution_update" && r["toolCallId"].is_string())
            .map(|r| (r["type"].as_str().unwrap(), r["toolCallId"].as_str().unwrap()))
            .collect();
        let (start, end) = ("tool_execution_start", "tool_execution_end");
        let expected = [
            (start, "call_1"),
            (start, "call_2"),
            (end, "call_2"),
            (start, "call_3"),
            (end, "call_3"),
            (end, "call_1"),
        ];
        assert_eq!(tool_events, expected, "{model}");
        let end_of =
            |id: &str| records.iter().find(|r| r["type"] == end && r["toolCallId"] == id).unwrap();
        assert_eq!(result_text(end_of("call_1")), "fine\n", "{model}");
        assert_eq!(result_text(end_of("call_2")), "Tool teleport not found", "{model}");
        let invalid = result_text(end_of("call_3"));
        assert!(invalid.starts_with("Validation failed for tool \"read\":\n  - "), "{invalid}");
        assert!(invalid.contains("\n\nReceived arguments:\n"), "{model}: {invalid}");
        for id in ["call_2", "call_3"] {
            assert_eq!(end_of(id)["isError"], true, "{model}");
            assert_eq!(end_of(id).get("durationMs"), None, "{model}: it never ran");
        }
        assert_eq!(ids(&records, "message_end"), ["call_1", "call_2", "call_3"], "{model}");
    }
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_unknown() {
    let call = Turn::tool("call_1", "bash", json!({"command": "touch ran"}));
    let bed = Bed::new([call, Turn::from("Done.")]).await;
    let records = bed.pi(["--mode", "json", "-xt", "bash", "hi"]).run().await.records();
    let end = records.iter().find(|record| record["type"] == "tool_execution_end").unwrap();
    assert_eq!(result_text(end), "Tool bash not found");
    assert!(!bed.scratch.ws().join("ran").exists());
}

#[tokio::test]
async fn arguments_that_are_no_json_fail_their_call_only() {
    for model in WIRES {
        let broken = Block::Tool {
            id: "call_1".to_owned(),
            name: "bash".to_owned(),
            arguments: "]oops".to_owned(),
        };
        let bed = Bed::new([Turn::new([broken]), Turn::from("Sorry.")]).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!(ended.code, Some(0), "{model}");
        let records = ended.records();
        let end = records.iter().find(|record| record["type"] == "tool_execution_end").unwrap();
        assert_eq!(end["isError"], true, "{model}");
        assert_eq!(bed.server.requests().len(), 2, "{model}: the model is told");
    }
}

#[tokio::test]
async fn output_is_told_while_the_command_runs() {
    let mut line = Lifeline::new().await;
    let command = format!("echo first; {}; until test -e go; do sleep 0.01; done", line.hold());
    let call = Turn::tool("call_1", "bash", json!({"command": command}));
    let bed = Bed::new([call, Turn::from("Done.")]).await;
    let mut running = bed.pi(["--mode", "json", "hi"]).start();
    line.held().await;
    let update = running.line_with("first\\n\"}]").await;
    let update: Value = serde_json::from_str(&update).unwrap();
    assert_eq!(update["type"], "tool_execution_update");
    assert_eq!(
        update["partialResult"],
        json!({"content": [{"type": "text", "text": "first\n"}], "details": {}})
    );
    bed.scratch.write("ws/go", "").unwrap();
    let records = running.end().await.records();
    let first = records.iter().find(|r| r["type"] == "tool_execution_update").unwrap();
    assert_eq!(first["partialResult"], json!({"content": []}), "the first one is empty");
}

#[tokio::test]
async fn a_cut_answer_runs_none_of_its_calls_and_the_loop_goes_on() {
    for model in WIRES {
        let cut = Turn::tool("call_1", "bash", json!({"command": "touch ran"}));
        let bed = Bed::new([cut.stop(pi_test::Stop::Length), Turn::from("Again.")]).await;
        let ended = bed.pi(["--model", model, "-p", "hi"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Again.\n"), "{model}");
        assert!(!bed.scratch.ws().join("ran").exists(), "{model}");
        assert!(kinds(&bed.session()).contains(&"toolResult"), "{model}");
    }
}

#[tokio::test]
async fn the_tools_do_real_work_one_after_the_other() {
    let turns = [
        Turn::tool("c1", "write", json!({"path": "deep/n.txt", "content": "one\ntwo\n"})),
        Turn::tool(
            "c2",
            "edit",
            json!({"path": "deep/n.txt", "edits": [
            {"oldText": "two", "newText": "2"}]}),
        ),
        Turn::tool("c3", "bash", json!({"command": "cat deep/n.txt; exit 3"})),
        Turn::from("Done."),
    ];
    for model in WIRES {
        let bed = Bed::new(turns.clone()).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        let records = ended.records();
        let ends: Vec<&Value> =
            records.iter().filter(|r| r["type"] == "tool_execution_end").collect();
        assert_eq!(bed.scratch.read("ws/deep/n.txt").unwrap(), "one\n2\n", "{model}");
        assert_eq!(result_text(ends[2]), "one\n2\n\n\nCommand exited with code 3", "{model}");
        let errors: Vec<_> = ends.iter().map(|end| &end["isError"]).collect();
        assert_eq!(errors, [false, false, true], "{model}");
        let last = bed.bodies().pop().unwrap();
        let role = if model.starts_with("fx-openai") { "tool" } else { "user" };
        assert_eq!(
            roles(&last).iter().filter(|r| **r == role).count(),
            if role == "tool" { 3 } else { 4 }
        );
    }
}
