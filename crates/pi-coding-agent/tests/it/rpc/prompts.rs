//! Prompts, queues, commands of the user, and their ends.

use pi_test::{Signal, Turn};
use serde_json::{Value, json};

use super::client;
use crate::bed::{Bed, last_text, text};

/// A tool call that runs until `go` is there.
fn waiting() -> Turn {
    let command = "touch started; until [ -e go ]; do sleep 0.02; done; echo gone";
    Turn::tool("call_1", "bash", json!({"command": command}))
}

async fn call_started(bed: &Bed) {
    while !bed.scratch.ws().join("started").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

fn prompt(message: &str) -> Value {
    json!({"type": "prompt", "message": message})
}

#[tokio::test]
async fn a_prompt_is_answered_before_its_events_and_images_go_with_it() {
    let bed = Bed::new([Turn::from("Red.")]).await;
    let mut client = client(&bed, []);
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let id =
        client.send(json!({"type": "prompt", "message": "Which colour?", "images": [image]})).await;
    let answer = client.answer_to(&id).await;
    assert_eq!(answer.value(), json!({"disposition": "started"}));
    assert!(client.events().is_empty(), "{:?}", client.events());
    client.event("agent_start").await;
    let settled = client.event("agent_settled").await;
    assert_eq!(settled, json!({"type": "agent_settled", "aborted": false}));
    let session = bed.session();
    let user = session.iter().find(|line| line["message"]["role"] == "user").unwrap();
    let user = &user["message"];
    assert_eq!((text(user), &user["content"][1]["data"]), ("Which colour?".into(), &json!("aGk=")));
}

#[tokio::test]
async fn while_a_prompt_is_on_messages_are_queued_or_refused() {
    let bed =
        Bed::new([waiting(), Turn::from("One."), Turn::from("Two."), Turn::from("Three.")]).await;
    let mut client = client(&bed, []);
    client.call(prompt("Start")).await;
    call_started(&bed).await;
    let refused = client.call(prompt("Refused")).await;
    assert_eq!(
        refused.failure(),
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
    );
    let queued = json!({"disposition": "queued"});
    for command in [
        json!({"type": "steer", "message": "S1"}),
        json!({"type": "follow_up", "message": "F1"}),
        json!({"type": "prompt", "message": "S2", "streamingBehavior": "steer"}),
        json!({"type": "prompt", "message": "F2", "streamingBehavior": "followUp"}),
    ] {
        assert_eq!(client.call(command).await.value(), queued);
    }
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!((&state["pendingMessageCount"], &state["isStreaming"]), (&json!(4), &json!(true)));
    let cleared = client.call(json!({"type": "clear_queue"})).await.value();
    assert_eq!(cleared, json!({"steering": ["S1", "S2"], "followUp": ["F1", "F2"]}));
    for (kind, message) in [("steer", "S3"), ("follow_up", "F3")] {
        client.call(json!({"type": kind, "message": message})).await;
    }
    bed.scratch.write("ws/go", "").unwrap();
    client.event("agent_settled").await;
    let users: Vec<String> = bed
        .session()
        .iter()
        .filter(|line| line["message"]["role"] == "user")
        .map(|line| text(&line["message"]))
        .collect();
    assert_eq!(users, ["Start", "S3", "F3"]);
}

#[tokio::test]
async fn an_abort_is_answered_when_nothing_is_on_any_more() {
    let bed = Bed::new([waiting(), Turn::from("Again.")]).await;
    let mut client = client(&bed, []);
    assert!(client.call(json!({"type": "abort"})).await.success);
    client.call(prompt("Start")).await;
    call_started(&bed).await;
    assert!(client.call(json!({"type": "abort"})).await.success);
    assert_eq!(client.event("agent_settled").await["aborted"], true);
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!(state["isStreaming"], false);
    client.call(prompt("Go on")).await;
    client.event("agent_settled").await;
    assert_eq!(last_text(&bed.bodies()[1], "user"), "Go on");
}

#[tokio::test]
async fn commands_of_the_user_run_beside_and_are_told_as_they_print() {
    let bed = Bed::new([Turn::from("I see.")]).await;
    let mut client = client(&bed, []);
    let id = client
        .send(json!({"type": "bash", "command": "echo one; printf '\\033[31mred\\033[0m'; exit 4"}))
        .await;
    let answer = client.answer_to(&id).await.value();
    assert_eq!(
        answer,
        json!({"output": "one\nred", "exitCode": 4, "cancelled": false, "truncated": false})
    );
    let printed: String = client
        .events()
        .iter()
        .map(|event| {
            assert_eq!(
                (&event["type"], &event["id"]),
                (&json!("bash_execution_update"), &json!(id))
            );
            event["delta"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(printed, "one\nred");
    client
        .call(json!({"type": "bash", "command": "echo secret", "excludeFromContext": true}))
        .await;
    let slow = client.send(json!({"type": "bash", "command": "touch started; sleep 100"})).await;
    call_started(&bed).await;
    client.call(prompt("What did I run?")).await;
    client.event("agent_settled").await;
    let request = bed.bodies()[0].to_string();
    assert!(request.contains("one\\\\nred") || request.contains("one\\nred"), "{request}");
    assert!(!request.contains("secret"), "{request}");
    assert!(client.call(json!({"type": "abort_bash"})).await.success);
    let aborted = client.answer_to(&slow).await.value();
    assert_eq!((&aborted["cancelled"], &aborted["exitCode"]), (&json!(true), &Value::Null));
}

#[tokio::test]
async fn a_compaction_is_told_before_its_answer_and_may_have_nothing_to_do() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    let nothing = client.call(json!({"type": "compact"})).await;
    assert!(nothing.failure().starts_with("Nothing to compact"), "{nothing:?}");
    let kinds: Vec<&str> =
        client.events().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["compaction_start", "compaction_end"]);
    assert!(client.call(json!({"type": "abort_retry"})).await.success);
}

#[tokio::test]
async fn the_end_of_the_input_and_signals_end_what_is_on_in_order() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let bed = Bed::new([waiting()]).await;
        let mut client = client(&bed, []);
        client.call(prompt("Start")).await;
        call_started(&bed).await;
        let ended = match signal {
            None => client.end().await,
            Some(signal) => {
                client.signal(signal);
                let code = client.program().exit_code().await;
                let want = if signal == Signal::TERM { 143 } else { 129 };
                assert_eq!(code, Some(want));
                client.end().await
            }
        };
        if signal.is_none() {
            assert_eq!(ended.code, Some(0));
        }
        // The call that was on has a result.
        let session = bed.session();
        let result = session.iter().find(|line| line["message"]["role"] == "toolResult").unwrap();
        assert_eq!(result["message"]["isError"], true);
    }
}
