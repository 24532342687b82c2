//! Who wins when several places name a header.
//!
//! Low to high: identity of the client, headers of the model, headers of the protocol (its
//! defaults, key and session affinity), headers of the request.

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::client::HttpTransport;
use crate::types::{Model, StreamOptions};

/// Completes the headers a protocol has built for `url`.
///
/// # Errors
/// A header of the request has a name or value HTTP cannot carry; the text names it.
pub(super) fn complete(
    headers: &mut HeaderMap,
    url: &str,
    model: &Model,
    options: &StreamOptions,
    transport: &HttpTransport,
) -> Result<(), String> {
    for (name, value) in model.headers.iter().flatten() {
        add(headers, &name_of(name)?, value)?;
    }
    add(headers, &CONTENT_TYPE, "application/json")?;
    let agent = options.identity.user_agent.clone().unwrap_or_else(|| transport.user_agent());
    add(headers, &USER_AGENT, &agent)?;
    if options.identity.attribution {
        for (name, value) in attribution(url, &model.provider) {
            add(headers, &name_of(name)?, value)?;
        }
    }
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
    Ok(())
}

/// Adds a header nothing of higher rank has set.
fn add(headers: &mut HeaderMap, name: &HeaderName, value: &str) -> Result<(), String> {
    if !headers.contains_key(name) {
        headers.insert(name.clone(), value_of(name, value)?);
    }
    Ok(())
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

    fn completed(
        model: &Model,
        protocol: &[(&'static str, &str)],
        options: &StreamOptions,
    ) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in protocol {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let transport = HttpTransport::new(TransportConfig::default());
        complete(&mut headers, &model.base_url, model, options, &transport).unwrap();
        headers
    }

    fn model(headers: &[(&str, &str)]) -> Model {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Model { headers: Some(headers), ..FauxProvider::model() }
    }

    #[test]
    fn precedence_runs_from_identity_over_model_and_protocol_to_the_request() {
        let model = model(&[("User-Agent", "editor"), ("x-b", "model"), ("x-c", "model")]);
        let options = StreamOptions {
            headers: [("X-C".to_owned(), Some("request".to_owned()))].into(),
            ..StreamOptions::default()
        };
        let headers = completed(&model, &[("x-b", "protocol"), ("x-c", "protocol")], &options);
        assert_eq!(headers["user-agent"], "editor");
        assert_eq!(headers["x-b"], "protocol");
        assert_eq!(headers["x-c"], "request");
        assert_eq!(headers["content-type"], "application/json");
    }

    #[test]
    fn a_null_header_of_the_request_deletes_a_default() {
        let options = StreamOptions {
            headers: [("Authorization".to_owned(), None), ("user-agent".to_owned(), None)].into(),
            ..StreamOptions::default()
        };
        let headers = completed(&model(&[]), &[("authorization", "Bearer k")], &options);
        assert_eq!(headers.len(), 1, "{headers:?}");
    }

    #[test]
    fn the_client_names_itself_as_told() {
        let plain = completed(&model(&[]), &[], &StreamOptions::default());
        assert!(plain["user-agent"].to_str().unwrap().starts_with("pi/"));
        let identity = Identity { user_agent: Some("mine/1".to_owned()), attribution: false };
        let options = StreamOptions { identity, ..StreamOptions::default() };
        assert_eq!(completed(&model(&[]), &[], &options)["user-agent"], "mine/1");
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
            let model = Model {
                provider: provider.to_owned(),
                base_url: url.to_owned(),
                ..FauxProvider::model()
            };
            let headers = completed(&model, &[], &options);
            match expected {
                Some((name, value)) => assert_eq!(headers[name], value, "{provider} {url}"),
                None => assert_eq!(headers.len(), 2, "{provider} {url}: {headers:?}"),
            }
            let silent = completed(&model, &[], &StreamOptions::default());
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
        let error = complete(&mut HeaderMap::new(), "", &model(&[]), &options, &transport);
        assert_eq!(error.unwrap_err(), "The value of header x-key cannot be sent");
    }
}
