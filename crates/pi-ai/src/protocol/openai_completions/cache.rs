//! Prompt caching: the key, the retention and the markers on message parts.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::compat::{CacheKeyMode, Compat, SessionFormat};
use crate::protocol::body::cache_marker;
use crate::protocol::headers::{add_header, cached_session};
use crate::types::{CacheRetention, StreamOptions};

/// Longest cache key, in characters.
const KEY_LIMIT: usize = 64;

/// Adds `prompt_cache_key` and `prompt_cache_retention`.
pub(super) fn add_cache_fields(
    body: &mut Map<String, Value>,
    compat: &Compat,
    options: &StreamOptions,
) {
    let kept_long = options.cache_retention == CacheRetention::Long && compat.long_cache_retention;
    let keyed = match compat.cache_key_mode {
        CacheKeyMode::Auto => compat.quirks.cache_key_by_default || kept_long,
        CacheKeyMode::Enabled => true,
        CacheKeyMode::Disabled => false,
    };
    if let Some(session) = cached_session(options)
        && keyed
    {
        let key: String = session.chars().take(KEY_LIMIT).collect();
        body.insert("prompt_cache_key".into(), json!(key));
    }
    if kept_long {
        body.insert("prompt_cache_retention".into(), json!("24h"));
    }
}

/// Adds the headers that keep a session on one machine.
///
/// # Errors
/// The session id cannot stand in a header.
pub(super) fn add_session_headers(
    headers: &mut HeaderMap,
    compat: &Compat,
    options: &StreamOptions,
) -> Result<(), String> {
    let Some(session) = cached_session(options).filter(|_| compat.session_headers) else {
        return Ok(());
    };
    let names: &[&'static str] = match compat.session_format {
        SessionFormat::Full => &["session_id", "x-client-request-id", "x-session-affinity"],
        SessionFormat::NoSession => &["x-client-request-id", "x-session-affinity"],
        SessionFormat::OpenRouter => &["x-session-id"],
    };
    names.iter().try_for_each(|name| add_header(headers, name, session))
}

/// Marks the leading prompt, the last tool and the last text of the conversation.
pub(super) fn mark(
    messages: &mut [Value],
    tools: &mut [Value],
    compat: &Compat,
    options: &StreamOptions,
) {
    let marker = cache_marker(options.cache_retention, compat.long_cache_retention);
    let Some(marker) = marker.filter(|_| compat.anthropic_cache_control) else { return };
    if let Some(lead) = messages.iter_mut().find(|message| is_prompt(message)) {
        mark_last_text(lead, &marker);
    }
    if let Some(tool) = tools.last_mut().and_then(Value::as_object_mut) {
        tool.insert("cache_control".into(), marker.clone());
    }
    let spoken = messages.iter_mut().rev().filter(|message| !is_prompt(message));
    for message in spoken {
        if mark_last_text(message, &marker) {
            break;
        }
    }
}

fn is_prompt(message: &Value) -> bool {
    matches!(message.get("role").and_then(Value::as_str), Some("system" | "developer"))
}

/// Puts `marker` on the last text of a message; `false` when it has none.
fn mark_last_text(message: &mut Value, marker: &Value) -> bool {
    let Some(content) = message.get_mut("content") else { return false };
    match content {
        Value::String(text) if !text.is_empty() => {
            let text = std::mem::take(text);
            *content = json!([{"type": "text", "text": text, "cache_control": marker}]);
            true
        }
        Value::Array(parts) => {
            let is_text = |part: &&mut Value| part.get("type").is_some_and(|kind| kind == "text");
            let last = parts.iter_mut().rev().find(is_text).and_then(Value::as_object_mut);
            let Some(part) = last else { return false };
            part.insert("cache_control".into(), marker.clone());
            true
        }
        _ => false,
    }
}
