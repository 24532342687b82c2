//! The unified data model: messages, content, tools, usage, models and options.
//!
//! JSON names are those of the session file, of JSON mode and of RPC, exactly. Plain data: nothing
//! here does I/O. Readers ignore unknown fields; writers leave out what is absent.

mod content;
mod context;
mod message;
mod model;
mod options;
mod tool;
mod usage;

pub use content::{
    AssistantBlock, ImageContent, InputBlock, TextContent, ThinkingContent, ToolCall,
};
pub use context::Context;
pub use message::{
    AssistantMessage, Diagnostic, DiagnosticError, Message, NestedCall, NestedCallStatus,
    NestedCalls, StopReason, SystemContent, SystemMessage, SystemTextBlock, ToolReference,
    ToolResultMessage, UserContent, UserMessage,
};
pub use model::{
    ImageInputLimits, ImageResize, InputLimits, Modality, Model, ModelCost, ModelCostTier,
    PromptCache, ThinkingLevel, ThinkingLevelMap, UnknownThinkingLevel,
};
pub use options::{
    CacheRetention, Identity, ProtocolOptions, SimpleStreamOptions, SimpleToolChoice,
    StreamOptions, ThinkingBudgets,
};
pub use tool::{ConstrainedSampling, GrammarVariants, Strictness, Tool};
pub use usage::{Cost, Usage};
