use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{FauxBlock, FauxProvider, FauxScript, FauxTurn, FauxUsage};
use crate::event::AssistantEvent;
use crate::stream::AssistantStream;
use crate::types::Context;
use crate::types::{Message, StopReason, StreamOptions, UserContent, UserMessage};

fn ask(provider: &FauxProvider, context: Context) -> AssistantStream {
    ask_with(provider, context, CancellationToken::new())
}

fn ask_with(
    provider: &FauxProvider,
    context: Context,
    cancel: CancellationToken,
) -> AssistantStream {
    let options = StreamOptions { cancel, ..StreamOptions::default() };
    provider.protocols().stream(&Arc::new(FauxProvider::model()), context, options)
}

fn said(text: &str) -> Context {
    let message = UserMessage { content: UserContent::Text(text.to_owned()), timestamp: 1 };
    Context { messages: vec![Message::User(Arc::new(message))], ..Context::default() }
}

/// Event names, with the delta where there is one.
async fn events(mut stream: AssistantStream) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(event) = stream.next().await {
        let value = serde_json::to_value(&event).unwrap();
        let name = value["type"].as_str().unwrap();
        seen.push(match value["delta"].as_str() {
            Some(delta) => format!("{name} {delta}"),
            None => name.to_owned(),
        });
    }
    seen
}

#[tokio::test]
async fn a_turn_streams_its_blocks_in_small_deltas() {
    let provider = FauxProvider::default();
    provider.push(FauxTurn {
        delta_chars: 3,
        ..FauxTurn::new([
            FauxBlock::thinking("hm"),
            FauxBlock::text("gr\u{fc}\u{df}e"),
            FauxBlock::tool_call("c1", "read", json!({"p": 1})),
        ])
    });
    let seen = events(ask(&provider, Context::default())).await;
    assert_eq!(
        seen,
        [
            "start",
            "thinking_start",
            "thinking_delta hm",
            "thinking_end",
            "text_start",
            "text_delta gr\u{fc}",
            "text_delta \u{df}e",
            "text_end",
            "toolcall_start",
            "toolcall_delta {\"p",
            "toolcall_delta \":1",
            "toolcall_delta }",
            "toolcall_end",
            "done",
        ]
    );
}

#[tokio::test]
async fn the_final_message_holds_blocks_usage_and_stop_reason() {
    let usage = FauxUsage { input: 10, output: 5, cache_read: 3, cache_write: 2, reasoning: None };
    let provider = FauxProvider::default();
    provider.push(
        FauxTurn::tool_call("c1", "read", json!({"path": "a", "n": [1, 2]})).with_usage(usage),
    );
    let message = ask(&provider, Context::default()).result().await;
    let call = message.tool_calls().next().unwrap();
    assert_eq!(call.arguments.get("n"), Some(&json!([1, 2])));
    assert_eq!(call.arguments_error, None);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!((message.usage.total_tokens, message.usage.cache_read), (20, 3));
    assert_eq!((message.api.as_str(), message.model.as_str()), ("faux", "faux-1"));
    assert!(message.duration_ms.is_some());
}

#[tokio::test]
async fn a_turn_can_depend_on_the_conversation() {
    let provider = FauxProvider::default();
    provider.push_with(|context| match context.messages.last() {
        Some(Message::User(user)) => FauxTurn::text(format!("you said {}", user.content.to_text())),
        _ => FauxTurn::text("nobody spoke"),
    });
    assert_eq!(ask(&provider, said("hi")).result().await.text(), "you said hi");
    assert_eq!(provider.contexts().len(), 1);
    assert_eq!(provider.contexts()[0].messages.len(), 1);
}

#[tokio::test]
async fn a_lasting_answer_plays_for_every_request() {
    let provider = FauxProvider::default();
    provider.push("first");
    provider.always(|_| FauxTurn::text("again"));
    for expected in ["first", "again", "again"] {
        assert_eq!(ask(&provider, Context::default()).result().await.text(), expected);
    }
}

#[tokio::test]
async fn an_exhausted_script_is_an_error_answer() {
    let provider = FauxProvider::new(["only"].into_iter().collect());
    assert_eq!(provider.remaining(), 1);
    assert_eq!(ask(&provider, Context::default()).result().await.text(), "only");
    let message = ask(&provider, Context::default()).result().await;
    assert_eq!(message.stop_reason, StopReason::Error);
    assert_eq!(message.error_message.as_deref(), Some("The faux script has no more turns"));
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn an_error_keeps_what_was_streamed_and_the_wait_asked_for() {
    let provider = FauxProvider::default();
    let turn = FauxTurn::error("529: overloaded");
    provider.push(FauxTurn {
        blocks: vec![FauxBlock::text("par")],
        retry_after_ms: Some(70),
        ..turn
    });
    let message = ask(&provider, Context::default()).result().await;
    assert_eq!(message.stop_reason, StopReason::Error);
    assert_eq!(message.text(), "par");
    assert_eq!(message.retry_after_ms, Some(70));
    let stored = serde_json::to_value(&*message).unwrap();
    assert_eq!(stored.get("retryAfterMs"), None, "not stored in the session");
}

#[tokio::test]
async fn cancelling_ends_the_stream_with_the_partial_answer() {
    let provider = FauxProvider::default();
    provider.push(FauxTurn { delta_delay_ms: 60_000, delta_chars: 2, ..FauxTurn::text("abcd") });
    let cancel = CancellationToken::new();
    let mut stream = ask_with(&provider, Context::default(), cancel.clone());
    loop {
        if matches!(stream.next().await, Some(AssistantEvent::TextDelta { .. })) {
            cancel.cancel();
            break;
        }
    }
    let message = stream.result().await;
    assert_eq!(message.stop_reason, StopReason::Aborted);
    assert_eq!(message.error_message.as_deref(), Some("Request aborted"));
    assert_eq!(message.text(), "ab");
}

#[tokio::test]
async fn a_hanging_turn_waits_for_the_cancellation() {
    let provider = FauxProvider::default();
    provider.push(FauxTurn { hang: true, ..FauxTurn::text("x") });
    let cancel = CancellationToken::new();
    let stream = ask_with(&provider, Context::default(), cancel.clone());
    let (message, ()) = tokio::join!(stream.result(), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert_eq!(message.stop_reason, StopReason::Aborted);
    assert_eq!(message.text(), "x");
}

#[tokio::test]
async fn delays_pass_even_when_the_reader_is_interrupted() {
    let provider = FauxProvider::default();
    provider.push(FauxTurn { delay_ms: 60, ..FauxTurn::text("x") });
    let began = std::time::Instant::now();
    let mut stream = ask(&provider, Context::default());
    let first = loop {
        tokio::select! {
            biased;
            event = stream.next() => break event,
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    };
    assert_eq!(first, Some(AssistantEvent::Start));
    assert!(began.elapsed() >= Duration::from_millis(60));
}

#[test]
fn scripts_are_read_from_json_and_unknown_fields_are_refused() {
    let script = FauxScript::from_json(
        r#"{"turns": [
            {"blocks": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                {"type": "text", "text": "hi"},
                {"type": "toolCall", "id": "c", "name": "ls", "argumentText": "{"}
            ], "usage": {"input": 1, "cacheRead": 2}, "stopReason": "length", "deltaChars": 1},
            {"errorMessage": "no", "retryAfterMs": 5, "delayMs": 1, "deltaDelayMs": 2, "hang": true}
        ]}"#,
    )
    .unwrap();
    assert_eq!(script.turns[0].blocks.len(), 3);
    assert_eq!(script.turns[0].stop_reason, Some(StopReason::Length));
    assert_eq!(script.turns[1].retry_after_ms, Some(5));
    assert_eq!(FauxScript::from_value(serde_json::to_value(&script).unwrap()).unwrap(), script);

    for (text, word) in [
        (r#"{"turn": []}"#, "unknown field `turn`"),
        (r#"{"turns": [{"block": []}]}"#, "unknown field `block`"),
        (r#"{"turns": [{"usage": {"in": 1}}]}"#, "unknown field `in`"),
        (r#"{"turns": [{"blocks": [{"type": "text", "txt": ""}]}]}"#, "unknown field `txt`"),
        (r#"{"turns": [{"blocks": [{"type": "image"}]}]}"#, "unknown variant `image`"),
        ("[", "EOF"),
    ] {
        let error = FauxScript::from_json(text).unwrap_err().to_string();
        assert!(error.starts_with("not a faux script: ") && error.contains(word), "{error}");
    }
}
