//! Events of an answer.

use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::compat::Compat;
use super::options::Options;
use super::thinking::Thinking;
use crate::cost::cost_of;
use crate::event::MessageBuilder;
use crate::partial_json;
use crate::protocol::error_body::cut;
use crate::types::{
    AssistantBlock, Diagnostic, Model, ModelCost, StopReason, StreamOptions, ThinkingContent,
    ToolCall,
};

mod payload;

use payload::{
    BlockStart, BlockStop, Delta, MessageDelta, MessageStart, StartedBlock, TypeOnly, WireUsage,
};

const REDACTED: &str = "[Reasoning redacted]";
const REFUSAL: &str = "The model declined to answer this request";
const MID_OUTPUT_FALLBACK: &str = "Anthropic changed the model in the middle of an answer";
const NO_STOP_REASON: &str = "without a stop reason";
/// Characters of an unreadable event that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// Decoder of one answer.
#[derive(Debug)]
pub(super) struct AnthropicDecoder {
    model: Arc<Model>,
    compat: Compat,
    /// Of the model that answers, which may be one the server fell back to.
    prices: ModelCost,
    /// Effort to record with the answer.
    effort: Option<String>,
    blocks: Vec<OpenBlock>,
    saw_message_start: bool,
    stop: Option<Stop>,
}

/// A block that has not been stopped.
#[derive(Debug)]
struct OpenBlock {
    /// The provider's index.
    index: u64,
    content_index: usize,
    kind: BlockKind,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    Thinking,
    /// Complete from its start.
    Redacted,
    /// With the input of its start, which counts if nothing else comes.
    ToolUse(Option<Value>),
}

#[derive(Debug)]
enum Stop {
    Well(StopReason),
    /// With the text for the user.
    Badly(String),
}

impl AnthropicDecoder {
    pub(super) fn new(model: Arc<Model>, options: &StreamOptions) -> Self {
        let compat = Compat::of(&model);
        let own = Options::read(&options.protocol).unwrap_or_default();
        let thinking = Thinking::of(&model, &compat, &own);
        Self {
            effort: thinking.managed_effort().map(str::to_owned),
            prices: model.cost.clone(),
            model,
            compat,
            blocks: Vec::new(),
            saw_message_start: false,
            stop: None,
        }
    }

    pub(super) fn take(&mut self, name: Option<&str>, data: &str, out: &mut MessageBuilder) {
        if out.is_ended() {
            return;
        }
        let Some(name) = name else {
            // Some hosts send no event names.
            if let Ok(TypeOnly { kind }) = serde_json::from_str(data) {
                self.take(Some(&kind), data, out);
            }
            return;
        };
        let Err(error) = self.handle(name, data, out) else {
            return;
        };
        if !self.handle_mended(name, data, out) {
            let shown: String = data.chars().take(MAX_SHOWN_CHARS).collect();
            out.fail(
                StopReason::Error,
                format!("Could not parse Anthropic event {name}: {error}; data={shown}"),
            );
        }
    }

    /// The body ended without `message_stop`.
    pub(super) fn body_ended(&mut self, out: &mut MessageBuilder) {
        let missing = if self.saw_message_start { "before message_stop" } else { NO_STOP_REASON };
        out.fail(StopReason::Error, format!("Anthropic stream ended {missing}"));
    }

    /// Raw control characters and invented escapes are mended before giving up.
    fn handle_mended(&mut self, name: &str, data: &str, out: &mut MessageBuilder) -> bool {
        if data.trim().is_empty() {
            return false;
        }
        let mended = partial_json::parse_object(data);
        mended
            .is_ok_and(|object| self.handle(name, &Value::Object(object).to_string(), out).is_ok())
    }

    /// Reads one event. An error means nothing has been changed.
    fn handle(
        &mut self,
        name: &str,
        data: &str,
        out: &mut MessageBuilder,
    ) -> Result<(), serde_json::Error> {
        match name {
            "content_block_delta" => self.delta(&serde_json::from_str(data)?, out),
            "content_block_start" => self.block_start(serde_json::from_str(data)?, out),
            "content_block_stop" => self.block_stop(&serde_json::from_str(data)?, out),
            "message_start" => self.message_start(serde_json::from_str(data)?, out),
            "message_delta" => self.message_delta(serde_json::from_str(data)?, out),
            "message_stop" => {
                let IgnoredAny = serde_json::from_str(data)?;
                self.message_stop(out);
            }
            "error" => out.fail(StopReason::Error, cut(data)),
            // `ping`, and whatever the API may learn to send.
            _ => {}
        }
        Ok(())
    }

    fn message_start(&mut self, event: MessageStart<'_>, out: &mut MessageBuilder) {
        self.saw_message_start = true;
        let start = event.message;
        let message = out.message_mut();
        message.response_id = (!start.id.is_empty()).then(|| start.id.into());
        message.provider_thinking_level.clone_from(&self.effort);
        self.answered_by(&start.model, out);
        let usage = out.usage_mut();
        usage.cache_write_1h = Some(0);
        // Reasoning is only known at the end.
        let counts = WireUsage { output_tokens_details: None, ..start.usage.unwrap_or_default() };
        self.count(&counts, out);
        let transformations = start.input_transformations.unwrap_or_default();
        if !transformations.is_empty() {
            let details = json!({"transformations": transformations});
            out.message_mut().diagnostics.get_or_insert_default().push(Diagnostic {
                kind: "anthropic_input_transformations".into(),
                timestamp: crate::now_ms(),
                error: None,
                details: Some(details),
            });
        }
        out.start();
    }

    fn block_start(&mut self, event: BlockStart<'_>, out: &mut MessageBuilder) {
        let Some((content_index, kind)) = self.open_block(event.content_block, out) else {
            return;
        };
        self.blocks.push(OpenBlock { index: event.index, content_index, kind });
    }

    fn open_block(
        &mut self,
        block: StartedBlock<'_>,
        out: &mut MessageBuilder,
    ) -> Option<(usize, BlockKind)> {
        match block.kind.as_ref() {
            "text" => {
                let content_index = out.text_start();
                out.text_delta(content_index, &block.text);
                Some((content_index, BlockKind::Text))
            }
            "thinking" => {
                let content_index = out.thinking_start(ThinkingContent {
                    thinking: String::new(),
                    thinking_signature: Some(block.signature.into()),
                    redacted: None,
                });
                out.thinking_delta(content_index, &block.thinking);
                Some((content_index, BlockKind::Thinking))
            }
            "redacted_thinking" => {
                let content_index = out.thinking_start(ThinkingContent {
                    thinking: REDACTED.into(),
                    thinking_signature: Some(block.data.into()),
                    redacted: Some(true),
                });
                Some((content_index, BlockKind::Redacted))
            }
            "tool_use" => {
                let (id, name) = (block.id.into(), block.name.into());
                let content_index =
                    out.tool_call_start(ToolCall { id, name, ..ToolCall::default() });
                Some((content_index, BlockKind::ToolUse(block.input)))
            }
            "fallback" => {
                let model = block.to.as_ref().and_then(|to| to.get("model")?.as_str());
                self.fell_back_to(model.unwrap_or_default(), out);
                None
            }
            _ => None,
        }
    }

    fn delta(&mut self, event: &Delta<'_>, out: &mut MessageBuilder) {
        let Some(block) = self.blocks.iter_mut().rev().find(|block| block.index == event.index)
        else {
            return;
        };
        match (&mut block.kind, event.delta.kind.as_ref()) {
            (BlockKind::Text, "text_delta") => {
                out.text_delta(block.content_index, &event.delta.text);
            }
            (BlockKind::Thinking, "thinking_delta") => {
                out.thinking_delta(block.content_index, &event.delta.thinking);
            }
            (BlockKind::Thinking, "signature_delta") => {
                if let Some(AssistantBlock::Thinking(thinking)) = out.block_mut(block.content_index)
                {
                    let signature = thinking.thinking_signature.get_or_insert_default();
                    signature.push_str(&event.delta.signature);
                }
            }
            (BlockKind::ToolUse(input), "input_json_delta") => {
                if !event.delta.partial_json.is_empty() {
                    *input = None;
                }
                out.tool_call_delta(block.content_index, &event.delta.partial_json);
            }
            // A delta of another kind than its block, or of a kind we do not know.
            _ => {}
        }
    }

    fn block_stop(&mut self, event: &BlockStop, out: &mut MessageBuilder) {
        let Some(position) = self.blocks.iter().rposition(|block| block.index == event.index)
        else {
            return;
        };
        let OpenBlock { content_index, kind, .. } = self.blocks.swap_remove(position);
        match kind {
            BlockKind::Text => out.text_end(content_index),
            BlockKind::Thinking | BlockKind::Redacted => out.thinking_end(content_index),
            BlockKind::ToolUse(Some(Value::Object(input))) if !input.is_empty() => {
                out.tool_call_end_with(content_index, input);
            }
            BlockKind::ToolUse(_) => out.tool_call_end(content_index),
        }
    }

    fn message_delta(&mut self, event: MessageDelta<'_>, out: &mut MessageBuilder) {
        let word = event.delta.stop_reason;
        if !word.is_empty() {
            let stop = match word.as_ref() {
                "end_turn" | "pause_turn" | "stop_sequence" => Some(Stop::Well(StopReason::Stop)),
                "max_tokens" => Some(Stop::Well(StopReason::Length)),
                "tool_use" => Some(Stop::Well(StopReason::ToolUse)),
                "refusal" => {
                    let text = event.delta.stop_details.map(|details| details.explanation);
                    let text = text.filter(|text| !text.is_empty());
                    Some(Stop::Badly(text.map_or_else(|| REFUSAL.to_owned(), String::from)))
                }
                "sensitive" => Some(Stop::Badly("Provider stopped with: sensitive".into())),
                _ => None,
            };
            out.message_mut().raw_stop_reason = Some(word.to_string());
            if stop.is_none() {
                out.fail(StopReason::Error, format!("Unhandled stop reason: {word}"));
                return;
            }
            self.stop = stop;
        }
        if let Some(usage) = &event.usage {
            self.count(usage, out);
        }
    }

    fn message_stop(&mut self, out: &mut MessageBuilder) {
        match self.stop.take() {
            Some(Stop::Well(reason)) => out.finish(reason),
            Some(Stop::Badly(text)) => out.fail(StopReason::Error, text),
            None => {
                out.fail(StopReason::Error, format!("Anthropic stream ended {NO_STOP_REASON}"));
            }
        }
    }

    /// Fields that are there replace those counted before.
    fn count(&self, counts: &WireUsage, out: &mut MessageBuilder) {
        let usage = out.usage_mut();
        let set = |field: &mut u64, count: Option<u64>| {
            if let Some(count) = count {
                *field = count;
            }
        };
        set(&mut usage.input, counts.input_tokens);
        set(&mut usage.output, counts.output_tokens);
        set(&mut usage.cache_read, counts.cache_read_input_tokens);
        set(&mut usage.cache_write, counts.cache_creation_input_tokens);
        let long = counts.cache_creation.as_ref().and_then(|c| c.ephemeral_1h_input_tokens);
        usage.cache_write_1h = long.or(usage.cache_write_1h);
        let reasoning = counts.output_tokens_details.as_ref().and_then(|d| d.thinking_tokens);
        usage.reasoning = reasoning.or(usage.reasoning);
        usage.total_tokens = [usage.output, usage.cache_read, usage.cache_write]
            .into_iter()
            .fold(usage.input, u64::saturating_add);
        usage.cost = cost_of(&self.prices, usage);
    }

    /// The provider names the model that answers.
    fn answered_by(&mut self, model: &str, out: &mut MessageBuilder) {
        if model != self.model.id && !model.is_empty() {
            out.message_mut().response_model = Some(model.to_owned());
            if let Some(prices) = self.compat.fallback_prices(model) {
                self.prices = prices.clone();
            }
        }
    }

    /// The server gave the request to another model. Only one we allowed is taken note of.
    fn fell_back_to(&mut self, model: &str, out: &mut MessageBuilder) {
        if !out.message().content.is_empty() {
            out.fail(StopReason::Error, MID_OUTPUT_FALLBACK);
        } else if self.compat.fallback_prices(model).is_some() {
            self.answered_by(model, out);
            let usage = out.usage_mut();
            usage.cost = cost_of(&self.prices, usage);
        }
    }
}
