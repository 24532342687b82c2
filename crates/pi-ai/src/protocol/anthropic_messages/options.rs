//! Options only this protocol knows, and how unified options become such.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compat::Compat;
use super::thinking;
use crate::max_tokens::output_limit;
use crate::protocol::own_options;
use crate::types::Context;
use crate::types::{
    Model, ProtocolOptions, SimpleStreamOptions, SimpleToolChoice, StreamOptions, ThinkingLevel,
};

/// Options of `anthropic-messages`, to be put into [`StreamOptions::protocol`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// `None` says nothing about thinking to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_enabled: Option<bool>,
    /// Tokens, for models that think by budget; 1,024 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget_tokens: Option<u64>,
    /// The provider's effort word, for models that think adaptively.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// `summarized` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<ThinkingDisplay>,
    /// Thinking between tool calls, for models that think by budget; on when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleaved_thinking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

/// How thinking comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingDisplay {
    #[default]
    Summarized,
    /// Only the signature comes: the first text arrives sooner.
    Omitted,
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenToolChoice", into = "Value")]
pub enum ToolChoice {
    Auto,
    Any,
    None,
    /// This one, by name.
    Tool(String),
}

/// A word, or `{type:"tool", name}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenToolChoice {
    Word(ToolChoiceWord),
    Object {
        #[serde(rename = "type")]
        _kind: ToolChoiceType,
        name: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolChoiceWord {
    Auto,
    Any,
    None,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolChoiceType {
    Tool,
}

impl From<WrittenToolChoice> for ToolChoice {
    fn from(written: WrittenToolChoice) -> Self {
        match written {
            WrittenToolChoice::Word(ToolChoiceWord::Auto) => Self::Auto,
            WrittenToolChoice::Word(ToolChoiceWord::Any) => Self::Any,
            WrittenToolChoice::Word(ToolChoiceWord::None) => Self::None,
            WrittenToolChoice::Object { name, .. } => Self::Tool(name),
        }
    }
}

impl From<ToolChoice> for Value {
    fn from(choice: ToolChoice) -> Self {
        match choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::Any => json!("any"),
            ToolChoice::None => json!("none"),
            ToolChoice::Tool(_) => choice.wire(),
        }
    }
}

impl ToolChoice {
    /// As the request carries it.
    pub(super) fn wire(&self) -> Value {
        match self {
            Self::Auto => json!({"type": "auto"}),
            Self::Any => json!({"type": "any"}),
            Self::None => json!({"type": "none"}),
            Self::Tool(name) => json!({"type": "tool", "name": name}),
        }
    }
}

impl Options {
    /// Reads the protocol's options; others in the map are left alone.
    ///
    /// # Errors
    /// An option has a value of the wrong kind.
    pub fn read(options: &ProtocolOptions) -> Result<Self, String> {
        own_options::read(options)
    }
}

impl From<Options> for ProtocolOptions {
    fn from(options: Options) -> Self {
        own_options::write(&options)
    }
}

/// Puts unified options into this protocol's own words. The output limit is always set; with a
/// thinking budget it is raised by the budget, so that the answer keeps the room asked for.
pub(super) fn simple_options(
    model: &Model,
    context: &Context,
    options: SimpleStreamOptions,
) -> StreamOptions {
    let SimpleStreamOptions { mut base, reasoning, tool_choice, thinking_budgets } = options;
    let compat = Compat::of(model);
    let level = crate::thinking::asked_level(model, reasoning);
    let mut own = Options {
        thinking_enabled: Some(level != ThinkingLevel::Off),
        tool_choice: tool_choice.map(|choice| match choice {
            SimpleToolChoice::Auto => ToolChoice::Auto,
            SimpleToolChoice::None => ToolChoice::None,
        }),
        ..Options::default()
    };
    let mut limit = output_limit(model, context, base.max_tokens);
    if level != ThinkingLevel::Off {
        if compat.adaptive_thinking || compat.managed_effort {
            own.effort = Some(thinking::effort_word(model, level));
        } else {
            let budget = crate::thinking::budget(level, &thinking_budgets);
            if let Some(asked) = base.max_tokens {
                let raised = asked.saturating_add(budget).min(model.max_tokens.max(asked));
                limit = output_limit(model, context, Some(raised));
            }
            match crate::thinking::budget_within(budget, limit) {
                // Too little room to think and answer.
                0 => own.thinking_enabled = Some(false),
                budget => own.thinking_budget_tokens = Some(budget),
            }
        }
    }
    base.max_tokens = Some(limit);
    base.protocol.extend(ProtocolOptions::from(own));
    base
}
