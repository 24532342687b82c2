use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Block, ModelServer, Reply, Turn};

async fn post(server: &ModelServer, path: &str) -> TcpStream {
    let body = json!({
        "model": "m", "stream": true, "max_tokens": 1,
        "messages": [{"role": "user", "content": "hi"}],
    })
    .to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: k\r\nanthropic-version: 1\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Everything up to the end of the last chunk, or of the connection.
async fn read(stream: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => seen.extend(&buffer[..count]),
        }
        if seen.ends_with(b"\r\n0\r\n\r\n") {
            break;
        }
    }
    String::from_utf8(seen).unwrap()
}

#[tokio::test]
async fn the_path_decides_the_wire_format() {
    let turn =
        Turn::new([Block::thinking("hm"), Block::text("yes"), Block::tool("c", "ls", json!({}))]);
    let server = ModelServer::start([turn.clone(), turn]).await;
    let seen = read(&mut post(&server, "/v1/messages?beta=true").await).await;
    for part in ["message_start", "thinking_delta", "\"text\":\"yes\"", "tool_use", "message_stop"]
    {
        assert!(seen.contains(part), "{part} in {seen}");
    }
    let seen = read(&mut post(&server, "/v1/chat/completions").await).await;
    for part in ["reasoning_content", "\"content\":\"yes\"", "tool_calls", "usage", "[DONE]"] {
        assert!(seen.contains(part), "{part} in {seen}");
    }
    assert_eq!(server.requests().len(), 2);
    assert_eq!(server.requests()[1].number, 2);
}

#[tokio::test]
async fn answers_can_be_cut_in_mid_stream() {
    let server =
        ModelServer::start([Reply::events(["data: 1\n\n", "data: 2\n\n"]).cut_after(1)]).await;
    let seen = read(&mut post(&server, "/chat/completions").await).await;
    assert!(seen.ends_with("data: 1\n\n\r\n"), "{seen}");
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let server = ModelServer::start([Reply::turn("x").silent_after(1), Reply::never()]).await;
    for left in 1..=2 {
        let stream = post(&server, "/chat/completions").await;
        server.wait_for_requests(left).await;
        drop(stream);
        server.wait_for_abandoned(left).await;
    }
}

#[tokio::test]
async fn split_and_paced_bodies_arrive_whole() {
    let reply = Reply::events(["data: x\n\n"]).split(4).paced(Duration::from_millis(1));
    let server = ModelServer::start([reply]).await;
    let seen = read(&mut post(&server, "/chat/completions").await).await;
    assert!(seen.ends_with("4\r\ndata\r\n4\r\n: x\n\r\n1\r\n\n\r\n0\r\n\r\n"), "{seen:?}");
}

#[tokio::test]
async fn bad_requests_are_refused_and_recorded() {
    let server = ModelServer::start(["never used"]).await;
    let seen = read(&mut post(&server, "/v1/other").await).await;
    assert!(seen.starts_with("HTTP/1.1 400"), "{seen}");
    assert_eq!(server.take_faults(), ["request 1: unknown path /v1/other"]);
}

#[tokio::test]
async fn what_comes_after_the_script_can_be_worked_out() {
    let server = ModelServer::start(["first"]).await;
    server.always(|request| Reply::turn(format!("n{}", request.number).as_str()));
    let mut stream = post(&server, "/chat/completions").await;
    assert!(read(&mut stream).await.contains("first"));
    assert!(read(&mut post(&server, "/chat/completions").await).await.contains("n2"));
}
