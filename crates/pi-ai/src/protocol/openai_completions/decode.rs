//! Stream chunks to events.
//!
//! One text and one thinking block per answer, and any number of calls; they may grow in turns, so
//! every block ends at the end of the stream, in block order.

use std::sync::Arc;

use super::chunk::{Choice, Chunk, Delta, read_details};
use super::compat::Compat;
use super::errors::stream_error;
use super::reasoning_details::ReasoningDetails;
use super::request::all_tools;
use super::tools::grammar_properties;
use super::usage::read_usage;
use crate::event::MessageBuilder;
use crate::protocol::{Decoder, Interruption};
use crate::types::Context;
use crate::types::{AssistantBlock, Model, StopReason, ThinkingContent};

mod calls;

use calls::OpenCalls;

const DONE: &str = "[DONE]";

/// Decoder of one answer.
pub(super) struct ChatDecoder {
    model: Arc<Model>,
    infers_stop_reason: bool,
    bills_in_usage: bool,
    reasoning_returns_as_content: bool,
    text: Option<usize>,
    thinking: Option<usize>,
    details: ReasoningDetails,
    calls: OpenCalls,
    /// The provider's last word on why it stopped.
    finish_reason: Option<String>,
}

impl ChatDecoder {
    pub(super) fn new(model: Arc<Model>, context: &Context) -> Self {
        let compat = Compat::of(&model);
        // A tool that cannot be declared fails the request itself.
        let tools = all_tools(&context.tools, &context.messages);
        let grammar_properties = grammar_properties(tools, &compat).unwrap_or_default();
        Self {
            model,
            infers_stop_reason: !compat.finish_reason,
            bills_in_usage: compat.quirks.bills_in_usage,
            reasoning_returns_as_content: compat.quirks.reasoning_returns_as_content,
            text: None,
            thinking: None,
            details: ReasoningDetails::default(),
            calls: OpenCalls::new(grammar_properties),
            finish_reason: None,
        }
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, out: &mut MessageBuilder) {
        let message = out.message_mut();
        if message.response_id.is_none() && !chunk.id.is_empty() {
            message.response_id = Some(chunk.id.0.clone().into_owned());
        }
        let other_model = !chunk.model.is_empty() && *chunk.model.0 != *self.model.id;
        if message.response_model.is_none() && other_model {
            message.response_model = Some(chunk.model.0.clone().into_owned());
        }
        let choice = chunk.choices.as_deref().and_then(<[Choice<'_>]>::first);
        let usage = chunk.usage.or(choice.and_then(|choice| choice.usage));
        let read = |json| read_usage(json, &self.model, self.bills_in_usage);
        if let Some(usage) = usage.and_then(|raw| read(raw.get())) {
            message.usage = usage;
        }
        if let Some(choice) = choice {
            self.choice(choice, out);
        }
    }

    fn choice(&mut self, choice: &Choice<'_>, out: &mut MessageBuilder) {
        if !choice.finish_reason.is_empty() {
            let reason = choice.finish_reason.0.clone().into_owned();
            out.message_mut().raw_stop_reason = Some(reason.clone());
            self.finish_reason = Some(reason);
        }
        if let Some(delta) = &choice.delta {
            self.delta(delta, out);
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut MessageBuilder) {
        self.reasoning(delta, out);
        for text in [&delta.content, &delta.refusal] {
            if !text.is_empty() {
                let block = *self.text.get_or_insert_with(|| out.text_start());
                out.text_delta(block, &text.0);
            }
        }
        for call in delta.tool_calls.iter().flatten() {
            self.calls.delta(call, out);
        }
    }

    fn reasoning(&mut self, delta: &Delta<'_>, out: &mut MessageBuilder) {
        let fields = [
            ("reasoning_content", &delta.reasoning_content),
            ("reasoning", &delta.reasoning),
            ("reasoning_text", &delta.reasoning_text),
        ];
        // Some hosts say the same in two fields.
        if let Some((field, text)) = fields.into_iter().find(|(_, text)| !text.is_empty()) {
            let moves = field == "reasoning" && self.reasoning_returns_as_content;
            let block = self.thinking_block(if moves { "reasoning_content" } else { field }, out);
            out.thinking_delta(block, &text.0);
        }
        if let Some(details) = delta.reasoning_details.and_then(read_details) {
            self.thinking_block("", out);
            self.details.add(details);
        }
    }

    fn thinking_block(&mut self, signature: &str, out: &mut MessageBuilder) -> usize {
        *self.thinking.get_or_insert_with(|| {
            out.thinking_start(ThinkingContent {
                thinking_signature: Some(signature.to_owned()),
                ..ThinkingContent::default()
            })
        })
    }

    /// Ends every block, in order.
    fn close_blocks(&mut self, out: &mut MessageBuilder) {
        if let (Some(block), Some(details)) = (self.thinking, self.details.to_json())
            && let Some(AssistantBlock::Thinking(thinking)) = out.block_mut(block)
        {
            thinking.thinking_signature = Some(details);
        }
        for block in 0..out.message().content.len() {
            match out.message().content.get(block) {
                Some(AssistantBlock::Text(_)) => out.text_end(block),
                Some(AssistantBlock::Thinking(_)) => out.thinking_end(block),
                Some(AssistantBlock::ToolCall(_)) => self.calls.end(block, out),
                None => {}
            }
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, name: Option<&str>, data: &str, out: &mut MessageBuilder) {
        if out.is_ended() {
            return;
        }
        out.start();
        if data.starts_with(DONE) {
            self.end(out);
            return;
        }
        if name == Some("error") {
            out.fail(StopReason::Error, stream_error(data));
            return;
        }
        match serde_json::from_str::<Option<Chunk<'_>>>(data) {
            Ok(Some(Chunk { error: Some(_), .. })) => {
                out.fail(StopReason::Error, stream_error(data));
            }
            Ok(Some(chunk)) => self.chunk(&chunk, out),
            Ok(None) => {}
            Err(_) => {
                let text = "Error reading response: malformed server-sent event JSON.";
                out.fail(StopReason::Error, text);
            }
        }
    }

    fn end(&mut self, out: &mut MessageBuilder) {
        if out.is_ended() {
            return;
        }
        out.start();
        self.close_blocks(out);
        match self.finish_reason.as_deref() {
            Some("stop" | "end") => out.finish(StopReason::Stop),
            Some("length") => out.finish(StopReason::Length),
            Some("tool_calls" | "function_call") => out.finish(StopReason::ToolUse),
            Some(other) => {
                out.fail(StopReason::Error, format!("Provider finish_reason: {other}"));
            }
            None if self.infers_stop_reason && self.calls.is_empty() => {
                out.finish(StopReason::Stop);
            }
            None if self.infers_stop_reason => out.finish(StopReason::ToolUse),
            None => out.fail(StopReason::Error, "Stream ended without finish_reason"),
        }
    }

    fn is_whole(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn interrupted(&mut self, how: Interruption, out: &mut MessageBuilder) {
        match how {
            Interruption::Aborted => self.close_blocks(out),
            Interruption::Broken => {}
        }
    }
}
