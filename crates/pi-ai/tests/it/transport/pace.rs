//! The reader sets the pace.

use super::*;
use pi_ai::{AssistantBlock, AssistantEvent, AssistantMessage};

/// Sixteen events of the largest size here. The server sends each in a chunk of its own.
const MOST_AHEAD: usize = 16 * 6;

/// Copying the text 20,000 times would dominate the test.
fn text_bytes(message: &AssistantMessage) -> usize {
    let sizes = message.content.iter().map(|block| match block {
        AssistantBlock::Text(text) => text.text.len(),
        AssistantBlock::Thinking(_) | AssistantBlock::ToolCall(_) => 0,
    });
    sizes.sum()
}

#[tokio::test]
async fn twenty_thousand_deltas_arrive_in_order_and_whole() {
    let texts: Vec<String> = (0..20_000).map(|number| format!("{number} ")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let server = ModelServer::start_unchecked([talk(&texts)]).await;
    let mut stream = ask(&server, options());
    let mut deltas = 0;
    let mut seen = String::new();
    while let Some(event) = stream.next().await {
        if let AssistantEvent::TextDelta { delta, .. } = event {
            deltas += 1;
            seen.push_str(&delta);
            // What is decoded ahead of the reader is no more than what came at once: the message
            // and the events read so far are hardly apart.
            let ahead = text_bytes(stream.partial()) - seen.len();
            assert!(ahead <= MOST_AHEAD, "{ahead} bytes wait in the queue");
        }
    }
    assert_eq!(deltas, 20_000);
    assert_eq!(seen, texts.concat());
}
