//! Who wins when several places name a header.
//!
//! Low to high: identity of the client, the protocol's defaults and key, headers of the model,
//! what the conversation asks for, headers of the request.

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::client::HttpTransport;
use crate::protocol::HttpRequest;
use crate::types::{Model, StreamOptions};

/// The headers `request` goes out with.
///
/// # Errors
/// A header of the model or of the options has a name or value HTTP cannot carry; the text names
/// it.
pub(crate) fn settle(
    request: &HttpRequest,
    model: &Model,
    options: &StreamOptions,
    transport: &HttpTransport,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let agent = options.identity.user_agent.clone().unwrap_or_else(|| transport.user_agent());
    headers.insert(USER_AGENT, value_of(&USER_AGENT, &agent)?);
    if options.identity.attribution {
        for (name, value) in attribution(&request.url, &model.provider) {
            headers.insert(*name, HeaderValue::from_static(value));
        }
    }
    replace(&mut headers, &request.default_headers);
    for (name, value) in model.headers.iter().flatten() {
        let name = name_of(name)?;
        headers.insert(name.clone(), value_of(&name, value)?);
    }
    replace(&mut headers, &request.conversation_headers);
    for (name, value) in &options.headers {
        let name = name_of(name)?;
        match value {
            Some(value) => {
                headers.insert(name.clone(), value_of(&name, value)?);
            }
            None => {
                headers.remove(name);
            }
        }
    }
    Ok(headers)
}

fn replace(headers: &mut HeaderMap, with: &HeaderMap) {
    for (name, value) in with {
        headers.insert(name.clone(), value.clone());
    }
}

/// Headers by which these providers count the products that use them.
fn attribution(url: &str, provider: &str) -> &'static [(&'static str, &'static str)] {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_at = |domain: &str| {
        host == domain || host.strip_suffix(domain).is_some_and(|sub| sub.ends_with('.'))
    };
    if provider == "openrouter" || is_at("openrouter.ai") {
        &[
            ("http-referer", "https://pi.dev"),
            ("x-openrouter-title", "pi"),
            ("x-openrouter-categories", "cli-agent"),
        ]
    } else if provider == "nvidia" || is_at("api.nvidia.com") {
        &[("x-billing-invoke-origin", "Pi")]
    } else if matches!(provider, "opencode" | "opencode-go") || is_at("opencode.ai") {
        &[("x-opencode-client", "pi")]
    } else {
        &[]
    }
}

fn name_of(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_invalid| format!("Invalid header name {name:?}"))
}

/// The value may be a secret: the error does not show it.
fn value_of(name: &HeaderName, value: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(value)
        .or_else(|_not_ascii| HeaderValue::from_bytes(value.as_bytes()))
        .map_err(|_invalid| format!("The value of header {name} cannot be sent"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faux::FauxProvider;
    use crate::transport::TransportConfig;
    use crate::types::Identity;

    fn map(headers: &[(&'static str, &str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap()))
            .collect()
    }

    fn request(
        url: &str,
        defaults: &[(&'static str, &str)],
        conversation: &[(&'static str, &str)],
    ) -> HttpRequest {
        HttpRequest {
            url: url.to_owned(),
            default_headers: map(defaults),
            conversation_headers: map(conversation),
            body: serde_json::Value::Null.into(),
        }
    }

    fn settled(model: &Model, request: &HttpRequest, options: &StreamOptions) -> HeaderMap {
        let transport = HttpTransport::new(TransportConfig::default());
        settle(request, model, options, &transport).unwrap()
    }

    fn model(headers: &[(&str, &str)]) -> Model {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Model { headers: Some(headers), ..FauxProvider::model() }
    }

    #[test]
    fn precedence_runs_from_identity_over_protocol_model_and_conversation_to_the_request() {
        let ranks = ["user-agent", "x-model", "x-conversation", "x-request"];
        let named = |from: usize, value: &'static str| -> Vec<(&'static str, &'static str)> {
            ranks.iter().skip(from).map(|name| (*name, value)).collect()
        };
        let options = StreamOptions {
            headers: [("X-Request".to_owned(), Some("request".to_owned()))].into(),
            ..StreamOptions::default()
        };
        let request = request("", &named(0, "default"), &named(2, "conversation"));
        let headers = settled(&model(&named(1, "model")), &request, &options);
        assert_eq!(headers["user-agent"], "default");
        assert_eq!(headers["x-model"], "model");
        assert_eq!(headers["x-conversation"], "conversation");
        assert_eq!(headers["x-request"], "request");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(
            settled(&model(&[("User-Agent", "editor")]), &request, &options)["user-agent"],
            "editor"
        );
    }

    #[test]
    fn a_null_header_of_the_request_deletes_a_default() {
        let options = StreamOptions {
            headers: [("Authorization".to_owned(), None), ("user-agent".to_owned(), None)].into(),
            ..StreamOptions::default()
        };
        let request = request("", &[("authorization", "Bearer k")], &[]);
        let headers = settled(&model(&[]), &request, &options);
        assert_eq!(headers.len(), 1, "{headers:?}");
    }

    #[test]
    fn the_client_names_itself_as_told() {
        let plain = settled(&model(&[]), &request("", &[], &[]), &StreamOptions::default());
        assert!(plain["user-agent"].to_str().unwrap().starts_with("pi/"));
        let identity = Identity { user_agent: Some("mine/1".to_owned()), attribution: false };
        let options = StreamOptions { identity, ..StreamOptions::default() };
        assert_eq!(settled(&model(&[]), &request("", &[], &[]), &options)["user-agent"], "mine/1");
    }

    #[test]
    fn attribution_goes_only_where_it_is_counted_and_only_when_wanted() {
        let identity = Identity { attribution: true, ..Identity::default() };
        let options = StreamOptions { identity, ..StreamOptions::default() };
        for (provider, url, expected) in [
            ("openrouter", "https://x", Some(("http-referer", "https://pi.dev"))),
            ("mine", "https://openrouter.ai/api", Some(("x-openrouter-title", "pi"))),
            ("nvidia", "https://x", Some(("x-billing-invoke-origin", "Pi"))),
            ("opencode-go", "https://x", Some(("x-opencode-client", "pi"))),
            ("mine", "https://notopenrouter.ai", None),
            ("anthropic", "https://api.anthropic.com", None),
        ] {
            let model = Model { provider: provider.to_owned(), ..FauxProvider::model() };
            let request = request(url, &[], &[]);
            let headers = settled(&model, &request, &options);
            match expected {
                Some((name, value)) => assert_eq!(headers[name], value, "{provider} {url}"),
                None => assert_eq!(headers.len(), 2, "{provider} {url}: {headers:?}"),
            }
            let silent = settled(&model, &request, &StreamOptions::default());
            assert_eq!(silent.len(), 2, "{provider} {url}: {silent:?}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_sent_is_not_shown() {
        let options = StreamOptions {
            headers: [("x-key".to_owned(), Some("sk-secret\n".to_owned()))].into(),
            ..StreamOptions::default()
        };
        let transport = HttpTransport::new(TransportConfig::default());
        let error = settle(&request("", &[], &[]), &model(&[]), &options, &transport);
        assert_eq!(error.unwrap_err(), "The value of header x-key cannot be sent");
    }
}
