//! Headers of a request.

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::compat::Compat;
use super::options::Options;
use super::thinking::Thinking;
use crate::stream::Context;
use crate::types::{CacheRetention, InputBlock, Message, Model, StreamOptions, UserContent};

/// Any of these with a value stands for a key.
const AUTH_HEADERS: [&str; 3] = ["authorization", "x-api-key", "cf-aig-authorization"];
/// Part of every OAuth access token of Anthropic.
const OAUTH_TOKEN_MARK: &str = "sk-ant-oat";
const COPILOT: &str = "github-copilot";

/// What of a request asks for beta features.
pub(super) struct BetaNeeds<'a> {
    pub(super) compat: &'a Compat,
    pub(super) options: &'a Options,
    pub(super) thinking: &'a Thinking,
    pub(super) has_tools: bool,
    pub(super) changes_tools_in_place: bool,
}

impl BetaNeeds<'_> {
    fn names(&self) -> Vec<&'static str> {
        let budget = self.thinking.is_on() && !self.compat.adaptive_thinking;
        let interleaved = self.options.interleaved_thinking.unwrap_or(true);
        let managed = self.compat.managed_effort;
        let wanted = [
            (
                self.has_tools && !self.compat.eager_tool_input_streaming,
                "fine-grained-tool-streaming-2025-05-14",
            ),
            (budget && interleaved, "interleaved-thinking-2025-05-14"),
            (!self.compat.fallback_models.is_empty(), "server-side-fallback-2026-07-01"),
            (managed, "mid-conversation-output-config-2026-07-01"),
            (managed, "thinking-binding-controls-2026-08-01"),
            (self.changes_tools_in_place, "inline-tools-2026-09-15"),
        ];
        wanted.into_iter().filter(|(wanted, _)| *wanted).map(|(_, name)| name).collect()
    }
}

/// All headers but the client's name: the protocol's, then the model's, then those that depend on
/// the conversation, then the caller's, who may also delete.
///
/// # Errors
/// There is neither a key nor a header that stands for one, or a header cannot be sent.
pub(super) fn build(
    model: &Model,
    context: &Context,
    options: &StreamOptions,
    needs: &BetaNeeds<'_>,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    headers.insert("anthropic-dangerous-direct-browser-access", HeaderValue::from_static("true"));
    let key = options.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
    if let Some(key) = key {
        let (name, value) = if model.provider == COPILOT || key.contains(OAUTH_TOKEN_MARK) {
            (AUTHORIZATION, format!("Bearer {key}"))
        } else {
            (HeaderName::from_static("x-api-key"), key.to_owned())
        };
        headers.insert(name, header_value("API key", &value)?);
    }
    let betas = needs.names();
    if !betas.is_empty() {
        set(&mut headers, "anthropic-beta", Some(&betas.join(",")))?;
    }
    for (name, value) in model.headers.iter().flatten() {
        set(&mut headers, name, Some(value))?;
    }
    if let (Some(name), Some(session)) = (needs.compat.session_header, &options.session_id)
        && options.cache_retention != CacheRetention::None
    {
        set(&mut headers, name, Some(session))?;
    }
    if model.provider == COPILOT {
        set_copilot_headers(&mut headers, &context.messages);
    }
    for (name, value) in &options.headers {
        set(&mut headers, name, value.as_deref())?;
    }

    let is_filled = |name: &&str| {
        headers.get(*name).is_some_and(|value| !value.as_bytes().trim_ascii().is_empty())
    };
    if key.is_none() && !AUTH_HEADERS.iter().any(is_filled) {
        return Err(format!("No API key for provider: {}", model.provider));
    }
    Ok(headers)
}

fn set(headers: &mut HeaderMap, name: &str, value: Option<&str>) -> Result<(), String> {
    let header = HeaderName::from_bytes(name.as_bytes())
        .map_err(|error| format!("Header name {name:?} cannot be sent: {error}"))?;
    match value {
        Some(value) => drop(headers.insert(header, header_value(name, value)?)),
        None => drop(headers.remove(header)),
    }
    Ok(())
}

/// The value is kept out of debug output and of HTTP/2 compression tables, for it may be a secret.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    let mut header = HeaderValue::from_str(value)
        .map_err(|error| format!("{name} cannot be sent in a header: {error}"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Who the turn belongs to, and whether pictures come along: GitHub bills by it.
fn set_copilot_headers(headers: &mut HeaderMap, messages: &[Message]) {
    let last = messages.iter().rev().find(|message| !matches!(message, Message::System(_)));
    let initiator = match last {
        None | Some(Message::User(_)) => "user",
        Some(_) => "agent",
    };
    headers.insert("x-initiator", HeaderValue::from_static(initiator));
    headers.insert("openai-intent", HeaderValue::from_static("conversation-edits"));
    if messages.iter().any(has_image) {
        headers.insert("copilot-vision-request", HeaderValue::from_static("true"));
    }
}

fn has_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks,
            UserContent::Text(_) => return false,
        },
        Message::ToolResult(result) => &result.content,
        Message::System(_) | Message::Assistant(_) => return false,
    };
    blocks.iter().any(|block| matches!(block, InputBlock::Image(_)))
}
