//! Trying again below what the events show.

use super::*;
use pi_test::Reply;

fn retrying(times: u32) -> StreamOptions {
    StreamOptions { max_retries: times, ..options() }
}

fn busy() -> Reply {
    Reply::status(503, "busy").header("retry-after-ms", "1")
}

#[tokio::test]
async fn two_retries_are_three_requests_and_one_answer() {
    let server = ModelServer::start_unchecked([busy(), busy(), talk(&["ok"])]).await;
    let mut stream = ask(&server, retrying(2));
    let mut starts = 0;
    while let Some(event) = stream.next().await {
        starts += u32::from(event == pi_ai::AssistantEvent::Start);
    }
    assert_eq!(starts, 1);
    assert_eq!(stream.partial().text(), "ok");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn exhausted_retries_give_the_last_error() {
    let server = ModelServer::start_unchecked([busy(), busy()]).await;
    let message = ask(&server, retrying(1)).result().await;
    assert_eq!(message.error_message.as_deref(), Some("503: busy"));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn without_retries_there_is_one_request() {
    let server = ModelServer::start_unchecked([busy()]).await;
    ask(&server, retrying(0)).result().await;
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn final_errors_are_not_retried_unless_the_server_says_so() {
    let server = ModelServer::start_unchecked([
        Reply::status(400, "no"),
        Reply::status(503, "no").header("x-should-retry", "false"),
        Reply::status(400, "odd").header("x-should-retry", "true").header("retry-after-ms", "1"),
        talk(&["ok"]),
    ])
    .await;
    for (requests, expected) in [(1, "400: no"), (2, "503: no")] {
        let message = ask(&server, retrying(5)).result().await;
        assert_eq!(message.error_message.as_deref(), Some(expected));
        assert_eq!(server.requests().len(), requests);
    }
    assert_eq!(ask(&server, retrying(5)).result().await.text(), "ok");
}

#[tokio::test]
async fn a_lost_connection_is_retried() {
    let server = ModelServer::start_unchecked([Reply::close(), talk(&["ok"])]).await;
    assert_eq!(ask(&server, retrying(1)).result().await.text(), "ok");
}

#[tokio::test]
async fn the_servers_wait_is_kept() {
    let wait = Reply::status(429, "x").header("retry-after-ms", "120");
    let server = ModelServer::start_unchecked([wait, talk(&["ok"])]).await;
    let message = ask(&server, retrying(1)).result().await;
    assert_eq!(message.text(), "ok");
    assert_eq!(message.retry_after_ms, None, "the error is over");
    assert!(message.duration_ms.unwrap() >= 120);
}

#[tokio::test]
async fn too_long_a_wait_fails_at_once() {
    let wait = Reply::status(429, "x").header("retry-after", "120");
    let server = ModelServer::start_unchecked([wait]).await;
    let message = ask(&server, retrying(3)).result().await;
    assert_eq!(
        message.error_message.as_deref(),
        Some("Server requested 120s retry delay (max: 60s). 429: x")
    );
    assert_eq!(message.retry_after_ms, Some(120_000));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_fallback_request_is_tried_once_and_goes_through_the_hooks() {
    let refusal = || Reply::status(422, "too strict");
    let server =
        ModelServer::start_unchecked([refusal(), talk(&["ok"]), refusal(), refusal()]).await;
    let wire = TestWire { fallback_on: Some(422) };
    let protocol = protocol_with(wire, TransportConfig::default());
    let ask = |options| protocol.stream(model(&server.url()), Context::default(), options);
    let diary = Arc::new(Diary::default());
    let hooks: Arc<dyn RequestHooks> = diary.clone();
    let message = ask(StreamOptions { hooks: Some(hooks), ..options() }).result().await;
    assert_eq!(message.text(), "ok");
    let second = &server.requests()[1];
    assert_eq!(second.json()["instead_of"], "too strict");
    assert_eq!(second.header("x-hooked"), Some("yes"));
    assert_eq!(second.json()["hooks"], 1, "a hook never sees its own work");
    assert_eq!(diary.pages().iter().filter(|page| *page == "payload").count(), 2);

    let message = ask(options()).result().await;
    assert_eq!(message.error_message.as_deref(), Some("422: too strict"));
    assert_eq!(server.requests().len(), 4);
}
