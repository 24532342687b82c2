//! A prepared conversation as Chat Completions messages.

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::answer::answer_message;
use super::compat::Compat;
use super::tools::wire_tools;
use crate::handoff::{Prepared, update_text};
use crate::protocol::body::{ONLY_IMAGES, object};
use crate::protocol::request_body::MessageList;
use crate::types::{ImageContent, InputBlock, Message, Model, SystemMessage, UserContent};

const NO_OUTPUT: &str = "(no tool output)";
const IMAGES_FOLLOW: &str = "Attached image(s) from tool result:";
/// Stands between tool results and a user message where the endpoint wants an answer there.
const RESULTS_RECEIVED: &str = "Tool results received.";

/// What building messages depends on.
#[derive(Clone, Copy)]
pub(super) struct MessageRules<'a> {
    pub(super) model: &'a Model,
    pub(super) compat: &'a Compat,
    /// Property that carries the text of each grammar tool.
    pub(super) grammar_properties: &'a IndexMap<String, String>,
}

/// All messages, the leading prompt first.
///
/// # Errors
/// A tool added in the middle of the conversation cannot be declared.
pub(super) fn wire_messages(
    prepared: &Prepared,
    rules: MessageRules<'_>,
) -> Result<MessageList, String> {
    let out = if rules.compat.anthropic_cache_control {
        // Markers may go to any of them.
        MessageList::kept_open()
    } else {
        MessageList::default()
    };
    let mut writer = Writer { rules, out, result_images: Vec::new() };
    if !prepared.system_prompt.is_empty() {
        writer.prompt(&prepared.system_prompt);
    }
    for message in &prepared.messages {
        writer.message(message)?;
    }
    writer.flush_images();
    Ok(writer.out)
}

struct Writer<'a> {
    rules: MessageRules<'a>,
    out: MessageList,
    /// Images of the tool results just written; they follow the last result.
    result_images: Vec<Value>,
}

impl Writer<'_> {
    fn message(&mut self, message: &Message) -> Result<(), String> {
        match message {
            Message::ToolResult(result) => {
                let content = self.result_text(&result.content);
                let mut fields = vec![
                    ("role", json!("tool")),
                    ("content", Value::String(content)),
                    ("tool_call_id", json!(result.tool_call_id)),
                ];
                if self.rules.compat.tool_result_name {
                    fields.push(("name", json!(result.tool_name)));
                }
                self.out.push(object(fields));
                return Ok(());
            }
            Message::System(system) => {
                self.flush_images();
                self.change(system)?;
            }
            Message::User(user) => {
                self.flush_images();
                match &user.content {
                    UserContent::Text(text) => self.user(json!(text)),
                    UserContent::Blocks(blocks) => {
                        let parts: Vec<Value> = blocks.iter().filter_map(user_part).collect();
                        if !parts.is_empty() {
                            self.user(Value::Array(parts));
                        }
                    }
                }
            }
            Message::Assistant(answer) => {
                self.flush_images();
                self.out.extend(answer_message(answer, self.rules));
            }
        }
        Ok(())
    }

    fn prompt(&mut self, text: &str) {
        let as_developer = self.rules.model.reasoning && self.rules.compat.developer_role;
        let role = if as_developer { "developer" } else { "system" };
        self.out.push(json!({"role": role, "content": text}));
    }

    /// A later change of tools, then of the prompt.
    fn change(&mut self, change: &SystemMessage) -> Result<(), String> {
        let added = change.tools_added.as_deref().unwrap_or_default();
        if !added.is_empty() {
            let tools = wire_tools(added, self.rules.compat)?;
            self.out.push(json!({"role": "system", "tools": tools}));
        }
        let text = update_text(change);
        if !text.is_empty() {
            self.prompt(&text);
        }
        Ok(())
    }

    fn user(&mut self, content: Value) {
        let after_result = self.out.last().is_some_and(|message| message["role"] == "tool");
        if after_result && self.rules.compat.assistant_after_tool_result {
            self.out.push(json!({"role": "assistant", "content": RESULTS_RECEIVED}));
        }
        self.out.push(object([("role", json!("user")), ("content", content)]));
    }

    /// The text of a result; its images are put aside.
    fn result_text(&mut self, content: &[InputBlock]) -> String {
        let mut texts = content.iter().filter_map(InputBlock::as_text);
        let mut text = texts.next().unwrap_or_default().to_owned();
        for more in texts {
            text.push('\n');
            text.push_str(more);
        }
        let images = content.iter().filter_map(|block| match block {
            InputBlock::Image(image) => Some(image_part(image)),
            InputBlock::Text(_) => None,
        });
        let before = self.result_images.len();
        self.result_images.extend(images);
        if !text.is_empty() {
            text
        } else if self.result_images.len() > before {
            ONLY_IMAGES.to_owned()
        } else {
            NO_OUTPUT.to_owned()
        }
    }

    fn flush_images(&mut self) {
        if !self.result_images.is_empty() {
            let mut parts = vec![json!({"type": "text", "text": IMAGES_FOLLOW})];
            parts.append(&mut self.result_images);
            self.user(Value::Array(parts));
        }
    }
}

fn user_part(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(text) if text.text.is_empty() => None,
        InputBlock::Text(text) => Some(json!({"type": "text", "text": text.text})),
        InputBlock::Image(image) => Some(image_part(image)),
    }
}

fn image_part(image: &ImageContent) -> Value {
    let url = format!("data:{};base64,{}", image.mime_type, image.data);
    let image_url = object([("url", Value::String(url))]);
    object([("type", json!("image_url")), ("image_url", image_url)])
}
