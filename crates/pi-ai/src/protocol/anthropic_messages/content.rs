//! Messages as the API takes them.

use serde_json::{Value, json};

use super::compat::Compat;
use super::tools::ToolWriter;
use crate::handoff::update_text;
use crate::protocol::body::{ONLY_IMAGES, object};
use crate::protocol::request_body::MessageList;
use crate::types::{
    AssistantBlock, AssistantMessage, ImageContent, InputBlock, Message, SystemMessage,
    ThinkingContent, ToolResultMessage, UserContent,
};

const IMAGE_MOVED: &str = "(image attached after the tool results)";

/// Writes the messages of one request.
pub(super) struct Turns<'a> {
    pub(super) provider: &'a str,
    pub(super) compat: &'a Compat,
    /// Effort of this request, when effort is told inside the conversation.
    pub(super) effort: Option<&'a str>,
    pub(super) cache_control: Option<&'a Value>,
}

/// What has been written, and what waits for its place.
#[derive(Default)]
struct Draft {
    messages: MessageList,
    /// System messages go right before the next answer that is sent.
    system: Vec<Value>,
    results: Vec<Value>,
    /// Images of error results, which the API wants outside of them.
    moved_images: Vec<Value>,
}

impl Turns<'_> {
    /// # Errors
    /// A tool added on the way must be strict and cannot be.
    pub(super) fn write(
        &self,
        messages: &[Message],
        tools: &ToolWriter<'_>,
    ) -> Result<MessageList, String> {
        let mut draft = Draft::default();
        for message in messages {
            match message {
                Message::ToolResult(result) => draft.result(result),
                Message::User(user) => {
                    draft.close_results();
                    if let Some(content) = user_content(&user.content) {
                        draft.push("user", content);
                    }
                }
                Message::System(system) => {
                    draft.close_results();
                    let blocks = system_blocks(system, tools)?;
                    if !blocks.is_empty() {
                        let content = Value::Array(blocks);
                        draft
                            .system
                            .push(object([("role", json!("system")), ("content", content)]));
                    }
                }
                Message::Assistant(answer) => {
                    draft.close_results();
                    self.answer(answer, &mut draft);
                }
            }
        }
        draft.close_results();
        draft.place_system();
        let mut messages = draft.messages;
        mark_last(messages.open_mut(), self.cache_control);
        messages.extend(self.effort.map(effort_message));
        Ok(messages)
    }

    fn answer(&self, answer: &AssistantMessage, draft: &mut Draft) {
        let blocks: Vec<_> =
            answer.content.iter().filter_map(|block| self.answer_block(block)).collect();
        if blocks.is_empty() {
            return;
        }
        draft.place_system();
        if let (Some(_), Some(effort)) = (self.effort, &answer.provider_thinking_level)
            && answer.provider == self.provider
        {
            draft.messages.push(effort_message(effort));
        }
        draft.push("assistant", Value::Array(blocks));
    }

    fn answer_block(&self, block: &AssistantBlock) -> Option<Value> {
        match block {
            AssistantBlock::Text(block) => filled_text(&block.text),
            AssistantBlock::Thinking(block) => self.thinking_block(block),
            AssistantBlock::ToolCall(call) => Some(json!({
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": call.arguments,
            })),
        }
    }

    /// Unsigned thinking is text to the API, unless the host never signs.
    fn thinking_block(&self, block: &ThinkingContent) -> Option<Value> {
        let signature = block.thinking_signature.as_deref().unwrap_or_default();
        let is_signed = !signature.trim().is_empty();
        if block.redacted == Some(true) {
            return is_signed.then(|| json!({"type": "redacted_thinking", "data": signature}));
        }
        if is_signed || (self.compat.empty_signature && !block.thinking.trim().is_empty()) {
            let signature = if is_signed { signature } else { "" };
            return Some(json!({
                "type": "thinking",
                "thinking": block.thinking,
                "signature": signature,
            }));
        }
        filled_text(&block.thinking)
    }
}

impl Draft {
    fn place_system(&mut self) {
        self.messages.extend(self.system.drain(..));
    }

    fn push(&mut self, role: &str, content: Value) {
        self.messages.push(object([("role", json!(role)), ("content", content)]));
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let content = if result.is_error && has_image(&result.content) {
            self.move_images(result);
            Value::from(texts_and_notes(&result.content))
        } else {
            result_content(&result.content)
        };
        self.results.push(object([
            ("type", json!("tool_result")),
            ("tool_use_id", json!(result.tool_call_id)),
            ("content", content),
            ("is_error", json!(result.is_error)),
        ]));
    }

    fn move_images(&mut self, result: &ToolResultMessage) {
        let caption = format!(
            "Images from the error result of tool call {} ({}):",
            result.tool_call_id, result.tool_name
        );
        self.moved_images.push(text(&caption));
        self.moved_images.extend(result.content.iter().filter_map(|block| match block {
            InputBlock::Image(picture) => Some(image(picture)),
            InputBlock::Text(_) => None,
        }));
    }

    /// Consecutive results are one user message.
    fn close_results(&mut self) {
        if !self.results.is_empty() {
            let mut content = std::mem::take(&mut self.results);
            content.append(&mut self.moved_images);
            self.push("user", Value::Array(content));
        }
    }
}

/// A text block.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Asks for the prompt up to this block to be cached.
pub(super) fn mark(block: &mut Value, cache_control: Option<&Value>) {
    if let (Some(cache_control), Some(block)) = (cache_control, block.as_object_mut()) {
        block.insert("cache_control".into(), cache_control.clone());
    }
}

/// The API refuses blank text.
fn filled_text(content: &str) -> Option<Value> {
    (!content.trim().is_empty()).then(|| text(content))
}

fn image(image: &ImageContent) -> Value {
    json!({
        "type": "image",
        "source": {"type": "base64", "media_type": image.mime_type, "data": image.data},
    })
}

fn effort_message(effort: &str) -> Value {
    json!({"role": "system", "content": [], "output_config": {"effort": effort}})
}

fn mark_last(messages: &mut [Value], cache_control: Option<&Value>) {
    let Some(last) = messages.last_mut() else {
        return;
    };
    if cache_control.is_none() || last.get("role").is_some_and(|role| role == "assistant") {
        return;
    }
    match last.get_mut("content") {
        Some(Value::Array(blocks)) => {
            if let Some(block) = blocks.last_mut() {
                mark(block, cache_control);
            }
        }
        Some(content) => {
            let mut block = text(content.as_str().unwrap_or_default());
            mark(&mut block, cache_control);
            *content = Value::Array(vec![block]);
        }
        None => {}
    }
}

/// `None` when nothing is left to send.
fn user_content(content: &UserContent) -> Option<Value> {
    match content {
        UserContent::Text(text) => (!text.trim().is_empty()).then(|| json!(text)),
        UserContent::Blocks(blocks) => {
            let blocks: Vec<_> = blocks.iter().filter_map(input_block).collect();
            (!blocks.is_empty()).then_some(Value::Array(blocks))
        }
    }
}

fn input_block(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(block) => filled_text(&block.text),
        InputBlock::Image(picture) => Some(image(picture)),
    }
}

fn system_blocks(system: &SystemMessage, tools: &ToolWriter<'_>) -> Result<Vec<Value>, String> {
    let mut blocks: Vec<_> = filled_text(&update_text(system)).into_iter().collect();
    let added = system.tools_added.as_deref().unwrap_or_default();
    for removed in system.tools_removed.iter().flatten() {
        // Declaring a tool anew replaces it.
        if !added.iter().any(|tool| tool.name == removed.name) {
            let tool = json!({"type": "tool_reference", "name": removed.name});
            blocks.push(json!({"type": "tool_removal", "tool": tool}));
        }
    }
    for tool in added {
        let definition = tools.declaration(tool)?;
        let tool = object([("type", json!("tool_definition")), ("definition", definition)]);
        blocks.push(object([("type", json!("tool_addition")), ("tool", tool)]));
    }
    Ok(blocks)
}

/// One string where that is possible: not every host reads blocks here.
fn result_content(blocks: &[InputBlock]) -> Value {
    if !has_image(blocks) {
        let texts: Vec<_> = blocks.iter().filter_map(InputBlock::as_text).collect();
        return Value::from(texts.join("\n"));
    }
    let mut content: Vec<_> = blocks.iter().filter_map(input_block).collect();
    let says_something = |block: &InputBlock| block.as_text().is_some_and(|t| !t.trim().is_empty());
    if !blocks.iter().any(says_something) {
        content.insert(0, text(ONLY_IMAGES));
    }
    Value::Array(content)
}

/// The texts, with a note in place of each run of images.
fn texts_and_notes(blocks: &[InputBlock]) -> String {
    let mut lines: Vec<&str> = Vec::with_capacity(blocks.len());
    let mut in_run = false;
    for block in blocks {
        match block.as_text() {
            Some(text) => lines.push(text),
            None if in_run => {}
            None => lines.push(IMAGE_MOVED),
        }
        in_run = block.as_text().is_none();
    }
    lines.join("\n")
}

fn has_image(blocks: &[InputBlock]) -> bool {
    blocks.iter().any(InputBlock::is_image)
}
