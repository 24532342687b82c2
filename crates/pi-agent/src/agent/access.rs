//! Reading and changing an agent. Changes made while a run is on count from its next request.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_ai::{AssistantMessage, Model, SimpleStreamOptions, ThinkingLevel};

use super::Agent;
use crate::agent_loop::StreamFn;
use crate::hooks::LoopHooks;
use crate::message::AgentMessage;
use crate::queue::{QueueKind, QueueMode};
use crate::tool::{ExecutionMode, Tool};

impl Agent {
    pub fn model(&self) -> Arc<Model> {
        Arc::clone(&self.state().model)
    }

    pub fn set_model(&self, model: Arc<Model>) {
        self.state().model = model;
    }

    pub fn thinking_level(&self) -> ThinkingLevel {
        self.state().thinking_level
    }

    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.state().thinking_level = level;
    }

    pub fn tools(&self) -> Arc<[Arc<dyn Tool>]> {
        Arc::clone(&self.state().tools)
    }

    /// Sets what can be called. Telling the model is up to a system message.
    pub fn set_tools(&self, tools: Vec<Arc<dyn Tool>>) {
        self.state().tools = tools.into();
    }

    /// The transcript; a message that is still streaming is not in it.
    pub fn messages(&self) -> Arc<Vec<AgentMessage>> {
        Arc::clone(&self.state().messages)
    }

    pub fn set_messages(&self, messages: Vec<AgentMessage>) {
        self.state().messages = Arc::new(messages);
    }

    /// Adds a message without a run and without telling anyone.
    pub fn append_message(&self, message: AgentMessage) {
        Arc::make_mut(&mut self.state().messages).push(message);
    }

    pub fn options(&self) -> SimpleStreamOptions {
        self.state().options.clone()
    }

    pub fn set_options(&self, options: SimpleStreamOptions) {
        self.state().options = options;
    }

    pub fn hooks(&self) -> Arc<dyn LoopHooks> {
        Arc::clone(&self.state().hooks)
    }

    /// The door to the model.
    pub fn stream(&self) -> Arc<dyn StreamFn> {
        Arc::clone(&self.inner.stream)
    }

    /// Counts from the next run.
    pub fn set_hooks(&self, hooks: Arc<dyn LoopHooks>) {
        self.state().hooks = hooks;
    }

    pub fn set_tool_execution(&self, mode: ExecutionMode) {
        self.state().tool_execution = mode;
    }

    pub fn steering_mode(&self) -> QueueMode {
        self.state().queues.mode(QueueKind::Steering)
    }

    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.state().queues.set_mode(QueueKind::Steering, mode);
    }

    pub fn follow_up_mode(&self) -> QueueMode {
        self.state().queues.mode(QueueKind::FollowUp)
    }

    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.state().queues.set_mode(QueueKind::FollowUp, mode);
    }

    /// Whether a run is on.
    pub fn is_streaming(&self) -> bool {
        self.state().cancel.is_some()
    }

    /// The answer that is arriving, as far as listeners have been told.
    pub fn streaming_message(&self) -> Option<AssistantMessage> {
        self.state().streaming.clone()
    }

    /// Ids of tool calls that are being run.
    pub fn pending_tool_calls(&self) -> BTreeSet<String> {
        self.state().pending_tool_calls.clone()
    }

    /// Error of the last answer, if that failed.
    pub fn error_message(&self) -> Option<String> {
        self.state().error_message.clone()
    }
}
