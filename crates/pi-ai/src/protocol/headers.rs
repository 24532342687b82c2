//! Headers the protocols have in common: the key, the session, and what a vendor wants computed
//! from the conversation.
//!
//! The driver adds identity, the model's own headers and the caller's; nothing of that is here.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::vendor::Vendor;
use crate::types::Context;
use crate::types::{CacheRetention, InputBlock, Message, Model, StreamOptions, UserContent};

/// Adds the vendor's headers for this request.
///
/// # Errors
/// The session id cannot stand in a header.
pub(super) fn add_vendor_headers(
    headers: &mut HeaderMap,
    model: &Model,
    context: &Context,
    options: &StreamOptions,
) -> Result<(), String> {
    if Vendor::GitHubCopilot.serves(model) {
        add_copilot_headers(headers, context);
    }
    if Vendor::OpenCode.serves(model)
        && let Some(session) = cached_session(options)
    {
        add_header(headers, "x-opencode-session", session)?;
    }
    Ok(())
}

/// Adds one header.
///
/// # Errors
/// HTTP cannot carry the value; it is not shown, it may be a secret.
pub(super) fn add_header(
    headers: &mut HeaderMap,
    name: &'static str,
    value: &str,
) -> Result<(), String> {
    headers.insert(HeaderName::from_static(name), header_value(name, value)?);
    Ok(())
}

/// Adds a header whose value stays out of debug output and of HTTP/2's compression tables.
///
/// # Errors
/// As [`add_header`].
pub(super) fn add_secret(
    headers: &mut HeaderMap,
    name: &'static str,
    value: &str,
) -> Result<(), String> {
    let mut value = header_value(name, value)?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Ok(())
}

/// Adds `authorization: Bearer <key>`.
///
/// # Errors
/// As [`add_header`].
pub(super) fn add_bearer(headers: &mut HeaderMap, key: &str) -> Result<(), String> {
    add_secret(headers, "authorization", &format!("Bearer {key}"))
}

/// The key to send, without blanks around it; none when a header among `credentials` stands for it.
///
/// # Errors
/// There is neither.
pub(super) fn key<'a>(
    model: &Model,
    options: &'a StreamOptions,
    credentials: &[&str],
) -> Result<Option<&'a str>, String> {
    let key = options.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty());
    if key.is_none() && !brings_credential(model, options, credentials) {
        return Err(format!("No API key for provider: {}", model.provider));
    }
    Ok(key)
}

/// The session a request belongs to, for the provider's cache; none when caching is off.
pub(super) fn cached_session(options: &StreamOptions) -> Option<&str> {
    let session = options.session_id.as_deref().filter(|session| !session.is_empty())?;
    (options.cache_retention != CacheRetention::None).then_some(session)
}

/// Whether the model or the caller sets one of the headers to something.
fn brings_credential(model: &Model, options: &StreamOptions, names: &[&str]) -> bool {
    let counts = |name: &str, value: &str| {
        !value.trim().is_empty() && names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted))
    };
    model.headers.iter().flatten().any(|(name, value)| counts(name, value))
        || options
            .headers
            .iter()
            .any(|(name, value)| value.as_deref().is_some_and(|value| counts(name, value)))
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_bytes(value.as_bytes())
        .map_err(|_invalid| format!("The value of header {name} cannot be sent"))
}

/// Copilot bills a request to the user when the user's words are its last message.
fn add_copilot_headers(headers: &mut HeaderMap, context: &Context) {
    let last = context.messages.iter().rfind(|message| !matches!(message, Message::System(_)));
    let by_user = matches!(last, Some(Message::User(_)) | None);
    let initiator = if by_user { "user" } else { "agent" };
    headers.insert("x-initiator", HeaderValue::from_static(initiator));
    headers.insert("openai-intent", HeaderValue::from_static("conversation-edits"));
    if context.messages.iter().any(shows_image) {
        headers.insert("copilot-vision-request", HeaderValue::from_static("true"));
    }
}

fn shows_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks.as_slice(),
            UserContent::Text(_) => &[],
        },
        Message::ToolResult(result) => result.content.as_slice(),
        Message::System(_) | Message::Assistant(_) => &[],
    };
    blocks.iter().any(InputBlock::is_image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn headers(model: &Value, messages: &Value, options: &StreamOptions) -> Vec<(String, String)> {
        let mut declared = json!({"id": "m", "name": "m", "api": "a", "provider": "p"});
        declared.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
        let model: Model = serde_json::from_value(declared).unwrap();
        let context = Context {
            messages: serde_json::from_value(messages.clone()).unwrap(),
            ..Context::default()
        };
        let mut headers = HeaderMap::new();
        add_vendor_headers(&mut headers, &model, &context, options).unwrap();
        headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn copilot_is_told_who_began_the_request_and_whether_it_shows_images() {
        let copilot = json!({"provider": "github-copilot"});
        let user = json!({"role": "user", "content": "hi"});
        let picture = json!({"role": "user", "content":
            [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]});
        let result = json!({"role": "toolResult", "toolCallId": "a", "content": []});
        let change = json!({"role": "system", "content": "x"});
        let intent = ("openai-intent", "conversation-edits");
        let vision = ("copilot-vision-request", "true");
        let by_user = ("x-initiator", "user");
        let by_agent = ("x-initiator", "agent");
        let cases = [
            (json!([user]), vec![by_user, intent]),
            (json!([user, change]), vec![by_user, intent]),
            (json!([user, result]), vec![by_agent, intent]),
            (json!([picture, result]), vec![by_agent, intent, vision]),
        ];
        for (messages, expected) in cases {
            let found = headers(&copilot, &messages, &StreamOptions::default());
            assert_eq!(found, pairs(&expected), "{messages}");
        }
        assert_eq!(headers(&json!({}), &json!([user]), &StreamOptions::default()), []);
    }

    #[test]
    fn opencode_gets_the_session_unless_caching_is_off() {
        let mut options =
            StreamOptions { session_id: Some("sid".to_owned()), ..StreamOptions::default() };
        let expected = pairs(&[("x-opencode-session", "sid")]);
        for model in
            [json!({"provider": "opencode-go"}), json!({"baseUrl": "https://opencode.ai/x"})]
        {
            assert_eq!(headers(&model, &json!([]), &options), expected);
        }
        options.cache_retention = CacheRetention::None;
        assert_eq!(headers(&json!({"provider": "opencode"}), &json!([]), &options), []);
    }
}
