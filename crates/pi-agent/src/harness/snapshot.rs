//! The state of a harness as data.

use std::collections::BTreeSet;
use std::sync::Arc;

use pi_ai::{AssistantMessage, Model, ThinkingLevel};

use super::{Harness, Operation};
use crate::compaction::{ContextUsage, context_usage};
use crate::queue::QueuedMessages;

/// What a harness is at, at one moment.
#[derive(Debug, Clone)]
pub struct HarnessState {
    pub conversation: Conversation,
    pub operation: Operation,
}

/// The conversation at its leaf.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// `None`: before every entry.
    pub leaf_id: Option<String>,
    pub model: Arc<Model>,
    pub thinking_level: ThinkingLevel,
    /// Names of the active tools, in the order the model sees them.
    pub active_tools: Vec<String>,
    pub context_usage: ContextUsage,
}

impl Harness {
    /// What the harness is at. The size of the context may have to be guessed from its text, which
    /// takes as long as reading it.
    pub fn state(&self) -> HarnessState {
        let leaf_id = self.with_session(|session| session.leaf().map(|leaf| leaf.id().to_owned()));
        HarnessState {
            conversation: Conversation {
                leaf_id,
                model: self.inner.agent.model(),
                thinking_level: self.inner.agent.thinking_level(),
                active_tools: self.active_tools(),
                context_usage: self.context_usage(),
            },
            operation: self.inner.operation(),
        }
    }

    /// How full the model's window is; unknown from a compaction to the next answer.
    pub fn context_usage(&self) -> ContextUsage {
        context_usage(&self.inner.session(), self.inner.agent.model().context_window)
    }

    pub fn model(&self) -> Arc<Model> {
        self.inner.agent.model()
    }

    pub fn thinking_level(&self) -> ThinkingLevel {
        self.inner.agent.thinking_level()
    }

    /// What waits in both queues.
    pub fn queued_messages(&self) -> QueuedMessages {
        self.inner.agent.queued_messages()
    }

    /// The answer that is arriving, as far as listeners have been told.
    pub fn streaming_message(&self) -> Option<AssistantMessage> {
        self.inner.agent.streaming_message()
    }

    /// Ids of tool calls that are being run.
    pub fn pending_tool_calls(&self) -> BTreeSet<String> {
        self.inner.agent.pending_tool_calls()
    }

    /// What is going on.
    pub fn operation(&self) -> Operation {
        self.inner.operation()
    }
}
