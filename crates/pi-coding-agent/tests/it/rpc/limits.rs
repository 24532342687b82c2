//! Clients that send too much, or do not listen.

use std::time::Duration;

use serde_json::json;

use super::client;
use crate::bed::Bed;

#[tokio::test]
async fn a_line_without_end_is_refused_and_the_process_lives() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    client.send_line(&"x".repeat(70 * 1024 * 1024)).await;
    let answer = client.nameless_answer().await;
    assert_eq!(answer.failure(), "Failed to parse command: the line is longer than 67108864 bytes");
    client
        .send_line(&format!(
            "{{\"type\":\"no_such\",\"x\":{}1{}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        ))
        .await;
    assert!(!client.nameless_answer().await.success);
    assert!(client.call(json!({"type": "get_state"})).await.success);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_listened_to_any_more() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    client.call(json!({"type": "get_state"})).await;
    let command = json!({"type": "get_state"}).to_string();
    // The pipes fill up: at some point a line is not taken.
    let mut sent = 0;
    loop {
        let send = client.send_line(&command);
        match tokio::time::timeout(Duration::from_millis(500), send).await {
            Ok(()) => sent += 1,
            Err(_) => break,
        }
        assert!(sent < 100_000, "everything was taken");
    }
    // Once it is read, everything that was taken is answered, and what is sent then as well.
    for _ in 0..sent {
        assert!(client.nameless_answer().await.success);
    }
}

#[tokio::test]
async fn a_reader_that_leaves_ends_the_process() {
    let bed = Bed::idle().await;
    let mut client = client(&bed, []);
    client.call(json!({"type": "get_state"})).await;
    client.program().close_stdout();
    client.send_line(&json!({"type": "get_state"}).to_string()).await;
    assert_eq!(client.program().exit_code().await, Some(0));
}
