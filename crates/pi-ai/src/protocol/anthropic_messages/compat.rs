//! Switches a model's `compat` may set for this protocol.

use serde::Deserialize;

use crate::protocol::declared::Declared;
use crate::protocol::vendor::Vendor;
use crate::types::{Model, ModelCost};

/// The switches with their defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compat {
    pub(super) eager_tool_input_streaming: bool,
    pub(super) long_cache_retention: bool,
    pub(super) cache_control_on_tools: bool,
    pub(super) temperature: bool,
    pub(super) strict_tools: bool,
    pub(super) adaptive_thinking: bool,
    /// Effort is told by system messages inside the conversation.
    pub(super) managed_effort: bool,
    pub(super) mid_conversation_system: bool,
    pub(super) tool_changes: bool,
    pub(super) empty_signature: bool,
    pub(super) session_header: Option<&'static str>,
    pub(super) fallback_models: Vec<FallbackModel>,
}

/// A model the server may fall back to by itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct FallbackModel {
    pub(super) model: String,
    #[serde(default)]
    pub(super) cost: Option<ModelCost>,
}

impl Compat {
    pub(super) fn of(model: &Model) -> Self {
        let declared = Declared::by(model);
        let on = |name: &str| declared.flag(name).unwrap_or(true);
        let off = |name: &str| declared.is_set(name);
        let is_openrouter = Vendor::OpenRouter.serves(model);
        Self {
            eager_tool_input_streaming: on("supportsEagerToolInputStreaming"),
            long_cache_retention: on("supportsLongCacheRetention"),
            cache_control_on_tools: on("supportsCacheControlOnTools"),
            temperature: on("supportsTemperature"),
            strict_tools: off("supportsStrictTools"),
            adaptive_thinking: off("forceAdaptiveThinking"),
            managed_effort: off("supportsMidConvoEffort"),
            mid_conversation_system: off("supportsMidConvoSystemMessages"),
            tool_changes: off("supportsMidConvoToolChanges"),
            empty_signature: off("allowEmptySignature"),
            session_header: declared
                .flag("sendSessionAffinityHeaders")
                .unwrap_or(is_openrouter)
                .then_some(if is_openrouter { "x-session-id" } else { "x-session-affinity" }),
            fallback_models: declared.list("allowedFallbackModels"),
        }
    }

    /// Prices of the model that answered instead, if it is one of those allowed.
    pub(super) fn fallback_prices(&self, model: &str) -> Option<&ModelCost> {
        self.fallback_models.iter().find(|fallback| fallback.model == model)?.cost.as_ref()
    }
}
