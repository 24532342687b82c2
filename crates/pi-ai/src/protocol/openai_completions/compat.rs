//! How an endpoint differs from OpenAI's own. Detected from provider and URL; what the model
//! declares in `compat` wins, field by field.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::protocol::declared::Declared;
use crate::protocol::vendor::Vendor;
use crate::types::Model;

/// The resolved switches. Names follow those of `compat` in the model catalogue.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Compat {
    pub(super) store: bool,
    pub(super) developer_role: bool,
    pub(super) reasoning_effort: bool,
    pub(super) usage_in_streaming: bool,
    /// False: the stop reason is inferred at the end of the stream.
    pub(super) finish_reason: bool,
    pub(super) max_tokens_field: MaxTokensField,
    pub(super) tool_result_name: bool,
    pub(super) assistant_after_tool_result: bool,
    pub(super) non_null_assistant_content: bool,
    pub(super) tools_with_tool_history: bool,
    pub(super) thinking_as_text: bool,
    pub(super) reasoning_content_always: bool,
    pub(super) thinking_format: ThinkingFormat,
    pub(super) chat_template_kwargs: Map<String, Value>,
    pub(super) chat_template_args: Map<String, Value>,
    pub(super) open_router_routing: Option<Value>,
    pub(super) vercel_gateway_routing: Option<Map<String, Value>>,
    pub(super) zai_tool_stream: bool,
    /// Body field that takes a number of thinking tokens.
    pub(super) thinking_budget_field: Option<String>,
    pub(super) grammar_tools: bool,
    pub(super) mid_conversation_system: bool,
    pub(super) mid_conversation_tools: bool,
    pub(super) strict_mode: bool,
    /// Markers on message parts, as Anthropic's own protocol has them.
    pub(super) anthropic_cache_control: bool,
    pub(super) session_headers: bool,
    pub(super) session_format: SessionFormat,
    pub(super) cache_key_mode: CacheKeyMode,
    pub(super) long_cache_retention: bool,
    pub(super) vllm_priority: Option<Value>,
    pub(super) quirks: Quirks,
}

/// Facts of a vendor that no catalogue entry declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quirks {
    /// `prompt_cache_key` is understood whatever the retention.
    pub(super) cache_key_by_default: bool,
    /// Most characters a tool-call id may have.
    pub(super) tool_call_id_limit: Option<usize>,
    /// Reasoning arrives in `reasoning` but must return in `reasoning_content`.
    pub(super) reasoning_returns_as_content: bool,
    /// Usage names what the request cost.
    pub(super) bills_in_usage: bool,
    /// Strict and lenient tools cannot share a request.
    pub(super) uniform_strictness: bool,
    /// A strict tool's optional arguments come back as empty strings.
    pub(super) strict_spoils_optionals: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaxTokensField {
    MaxTokens,
    MaxCompletionTokens,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ThinkingFormat {
    #[serde(rename = "openai")]
    OpenAi,
    #[serde(rename = "openrouter")]
    OpenRouter,
    #[serde(rename = "deepseek")]
    DeepSeek,
    Together,
    Baseten,
    Zai,
    Qwen,
    ChatTemplate,
    QwenChatTemplate,
    StringThinking,
    AntLing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum SessionFormat {
    #[serde(rename = "openai")]
    Full,
    #[serde(rename = "openai-nosession")]
    NoSession,
    #[serde(rename = "openrouter")]
    OpenRouter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CacheKeyMode {
    Auto,
    Enabled,
    Disabled,
}

impl Compat {
    pub(super) fn of(model: &Model) -> Self {
        let declared = Declared::by(model);
        let is = |vendor: Vendor| vendor.serves(model);
        let any = |vendors: &[Vendor]| vendors.iter().any(|vendor| vendor.serves(model));
        Self {
            store: declared.flag("supportsStore").unwrap_or_else(|| !any(NO_STORE)),
            developer_role: declared
                .flag("supportsDeveloperRole")
                .unwrap_or_else(|| is(Vendor::OpenAi)),
            reasoning_effort: declared
                .flag("supportsReasoningEffort")
                .unwrap_or_else(|| !any(NO_REASONING_EFFORT)),
            usage_in_streaming: declared.flag("supportsUsageInStreaming").unwrap_or(true),
            finish_reason: declared.flag("supportsFinishReason").unwrap_or(true),
            max_tokens_field: declared
                .word("maxTokensField")
                .unwrap_or_else(|| detected_max_tokens_field(&any)),
            tool_result_name: declared.is_set("requiresToolResultName"),
            assistant_after_tool_result: declared.is_set("requiresAssistantAfterToolResult"),
            non_null_assistant_content: declared.is_set("requiresNonNullAssistantContent"),
            tools_with_tool_history: declared.is_set("requiresToolsWithToolHistory"),
            thinking_as_text: declared.is_set("requiresThinkingAsText"),
            reasoning_content_always: declared
                .flag("requiresReasoningContentOnAssistantMessages")
                .unwrap_or_else(|| is(Vendor::DeepSeek)),
            thinking_format: declared
                .word("thinkingFormat")
                .unwrap_or_else(|| detected_thinking_format(&is)),
            chat_template_kwargs: declared.object("chatTemplateKwargs").unwrap_or_default(),
            chat_template_args: declared.object("chatTemplateArgs").unwrap_or_default(),
            open_router_routing: declared.object("openRouterRouting").map(Value::Object),
            vercel_gateway_routing: declared.object("vercelGatewayRouting"),
            zai_tool_stream: declared.is_set("zaiToolStream"),
            thinking_budget_field: declared.word("thinkingTokenBudgetField").or_else(|| {
                let vllm = declared.is_set("supportsThinkingTokenBudget");
                vllm.then(|| "thinking_token_budget".to_owned())
            }),
            grammar_tools: declared.is_set("supportsOpenAIGrammarTools"),
            mid_conversation_system: declared.is_set("supportsMidConvoSystemMessages"),
            mid_conversation_tools: declared.is_set("supportsMidConvoSystemMessages")
                && declared.is_set("supportsMidConvoToolAdditions"),
            strict_mode: declared.is_set("supportsStrictMode"),
            anthropic_cache_control: declared.word::<String>("cacheControlFormat").map_or_else(
                || is(Vendor::OpenRouter) && model.id.starts_with("anthropic/"),
                |format| format == "anthropic",
            ),
            session_headers: declared
                .flag("sendSessionAffinityHeaders")
                .unwrap_or_else(|| is(Vendor::OpenRouter)),
            session_format: declared.word("sessionAffinityFormat").unwrap_or_else(|| {
                if is(Vendor::OpenRouter) { SessionFormat::OpenRouter } else { SessionFormat::Full }
            }),
            cache_key_mode: declared.word("promptCacheKeyMode").unwrap_or(CacheKeyMode::Auto),
            long_cache_retention: declared
                .flag("supportsLongCacheRetention")
                .unwrap_or_else(|| !any(NO_LONG_CACHE)),
            vllm_priority: declared.get("vllmPriority").filter(|value| value.is_number()).cloned(),
            quirks: Quirks::of(model),
        }
    }
}

const NO_STORE: &[Vendor] = &[
    Vendor::Nvidia,
    Vendor::Cerebras,
    Vendor::XAi,
    Vendor::Together,
    Vendor::Chutes,
    Vendor::DeepSeek,
    Vendor::Zai,
    Vendor::Moonshot,
    Vendor::OpenCode,
    Vendor::CloudflareAiGateway,
    Vendor::CloudflareWorkersAi,
    Vendor::AntLing,
];

const NO_REASONING_EFFORT: &[Vendor] = &[
    Vendor::XAi,
    Vendor::Zai,
    Vendor::Moonshot,
    Vendor::Together,
    Vendor::CloudflareAiGateway,
    Vendor::Nvidia,
    Vendor::AntLing,
];

const OLD_MAX_TOKENS: &[Vendor] = &[
    Vendor::Chutes,
    Vendor::DeepSeek,
    Vendor::Moonshot,
    Vendor::CloudflareAiGateway,
    Vendor::Together,
    Vendor::Nvidia,
    Vendor::AntLing,
    Vendor::Zai,
];

const NO_LONG_CACHE: &[Vendor] = &[
    Vendor::Together,
    Vendor::CloudflareAiGateway,
    Vendor::CloudflareWorkersAi,
    Vendor::Nvidia,
    Vendor::AntLing,
];

fn detected_max_tokens_field(any: &impl Fn(&[Vendor]) -> bool) -> MaxTokensField {
    if any(OLD_MAX_TOKENS) {
        MaxTokensField::MaxTokens
    } else {
        MaxTokensField::MaxCompletionTokens
    }
}

fn detected_thinking_format(is: &impl Fn(Vendor) -> bool) -> ThinkingFormat {
    let by_vendor = [
        (Vendor::DeepSeek, ThinkingFormat::DeepSeek),
        (Vendor::Zai, ThinkingFormat::Zai),
        (Vendor::Together, ThinkingFormat::Together),
        (Vendor::AntLing, ThinkingFormat::AntLing),
        (Vendor::OpenRouter, ThinkingFormat::OpenRouter),
    ];
    by_vendor
        .into_iter()
        .find(|(vendor, _)| is(*vendor))
        .map_or(ThinkingFormat::OpenAi, |(_, format)| format)
}

impl Quirks {
    fn of(model: &Model) -> Self {
        let is = |vendor: Vendor| vendor.serves(model);
        Self {
            cache_key_by_default: model.base_url.to_ascii_lowercase().contains("api.openai.com"),
            tool_call_id_limit: is(Vendor::OpenAi).then_some(40),
            reasoning_returns_as_content: is(Vendor::OpenCodeGo),
            bills_in_usage: is(Vendor::OpenRouter),
            uniform_strictness: is(Vendor::Cerebras),
            strict_spoils_optionals: is(Vendor::GitHubCopilot),
        }
    }
}
