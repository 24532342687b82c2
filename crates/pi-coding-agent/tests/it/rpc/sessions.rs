//! Other conversations, and the tree of this one.

use pi_test::{RpcClient, Turn};
use serde_json::{Value, json};

use super::client;
use crate::bed::{Bed, roles, text};

async fn prompt(client: &mut RpcClient, message: &str) {
    let answer = client.call(json!({"type": "prompt", "message": message})).await;
    assert_eq!(answer.value(), json!({"disposition": "started"}));
    client.event("agent_settled").await;
}

async fn users(client: &mut RpcClient) -> Vec<String> {
    let messages = client.call(json!({"type": "get_messages"})).await.value();
    let messages = messages["messages"].as_array().unwrap();
    messages.iter().filter(|message| message["role"] == "user").map(text).collect()
}

async fn file(client: &mut RpcClient) -> String {
    let state = client.call(json!({"type": "get_state"})).await.value();
    state["sessionFile"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn conversations_are_forked_cloned_begun_and_gone_back_to() {
    let bed = Bed::new(["1", "2", "3", "4", "5", "6"].map(Turn::from)).await;
    let mut client = client(&bed, []);
    let unsaved = client.call(json!({"type": "clone"})).await;
    assert!(unsaved.failure().starts_with("Nothing of this session is saved yet"), "{unsaved:?}");
    prompt(&mut client, "A").await;
    prompt(&mut client, "B").await;
    let first = file(&mut client).await;
    let forkable = client.call(json!({"type": "get_fork_messages"})).await.value();
    let texts: Vec<&str> = forkable["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["A", "B"]);
    let second = forkable["messages"][1]["entryId"].as_str().unwrap();
    let invalid = client.call(json!({"type": "fork", "entryId": "nope"})).await;
    assert_eq!(invalid.failure(), "Invalid entry ID for forking");
    let forked = client.call(json!({"type": "fork", "entryId": second})).await.value();
    assert_eq!(forked, json!({"text": "B", "cancelled": false}));
    prompt(&mut client, "C").await;
    assert_eq!(users(&mut client).await, ["A", "C"]);
    let of_fork = file(&mut client).await;
    let cancelled = json!({"cancelled": false});
    assert_eq!(client.call(json!({"type": "clone"})).await.value(), cancelled);
    prompt(&mut client, "D").await;
    assert_eq!(users(&mut client).await, ["A", "C", "D"]);
    assert_eq!(client.call(json!({"type": "new_session"})).await.value(), cancelled);
    assert!(users(&mut client).await.is_empty());
    prompt(&mut client, "E").await;
    let back = json!({"type": "switch_session", "sessionPath": first});
    assert_eq!(client.call(back).await.value(), cancelled);
    assert_eq!(
        (users(&mut client).await, file(&mut client).await),
        (vec!["A".into(), "B".into()], first)
    );
    prompt(&mut client, "F").await;
    assert_eq!(
        roles(bed.bodies().last().unwrap()),
        ["user", "assistant", "user", "assistant", "user"]
    );
    assert_eq!(bed.scratch.session_files().unwrap().len(), 4);
    let parent = std::fs::read_to_string(of_fork).unwrap();
    assert!(parent.lines().next().unwrap().contains("parentSession"), "{parent}");
}

#[tokio::test]
async fn what_is_on_ends_before_another_conversation_begins() {
    let command = "touch started; sleep 100";
    let bed =
        Bed::new([Turn::tool("call_1", "bash", json!({"command": command})), Turn::from("Fresh.")])
            .await;
    let mut client = client(&bed, []);
    client.call(json!({"type": "prompt", "message": "Start"})).await;
    while !bed.scratch.ws().join("started").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(client.call(json!({"type": "new_session"})).await.success);
    prompt(&mut client, "Next").await;
    assert_eq!(users(&mut client).await, ["Next"]);
}

#[tokio::test]
async fn a_path_that_is_not_there_begins_a_session_and_a_gone_directory_is_refused() {
    let bed = Bed::new([Turn::from("Hello.")]).await;
    let mut client = client(&bed, []);
    let path = bed.scratch.ws().join("mine.jsonl");
    let switch = json!({"type": "switch_session", "sessionPath": path});
    assert!(client.call(switch).await.success);
    prompt(&mut client, "Hi").await;
    assert!(path.exists());
    let header = json!({
        "type": "session", "version": 3, "id": "x", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/no/such/place",
    });
    bed.scratch.write("ws/gone.jsonl", format!("{header}\n")).unwrap();
    let gone = json!({"type": "switch_session", "sessionPath": "gone.jsonl"});
    let refused = client.call(gone).await;
    assert!(refused.failure().contains("/no/such/place"), "{refused:?}");
    // The conversation is the one before.
    assert_eq!(users(&mut client).await, ["Hi"]);
}

#[tokio::test]
async fn entries_come_from_one_on_and_the_tree_may_be_deep() {
    let bed = Bed::idle().await;
    let mut lines = vec![json!({
        "type": "session", "version": 3, "id": "deep", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": bed.scratch.ws(),
    })];
    for number in 0..1000 {
        let parent = if number == 0 { Value::Null } else { json!(format!("{:08x}", number - 1)) };
        lines.push(json!({
            "type": "message", "id": format!("{number:08x}"), "parentId": parent,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "x", "timestamp": 1},
        }));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    bed.scratch.write("ws/deep.jsonl", &text).unwrap();
    let mut client = client(&bed, ["--session", "deep.jsonl"]);
    let since = json!({"type": "get_entries", "since": "000003e5"});
    let entries = client.call(since).await.value();
    let ids: Vec<&str> =
        entries["entries"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    // The level of thinking, which the session did not tell, is the last one.
    assert_eq!((&ids[..2], ids.len()), (&["000003e6", "000003e7"][..], 3));
    assert_eq!(entries["leafId"], ids[2]);
    let unknown = client.call(json!({"type": "get_entries", "since": "zzz"})).await;
    assert_eq!(unknown.failure(), "Entry not found: zzz");
    let tree = client.call(json!({"type": "get_tree"})).await;
    let text = tree.data.unwrap();
    assert_eq!(text.get().matches("\"children\":[").count(), 1001);
    assert!(text.get().ends_with(&format!(",\"leafId\":\"{}\"}}", ids[2])));
}
