//! Headers of a request, but for the caller's: the driver adds those last.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::compat::Compat;
use super::options::Options;
use super::thinking::Thinking;
use crate::protocol::vendor::Vendor;
use crate::protocol::vendor_headers::{
    add_header, add_vendor_headers, brings_credential, cached_session,
};
use crate::stream::Context;
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

/// The protocol's own headers, then the model's, then those that depend on the conversation.
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
    add_header(&mut headers, "accept", "application/json")?;
    add_header(&mut headers, "anthropic-version", "2023-06-01")?;
    add_header(&mut headers, "anthropic-dangerous-direct-browser-access", "true")?;
    add_key(&mut headers, model, options)?;
    let betas = needs.names();
    if !betas.is_empty() {
        add_header(&mut headers, "anthropic-beta", &betas.join(","))?;
    }
    // The driver would let ours win, but a model's list of betas replaces the computed one.
    for (name, value) in model.headers.iter().flatten() {
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()))
        {
            headers.insert(name, value);
        }
    }
    if let (Some(name), Some(session)) = (needs.compat.session_header, cached_session(options)) {
        add_header(&mut headers, name, session)?;
    }
    add_vendor_headers(&mut headers, model, context, options)?;
    Ok(headers)
}

fn add_key(headers: &mut HeaderMap, model: &Model, options: &StreamOptions) -> Result<(), String> {
    let key = options.api_key.as_deref().map(str::trim).unwrap_or_default();
    if key.is_empty() {
        return if brings_credential(model, options, &CREDENTIALS) {
            Ok(())
        } else {
            Err(format!("No API key for provider: {}", model.provider))
        };
    }
    let name = if Vendor::GitHubCopilot.serves(model) || key.contains(OAUTH_TOKEN_MARK) {
        add_header(headers, "authorization", &format!("Bearer {key}"))?;
        "authorization"
    } else {
        add_header(headers, "x-api-key", key)?;
        "x-api-key"
    };
    if let Some(value) = headers.get_mut(name) {
        // Keeps it out of debug output and of HTTP/2's compression tables.
        value.set_sensitive(true);
    }
    Ok(())
}
