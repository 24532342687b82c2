//! Recognising that a conversation no longer fits the model's window.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::retry::set;
use crate::types::{AssistantMessage, StopReason};

/// Whether this answer says that its request did not fit `context_window` tokens: in words, or
/// silently by its token counts. A window of 0 is unknown and cannot overflow silently.
pub fn is_overflow(message: &AssistantMessage, context_window: u64) -> bool {
    match message.stop_reason {
        StopReason::Error => message.error_message.as_deref().is_some_and(is_overflow_text),
        _ => is_silent_overflow(message, context_window),
    }
}

/// Whether an error of this text means that the request was too long.
pub fn is_overflow_text(error_message: &str) -> bool {
    OVERFLOW.is_match(error_message) && !OTHER_LIMITS.is_match(error_message)
}

/// Some hosts cut what does not fit without a word: a good answer to more input than the window
/// holds, or an answer of nothing because the input filled it (from 99 %).
fn is_silent_overflow(message: &AssistantMessage, context_window: u64) -> bool {
    if context_window == 0 {
        return false;
    }
    let input = message.usage.input.saturating_add(message.usage.cache_read);
    match message.stop_reason {
        StopReason::Stop => input > context_window,
        StopReason::Length => {
            message.usage.output == 0
                && input.saturating_mul(100) >= context_window.saturating_mul(99)
        }
        _ => false,
    }
}

static OVERFLOW: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        // Anthropic
        r"prompt is too long",
        r"request_too_large",
        r"model_context_window_exceeded",
        // OpenAI, LiteLLM, vLLM, Groq
        r"exceeds the context window",
        r"context.?length.?exceeded",
        r"context.?window.?exceeded",
        r"exceeds (?:the )?model'?s maximum context length",
        r"maximum context length is \d+ tokens",
        r"reduce the length of the messages",
        // Google
        r"input token count.{0,40}exceeds the maximum",
        // xAI
        r"maximum prompt length is \d+",
        // Copilot
        r"token count of \d+ exceeds the limit",
        // OpenRouter, Together
        r"input length.{0,20}exceeds the maximum allowed input length",
        r"longer than the model'?s context length",
        // llama.cpp, LM Studio, Ollama, DS4
        r"exceeds the available context size",
        r"exceed_context_size",
        r"greater than the context length",
        r"exceeded max context length",
        r"configured context size",
        // Mistral, Bedrock, Kimi, MiniMax, DashScope, Z.AI, Poolside
        r"too large for model with \d+ maximum context length",
        r"input is too long for requested model",
        r"exceeded model token limit",
        r"context window exceeds limit",
        r"range of input length should be",
        r"prompt too long",
        r"exceeds (?:the )?maximum (?:input|context|prompt) (?:length|size|tokens)",
        // Any host: the body is too large, and Cerebras, which says nothing at all
        r"^(?:[\w .-]+ API error \()?413\b",
        r"^(?:400|413) status code \(no body\)",
    ])
});

/// Limits on tokens over time use similar words.
static OTHER_LIMITS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[r"rate limit", r"too many requests", r"^(?:throttling error|service unavailable):"])
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faux::FauxProvider;

    #[test]
    fn every_pattern_compiles() {
        assert!(!OVERFLOW.is_empty() && !OTHER_LIMITS.is_empty());
    }

    #[test]
    fn hosts_say_too_long_in_many_words() {
        for text in [
            "400 {\"error\":{\"message\":\"prompt is too long: 2 tokens > 1 maximum\"}}",
            "413 {\"error\":{\"type\":\"request_too_large\"}}",
            "Unhandled stop reason: model_context_window_exceeded",
            "Your input exceeds the context window of this model.",
            "Input length (265330) exceeds model's maximum context length (262144).",
            "This model's maximum context length is 128000 tokens. However",
            "The input token count (1196265) exceeds the maximum number of tokens",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
            "Please reduce the length of the messages or completion.",
            "prompt token count of 200000 exceeds the limit of 128000",
            "413: {\"message\":\"failed to parse request\",\"code\":\"\"}",
            "400 status code (no body)",
            "413 status code (no body)",
            "Mistral API error (413): x",
            "Prompt contains 9 tokens, too large for model with 8 maximum context length",
            "Input length 140000 exceeds the maximum allowed input length of 131072 tokens.",
            "The input (5 tokens) is longer than the model's context length (4 tokens).",
            "request (2009 tokens) exceeds the available context size (512 tokens)",
            "tokens to keep from the initial prompt is greater than the context length",
            "prompt too long; exceeded max context length by 5 tokens",
            "Your request exceeded model token limit: 262144 (requested: 291351)",
            "invalid params, context window exceeds limit (2013)",
            "Range of input length should be [1, 983616]",
            "the prompt exceeds the configured context size",
            "{\"code\":\"1261\",\"message\":\"Prompt too long\"}",
            "litellm.ContextWindowExceededError: Context Window exceeded for given call.",
            "Validation error: Input is too long for requested model.",
        ] {
            assert!(is_overflow_text(text), "{text}");
        }
    }

    #[test]
    fn limits_over_time_and_other_errors_are_no_overflow() {
        for text in [
            "429 Number of request tokens has exceeded your per-minute rate limit",
            "429: too many requests: context length exceeded",
            "Throttling error: Too many tokens, please wait before trying again.",
            "Service unavailable: prompt is too long",
            "400: temperature must be at most 2",
            "401 status code (no body)",
            "the list has 413 entries",
            "",
        ] {
            assert!(!is_overflow_text(text), "{text}");
        }
    }

    #[test]
    fn token_counts_tell_of_a_silent_overflow() {
        // stop reason, input, cache read, output, window, verdict
        let cases = [
            (StopReason::Stop, 60, 41, 5, 100, true),
            (StopReason::Stop, 60, 40, 5, 100, false),
            (StopReason::ToolUse, 200, 0, 5, 100, false),
            (StopReason::Length, 90, 9, 0, 100, true),
            (StopReason::Length, 98, 0, 0, 100, false),
            (StopReason::Length, 99, 0, 1, 100, false),
            (StopReason::Aborted, 200, 0, 0, 100, false),
            (StopReason::Stop, 200, 0, 0, 0, false),
        ];
        for (reason, input, cache_read, output, window, expected) in cases {
            let mut message = AssistantMessage::pending(&FauxProvider::model(), 0);
            message.stop_reason = reason;
            message.usage.input = input;
            message.usage.cache_read = cache_read;
            message.usage.output = output;
            assert_eq!(is_overflow(&message, window), expected, "{reason:?} {input} {cache_read}");
        }
    }

    #[test]
    fn an_error_is_judged_by_its_text_alone() {
        let mut message = AssistantMessage::pending(&FauxProvider::model(), 0);
        message.stop_reason = StopReason::Error;
        message.usage.input = 500;
        assert!(!is_overflow(&message, 100));
        message.error_message = Some("prompt is too long".to_owned());
        assert!(is_overflow(&message, 100));
    }
}
