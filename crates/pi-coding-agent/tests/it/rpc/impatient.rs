//! Clients that do not wait for an answer before they send the next command, and clients that stop
//! listening.

use std::time::Duration;

use pi_test::{Lifeline, Reply, RpcClient, Signal, Turn};
use serde_json::{Value, json};

use super::client;
use crate::bed::{Bed, last_text};

/// Several commands in one write, with the ids `0`, `1` and so on.
async fn send_all(client: &mut RpcClient, commands: &[Value]) {
    let lines: Vec<String> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| {
            let mut command = command.clone();
            command["id"] = json!(number.to_string());
            command.to_string()
        })
        .collect();
    client.send_line(&lines.join("\n")).await;
}

fn prompt(text: &str) -> Value {
    json!({"type": "prompt", "message": text})
}

fn command(name: &str) -> Value {
    json!({"type": name})
}

/// Makes every key come from a command that takes a moment.
fn slow_keys(bed: &Bed) {
    let models = bed.scratch.read("agent/models.json").unwrap();
    let models = models.replace("\"scratch-key\"", "\"!sleep 0.3; echo scratch-key\"");
    assert!(models.contains("!sleep"), "{models}");
    bed.scratch.write("agent/models.json", models).unwrap();
}

#[tokio::test]
async fn a_prompt_ends_before_the_conversation_that_follows_it() {
    for slow in [false, true] {
        let bed = Bed::new([Reply::never()]).await;
        if slow {
            slow_keys(&bed);
        }
        let mut client = client(&bed, []);
        let old = client.call(command("get_state")).await.value();
        send_all(&mut client, &[prompt("Hi"), command("new_session"), command("get_state")]).await;
        let answered = client.answer_to("0").await;
        if answered.success {
            assert_eq!(client.event("agent_settled").await["type"], "agent_settled");
        } else {
            assert_eq!(answered.failure(), "Request was aborted");
        }
        assert!(client.answer_to("1").await.success);
        let state = client.answer_to("2").await.value();
        assert_ne!(state["sessionId"], old["sessionId"]);
        assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(0)));
        assert_eq!(client.end().await.code, Some(0));
    }
}

#[tokio::test]
async fn a_prompt_lands_in_the_conversation_that_was_begun_before_it() {
    let bed = Bed::new(["Yes."]).await;
    let mut client = client(&bed, []);
    send_all(&mut client, &[command("new_session"), prompt("Hi")]).await;
    assert!(client.answer_to("1").await.success);
    client.event("agent_settled").await;
    let state = client.call(command("get_state")).await.value();
    assert_eq!(state["messageCount"], 3);
    assert_eq!(state["sessionFile"], bed.session_file().to_str().unwrap());
}

#[tokio::test]
async fn the_first_of_many_prompts_is_taken_and_the_others_are_told() {
    let bed = Bed::new([Reply::never()]).await;
    let mut client = client(&bed, []);
    let prompts: Vec<Value> = (0..20).map(|number| prompt(&number.to_string())).collect();
    send_all(&mut client, &prompts).await;
    assert!(client.answer_to("0").await.success);
    for number in 1..20 {
        let answer = client.answer_to(&number.to_string()).await;
        assert!(answer.failure().starts_with("Agent is already processing."), "{answer:?}");
    }
    bed.server.wait_for_requests(1).await;
    assert_eq!(last_text(&bed.bodies()[0], "user"), "0");
}

#[tokio::test]
async fn an_abort_finds_the_prompt_that_was_sent_before_it() {
    let bed = Bed::idle().await;
    slow_keys(&bed);
    let mut client = client(&bed, []);
    send_all(&mut client, &[prompt("Hi"), command("abort")]).await;
    assert!(client.answer_to("1").await.success);
    assert_eq!(client.answer_to("0").await.failure(), "Request was aborted");
    assert_eq!(bed.bodies().len(), 0);
    // The next one begins.
    bed.server.push("Yes.");
    assert!(client.call(prompt("Again")).await.success);
    client.event("agent_settled").await;
}

#[tokio::test]
async fn nothing_begins_once_the_input_has_ended() {
    for slow in [false, true] {
        let bed = Bed::new([Reply::never()]).await;
        if slow {
            slow_keys(&bed);
        }
        let mut client = client(&bed, []);
        send_all(&mut client, &[prompt("Hi")]).await;
        let ended = client.end().await;
        assert_eq!(ended.code, Some(0));
        assert!(bed.bodies().len() <= usize::from(!slow));
    }
}

#[tokio::test]
async fn what_a_replaced_conversation_left_behind_ends_with_the_process() {
    for signal in [None, Some(Signal::TERM), Some(Signal::INT)] {
        let bed = Bed::idle().await;
        let mut line = Lifeline::new().await;
        let mut client = client(&bed, []);
        let left = format!("{}; sleep 1000 > /dev/null 2>&1 & disown", line.hold());
        client.send(json!({"type": "bash", "command": left})).await;
        line.held().await;
        client.call(command("new_session")).await.value();
        if let Some(signal) = signal {
            client.signal(signal);
        }
        client.end().await;
        line.released().await;
    }
}

#[tokio::test]
async fn modes_that_were_set_hold_in_the_conversations_that_follow() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    for command in [
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_follow_up_mode", "mode": "all"}),
        json!({"type": "set_auto_compaction", "enabled": false}),
    ] {
        assert!(client.call(command).await.success);
    }
    client.call(command("new_session")).await.value();
    let state = client.call(command("get_state")).await.value();
    assert_eq!(
        (&state["steeringMode"], &state["followUpMode"], &state["autoCompactionEnabled"]),
        (&json!("all"), &json!("all"), &json!(false))
    );
    // What cannot be saved is not set.
    bed.scratch.write("agent/settings.json", "{ broken").unwrap();
    let answer = client.call(json!({"type": "set_steering_mode", "mode": "one-at-a-time"})).await;
    assert!(answer.failure().contains("settings.json"), "{answer:?}");
    let state = client.call(command("get_state")).await.value();
    assert_eq!(state["steeringMode"], "all");
}

#[tokio::test]
async fn a_path_that_is_not_there_yet_goes_on_with_the_model() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, ["--model", "fx-openai/m-small"]);
    let path = bed.scratch.ws().join("new.jsonl");
    let switch = json!({"type": "switch_session", "sessionPath": path.to_str().unwrap()});
    assert!(client.call(switch).await.success);
    let state = client.call(command("get_state")).await.value();
    assert_eq!(
        (&state["model"]["provider"], &state["model"]["id"]),
        (&json!("fx-openai"), &json!("m-small"))
    );
}

#[tokio::test]
async fn a_copy_has_the_end_of_what_was_on_and_a_mistake_ends_nothing() {
    let waiting = "touch started; until [ -e go ]; do sleep 0.02; done";
    let bed =
        Bed::new([Turn::tool("c1", "bash", json!({"command": waiting})), Turn::from("Done.")])
            .await;
    let mut client = client(&bed, []);
    client.call(prompt("Start")).await;
    while !bed.scratch.ws().join("started").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for (command, error) in [
        (json!({"type": "fork", "entryId": "nope"}), "Invalid entry ID for forking"),
        (json!({"type": "switch_session", "sessionPath": "agent"}), ""),
    ] {
        let command = match command["sessionPath"].as_str() {
            Some(_) => {
                let bad = bed.scratch.write("ws/bad.jsonl", "no session\n").unwrap();
                json!({"type": "switch_session", "sessionPath": bad.to_str().unwrap()})
            }
            None => command,
        };
        let answer = client.call(command).await;
        assert!(answer.failure().starts_with(error), "{answer:?}");
        assert!(!answer.failure().starts_with("Error:"), "{answer:?}");
    }
    let state = client.call(command("get_state")).await.value();
    assert_eq!(state["isStreaming"], true, "what is on goes on");
    assert!(client.call(command("clone")).await.success);
    let messages = client.call(command("get_messages")).await.value();
    let roles: Vec<&str> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "assistant"]);
}

#[tokio::test]
async fn what_is_queued_during_a_compaction_is_delivered_behind_it() {
    let long = "word ".repeat(400);
    let bed = Bed::new([Turn::from(long.as_str()), Turn::from(long.as_str())]).await;
    bed.settings(&json!({"compaction": {"reserveTokens": 100, "keepRecentTokens": 100}}));
    let mut client = client(&bed, []);
    for text in ["One", "Two"] {
        client.call(prompt(text)).await;
        client.event("agent_settled").await;
    }
    bed.server.always(|request| {
        let asked = last_text(&request.json(), "user");
        Reply::turn(if asked == "Three" { "Three it is." } else { "Summary." })
            .after(Duration::from_millis(100))
    });
    let mut queued = prompt("Three");
    queued["streamingBehavior"] = json!("followUp");
    send_all(&mut client, &[command("compact"), queued]).await;
    assert_eq!(client.answer_to("1").await.value(), json!({"disposition": "queued"}));
    assert!(client.answer_to("0").await.success);
    client.event("agent_settled").await;
    let state = client.call(command("get_state")).await.value();
    assert_eq!(state["pendingMessageCount"], 0);
    let text = client.call(command("get_last_assistant_text")).await.value();
    assert_eq!(text, json!({"text": "Three it is."}));
}

#[tokio::test]
async fn an_abort_is_heard_among_more_commands_than_may_be_on() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    let bash = json!({"type": "bash", "command": "sleep 1000"});
    send_all(&mut client, &vec![bash; 70]).await;
    for number in 64..70 {
        let answer = client.answer_to(&number.to_string()).await;
        assert_eq!(answer.failure(), "64 commands are on already");
    }
    assert!(client.call(command("abort_bash")).await.success);
    for number in 0..64 {
        let answer = client.answer_to(&number.to_string()).await.value();
        assert_eq!(answer["cancelled"], true);
    }
}

#[tokio::test]
async fn a_client_that_listens_no_more_does_not_hold_up_the_end() {
    for signal in [None, Some((Signal::TERM, 143)), Some((Signal::HUP, 129))] {
        let bed = Bed::idle().await;
        let mut client = client(&bed, []);
        // More than a pipe holds, and nobody reads it.
        let command = json!({"type": "bash", "command": "head -c 300000 /dev/zero | tr '\\0' x"});
        client.send(command).await;
        client.program().full().await;
        match signal {
            Some((signal, code)) => {
                client.signal(signal);
                assert_eq!(client.program().exit_code().await, Some(code));
            }
            None => {
                client.program().close_stdin();
                assert_eq!(client.program().exit_code().await, Some(0));
            }
        }
    }
}
