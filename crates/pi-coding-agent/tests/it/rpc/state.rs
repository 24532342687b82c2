//! Asking, and changing how the conversation goes on.

use pi_test::Turn;
use serde_json::{Value, json};

use super::client;
use crate::bed::Bed;

#[tokio::test]
async fn what_is_no_command_is_told_and_the_next_one_served() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    for (line, command, error) in [
        ("this is not json", Some("parse"), "Failed to parse command: "),
        ("", Some("parse"), "Failed to parse command: "),
        ("\"text\"", None, "Unknown command: undefined"),
        (r#"{"type":"no_such"}"#, Some("no_such"), "Unknown command: no_such"),
        (r#"{"type":"prompt"}"#, Some("prompt"), "prompt: missing field `message`"),
        (
            r#"{"type":"set_steering_mode","mode":"x"}"#,
            Some("set_steering_mode"),
            "set_steering_mode: unknown variant `x`, expected `all` or `one-at-a-time`",
        ),
    ] {
        client.send_line(line).await;
        let answer = client.nameless_answer().await;
        assert_eq!(answer.command.as_deref(), command, "{line}");
        assert!(answer.failure().starts_with(error), "{line}: {answer:?}");
    }
    // A carriage return before the end of the line is white space, other separators are text.
    client.send_line("{\"type\":\"get_last_assistant_text\"}\r").await;
    assert_eq!(client.nameless_answer().await.value(), json!({"text": null}));
    let ended = client.end().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn the_state_is_told_before_and_after_a_prompt() {
    let bed = Bed::new([Turn::from("Hello.")]).await;
    let mut client = client(&bed, []);
    let state = client.call(json!({"type": "get_state"})).await.value();
    for (field, want) in [
        ("thinkingLevel", json!("off")),
        ("isStreaming", json!(false)),
        ("isCompacting", json!(false)),
        ("steeringMode", json!("one-at-a-time")),
        ("followUpMode", json!("one-at-a-time")),
        ("autoCompactionEnabled", json!(true)),
        ("messageCount", json!(0)),
        ("pendingMessageCount", json!(0)),
    ] {
        assert_eq!(state[field], want, "{field}");
    }
    assert_eq!((&state["model"]["id"], &state["sessionName"]), (&json!("m-plain"), &Value::Null));
    // The file is named before it is there.
    let file = std::path::PathBuf::from(state["sessionFile"].as_str().unwrap());
    assert!(!file.exists());
    assert!(file.to_str().unwrap().contains(state["sessionId"].as_str().unwrap()));
    let answer = client.call(json!({"type": "prompt", "message": "Hi"})).await;
    assert_eq!(answer.value(), json!({"disposition": "started"}));
    client.event("agent_settled").await;
    assert!(file.exists());
    let text = client.call(json!({"type": "get_last_assistant_text"})).await.value();
    assert_eq!(text, json!({"text": "Hello."}));
    let messages = client.call(json!({"type": "get_messages"})).await.value();
    let roles: Vec<&str> = messages["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    let stats = client.call(json!({"type": "get_session_stats"})).await.value();
    let counts = |field: &str| stats[field].as_u64().unwrap();
    assert_eq!((counts("userMessages"), counts("assistantMessages")), (1, 1));
    assert_eq!(counts("totalMessages"), 3);
    assert!(stats["tokens"]["total"].as_u64().unwrap() > 0);
    assert_eq!(stats["contextUsage"]["contextWindow"], state["model"]["contextWindow"]);
    let commands = client.call(json!({"type": "get_commands"})).await.value();
    assert_eq!(commands, json!({"commands": []}));
}

#[tokio::test]
async fn a_name_is_trimmed_and_told_before_the_answer() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    let empty = client.call(json!({"type": "set_session_name", "name": " \n"})).await;
    assert_eq!(empty.failure(), "Session name cannot be empty");
    let done = client.call(json!({"type": "set_session_name", "name": " a\nb "})).await;
    assert!(done.success && done.data.is_none());
    assert_eq!(client.events()[0], json!({"type": "session_info_changed", "name": "a b"}));
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!(state["sessionName"], "a b");
}

#[tokio::test]
async fn models_and_levels_are_set_and_cycled() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, ["--models", "fx-anthropic/m-plain,fx-openai/m-think:low"]);
    let missing = json!({"type": "set_model", "provider": "x", "modelId": "y"});
    assert_eq!(client.call(missing).await.failure(), "Model not found: x/y");
    let levels = json!({"type": "get_available_thinking_levels"});
    assert_eq!(client.call(levels.clone()).await.value(), json!({"levels": ["off"]}));
    let cycle_level = json!({"type": "cycle_thinking_level"});
    assert_eq!(client.call(cycle_level.clone()).await.data.unwrap().get(), "null");
    let next = client.call(json!({"type": "cycle_model"})).await.value();
    assert_eq!((&next["model"]["id"], &next["thinkingLevel"]), (&json!("m-think"), &json!("low")));
    assert_eq!(next["isScoped"], true);
    let all = client.call(levels).await.value();
    let names: Vec<&str> =
        all["levels"].as_array().unwrap().iter().map(|level| level.as_str().unwrap()).collect();
    assert_eq!(names[..3], ["off", "minimal", "low"]);
    assert_eq!(client.call(cycle_level).await.value(), json!({"level": "medium"}));
    // A level nobody knows is none.
    let odd = json!({"type": "set_thinking_level", "level": "nope"});
    assert!(client.call(odd).await.success);
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!(state["thinkingLevel"], "off");
    let set = json!({"type": "set_model", "provider": "fx-anthropic", "modelId": "m-plain"});
    assert_eq!(client.call(set).await.value()["id"], "m-plain");
    let models = client.call(json!({"type": "get_available_models"})).await.value();
    let ids: Vec<&str> =
        models["models"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"m-plain") && ids.contains(&"m-think"), "{ids:?}");
}

#[tokio::test]
async fn modes_are_set_and_saved_and_the_rest_of_the_settings_stays() {
    let bed = Bed::idle().await;
    bed.settings(&json!({"someday": [1, 2]}));
    let mut client = client(&bed, []);
    for command in [
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_follow_up_mode", "mode": "all"}),
        json!({"type": "set_auto_compaction", "enabled": false}),
        json!({"type": "set_auto_retry", "enabled": false}),
    ] {
        let answer = client.call(command.clone()).await;
        assert!(answer.success && answer.data.is_none(), "{command}: {answer:?}");
    }
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!((&state["steeringMode"], &state["followUpMode"]), (&json!("all"), &json!("all")));
    assert_eq!(state["autoCompactionEnabled"], false);
    let file = bed.scratch.agent().join("settings.json");
    let saved: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(saved["retry"], json!({"baseDelayMs": 1, "enabled": false}));
    assert_eq!((&saved["someday"], &saved["steeringMode"]), (&json!([1, 2]), &json!("all")));
    assert_eq!(saved["compaction"], json!({"enabled": false}));
}

#[tokio::test]
async fn a_client_can_begin_without_a_model_and_prompts_say_so() {
    let bed = Bed::new(["Yes."]).await;
    let models = bed.scratch.read("agent/models.json").unwrap();
    bed.scratch.write("agent/models.json", "{}").unwrap();
    let mut client = client(&bed, []);
    let state = client.call(json!({"type": "get_state"})).await.value();
    assert_eq!(
        (&state["model"]["id"], &state["model"]["provider"]),
        (&json!("unknown"), &json!("unknown"))
    );
    assert_eq!(state["thinkingLevel"], "off");
    for (command, want) in [
        (json!({"type": "get_available_models"}), json!({"models": []})),
        (json!({"type": "get_available_thinking_levels"}), json!({"levels": ["off"]})),
        (json!({"type": "cycle_model"}), Value::Null),
        (json!({"type": "cycle_thinking_level"}), Value::Null),
    ] {
        assert_eq!(client.call(command.clone()).await.value(), want, "{command}");
    }
    let answer = client.call(json!({"type": "prompt", "message": "Hi"})).await;
    assert!(answer.failure().starts_with("No API key found for the selected model."), "{answer:?}");
    let result = client.call(json!({"type": "bash", "command": "echo hi"})).await.value();
    assert_eq!(result["output"], "hi\n");
    let entries = client.call(json!({"type": "get_entries"})).await.value();
    let kinds: Vec<&str> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thinking_level_change", "message"], "no model is recorded");
    // A new conversation looks for one again.
    bed.scratch.write("agent/models.json", models).unwrap();
    client.call(json!({"type": "new_session"})).await.value();
    client.call(json!({"type": "prompt", "message": "Hi"})).await.value();
    client.event("agent_settled").await;
    let ended = client.end().await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.starts_with("Warning: No models available."), "{}", ended.stderr);
}
