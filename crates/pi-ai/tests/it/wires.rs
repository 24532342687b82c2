//! The built-in protocols, from question to answer, against a server that checks them.

use std::sync::Arc;

use pi_ai::protocol::builtin;
use pi_ai::transport::{HttpTransport, TransportConfig};
use pi_ai::{AssistantEvent, retry};
use pi_ai::{AssistantStream, Context, Protocols};
use pi_ai::{
    InputBlock, Message, Model, SimpleStreamOptions, StopReason, StreamOptions, ToolResultMessage,
    UserContent, UserMessage,
};
use pi_test::{Block, ModelServer, Reply, Stop, Tokens, Turn};
use serde_json::json;

const APIS: [&str; 2] = ["anthropic-messages", "openai-completions"];

struct Bed {
    server: ModelServer,
    protocols: Protocols,
    model: Arc<Model>,
    context: Context,
}

impl Bed {
    async fn new<R: Into<Reply>>(api: &str, replies: impl IntoIterator<Item = R>) -> Self {
        let server = ModelServer::start(replies).await;
        let model = json!({
            "id": "m-plain", "name": "Plain", "api": api, "provider": "fx", "input": ["text"],
            "baseUrl": server.url(), "contextWindow": 200_000, "maxTokens": 8192,
            "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        });
        let transport = Arc::new(HttpTransport::new(TransportConfig::default()));
        let question = UserMessage { content: UserContent::Text("hi".to_owned()), timestamp: 0 };
        let context = Context {
            system_prompt: Some("Be brief.".to_owned()),
            messages: vec![Message::User(Arc::new(question))],
            tools: Vec::new(),
        };
        let protocols = builtin(&transport);
        Self { server, protocols, model: Arc::new(serde_json::from_value(model).unwrap()), context }
    }

    fn ask(&self) -> AssistantStream {
        self.ask_with(StreamOptions::default())
    }

    fn ask_with(&self, options: StreamOptions) -> AssistantStream {
        let base = StreamOptions { api_key: Some("k".to_owned()), ..options };
        let options = SimpleStreamOptions { base, ..SimpleStreamOptions::default() };
        self.protocols.stream_simple(&self.model, self.context.clone(), options)
    }
}

#[tokio::test]
async fn a_conversation_with_a_tool_is_whole_on_the_wire() {
    for api in APIS {
        let call = Turn::new([
            Block::text("Let me look."),
            Block::tool("call_1", "ls", json!({"path": "a b", "deep": [1, {"x": null}]})),
        ]);
        let tokens = Tokens { input: 100, output: 20, cache_read: 50, ..Tokens::default() };
        let mut bed =
            Bed::new(api, [Reply::from(call), Reply::turn(Turn::from("Done.").tokens(tokens))])
                .await;
        let answer = bed.ask().result().await;
        assert_eq!(answer.stop_reason, StopReason::ToolUse, "{api}: {:?}", answer.error_message);
        assert_eq!(answer.text(), "Let me look.", "{api}");
        let asked = answer.tool_calls().next().unwrap();
        assert_eq!(asked.arguments["deep"], json!([1, {"x": null}]), "{api}");
        let result = ToolResultMessage {
            tool_call_id: asked.id.clone(),
            tool_name: asked.name.clone(),
            content: vec![InputBlock::text("f.txt")],
            details: None,
            usage: None,
            nested_calls: None,
            is_error: false,
            duration_ms: None,
            timestamp: 0,
        };
        bed.context.messages.push(Message::Assistant(Arc::clone(&answer)));
        bed.context.messages.push(Message::ToolResult(Arc::new(result)));
        let answer = bed.ask().result().await;
        assert_eq!(answer.text(), "Done.", "{api}");
        assert_eq!((answer.usage.input, answer.usage.cache_read), (100, 50), "{api}");
        assert_eq!(answer.usage.output, 20, "{api}");
        assert!(answer.usage.cost.total > 0.0, "{api}");
        assert_eq!(bed.server.requests().len(), 2, "{api}");
    }
}

#[tokio::test]
async fn any_split_of_the_body_gives_the_same_answer() {
    for api in APIS {
        let turn =
            || Turn::new([Block::thinking("h\u{e4}"), Block::text("gr\u{fc}\u{df}e \u{1f600}")]);
        let replies =
            [Reply::turn(turn()), Reply::turn(turn()).split(1), Reply::turn(turn()).gzip()];
        let bed = Bed::new(api, replies).await;
        let first = bed.ask().result().await;
        assert_eq!(first.stop_reason, StopReason::Stop, "{api}");
        for _ in 0..2 {
            assert_eq!(bed.ask().result().await.content, first.content, "{api}");
        }
    }
}

#[tokio::test]
async fn broken_and_refused_answers_are_classified() {
    for api in APIS {
        let replies = [
            Reply::turn("a text that is cut").cut_after(4),
            Reply::turn(Turn::from("no end").stop(Stop::Missing)),
            Reply::error(529, "Overloaded").header("retry-after", "3"),
            Reply::error(401, "Bad key"),
            Reply::error(400, "prompt is too long: 213462 tokens > 200000 maximum"),
        ];
        let bed = Bed::new(api, replies).await;
        for (retryable, overflow, retry_after_ms) in [
            (true, false, None),
            (true, false, None),
            (true, false, Some(3000)),
            (false, false, None),
            (false, true, None),
        ] {
            let answer = bed.ask().result().await;
            let error = answer.error_message.clone().unwrap();
            assert_eq!(answer.stop_reason, StopReason::Error, "{api}: {error}");
            assert_eq!(retry::is_retryable(&error), retryable, "{api}: {error}");
            assert_eq!(pi_ai::overflow::is_overflow(&answer, 200_000), overflow, "{api}: {error}");
            assert_eq!(answer.retry_after_ms, retry_after_ms, "{api}: {error}");
        }
    }
}

#[tokio::test]
async fn cancelling_in_mid_stream_keeps_the_text() {
    for api in APIS {
        let bed = Bed::new(api, [Reply::turn("twelve chars and more").silent_after(4)]).await;
        let options = StreamOptions::default();
        let cancel = options.cancel.clone();
        let mut stream = bed.ask_with(options);
        while !matches!(stream.next().await.unwrap(), AssistantEvent::TextDelta { .. }) {}
        cancel.cancel();
        let answer = stream.result().await;
        assert_eq!(answer.stop_reason, StopReason::Aborted, "{api}");
        assert_eq!(answer.error_message.as_deref(), Some("Request aborted"), "{api}");
        assert!(answer.text().starts_with("twelve chars"), "{api}: {}", answer.text());
        bed.server.wait_for_abandoned(1).await;
    }
}
