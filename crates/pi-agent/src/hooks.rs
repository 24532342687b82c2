//! Places where the owner of an agent may step into the loop.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::{
    AssistantMessage, InputBlock, Model, ThinkingLevel, ToolCall, ToolResultMessage, Usage,
};
use serde_json::{Map, Value};

use crate::message::AgentMessage;
use crate::tool::ToolOutput;

mod chain;

pub use chain::HookChain;

/// Every method has a default that changes nothing. Only the two tool hooks may fail. Request-level
/// hooks (payload, headers, response) are [`pi_ai::RequestHooks`], given with the options.
pub trait LoopHooks: Send + Sync + fmt::Debug {
    /// Before each request: may replace the message list.
    fn transform_context<'a>(
        &'a self,
        messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        Box::pin(std::future::ready(messages))
    }

    /// After validation, before execution: may change the arguments (not validated again) or block.
    /// An abort drops it and blocks the call.
    ///
    /// # Errors
    /// The text blocks the call and becomes its result.
    fn before_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolDecision, String>> {
        Box::pin(std::future::ready(Ok(ToolDecision::Run(arguments))))
    }

    /// After execution: fields that are `Some` replace those of the result. Calls that never ran do
    /// not come here. Calls of one batch may be told at the same time.
    ///
    /// # Errors
    /// The text becomes the call's error result.
    fn after_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _arguments: &'a Map<String, Value>,
        _output: &'a ToolOutput,
    ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
        Box::pin(std::future::ready(Ok(ToolOutputPatch::default())))
    }

    /// A message is whole: before its `message_end`, before it is stored and sent on, it may be
    /// changed, but not given another role; such a change is ignored.
    fn finish_message<'a>(&'a self, message: AgentMessage) -> BoxFuture<'a, AgentMessage> {
        Box::pin(std::future::ready(message))
    }

    /// The answer and the results of its calls are in the transcript, `turn_end` is still to come.
    /// Failed and aborted turns come here too; they end the run whatever is answered.
    fn finish_turn<'a>(
        &'a self,
        _message: &'a Arc<AssistantMessage>,
        _results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, TurnFinish> {
        Box::pin(std::future::ready(TurnFinish::default()))
    }

    /// After `turn_end`, unless the run was aborted: `true` ends it, whatever is queued.
    fn should_stop_after_turn<'a>(
        &'a self,
        _message: &'a Arc<AssistantMessage>,
        _results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    /// Before the next turn of the same run: may change model, level or context and add messages.
    /// An abort does not cut it short: long work watches [`crate::agent::Agent::cancellation`].
    fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
        Box::pin(std::future::ready(TurnChange::default()))
    }

    /// Per request: the key to use. `None` keeps the one of the options.
    fn get_api_key<'a>(&'a self, _model: &'a Model) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// Answer of [`LoopHooks::before_tool_call`].
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDecision {
    Run(Map<String, Value>),
    /// The call is not run.
    Block {
        /// Becomes the call's error result; a default text stands in for `None`.
        reason: Option<String>,
        /// Ends the run after the batch, if every result of the batch says so.
        terminate: bool,
    },
}

/// Answer of [`LoopHooks::after_tool_call`]. Replacing the content alone drops the structured
/// content, which would no longer match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutputPatch {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    pub structured_content: Option<Value>,
    pub usage: Option<Usage>,
    pub is_error: Option<bool>,
    pub terminate: Option<bool>,
}

impl ToolOutputPatch {
    /// The output with the patch over it.
    #[must_use]
    pub fn apply_to(self, output: ToolOutput) -> ToolOutput {
        let structured = if self.content.is_some() { None } else { output.structured_content };
        ToolOutput {
            content: self.content.unwrap_or(output.content),
            details: self.details.or(output.details),
            structured_content: self.structured_content.or(structured),
            usage: self.usage.or(output.usage),
            is_error: self.is_error.unwrap_or(output.is_error),
            terminate: self.terminate.or(output.terminate),
        }
    }

    /// One patch that does what this one and then `later` do.
    fn then(self, later: Self) -> Self {
        let structured = if later.content.is_some() { None } else { self.structured_content };
        Self {
            content: later.content.or(self.content),
            details: later.details.or(self.details),
            structured_content: later.structured_content.or(structured),
            usage: later.usage.or(self.usage),
            is_error: later.is_error.or(self.is_error),
            terminate: later.terminate.or(self.terminate),
        }
    }
}

impl ToolDecision {
    /// Blocks a call for this reason.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: Some(reason.into()), terminate: false }
    }
}

/// Answer of [`LoopHooks::finish_turn`]. By default the answer, its calls and the queues decide
/// whether the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TurnFinish {
    /// There is one more request at least.
    pub continues: bool,
}

impl TurnFinish {
    /// One more request at least.
    pub fn once_more() -> Self {
        Self { continues: true }
    }
}

/// Answer of [`LoopHooks::prepare_next_turn`].
#[derive(Debug, Clone, Default)]
pub struct TurnChange {
    pub model: Option<Arc<Model>>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Replaces the whole context.
    pub context: Option<Vec<AgentMessage>>,
    /// Added after it, as ordinary messages of the turn.
    pub messages: Vec<AgentMessage>,
}

/// Hooks that change nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl LoopHooks for NoHooks {}
