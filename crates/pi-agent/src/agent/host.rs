//! The agent as the loop sees it: the transcript, the queues and the listeners of a run.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::fold::fold;
use super::{Inner, State};
use crate::agent_loop::{LoopHost, TurnSettings};
use crate::event::AgentEvent;
use crate::hooks::TurnChange;
use crate::message::AgentMessage;
use crate::queue::QueueKind;

impl LoopHost for Inner {
    fn emit(&self, event: AgentEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let listeners = {
                let mut state = self.state();
                state.note(&event);
                Arc::clone(&state.listeners)
            };
            for (_, listener) in listeners.iter() {
                listener.on_event(&event).await;
            }
        })
    }

    fn settings(&self) -> TurnSettings {
        let state = self.state();
        TurnSettings {
            model: Arc::clone(&state.model),
            thinking_level: state.thinking_level,
            options: state.options.clone(),
            tools: Arc::clone(&state.tools),
            tool_execution: state.tool_execution,
        }
    }

    fn messages(&self) -> Arc<Vec<AgentMessage>> {
        Arc::clone(&self.state().messages)
    }

    fn produced(&self) -> Vec<AgentMessage> {
        self.state().produced.clone()
    }

    fn apply(&self, change: &mut TurnChange) {
        let mut state = self.state();
        if let Some(model) = change.model.take() {
            state.model = model;
        }
        if let Some(level) = change.thinking_level.take() {
            state.thinking_level = level;
        }
        if let Some(context) = change.context.take() {
            state.messages = Arc::new(context);
        }
    }

    fn has_queued(&self) -> bool {
        !self.state().queues.is_empty()
    }

    fn reserve_steering(&self) -> bool {
        self.state().queues.reserve(QueueKind::Steering)
    }

    fn reserve_follow_up(&self) -> bool {
        self.state().queues.reserve(QueueKind::FollowUp)
    }

    fn deliver(&self) -> BoxFuture<'_, Option<AgentMessage>> {
        Box::pin(async move {
            let message = self.state().queues.deliver()?;
            self.tell_queue_change().await;
            Some(message)
        })
    }
}

impl Inner {
    /// Tells every listener what waits at that moment.
    pub(super) async fn tell_queue_change(&self) {
        let (listeners, queued) = {
            let state = self.state();
            (Arc::clone(&state.listeners), state.queues.snapshot())
        };
        for (_, listener) in listeners.iter() {
            listener.on_queue_change(&queued).await;
        }
    }
}

impl State {
    fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageStart { message: AgentMessage::Assistant(message) } => {
                self.streaming = Some(message.as_ref().clone());
            }
            AgentEvent::MessageUpdate { usage, assistant_message_event } => {
                if let Some(message) = &mut self.streaming {
                    message.usage.clone_from(usage);
                    fold(message, assistant_message_event);
                }
            }
            AgentEvent::MessageEnd { message } => {
                if let AgentMessage::Assistant(answer) = message {
                    self.streaming = None;
                    self.error_message.clone_from(&answer.error_message);
                }
                Arc::make_mut(&mut self.messages).push(message.clone());
                self.produced.push(message.clone());
                self.queues.arrived();
            }
            AgentEvent::ToolExecutionStart { tool_call_id, .. } => {
                self.pending_tool_calls.insert(tool_call_id.clone());
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => {
                self.pending_tool_calls.remove(tool_call_id);
            }
            AgentEvent::AgentStart
            | AgentEvent::TurnStart
            | AgentEvent::MessageStart { .. }
            | AgentEvent::ToolExecutionUpdate { .. }
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::AgentEnd { .. } => {}
        }
    }
}
