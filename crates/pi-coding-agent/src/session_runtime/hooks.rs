//! The product's own hooks in the loop.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::message::CustomMessage;
use pi_agent::{AgentMessage, LoopHooks};
use pi_ai::{InputBlock, ToolResultMessage, UserContent, UserMessage};

/// Stands in for an image that may not leave the machine.
const BLOCKED: &str = "Image reading is disabled.";

/// Setting `images.blockImages`: images stay in the session but never reach a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageFilter {
    pub(super) block: bool,
}

impl LoopHooks for ImageFilter {
    fn transform_context<'a>(
        &'a self,
        messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        let messages =
            if self.block { messages.into_iter().map(without_images).collect() } else { messages };
        Box::pin(std::future::ready(messages))
    }
}

fn without_images(message: AgentMessage) -> AgentMessage {
    match message {
        AgentMessage::User(user) => {
            let UserContent::Blocks(blocks) = &user.content else {
                return AgentMessage::User(user);
            };
            let Some(blocks) = replaced(blocks) else { return AgentMessage::User(user) };
            let content = UserContent::Blocks(blocks);
            AgentMessage::User(Arc::new(UserMessage { content, timestamp: user.timestamp }))
        }
        AgentMessage::Custom(custom) => {
            let UserContent::Blocks(blocks) = &custom.content else {
                return AgentMessage::Custom(custom);
            };
            let Some(blocks) = replaced(blocks) else { return AgentMessage::Custom(custom) };
            let content = UserContent::Blocks(blocks);
            AgentMessage::Custom(Arc::new(CustomMessage { content, ..custom.as_ref().clone() }))
        }
        AgentMessage::ToolResult(result) => match replaced(&result.content) {
            Some(content) => AgentMessage::ToolResult(Arc::new(ToolResultMessage {
                content,
                ..result.as_ref().clone()
            })),
            None => AgentMessage::ToolResult(result),
        },
        other => other,
    }
}

/// The blocks with a note in place of all images; `None` where there are none.
fn replaced(blocks: &[InputBlock]) -> Option<Vec<InputBlock>> {
    let is_text = |block: &&InputBlock| matches!(block, InputBlock::Text(_));
    let mut texts: Vec<InputBlock> = blocks.iter().filter(is_text).cloned().collect();
    if texts.len() == blocks.len() {
        return None;
    }
    match texts.last_mut() {
        Some(InputBlock::Text(last)) => {
            last.text.push('\n');
            last.text.push_str(BLOCKED);
        }
        _ => texts.push(InputBlock::text(BLOCKED)),
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use pi_ai::ImageContent;

    use super::*;

    #[tokio::test]
    async fn blocked_images_become_a_second_line_of_the_text() {
        let image =
            InputBlock::Image(ImageContent { data: "AA==".into(), mime_type: "image/png".into() });
        let message =
            AgentMessage::user(vec![InputBlock::text("Read image file [image/png]"), image], 1);
        let open = ImageFilter { block: false }.transform_context(vec![message.clone()]).await;
        assert_eq!(open, std::slice::from_ref(&message));
        let AgentMessage::User(user) = &message else { panic!("a user message") };
        let custom = |content| {
            AgentMessage::Custom(Arc::new(CustomMessage {
                custom_type: "x".to_owned(),
                content,
                display: true,
                details: None,
                timestamp: 1,
            }))
        };
        let messages = vec![message.clone(), custom(user.content.clone())];
        let blocked = ImageFilter { block: true }.transform_context(messages).await;
        let text =
            vec![InputBlock::text("Read image file [image/png]\nImage reading is disabled.")];
        let expected = [AgentMessage::user(text.clone(), 1), custom(UserContent::Blocks(text))];
        assert_eq!(blocked, expected);
    }
}
