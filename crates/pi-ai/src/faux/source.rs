//! Plays one turn as a stream of events.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::script::{FauxBlock, FauxTurn};
use crate::cost::cost_of;
use crate::event::{AssistantEvent, MessageBuilder};
use crate::stream::EventSource;
use crate::types::{AssistantMessage, Model, StopReason, ThinkingContent, ToolCall};

/// Makes the next delta only when it is asked for.
pub(super) struct FauxSource {
    builder: MessageBuilder,
    cancel: CancellationToken,
    blocks: std::vec::IntoIter<FauxBlock>,
    open: Option<Open>,
    ending: Ending,
    delta_chars: usize,
    delta_delay: Duration,
    /// Nothing happens before this moment. It is kept over a dropped `advance`.
    not_before: Option<Instant>,
    first_delay: Option<Duration>,
    began: Instant,
}

/// The block being streamed.
struct Open {
    index: usize,
    kind: Kind,
    text: String,
    sent: usize,
}

enum Kind {
    Text,
    Thinking,
    ToolCall,
    /// Arguments known as an object: they need not be read back from their text.
    ToolCallWith(Map<String, Value>),
}

struct Ending {
    reason: StopReason,
    error_message: Option<String>,
    hang: bool,
}

impl FauxSource {
    pub(super) fn new(model: &Model, turn: FauxTurn, cancel: CancellationToken) -> Self {
        let mut message = AssistantMessage::pending(model, crate::now_ms());
        message.usage = turn.usage.tokens();
        message.usage.cost = cost_of(&model.cost, &message.usage);
        message.retry_after_ms = turn.retry_after_ms;
        let ending =
            Ending { reason: turn.ending(), error_message: turn.error_message, hang: turn.hang };
        Self {
            builder: MessageBuilder::new(message),
            cancel,
            blocks: turn.blocks.into_iter(),
            open: None,
            ending,
            delta_chars: turn.delta_chars.max(1),
            delta_delay: Duration::from_millis(turn.delta_delay_ms),
            not_before: None,
            first_delay: Some(Duration::from_millis(turn.delay_ms)),
            began: Instant::now(),
        }
    }

    async fn play(&mut self) -> bool {
        if self.builder.is_ended() {
            return false;
        }
        if let Some(delay) = self.first_delay.take() {
            self.wait_for(delay);
        }
        let over = self.blocks.len() == 0 && self.open.is_none();
        let silence = async {
            if let Some(moment) = self.not_before {
                tokio::time::sleep_until(moment).await;
            }
            if over && self.ending.hang {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                self.stamp();
                self.builder.abort();
                return true;
            }
            () = silence => self.not_before = None,
        }
        match self.open.take() {
            Some(open) => self.next_delta(open),
            None => match self.blocks.next() {
                Some(block) => self.open(block),
                None => self.end(),
            },
        }
        true
    }

    fn wait_for(&mut self, delay: Duration) {
        self.not_before = (!delay.is_zero()).then(|| Instant::now() + delay);
    }

    fn open(&mut self, block: FauxBlock) {
        let open = match block {
            FauxBlock::Text { text } => {
                Open { index: self.builder.text_start(), kind: Kind::Text, text, sent: 0 }
            }
            FauxBlock::Thinking { thinking, thinking_signature } => {
                let block = ThinkingContent { thinking_signature, ..ThinkingContent::default() };
                let index = self.builder.thinking_start(block);
                Open { index, kind: Kind::Thinking, text: thinking, sent: 0 }
            }
            FauxBlock::ToolCall { id, name, arguments, argument_text } => {
                let index =
                    self.builder.tool_call_start(ToolCall { id, name, ..ToolCall::default() });
                let (kind, text) = match argument_text {
                    Some(text) => (Kind::ToolCall, text),
                    None => {
                        let text = Value::Object(arguments.clone()).to_string();
                        (Kind::ToolCallWith(arguments), text)
                    }
                };
                Open { index, kind, text, sent: 0 }
            }
        };
        self.open = Some(open);
    }

    fn next_delta(&mut self, mut open: Open) {
        let rest = open.text.get(open.sent..).unwrap_or_default();
        let size = rest.char_indices().nth(self.delta_chars).map_or(rest.len(), |(at, _)| at);
        if size == 0 {
            self.close(open);
            return;
        }
        let delta = rest.get(..size).unwrap_or_default();
        match open.kind {
            Kind::Text => self.builder.text_delta(open.index, delta),
            Kind::Thinking => self.builder.thinking_delta(open.index, delta),
            Kind::ToolCall | Kind::ToolCallWith(_) => {
                self.builder.tool_call_delta(open.index, delta);
            }
        }
        open.sent += size;
        self.open = Some(open);
        self.wait_for(self.delta_delay);
    }

    fn close(&mut self, open: Open) {
        match open.kind {
            Kind::Text => self.builder.text_end(open.index),
            Kind::Thinking => self.builder.thinking_end(open.index),
            Kind::ToolCall => self.builder.tool_call_end(open.index),
            Kind::ToolCallWith(arguments) => {
                self.builder.tool_call_end_with(open.index, arguments);
            }
        }
    }

    fn end(&mut self) {
        self.stamp();
        match (self.ending.reason, self.ending.error_message.take()) {
            (reason @ (StopReason::Error | StopReason::Aborted), message) => {
                self.builder.fail(reason, message.unwrap_or_default());
            }
            (_, Some(message)) => self.builder.fail(StopReason::Error, message),
            (reason, None) => self.builder.finish(reason),
        }
    }

    fn stamp(&mut self) {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.builder.message_mut().duration_ms = Some(elapsed);
    }
}

impl EventSource for FauxSource {
    fn pop(&mut self) -> Option<AssistantEvent> {
        self.builder.pop()
    }

    fn advance(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(self.play())
    }

    fn partial(&self) -> &AssistantMessage {
        self.builder.message()
    }
}
