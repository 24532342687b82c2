//! What is to be done about a run that has ended.

use pi_ai::{AssistantMessage, StopReason};

use super::record::error_text;
use crate::retry::RetrySettings;

/// What to do when a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing: it went well, was aborted, or failed for good.
    Final,
    /// The context was too long for the model; the same request would fail again.
    Overflow,
    Retry {
        delay_ms: u64,
        max_attempts: u32,
        error: String,
    },
}

/// Judges a run by its last answer. `attempt`: retries made so far.
pub(super) fn judge(
    answer: &AssistantMessage,
    settings: &RetrySettings,
    attempt: u32,
    context_window: u64,
) -> Verdict {
    if answer.stop_reason != StopReason::Error {
        return Verdict::Final;
    }
    if pi_ai::overflow::is_overflow(answer, context_window) {
        return Verdict::Overflow;
    }
    let error = error_text(answer);
    if settings.allows(attempt) && pi_ai::retry::is_retryable(&error) {
        return Verdict::Retry {
            delay_ms: settings.delay_ms(attempt + 1, answer.retry_after_ms),
            max_attempts: settings.max_retries,
            error,
        };
    }
    Verdict::Final
}
