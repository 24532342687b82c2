//! What a request says about thinking.

use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::options::Options;
use crate::thinking::{can_be_off, word};
use crate::types::{Model, ThinkingLevel};

/// Budget when thinking is on and nobody named one; the least the API takes.
const DEFAULT_BUDGET: u64 = 1024;
/// Effort of managed models that cannot be asked not to think.
const DEFAULT_MANAGED_EFFORT: &str = "high";
/// The top-level effort of managed models never changes, or the prompt cache would be lost.
const PINNED_EFFORT: &str = "low";

/// How this request thinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Nothing is said about it.
    Unsaid,
    Disabled,
    /// Tokens.
    Budget(u64),
    /// With an effort word, if one was given.
    Adaptive(Option<String>),
    /// Adaptive, with the effort told inside the conversation.
    Managed(String),
}

impl Thinking {
    pub(super) fn of(model: &Model, compat: &Compat, options: &Options) -> Self {
        if !model.reasoning {
            return Self::Unsaid;
        }
        let can_be_off = can_be_off(model);
        match options.thinking_enabled {
            Some(true) if compat.managed_effort => Self::managed(options),
            None | Some(false) if compat.managed_effort && !can_be_off => Self::managed(options),
            Some(true) if compat.adaptive_thinking => Self::Adaptive(options.effort.clone()),
            Some(true) => Self::Budget(options.thinking_budget_tokens.unwrap_or(DEFAULT_BUDGET)),
            Some(false) if can_be_off => Self::Disabled,
            None | Some(false) => Self::Unsaid,
        }
    }

    fn managed(options: &Options) -> Self {
        Self::Managed(options.effort.clone().unwrap_or_else(|| DEFAULT_MANAGED_EFFORT.to_owned()))
    }

    /// Effort that is told inside the conversation, and recorded with the answer.
    pub(super) fn managed_effort(&self) -> Option<&str> {
        match self {
            Self::Managed(effort) => Some(effort),
            Self::Unsaid | Self::Disabled | Self::Budget(_) | Self::Adaptive(_) => None,
        }
    }

    /// Whether the model may think, in which case it takes no temperature.
    pub(super) fn is_on(&self) -> bool {
        matches!(self, Self::Budget(_) | Self::Adaptive(_) | Self::Managed(_))
    }

    /// Writes `thinking` and `output_config`.
    pub(super) fn write(&self, options: &Options, body: &mut Map<String, Value>) {
        let display = options.thinking_display.unwrap_or_default();
        let thinking = match self {
            Self::Unsaid => return,
            Self::Disabled => json!({"type": "disabled"}),
            Self::Budget(tokens) => {
                json!({"type": "enabled", "budget_tokens": tokens, "display": display})
            }
            Self::Adaptive(_) => json!({"type": "adaptive", "display": display}),
            Self::Managed(_) => json!({
                "type": "adaptive",
                "display": display,
                "block_binding": {"prefix_mismatch_behavior": "drop_block"},
            }),
        };
        body.insert("thinking".into(), thinking);
        let effort = match self {
            Self::Adaptive(effort) => effort.as_deref(),
            Self::Managed(_) => Some(PINNED_EFFORT),
            Self::Unsaid | Self::Disabled | Self::Budget(_) => None,
        };
        if let Some(effort) = effort {
            body.insert("output_config".into(), json!({"effort": effort}));
        }
    }
}

/// The provider's effort word for a level the model has.
pub(super) fn effort_word(model: &Model, level: ThinkingLevel) -> String {
    let word = word(model, level).unwrap_or(match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
    });
    word.to_owned()
}
