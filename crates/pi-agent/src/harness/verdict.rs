//! What is to be done about a run that has ended.

use pi_ai::{AssistantMessage, Model, StopReason};

use super::record::error_text;
use crate::retry::RetrySettings;

/// What to do when a run has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Verdict {
    #[default]
    /// Nothing: it went well, was aborted, or failed for good.
    Final,
    /// The context was too long for the model, so the same request would fail again. `retry`: there
    /// is no answer to keep.
    Overflow {
        retry: bool,
    },
    /// The answer ended before its limit, because the window was full.
    CutShort,
    Retry {
        delay_ms: u64,
        max_attempts: u32,
        error: String,
    },
}

/// What a run is judged by beside its last answer.
#[derive(Debug)]
pub(super) struct Circumstances<'a> {
    pub(super) model: &'a Model,
    pub(super) retry: RetrySettings,
    /// Retries made so far.
    pub(super) attempt: u32,
    /// Whether the context may be made shorter: it has not been for this prompt, and is allowed to.
    pub(super) may_recover: bool,
    /// Most tokens the answer could have.
    pub(super) max_output: u64,
}

/// Judges a run by its last answer.
pub(super) fn judge(answer: &AssistantMessage, now: &Circumstances<'_>) -> Verdict {
    if now.may_recover && is_of(answer, now.model) {
        if pi_ai::overflow::is_overflow(answer, now.model.context_window) {
            return Verdict::Overflow { retry: answer.stop_reason != StopReason::Stop };
        }
        if is_cut_short(answer, now) {
            return Verdict::CutShort;
        }
    }
    if answer.stop_reason != StopReason::Error
        || pi_ai::overflow::is_overflow(answer, now.model.context_window)
    {
        return Verdict::Final;
    }
    let error = error_text(answer);
    if now.retry.allows(now.attempt) && pi_ai::retry::is_retryable(&error) {
        return Verdict::Retry {
            delay_ms: now.retry.delay_ms(now.attempt + 1, answer.retry_after_ms),
            max_attempts: now.retry.max_retries,
            error,
        };
    }
    Verdict::Final
}

/// Another model may have another window.
fn is_of(answer: &AssistantMessage, model: &Model) -> bool {
    answer.provider == model.provider && answer.model == model.id
}

/// The answer ended before its own limit, and the window was nearly full: from nine tenths, since
/// providers count differently. Some cut answers where the catalogue does not know of a limit; that
/// is no reason to lose what they say.
fn is_cut_short(answer: &AssistantMessage, now: &Circumstances<'_>) -> bool {
    let window = now.model.context_window;
    answer.stop_reason == StopReason::Length
        && (1..now.max_output).contains(&answer.usage.output)
        && window > 0
        && answer.usage.context_tokens().saturating_mul(10) >= window.saturating_mul(9)
}
