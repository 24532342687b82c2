//! Between turns: telling the model how its prompt and tools have changed, and making a context
//! shorter that has grown too long.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, Model, ToolCall, ToolResultMessage};
use serde_json::{Map, Value};

use super::Inner;
use crate::hooks::{LoopHooks, ToolDecision, ToolOutputPatch, TurnChange, TurnFinish};
use crate::message::AgentMessage;
use crate::tool::ToolOutput;

impl Inner {
    /// The system message that brings the model up to date; none when it is.
    pub(super) fn system_patch(&self) -> Vec<AgentMessage> {
        let tools = self.agent.tools();
        let prompt = Arc::clone(&self.state().settings.prompt);
        let sections = prompt.sections(&tools);
        let definitions: Vec<_> = tools.iter().map(|tool| tool.definition().clone()).collect();
        let patch = self.state().prompt.patch_to(&sections, &definitions);
        patch.into_iter().map(|patch| AgentMessage::System(Arc::new(patch))).collect()
    }
}

/// Somebody's hooks, and what the harness does before each further turn.
pub(super) struct PatchingHooks {
    inner: Weak<Inner>,
    hooks: Arc<dyn LoopHooks>,
}

impl PatchingHooks {
    pub(super) fn new(inner: Weak<Inner>, hooks: Arc<dyn LoopHooks>) -> Self {
        Self { inner, hooks }
    }
}

impl fmt::Debug for PatchingHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hooks.fmt(f)
    }
}

#[deny(clippy::missing_trait_methods)]
impl LoopHooks for PatchingHooks {
    fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
        Box::pin(async move {
            let mut change = self.hooks.prepare_next_turn().await;
            let Some(inner) = self.inner.upgrade() else { return change };
            let model = change.model.clone().unwrap_or_else(|| inner.agent.model());
            if change.context.is_none() {
                inner.compact_if_needed(&model, &inner.cancellation()).await;
            }
            change.messages.splice(0..0, inner.system_patch());
            change
        })
    }

    fn finish_message<'a>(&'a self, message: AgentMessage) -> BoxFuture<'a, AgentMessage> {
        self.hooks.finish_message(message)
    }

    fn finish_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, TurnFinish> {
        self.hooks.finish_turn(message, results)
    }

    fn transform_context<'a>(
        &'a self,
        messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        self.hooks.transform_context(messages)
    }

    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolDecision, String>> {
        self.hooks.before_tool_call(call, arguments)
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        arguments: &'a Map<String, Value>,
        output: &'a ToolOutput,
    ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
        self.hooks.after_tool_call(call, arguments, output)
    }

    fn should_stop_after_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, bool> {
        self.hooks.should_stop_after_turn(message, results)
    }

    fn get_api_key<'a>(&'a self, model: &'a Model) -> BoxFuture<'a, Option<String>> {
        self.hooks.get_api_key(model)
    }
}
