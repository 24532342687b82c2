//! Any language model, one stream of events.
//!
//! Owns: the unified data model, the wire protocols, the HTTP transport, the model catalogue, keys
//! and error classification. Never: reads the environment or a terminal, runs tools, or knows that
//! the caller is a coding agent.
//!
//! Every name has one path. Names at the root are what a caller of [`Protocols`] needs; a protocol
//! of one's own is built from [`protocol`], [`transport`], [`handoff`], [`max_tokens`],
//! [`thinking`] and [`cost`], as the built-in ones are.

mod event;
mod hooks;
mod partial_json;
mod rows;
mod stream;
mod types;

pub mod auth;
pub mod catalog;
pub mod cost;
pub mod faux;
pub mod handoff;
pub mod loose;
pub mod max_tokens;
pub mod overflow;
pub mod protocol;
pub mod providers;
pub mod retry;
pub mod surrogates;
pub mod thinking;
pub mod transport;
pub mod utf16;

pub use event::{AssistantEvent, MessageBuilder};
pub use hooks::{RequestHookChain, RequestHooks};
pub use protocol::{Protocol, Protocols};
pub use stream::{AssistantStream, EventSource};
pub use types::{
    AssistantBlock, AssistantMessage, CacheRetention, ConstrainedSampling, Context, Cost,
    Diagnostic, DiagnosticError, GrammarVariants, Identity, ImageContent, ImageInputLimits,
    ImageResize, InputBlock, InputLimits, Message, Modality, Model, ModelCost, ModelCostTier,
    NestedCall, NestedCallStatus, NestedCalls, PromptCache, ProtocolOptions, SimpleStreamOptions,
    SimpleToolChoice, StopReason, StreamOptions, Strictness, SystemContent, SystemMessage,
    SystemTextBlock, TextContent, ThinkingBudgets, ThinkingContent, ThinkingLevel,
    ThinkingLevelMap, Tool, ToolCall, ToolReference, ToolResultMessage, UnknownThinkingLevel,
    Usage, UserContent, UserMessage,
};

/// Unix time in milliseconds.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
