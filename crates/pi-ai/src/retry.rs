//! Whether asking the model again may help, judged by the text of the error.
//!
//! The text is what survives: it stands in the session, it comes from protocols of every kind, and
//! extensions may write it. So the form of error texts is part of this classification.

use std::sync::LazyLock;

use regex::{Regex, RegexSet, RegexSetBuilder};

use crate::overflow;

/// Whether an error of this text is likely to pass. Quota and billing errors are final whatever
/// else they say; so is a request that does not fit the window.
pub fn is_retryable(error_message: &str) -> bool {
    if overflow::is_overflow_text(error_message) || FINAL.is_match(error_message) {
        return false;
    }
    PASSING.is_match(error_message) || has_passing_status(error_message)
}

/// Money and quota: waiting seconds does not bring them back.
static FINAL: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"usage_?limit_?error",
        r"insufficient_quota",
        r"quota exceeded",
        r"billing",
        // Z.AI: the allowance of some hours is used up.
        r#""code":\s*"1308""#,
        r"subscription_sharing_\w+_limit_exceeded",
    ])
});

/// Busy servers and broken connections.
static PASSING: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"overloaded",
        r"rate.?limit",
        r"too many requests",
        r"slow down",
        r"(?:at|over|out of|insufficient) capacity",
        r"server is busy",
        r"service.?unavailable",
        r"temporarily unavailable",
        r"(?:server|internal).?error",
        r"bad gateway",
        r"provider returned error",
        r"(?:try|retry) your request again",
        r"retry your request",
        r"upstream connect",
        r"reset before headers",
        r"request buffer limit",
        r"timed.?out",
        r"time-?out",
        r"connection.?error",
        r"network.?error",
        r"fetch failed",
        r"connection (?:was )?(?:closed|lost|reset|refused|aborted|terminated|interrupted)",
        r"socket (?:closed|hang ?up|connection was closed)",
        r"other side closed",
        r"terminated",
        r"broken pipe",
        r"\b(?:econn(?:reset|refused|aborted)|etimedout|epipe|ehostunreach|enetunreach|eai_again|enotfound)\b",
        r"getaddrinfo",
        r"dns error",
        r"http/?2",
        r"ended (?:without|before)",
        r"premature(?:ly)? (?:close|end)",
        r"(?:incomplete|truncated) (?:stream|response|message)",
        r"unexpected (?:eof|end of (?:file|stream))",
    ])
});

/// The status where an HTTP error text has it: `429: …`, `429 …`, `OpenAI API error (429): …`.
static LEADING_STATUS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^(?:[\w .-]+ API error \()?([1-5]\d\d)\b").ok());

/// 408 and 429 pass; so do 5xx that proxies and providers send when something is down for now.
const PASSING_STATUS: [&str; 9] = ["408", "429", "500", "502", "503", "504", "520", "524", "529"];

/// Anywhere in the text, when it does not begin with a status.
static BARE_STATUS: LazyLock<RegexSet> =
    LazyLock::new(|| set(&[&format!(r"\b(?:{})\b", PASSING_STATUS.join("|"))]));

fn has_passing_status(text: &str) -> bool {
    let leading = LEADING_STATUS.as_ref().and_then(|regex| regex.captures(text)?.get(1));
    match leading {
        Some(status) => PASSING_STATUS.contains(&status.as_str()),
        None => BARE_STATUS.is_match(text),
    }
}

/// All patterns in one pass, ignoring case.
pub(crate) fn set(patterns: &[&str]) -> RegexSet {
    // A pattern that does not compile is a slip that the tests of both lists find.
    RegexSetBuilder::new(patterns)
        .case_insensitive(true)
        .build()
        .unwrap_or_else(|_slip| RegexSet::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for set in [&FINAL, &PASSING, &BARE_STATUS] {
            assert!(!set.is_empty());
        }
        assert!(LEADING_STATUS.is_some());
    }

    #[test]
    fn busy_servers_and_broken_connections_pass() {
        for text in [
            "408: {\"message\":\"x\"}",
            "429: {\"message\":\"slow down\"}",
            "429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}",
            "500: x",
            "502: x",
            "503: x",
            "504: x",
            "520: x",
            "524: x",
            "529 x",
            "OpenAI API error (503): x",
            "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\"}}",
            "Server requested 91s retry delay (max: 60s). 429: x",
            "400: overloaded_error",
            "400: rate limit exceeded",
            "400: service unavailable",
            "400: internal error",
            "429: usage limit reached",
            "429: out of credits",
            "429: You exceeded your current quota",
            "Connection error.: connect ECONNREFUSED 127.0.0.1:1",
            "Connection error.: getaddrinfo ENOTFOUND api.example.com",
            "terminated: other side closed (UND_ERR_SOCKET)",
            "network error",
            "fetch failed",
            "socket hang up",
            "Request timed out: nothing received for 300000 ms",
            "upstream connect error or disconnect/reset before headers",
            "Stream ended without finish_reason",
            "Anthropic stream ended before message_stop",
            "Model stream error: The system encountered an unexpected error. Try your request again.",
            "EAI_AGAIN",
            "HTTP/2 stream was not closed cleanly",
            "request buffer limit reached",
            "connection lost",
            "the selected model is at capacity",
        ] {
            assert!(is_retryable(text), "{text}");
        }
    }

    #[test]
    fn bad_requests_keys_and_money_are_final() {
        for text in [
            "400: x",
            "401: x",
            "402: x",
            "403: x",
            "404: x",
            "409: x",
            "413: x",
            "422: x",
            "425: x",
            "429: insufficient_quota",
            "429: billing hard limit",
            "429: {\"code\":\"1308\",\"message\":\"Usage limit reached for 5 hour.\"}",
            "429: {\"type\":\"GoUsageLimitError\",\"message\":\"Monthly usage limit reached\"}",
            "OpenAI API error (429): {\"code\":\"subscription_sharing_usage_limit_exceeded\"}",
            "prompt is too long: 213462 tokens > 200000 maximum",
            "400: This model's maximum context length is 500 tokens",
            "400: the list may hold at most 500 items",
            "400: try again later",
            "400: model is currently loading",
            "Request aborted",
            "Request was aborted",
            "Throttling error: Too many tokens, please wait before trying again.",
            "You have hit your ChatGPT usage limit.",
            "No API key for provider: x",
            "ResourceNotFoundException: This model version has reached the end of its life.",
            "",
        ] {
            assert!(!is_retryable(text), "{text}");
        }
    }
}
