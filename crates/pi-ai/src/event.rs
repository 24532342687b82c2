//! The one event set every provider is decoded into, and the builder decoders write with.
//!
//! A decoder calls [`MessageBuilder`]; the builder keeps the message so far and the events not yet
//! read. Nothing here does I/O. A delta costs its own length: tool arguments are parsed when their
//! block ends, not at each delta.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::partial_json;
use crate::types::{
    AssistantBlock, AssistantMessage, StopReason, TextContent, ThinkingContent, ToolCall, Usage,
};

/// Error text of an answer the caller cancelled.
const ABORTED: &str = "Request aborted";

/// What happens while an answer arrives. `content_index` is the block's index in the message.
/// Exactly one of `Done` and `Error` comes, last; `Start` comes first unless an error comes alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AssistantEvent {
    Start,
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        content: String,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        content: String,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        /// Boxed: deltas are many, and every event is as large as the largest.
        #[serde(serialize_with = "as_block")]
        tool_call: Box<ToolCall>,
    },
    Done {
        reason: StopReason,
        message: Arc<AssistantMessage>,
    },
    Error {
        reason: StopReason,
        error: Arc<AssistantMessage>,
    },
}

/// A call is written as the block it is, with its `type`.
fn as_block<S: Serializer>(call: &ToolCall, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(tag = "type", rename_all = "camelCase")]
    enum Block<'a> {
        ToolCall(&'a ToolCall),
    }
    Block::ToolCall(call).serialize(serializer)
}

/// Builds an answer block by block and queues the events that tell of it.
#[derive(Debug)]
pub struct MessageBuilder {
    message: AssistantMessage,
    /// Argument text of tool-call blocks that are still open, by block index.
    arguments: Vec<(usize, String)>,
    events: VecDeque<AssistantEvent>,
    started: bool,
    ended: bool,
}

impl MessageBuilder {
    pub fn new(message: AssistantMessage) -> Self {
        Self {
            message,
            arguments: Vec::new(),
            events: VecDeque::new(),
            started: false,
            ended: false,
        }
    }

    /// The message so far. Arguments of open tool calls are empty here: see
    /// [`Self::partial_arguments`].
    pub fn message(&self) -> &AssistantMessage {
        &self.message
    }

    /// Fields of the message beside its content.
    pub fn message_mut(&mut self) -> &mut AssistantMessage {
        &mut self.message
    }

    pub fn usage_mut(&mut self) -> &mut Usage {
        &mut self.message.usage
    }

    /// The next event nobody has read.
    pub fn pop(&mut self) -> Option<AssistantEvent> {
        self.events.pop_front()
    }

    /// Whether the terminal event has been queued; everything after is ignored.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Queues `Start` unless that happened.
    pub fn start(&mut self) {
        if !self.started && !self.ended {
            self.started = true;
            self.events.push_back(AssistantEvent::Start);
        }
    }

    /// Opens a text block and returns its index.
    pub fn text_start(&mut self) -> usize {
        let content_index = self.push_block(AssistantBlock::Text(TextContent::default()));
        self.queue(AssistantEvent::TextStart { content_index });
        content_index
    }

    /// Empty deltas are dropped.
    pub fn text_delta(&mut self, content_index: usize, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if let Some(AssistantBlock::Text(block)) = self.message.content.get_mut(content_index) {
            block.text.push_str(delta);
            self.queue(AssistantEvent::TextDelta { content_index, delta: delta.to_owned() });
        }
    }

    pub fn text_end(&mut self, content_index: usize) {
        if let Some(AssistantBlock::Text(block)) = self.message.content.get(content_index) {
            let content = block.text.clone();
            self.queue(AssistantEvent::TextEnd { content_index, content });
        }
    }

    /// Opens a thinking block and returns its index.
    pub fn thinking_start(&mut self, block: ThinkingContent) -> usize {
        let content_index = self.push_block(AssistantBlock::Thinking(block));
        self.queue(AssistantEvent::ThinkingStart { content_index });
        content_index
    }

    /// Empty deltas are dropped.
    pub fn thinking_delta(&mut self, content_index: usize, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if let Some(AssistantBlock::Thinking(block)) = self.message.content.get_mut(content_index) {
            block.thinking.push_str(delta);
            self.queue(AssistantEvent::ThinkingDelta { content_index, delta: delta.to_owned() });
        }
    }

    pub fn thinking_end(&mut self, content_index: usize) {
        if let Some(AssistantBlock::Thinking(block)) = self.message.content.get(content_index) {
            let content = block.thinking.clone();
            self.queue(AssistantEvent::ThinkingEnd { content_index, content });
        }
    }

    /// Opens a tool call and returns its index.
    pub fn tool_call_start(&mut self, call: ToolCall) -> usize {
        let (id, tool_name) = (call.id.clone(), call.name.clone());
        let content_index = self.push_block(AssistantBlock::ToolCall(call));
        self.arguments.push((content_index, String::new()));
        self.queue(AssistantEvent::ToolCallStart { content_index, id, tool_name });
        content_index
    }

    /// Adds argument text. Empty deltas are dropped.
    pub fn tool_call_delta(&mut self, content_index: usize, delta: &str) {
        if delta.is_empty() {
            return;
        }
        if let Some(text) = self.argument_text_mut(content_index) {
            text.push_str(delta);
            self.queue(AssistantEvent::ToolCallDelta { content_index, delta: delta.to_owned() });
        }
    }

    /// Ends a tool call: its argument text is parsed once. Text that is no object gives empty
    /// arguments and `argumentsError`.
    pub fn tool_call_end(&mut self, content_index: usize) {
        let text = self.take_argument_text(content_index);
        let Some(AssistantBlock::ToolCall(call)) = self.message.content.get_mut(content_index)
        else {
            return;
        };
        if let Some(text) = text {
            match partial_json::parse_object(&text) {
                Ok(arguments) => call.arguments = arguments,
                Err(error) => call.arguments_error = Some(error),
            }
        }
        let tool_call = Box::new(call.clone());
        self.queue(AssistantEvent::ToolCallEnd { content_index, tool_call });
    }

    /// Ends a tool call whose arguments are known as an object: its argument text is not read.
    pub fn tool_call_end_with(&mut self, content_index: usize, arguments: Map<String, Value>) {
        self.take_argument_text(content_index);
        let Some(AssistantBlock::ToolCall(call)) = self.message.content.get_mut(content_index)
        else {
            return;
        };
        call.arguments = arguments;
        let tool_call = Box::new(call.clone());
        self.queue(AssistantEvent::ToolCallEnd { content_index, tool_call });
    }

    /// What can be read of an open call's arguments so far. Costs the text's length: call it per
    /// frame, not per delta.
    pub fn partial_arguments(&self, content_index: usize) -> Map<String, Value> {
        self.arguments
            .iter()
            .find(|(index, _)| *index == content_index)
            .map(|(_, text)| partial_json::parse_partial_object(text))
            .unwrap_or_default()
    }

    /// Block to change in place (signatures, ids that come late).
    pub fn block_mut(&mut self, content_index: usize) -> Option<&mut AssistantBlock> {
        self.message.content.get_mut(content_index)
    }

    /// Ends the stream well.
    pub fn finish(&mut self, reason: StopReason) {
        if self.ended {
            return;
        }
        self.start();
        self.message.stop_reason = reason;
        let message = self.seal();
        self.events.push_back(AssistantEvent::Done { reason, message });
        self.ended = true;
    }

    /// Ends the stream with an error (`Error` or `Aborted`); what arrived stays in the message.
    pub fn fail(&mut self, reason: StopReason, error_message: impl Into<String>) {
        if self.ended {
            return;
        }
        self.message.stop_reason = reason;
        self.message.error_message = Some(error_message.into());
        let error = self.seal();
        self.events.push_back(AssistantEvent::Error { reason, error });
        self.ended = true;
    }

    /// Ends the stream because the caller cancelled; what arrived stays in the message.
    pub fn abort(&mut self) {
        self.fail(StopReason::Aborted, ABORTED);
    }

    fn push_block(&mut self, block: AssistantBlock) -> usize {
        self.start();
        self.message.content.push(block);
        self.message.content.len() - 1
    }

    fn queue(&mut self, event: AssistantEvent) {
        if !self.ended {
            self.events.push_back(event);
        }
    }

    fn argument_text_mut(&mut self, content_index: usize) -> Option<&mut String> {
        self.arguments.iter_mut().find(|(index, _)| *index == content_index).map(|(_, text)| text)
    }

    fn take_argument_text(&mut self, content_index: usize) -> Option<String> {
        let position = self.arguments.iter().position(|(index, _)| *index == content_index)?;
        Some(self.arguments.swap_remove(position).1)
    }

    /// The finished message; calls that never ended keep what could be read of their arguments.
    fn seal(&mut self) -> Arc<AssistantMessage> {
        for (index, text) in std::mem::take(&mut self.arguments) {
            if let Some(AssistantBlock::ToolCall(call)) = self.message.content.get_mut(index) {
                call.arguments = partial_json::parse_partial_object(&text);
            }
        }
        Arc::new(self.message.clone())
    }
}
