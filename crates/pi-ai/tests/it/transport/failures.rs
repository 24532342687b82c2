//! Everything that can go wrong on the way.

use super::*;
use pi_ai::retry::is_retryable;
use pi_test::Reply;

async fn error_of(reply: Reply, options: StreamOptions) -> (String, String) {
    let server = ModelServer::start_unchecked([reply]).await;
    let message = ask(&server, options).result().await;
    assert_eq!(message.stop_reason, StopReason::Error);
    (message.error_message.clone().unwrap(), message.text())
}

#[tokio::test]
async fn a_stream_cut_in_its_middle_keeps_what_came_and_can_be_retried() {
    for reply in [talk(&["a", "b", "c"]).cut_after(2), talk(&["a", "b", "c"]).reset_after(2)] {
        let (error, text) = error_of(reply, options()).await;
        assert!(error.starts_with("terminated: other side closed ("), "{error}");
        assert!(is_retryable(&error));
        assert_eq!(text, "ab");
    }
}

#[tokio::test]
async fn an_answer_that_ends_too_early_is_the_decoders_to_name() {
    let (error, text) = error_of(Reply::events(Vec::<String>::new()), options()).await;
    assert_eq!(error, "Stream ended without finish_reason");
    assert_eq!(text, "");
}

#[tokio::test]
async fn silence_ends_an_answer_but_slowness_does_not() {
    let options = || StreamOptions { timeout_ms: Some(150), ..options() };
    let (error, text) = error_of(talk(&["a", "b"]).silent_after(1), options()).await;
    assert_eq!(error, "Request timed out: nothing received for 150 ms");
    assert!(is_retryable(&error));
    assert_eq!(text, "a");
    let (error, _) = error_of(Reply::never(), options()).await;
    assert_eq!(error, "Request timed out: nothing received for 150 ms");

    // Longer in all than the limit, but never silent for so long.
    let texts = ["x"; 12];
    let server = ModelServer::start_unchecked([talk(&texts).paced(MOMENT)]).await;
    let message = ask(&server, options()).result().await;
    assert_eq!(message.text(), "x".repeat(12));
    assert!(message.duration_ms.unwrap() > 150);
}

#[tokio::test]
async fn silence_counts_even_when_the_reader_looks_away_now_and_then() {
    let server = ModelServer::start_unchecked([talk(&["a", "b"]).silent_after(1)]).await;
    let mut stream = ask(&server, StreamOptions { timeout_ms: Some(100), ..options() });
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        let tick = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
        if matches!(tick, Ok(Some(pi_ai::AssistantEvent::Error { .. }))) {
            return;
        }
    }
    panic!("no time-out");
}

#[tokio::test]
async fn no_limit_waits_on() {
    for timeout_ms in [None, Some(0)] {
        let reply = talk(&["late"]).after(Duration::from_millis(60));
        let server = ModelServer::start_unchecked([reply]).await;
        let message = ask(&server, StreamOptions { timeout_ms, ..options() }).result().await;
        assert_eq!(message.text(), "late");
    }
}

#[tokio::test]
async fn a_refused_connection_is_named_with_its_address() {
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let message = protocol().stream(model(&url), Context::default(), options()).result().await;
    let error = message.error_message.clone().unwrap();
    assert_eq!(error, format!("Connection error.: connect ECONNREFUSED {address}"));
    assert!(is_retryable(&error));
    assert!(message.content.is_empty());
}

#[tokio::test]
async fn an_unknown_host_is_named() {
    let host = unknown_host();
    let url = model(&format!("http://{host}"));
    let message = protocol().stream(url, Context::default(), options()).result().await;
    let error = message.error_message.clone().unwrap();
    assert!(error.starts_with("Connection error.: "), "{error}");
    assert!(error.contains(&format!("getaddrinfo ENOTFOUND {host}")), "{error}");
    assert!(is_retryable(&error));
}

#[tokio::test]
async fn a_server_that_hangs_up_is_a_connection_error() {
    let (error, _) = error_of(Reply::close(), options()).await;
    assert!(error.starts_with("Connection error.: "), "{error}");
    assert!(is_retryable(&error));
}

#[tokio::test]
async fn error_answers_carry_status_body_and_the_wait_asked_for() {
    let reply = Reply::status(429, "{\"x\":1}").header("retry-after", "7");
    let server = ModelServer::start_unchecked([reply]).await;
    let message = ask(&server, options()).result().await;
    assert_eq!(message.error_message.as_deref(), Some("429: {\"x\":1}"));
    assert_eq!(message.retry_after_ms, Some(7000));
    assert!(message.duration_ms.is_some());
}

#[tokio::test]
async fn huge_and_broken_error_bodies_are_bounded() {
    let (error, _) = error_of(Reply::status(500, vec![b'x'; 3_000_000]), options()).await;
    assert_eq!(error.len(), "500: ".len() + 256 * 1024);
    let (error, _) =
        error_of(Reply::status(500, b"half\xff".to_vec()).cut_after(1), options()).await;
    assert_eq!(error, "500: half\u{fffd}");
    let options = StreamOptions { timeout_ms: Some(60), ..options() };
    let (error, _) = error_of(Reply::status(400, "half").silent_after(1), options).await;
    assert_eq!(error, "400: half");
}

#[tokio::test]
async fn no_secret_shows_in_errors_or_debug_output() {
    let server = ModelServer::start_unchecked([Reply::close()]).await;
    let stream = ask(&server, options());
    assert!(!format!("{stream:?}").contains("sk-secret"));
    let message = stream.result().await;
    assert!(!format!("{message:?}").contains("sk-secret"));
}

/// A chunk of Chat Completions.
fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = serde_json::json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", serde_json::json!({"id": "c", "choices": [choice]}))
}

async fn complete(reply: Reply, options: StreamOptions) -> Arc<pi_ai::AssistantMessage> {
    let server = ModelServer::start_unchecked([reply]).await;
    let wire = pi_ai::protocol::openai_completions::OpenAiCompletions;
    let protocol =
        HttpProtocol::new(wire, Arc::new(HttpTransport::new(TransportConfig::default())));
    protocol.stream(model(&server.url()), Context::default(), options).result().await
}

#[tokio::test]
async fn an_answer_that_is_whole_counts_though_the_server_never_closes_it() {
    let events = [
        chunk(&serde_json::json!({"content": "done"}), None),
        chunk(&serde_json::json!({}), Some("stop")),
    ];
    let options = StreamOptions { timeout_ms: Some(150), ..options() };
    let message = complete(Reply::events(events).silent_after(2), options).await;
    assert_eq!((message.text().as_str(), message.stop_reason), ("done", StopReason::Stop));
}

#[tokio::test]
async fn a_page_behind_a_good_status_is_shown_and_not_asked_for_again() {
    let cases = [
        ("text/html; charset=utf-8", "<html>Please sign in</html>", "Please sign in"),
        ("application/json", r#"{"error":{"message":"model not loaded"}}"#, "model not loaded"),
    ];
    for (kind, body, shown) in cases {
        let reply = Reply::status(200, body).header("content-type", kind);
        let message = complete(reply, options()).await;
        assert_eq!(message.stop_reason, StopReason::Error);
        let error = message.error_message.as_deref().unwrap();
        assert!(error.contains(shown) && !is_retryable(error), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_says_to_be_json_is_read_as_a_stream() {
    let body = format!(
        "{}{}data: [DONE]\n\n",
        chunk(&serde_json::json!({"content": "fine"}), None),
        chunk(&serde_json::json!({}), Some("stop"))
    );
    let reply = Reply::status(200, body).header("content-type", "application/json");
    let message = complete(reply, options()).await;
    assert_eq!((message.text().as_str(), message.stop_reason), ("fine", StopReason::Stop));
}

#[tokio::test]
async fn a_key_the_server_repeats_is_taken_out_of_the_text() {
    let key = "sk-very-secret-1234";
    let refused = || Reply::error(401, &format!("Incorrect API key provided: {key}"));
    let by_option = StreamOptions { api_key: Some(key.to_owned()), ..options() };
    let header = ("Authorization".to_owned(), Some(format!("Bearer {key}")));
    let by_header = StreamOptions { headers: [header].into_iter().collect(), ..options() };
    for options in [by_option, by_header] {
        let message = complete(refused(), options).await;
        let error = message.error_message.as_deref().unwrap();
        assert!(error.contains("Incorrect API key provided: [redacted]"), "{error}");
        assert!(!error.contains(key), "{error}");
    }
}

#[tokio::test]
async fn an_emoji_cut_in_two_events_does_not_end_the_answer() {
    let half = |text: &str| {
        format!(
            r#"data: {{"id":"c","choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}{}"#,
            "\n\n"
        )
    };
    let events = [half(r"x\ud83d"), half(r"\ude00y"), chunk(&serde_json::json!({}), Some("stop"))];
    let message = complete(Reply::events(events), options()).await;
    assert_eq!(message.text(), "x\u{fffd}\u{fffd}y");
}
