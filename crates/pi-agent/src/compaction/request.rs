//! One summary request: sent, tried again if that may help, and its answer judged.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ai::{
    AssistantMessage, CacheRetention, Context, InputBlock, Message, Model, SimpleStreamOptions,
    StopReason, ThinkingLevel, Usage, UserContent, UserMessage, max_tokens, overflow,
};
use tokio_util::sync::CancellationToken;

use super::prompts;
use crate::agent_loop::StreamFn;
use crate::retry::RetrySettings;

/// Fewest tokens of a large window that are left for a summary: what output limits keep free, and
/// as many again.
const LEAST_RESERVE: u64 = 8192;

/// What summaries are made with.
#[derive(Clone)]
pub struct Summarizer {
    pub stream: Arc<dyn StreamFn>,
    pub model: Arc<Model>,
    /// Asked for when the model reasons.
    pub thinking_level: ThinkingLevel,
    /// What every request is sent with: key, headers, hooks, session id. Caching, the output limit,
    /// thinking, tool choice and cancelling are set here.
    pub options: SimpleStreamOptions,
    pub retry: RetrySettings,
    pub cancel: CancellationToken,
    pub listener: Arc<dyn SummaryListener>,
}

impl fmt::Debug for Summarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summarizer")
            .field("model", &self.model.id)
            .field("thinking_level", &self.thinking_level)
            .field("options", &self.options)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// Hears of attempts.
pub trait SummaryListener: Send + Sync {
    /// Something about trying again. The request waits for it.
    fn on_retry(&self, retry: SummaryRetry) -> BoxFuture<'_, ()>;
}

/// A failed summary request is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryRetry {
    /// It will be, after a wait. Attempts count from 1, the first request not among them.
    Scheduled { attempt: u32, max_attempts: u32, delay_ms: u64, error_message: String },
    /// The wait is over.
    AttemptStart,
    /// No further attempt follows, for whatever reason. Only after [`Self::Scheduled`].
    Finished,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error("Summarization cancelled")]
    Cancelled,
    /// The text says why.
    #[error("{0}")]
    Failed(String),
}

/// What the model wrote.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) usage: Usage,
}

impl Summarizer {
    /// Asks once, and again while that may help.
    pub(super) async fn ask(&self, prompt: &str) -> Result<Reply, SummaryError> {
        let mut attempt = 0;
        let result = loop {
            let answer = match self.send(prompt).await {
                Ok(answer) => answer,
                Err(error) => break Err(error),
            };
            let Some(error) = failure(&answer) else {
                break Ok(Reply { text: answer.text(), usage: answer.usage.clone() });
            };
            if !self.is_worth_retrying(&answer, attempt, &error) {
                break Err(SummaryError::Failed(error));
            }
            attempt += 1;
            if let Err(error) = self.wait(attempt, answer.retry_after_ms, error).await {
                break Err(error);
            }
        };
        if attempt > 0 {
            self.listener.on_retry(SummaryRetry::Finished).await;
        }
        result
    }

    /// UTF-16 units of conversation that a request can carry beside `prompt` and still have
    /// `reserve_tokens` left for its answer. They come from the estimate that output limits come
    /// from, so that a full request has room for a summary.
    pub(super) fn room_beside(&self, prompt: &str, reserve_tokens: u64) -> u64 {
        let window = self.model.context_window;
        if window == 0 {
            return u64::MAX;
        }
        let reserve = reserve_tokens.max(LEAST_RESERVE).min(window / 4 * 3);
        let (context, _) = self.request(prompt);
        let taken = reserve.saturating_add(max_tokens::estimate(&context));
        // However long the earlier summary is, no part is tiny: every request gets on.
        let room = window.saturating_sub(taken).max(window / 8);
        max_tokens::longest_text(room)
    }

    async fn send(&self, prompt: &str) -> Result<Arc<AssistantMessage>, SummaryError> {
        let (context, options) = self.request(prompt);
        let answer = async {
            let stream = self.stream.stream(&self.model, context, options).await;
            stream.result().await
        };
        let answer = self.cancel.run_until_cancelled(answer).await;
        match answer {
            Some(answer) if !self.cancel.is_cancelled() => Ok(answer),
            _ => Err(SummaryError::Cancelled),
        }
    }

    fn request(&self, prompt: &str) -> (Context, SimpleStreamOptions) {
        let content = UserContent::Blocks(vec![InputBlock::text(prompt)]);
        let message = UserMessage { content, timestamp: pi_ai::now_ms() };
        let context = Context {
            system_prompt: Some(prompts::SYSTEM.to_owned()),
            messages: vec![Message::User(Arc::new(message))],
            tools: Vec::new(),
        };
        let mut options = self.options.clone();
        let reasons = self.model.reasoning;
        options.reasoning = if reasons { self.thinking_level } else { ThinkingLevel::Off };
        options.tool_choice = None;
        options.base.cache_retention = CacheRetention::None;
        options.base.cancel = self.cancel.clone();
        options.base.max_tokens = (self.model.max_tokens > 0)
            .then(|| max_tokens::output_limit(&self.model, &context, None));
        (context, options)
    }

    fn is_worth_retrying(&self, answer: &AssistantMessage, attempt: u32, error: &str) -> bool {
        answer.stop_reason == StopReason::Error
            && !overflow::is_overflow(answer, self.model.context_window)
            && pi_ai::retry::is_retryable(error)
            && self.retry.allows(attempt)
    }

    async fn wait(
        &self,
        attempt: u32,
        retry_after_ms: Option<u64>,
        error_message: String,
    ) -> Result<(), SummaryError> {
        let delay_ms = self.retry.delay_ms(attempt, retry_after_ms);
        let max_attempts = self.retry.max_retries;
        let scheduled = SummaryRetry::Scheduled { attempt, max_attempts, delay_ms, error_message };
        self.listener.on_retry(scheduled).await;
        let wait = tokio::time::sleep(Duration::from_millis(delay_ms));
        if self.cancel.run_until_cancelled(wait).await.is_none() {
            return Err(SummaryError::Cancelled);
        }
        self.listener.on_retry(SummaryRetry::AttemptStart).await;
        Ok(())
    }
}

/// Why an answer is no summary. Part of one is none: it would silently replace the conversation.
fn failure(answer: &AssistantMessage) -> Option<String> {
    match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let text = answer.error_message.clone().filter(|text| !text.is_empty());
            Some(text.unwrap_or_else(|| "Unknown error".to_owned()))
        }
        StopReason::Length => {
            Some("The summary was cut off at the model's output limit".to_owned())
        }
        _ if answer.text().trim().is_empty() => {
            Some("The model returned no summary text".to_owned())
        }
        _ => None,
    }
}
