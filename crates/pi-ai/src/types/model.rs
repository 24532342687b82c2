//! What is known of a model.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A chat model of some provider: how to reach it, what it can do, what it costs.
///
/// Its `Debug` form is JSON without header values: they may hold keys.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    pub id: String,
    pub name: String,
    /// Wire protocol, such as `anthropic-messages`.
    pub api: String,
    pub provider: String,
    #[serde(default)]
    pub base_url: String,
    #[serde(default)]
    pub reasoning: bool,
    /// Provider words per thinking level. Absent key: the level's own name; `null`: unsupported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level_map: Option<ThinkingLevelMap>,
    #[serde(default)]
    pub input: Vec<Modality>,
    #[serde(default)]
    pub cost: ModelCost,
    /// Tokens.
    #[serde(default)]
    pub context_window: u64,
    /// Most tokens one answer may have.
    #[serde(default)]
    pub max_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<IndexMap<String, String>>,
    /// Protocol-specific switches; each protocol reads its own names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache: Option<PromptCache>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limits: Option<InputLimits>,
    /// As [`StreamOptions::sampling_params`](super::StreamOptions::sampling_params), which goes above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_params: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_params_by_thinking_level: Option<IndexMap<ThinkingLevel, Map<String, Value>>>,
}

impl Model {
    /// Stands in where nobody has chosen a model yet: every name of it is `unknown`, as clients are
    /// told it, and no protocol speaks it.
    pub fn unknown() -> Self {
        let name = || "unknown".to_owned();
        Self {
            id: name(),
            name: name(),
            api: name(),
            provider: name(),
            base_url: String::new(),
            reasoning: false,
            thinking_level_map: None,
            input: Vec::new(),
            cost: ModelCost::default(),
            context_window: 0,
            max_tokens: 0,
            headers: None,
            compat: None,
            prompt_cache: None,
            input_limits: None,
            sampling_params: None,
            sampling_params_by_thinking_level: None,
        }
    }

    /// Whether this is [`Self::unknown`].
    pub fn is_unknown(&self) -> bool {
        [&self.id, &self.api, &self.provider].iter().all(|name| *name == "unknown")
    }

    /// Whether the model reads images.
    pub fn sees_images(&self) -> bool {
        self.input.contains(&Modality::Image)
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.clone();
        for value in shown.headers.iter_mut().flat_map(IndexMap::values_mut) {
            "[redacted]".clone_into(value);
        }
        let json = serde_json::to_string(&shown).map_err(|_unprintable| fmt::Error)?;
        write!(f, "Model {json}")
    }
}

/// Kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    Text,
    Image,
    #[serde(other)]
    Other,
}

/// How hard a model should think.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    /// Every level, weakest first.
    pub const ALL: [Self; 7] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no thinking level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown thinking level {0:?}")]
pub struct UnknownThinkingLevel(pub String);

impl FromStr for ThinkingLevel {
    type Err = UnknownThinkingLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| UnknownThinkingLevel(text.to_owned()))
    }
}

/// Provider words for thinking levels; `None` marks a level the model does not have.
pub type ThinkingLevelMap = IndexMap<ThinkingLevel, Option<String>>;

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tiers: Option<Vec<ModelCostTier>>,
}

/// Prices for requests whose input is larger than a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCostTier {
    /// Tokens: the tier counts for inputs strictly above.
    pub input_tokens_above: u64,
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// How long a provider keeps a cached prompt, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptCache {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<u64>,
}

/// Bounds on what a request may carry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InputLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<ImageInputLimits>,
}

/// Image part of [`InputLimits`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageInputLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resize: Option<ImageResize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_message: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_request: Option<u64>,
}

/// Size an image is brought down to. Pixels and bytes of base64; quality 1 to 100.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageResize {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jpeg_quality: Option<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_holds_no_header_value() {
        let json = serde_json::json!({
            "id": "m", "name": "M", "api": "a", "provider": "p", "headers": {"x-key": "sk-secret"},
        });
        let model: Model = serde_json::from_value(json).unwrap();
        let text = format!("{model:?}");
        assert!(text.contains("x-key") && !text.contains("sk-secret"), "{text}");
    }
}
