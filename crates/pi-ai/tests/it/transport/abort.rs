//! Giving up an answer.

use super::*;
use pi_ai::AssistantEvent;
use pi_test::Reply;
use tokio_util::sync::CancellationToken;

fn cancellable() -> (CancellationToken, StreamOptions) {
    let cancel = CancellationToken::new();
    (cancel.clone(), StreamOptions { cancel, ..options() })
}

#[tokio::test]
async fn cancelling_keeps_the_partial_answer_and_closes_the_connection() {
    let server =
        ModelServer::start_unchecked([talk(&["par", "tial", "never"]).silent_after(2)]).await;
    let (cancel, options) = cancellable();
    let mut stream = ask(&server, options);
    while stream.partial().text() != "partial" {
        stream.next().await.unwrap();
    }
    cancel.cancel();
    let message = stream.result().await;
    assert_eq!(message.stop_reason, StopReason::Aborted);
    assert_eq!(message.error_message.as_deref(), Some("Request aborted"));
    assert_eq!(message.text(), "partial");
    assert_eq!(message.raw_stop_reason.as_deref(), Some("Aborted"), "the decoder was told");
    assert!(message.duration_ms.is_some());
    server.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn cancelling_works_before_any_answer() {
    let server = ModelServer::start_unchecked([Reply::never()]).await;
    let (cancel, options) = cancellable();
    let (message, ()) = tokio::join!(ask(&server, options).result(), async {
        server.wait_for_requests(1).await;
        cancel.cancel();
    });
    assert_eq!(message.stop_reason, StopReason::Aborted);
    server.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn cancelling_ends_the_wait_before_a_retry() {
    let server =
        ModelServer::start_unchecked([Reply::status(429, "x").header("retry-after", "50")]).await;
    let (cancel, options) = cancellable();
    let options = StreamOptions { max_retries: 3, ..options };
    let (message, ()) = tokio::join!(ask(&server, options).result(), async {
        server.wait_for_requests(1).await;
        tokio::time::sleep(MOMENT).await;
        cancel.cancel();
    });
    assert_eq!(message.stop_reason, StopReason::Aborted);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_request_cancelled_beforehand_is_never_sent() {
    let server = ModelServer::start_unchecked([talk(&[])]).await;
    let (cancel, options) = cancellable();
    cancel.cancel();
    let mut stream = ask(&server, options);
    assert!(matches!(stream.next().await, Some(AssistantEvent::Error { .. })));
    assert_eq!(stream.next().await, None);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = ModelServer::start_unchecked([talk(&["a", "b"]).silent_after(1)]).await;
    let mut stream = ask(&server, options());
    stream.next().await.unwrap();
    drop(stream);
    server.wait_for_abandoned(1).await;
}
