//! What a scripted model says, from Rust or from JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::types::{StopReason, Usage};

/// Turns a scripted model plays, one a request. As JSON:
///
/// ```json
/// {"turns": [
///   {"blocks": [{"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}]},
///   {"blocks": [{"type": "text", "text": "Done."}], "usage": {"input": 900, "output": 3}},
///   {"errorMessage": "529: overloaded", "retryAfterMs": 5000}
/// ]}
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FauxScript {
    pub turns: Vec<FauxTurn>,
}

/// The text is no script.
#[derive(Debug, thiserror::Error)]
#[error("not a faux script: {0}")]
pub struct FauxScriptError(#[from] serde_json::Error);

impl FauxScript {
    /// Reads a script from JSON text.
    ///
    /// # Errors
    /// The text is no JSON, a field is unknown or has the wrong type; the message has line and
    /// column.
    pub fn from_json(text: &str) -> Result<Self, FauxScriptError> {
        Ok(serde_json::from_str(text)?)
    }

    /// Reads a script from a JSON value.
    ///
    /// # Errors
    /// A field is unknown or has the wrong type.
    pub fn from_value(value: Value) -> Result<Self, FauxScriptError> {
        Ok(serde_json::from_value(value)?)
    }
}

impl<T: Into<FauxTurn>> FromIterator<T> for FauxScript {
    fn from_iter<I: IntoIterator<Item = T>>(turns: I) -> Self {
        Self { turns: turns.into_iter().map(Into::into).collect() }
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FauxTurn {
    pub blocks: Vec<FauxBlock>,
    /// Tokens to report; all zero by default.
    pub usage: FauxUsage,
    /// Default: `error` with an error message, else `toolUse` with a tool call, else `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Ends the turn with this error after its blocks have streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Wait the server asks for before a retry, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Silence before the first event, in milliseconds.
    pub delay_ms: u64,
    /// Silence between deltas, in milliseconds.
    pub delta_delay_ms: u64,
    /// Characters in one delta; 0 counts as 1.
    pub delta_chars: usize,
    /// After the blocks, stay silent until the request is cancelled.
    pub hang: bool,
}

/// 8 characters are about two tokens, what real providers send at a time.
const DELTA_CHARS: usize = 8;

impl Default for FauxTurn {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            usage: FauxUsage::default(),
            stop_reason: None,
            error_message: None,
            retry_after_ms: None,
            delay_ms: 0,
            delta_delay_ms: 0,
            delta_chars: DELTA_CHARS,
            hang: false,
        }
    }
}

impl FauxTurn {
    /// A turn of these blocks.
    pub fn new(blocks: impl IntoIterator<Item = FauxBlock>) -> Self {
        Self { blocks: blocks.into_iter().collect(), ..Self::default() }
    }

    /// A turn that says `text`.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([FauxBlock::text(text)])
    }

    /// A turn that calls one tool; `arguments` that are no object count as none.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self::new([FauxBlock::tool_call(id, name, arguments)])
    }

    /// A turn that fails.
    pub fn error(message: impl Into<String>) -> Self {
        Self { error_message: Some(message.into()), ..Self::default() }
    }

    /// The same turn with these tokens.
    #[must_use]
    pub fn with_usage(mut self, usage: FauxUsage) -> Self {
        self.usage = usage;
        self
    }

    pub(super) fn ending(&self) -> StopReason {
        let calls = self.blocks.iter().any(|block| matches!(block, FauxBlock::ToolCall { .. }));
        match (self.stop_reason, &self.error_message) {
            (Some(reason), _) => reason,
            (None, Some(_)) => StopReason::Error,
            (None, None) if calls => StopReason::ToolUse,
            (None, None) => StopReason::Stop,
        }
    }
}

impl From<&str> for FauxTurn {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// One content block, under the names of the message format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum FauxBlock {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
    },
    ToolCall {
        id: String,
        name: String,
        #[serde(default)]
        arguments: Map<String, Value>,
        /// Streamed in place of `arguments`, however broken it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        argument_text: Option<String>,
    },
}

impl FauxBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking { thinking: thinking.into(), thinking_signature: None }
    }

    /// `arguments` that are no object count as none.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self::ToolCall { id: id.into(), name: name.into(), arguments, argument_text: None }
    }
}

/// Tokens of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FauxUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl FauxUsage {
    pub(super) fn tokens(self) -> Usage {
        Usage {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            reasoning: self.reasoning,
            total_tokens: self.input + self.output + self.cache_read + self.cache_write,
            ..Usage::default()
        }
    }
}
