//! What a caller may ask of this protocol alone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::protocol::own_options;
use crate::types::{ProtocolOptions, SimpleToolChoice, ThinkingBudgets, ThinkingLevel};

/// Options of `openai-completions`, to be put into
/// [`StreamOptions::protocol`](crate::StreamOptions::protocol).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// How hard to think; absent or `off`: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ThinkingLevel>,
    /// Sent even when there are no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Used where the endpoint takes a number of thinking tokens.
    pub thinking_budgets: ThinkingBudgets,
}

impl Options {
    /// Reads the protocol's options; others in the map are left alone.
    ///
    /// # Errors
    /// An option has a value of the wrong kind.
    pub fn read(options: &ProtocolOptions) -> Result<Self, String> {
        own_options::read(options)
    }

    /// The level asked for; `off` when none was.
    pub fn level(&self) -> ThinkingLevel {
        self.reasoning_effort.unwrap_or_default()
    }
}

impl From<Options> for ProtocolOptions {
    fn from(options: Options) -> Self {
        own_options::write(&options)
    }
}

/// Which tools the model may or must use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    /// This function and no other.
    Function(String),
    /// Any other shape, sent as it is.
    Other(Value),
}

impl From<SimpleToolChoice> for ToolChoice {
    fn from(choice: SimpleToolChoice) -> Self {
        match choice {
            SimpleToolChoice::Auto => Self::Auto,
            SimpleToolChoice::None => Self::None,
        }
    }
}

impl From<Value> for ToolChoice {
    fn from(value: Value) -> Self {
        if let Some(name) = value.pointer("/function/name").and_then(Value::as_str) {
            return Self::Function(name.to_owned());
        }
        match value.as_str() {
            Some("auto") => Self::Auto,
            Some("none") => Self::None,
            Some("required") => Self::Required,
            _ => Self::Other(value),
        }
    }
}

impl From<ToolChoice> for Value {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Required => json!("required"),
            ToolChoice::Function(name) => json!({"type": "function", "function": {"name": name}}),
            ToolChoice::Other(value) => value,
        }
    }
}
