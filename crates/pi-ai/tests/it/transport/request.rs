//! What goes out, and in which order the hooks see it.

use super::*;

#[tokio::test]
async fn hooks_see_headers_payload_response_and_events_in_order() {
    let server = ModelServer::start_unchecked([talk(&["a", "b"])]).await;
    let diary = Arc::new(Diary::default());
    let hooks: Arc<dyn RequestHooks> = diary.clone();
    let message = ask(&server, StreamOptions { hooks: Some(hooks), ..options() }).result().await;
    assert_eq!(message.text(), "ab");
    assert_eq!(
        diary.pages(),
        [
            "headers with user-agent: true",
            "payload",
            "response 200",
            "event None a",
            "event None b",
            "event None [DONE]",
        ]
    );
    let request = &server.requests()[0];
    assert_eq!(request.header("x-hooked"), Some("yes"));
    assert_eq!(request.json()["hooked"], true);
}

#[tokio::test]
async fn headers_of_the_request_win_and_null_deletes() {
    let server = ModelServer::start_unchecked([talk(&["a"])]).await;
    let headers = [
        ("X-Api-Key".to_owned(), Some("other".to_owned())),
        ("user-agent".to_owned(), None),
        ("x-mine".to_owned(), Some("gr\u{fc}n".to_owned())),
    ];
    let options = StreamOptions { headers: headers.into(), ..options() };
    ask(&server, options).result().await;
    let request = &server.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("other"));
    assert_eq!(request.header("user-agent"), None);
    assert_eq!(request.header("x-mine"), Some("gr\u{fc}n"));
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn both_doors_lead_to_the_wire() {
    let server = ModelServer::start_unchecked([talk(&["a"]), talk(&["b"])]).await;
    let context = || Context { system_prompt: Some("be".to_owned()), ..Context::default() };
    let protocol = protocol();
    protocol.stream(model(&server.url()), context(), options()).result().await;
    let simple = SimpleStreamOptions { base: options(), ..SimpleStreamOptions::default() };
    protocol.stream_simple(model(&server.url()), context(), simple).result().await;
    let bodies: Vec<_> = server.requests().iter().map(pi_test::Request::json).collect();
    assert_eq!(bodies[0], json!({"stream": true, "prompt": "be", "max": null}));
    assert_eq!(bodies[1]["max"], 77);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_an_error_answer() {
    let server = ModelServer::start_unchecked([talk(&[])]).await;
    let message = ask(&server, StreamOptions::default()).result().await;
    assert_eq!(message.stop_reason, StopReason::Error);
    assert_eq!(message.error_message.as_deref(), Some("No API key for provider: faux"));
    assert!(server.requests().is_empty());

    let message =
        protocol().stream(model("nonsense"), Context::default(), options()).result().await;
    assert_eq!(message.error_message.as_deref(), Some("Invalid URL \"nonsense/talk\""));
}

#[tokio::test]
async fn compressed_answers_are_read() {
    let server =
        ModelServer::start_unchecked([talk(&["one", "two"]).gzip(), talk(&["x"]).gzip().split(1)])
            .await;
    assert_eq!(ask(&server, options()).result().await.text(), "onetwo");
    assert_eq!(ask(&server, options()).result().await.text(), "x");
    assert_eq!(server.requests()[0].header("accept-encoding"), Some("gzip"));
}

#[tokio::test]
async fn a_redirect_stays_on_its_host() {
    let target = ModelServer::start_unchecked([talk(&["there"])]).await;
    let elsewhere = format!("{}/talk", target.url());
    let server = ModelServer::start_unchecked([
        pi_test::Reply::status(307, "").header("location", "/v2/talk"),
        talk(&["here"]),
        pi_test::Reply::status(307, "gone").header("location", &elsewhere),
    ])
    .await;
    assert_eq!(ask(&server, options()).result().await.text(), "here");
    assert_eq!(server.requests()[1].target, "/v2/talk");
    let message = ask(&server, options()).result().await;
    assert_eq!(message.error_message.as_deref(), Some("307: gone"));
    assert!(target.requests().is_empty(), "the key must not travel to another host");
}

#[tokio::test]
async fn one_connection_serves_one_answer_after_the_other() {
    let server = ModelServer::start_unchecked([talk(&["a"]), talk(&["b"])]).await;
    let protocol = protocol();
    for expected in ["a", "b"] {
        let stream = protocol.stream(model(&server.url()), Context::default(), options());
        assert_eq!(stream.result().await.text(), expected);
        tokio::time::sleep(MOMENT).await;
    }
    assert_eq!(server.connections(), 1);
}
