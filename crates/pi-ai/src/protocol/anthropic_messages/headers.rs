//! Headers of a request.

use http::HeaderMap;

use super::compat::Compat;
use super::options::Options;
use super::thinking::Thinking;
use crate::protocol::headers::{
    add_bearer, add_header, add_secret, add_vendor_headers, cached_session, key,
};
use crate::protocol::vendor::Vendor;
use crate::types::Context;
use crate::types::{Model, StreamOptions};

/// Any of these with a value stands for a key.
const CREDENTIALS: [&str; 3] = ["authorization", "x-api-key", "cf-aig-authorization"];
/// Part of every OAuth access token of Anthropic.
const OAUTH_TOKEN_MARK: &str = "sk-ant-oat";

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

/// Headers of every request and the key.
///
/// # Errors
/// There is neither a key nor a header that stands for one, or a header cannot be sent.
pub(super) fn defaults(
    model: &Model,
    options: &StreamOptions,
    needs: &BetaNeeds<'_>,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    add_header(&mut headers, "accept", "application/json")?;
    add_header(&mut headers, "anthropic-version", "2023-06-01")?;
    add_header(&mut headers, "anthropic-dangerous-direct-browser-access", "true")?;
    if let Some(key) = key(model, options, &CREDENTIALS)? {
        if Vendor::GitHubCopilot.serves(model) || key.contains(OAUTH_TOKEN_MARK) {
            add_bearer(&mut headers, key)?;
        } else {
            add_secret(&mut headers, "x-api-key", key)?;
        }
    }
    let betas = needs.names();
    if !betas.is_empty() {
        add_header(&mut headers, "anthropic-beta", &betas.join(","))?;
    }
    Ok(headers)
}

/// Headers that depend on the conversation.
///
/// # Errors
/// The session id cannot stand in a header.
pub(super) fn of_conversation(
    model: &Model,
    context: &Context,
    options: &StreamOptions,
    compat: &Compat,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    if let (Some(name), Some(session)) = (compat.session_header, cached_session(options)) {
        add_header(&mut headers, name, session)?;
    }
    add_vendor_headers(&mut headers, model, context, options)?;
    Ok(headers)
}
