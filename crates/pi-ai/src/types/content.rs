//! Content blocks of messages.
//!
//! Blocks are read through one flat record instead of serde's tagged enums: those buffer every
//! value first, which doubles the time to open a long session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Visible text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextContent {
    pub text: String,
    /// Opaque provider data that must come back with the text (message id and phase, or a thought
    /// signature).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

impl TextContent {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), text_signature: None }
    }
}

/// An inline image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// Base64, standard alphabet, padded.
    pub data: String,
    pub mime_type: String,
}

/// Reasoning the model showed (or, when redacted, only its sealed form).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingContent {
    pub thinking: String,
    /// Opaque; for OpenAI-compatible hosts the name of the delta field the text came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

/// A tool call the model asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// Always a JSON object; empty when the model sent nothing or something that is no object.
    pub arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Why the argument text could not be read as an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
}

/// What a user message or a tool result may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", try_from = "FlatBlock")]
pub enum InputBlock {
    Text(TextContent),
    Image(ImageContent),
}

impl InputBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Image(_) => None,
        }
    }

    pub fn is_image(&self) -> bool {
        matches!(self, Self::Image(_))
    }
}

/// What an assistant message may hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", try_from = "FlatBlock")]
pub enum AssistantBlock {
    Text(TextContent),
    Thinking(ThinkingContent),
    ToolCall(ToolCall),
}

/// Every field any block may carry; only `type` decides which count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatBlock {
    #[serde(rename = "type")]
    kind: BlockKind,
    text: Option<String>,
    text_signature: Option<String>,
    thinking: Option<String>,
    thinking_signature: Option<String>,
    redacted: Option<bool>,
    data: Option<String>,
    mime_type: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Map<String, Value>>,
    thought_signature: Option<String>,
    namespace: Option<String>,
    arguments_error: Option<String>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum BlockKind {
    Text,
    Image,
    Thinking,
    ToolCall,
    Other(String),
}

impl BlockKind {
    fn unknown(&self) -> String {
        let name = match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Thinking => "thinking",
            Self::ToolCall => "toolCall",
            Self::Other(name) => name,
        };
        format!("unknown content block type {name:?}")
    }
}

impl FlatBlock {
    fn into_text(self) -> TextContent {
        TextContent { text: self.text.unwrap_or_default(), text_signature: self.text_signature }
    }
}

impl TryFrom<FlatBlock> for InputBlock {
    type Error = String;

    fn try_from(block: FlatBlock) -> Result<Self, String> {
        match block.kind {
            BlockKind::Text => Ok(Self::Text(block.into_text())),
            BlockKind::Image => Ok(Self::Image(ImageContent {
                data: block.data.unwrap_or_default(),
                mime_type: block.mime_type.unwrap_or_default(),
            })),
            BlockKind::Thinking | BlockKind::ToolCall | BlockKind::Other(_) => {
                Err(block.kind.unknown())
            }
        }
    }
}

impl TryFrom<FlatBlock> for AssistantBlock {
    type Error = String;

    fn try_from(block: FlatBlock) -> Result<Self, String> {
        match block.kind {
            BlockKind::Text => Ok(Self::Text(block.into_text())),
            BlockKind::Thinking => Ok(Self::Thinking(ThinkingContent {
                thinking: block.thinking.unwrap_or_default(),
                thinking_signature: block.thinking_signature,
                redacted: block.redacted,
            })),
            BlockKind::ToolCall => Ok(Self::ToolCall(ToolCall {
                id: block.id.unwrap_or_default(),
                name: block.name.unwrap_or_default(),
                arguments: block.arguments.unwrap_or_default(),
                thought_signature: block.thought_signature,
                namespace: block.namespace,
                arguments_error: block.arguments_error,
            })),
            BlockKind::Image | BlockKind::Other(_) => Err(block.kind.unknown()),
        }
    }
}
