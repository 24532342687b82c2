//! Error texts. Their form decides whether a failure is retried or taken for a full context.

use serde_json::Value;

use crate::protocol::error_body::{cut, without_body};

/// The text for a failed HTTP answer: `<status>: <error json>`, or `<status> <body>` when the body
/// is no error object with a message.
pub(super) fn http_error(status: u16, body: &str) -> String {
    let body = body.trim();
    if body.is_empty() {
        return without_body(status);
    }
    let Ok(json) = serde_json::from_str::<Value>(body) else {
        return format!("{status} {}", cut(body));
    };
    let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(&json);
    let has_message = match error.get("message") {
        Some(Value::String(message)) => !message.is_empty(),
        Some(message) => !message.is_null(),
        None => false,
    };
    let separator = if has_message { ": " } else { " " };
    with_raw_cause(format!("{status}{separator}{}", cut(&error.to_string())), error)
}

/// The text for an error that came inside the stream: the `error` member of a chunk, or the data of
/// an `error` event.
pub(super) fn stream_error(data: &str) -> String {
    let Ok(json) = serde_json::from_str::<Value>(data) else {
        return cut(data.trim());
    };
    let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(&json);
    let text = match error.get("message") {
        Some(Value::String(message)) if !message.is_empty() => message.clone(),
        _ => error.to_string(),
    };
    with_raw_cause(text, error)
}

/// Gateways put the words of the provider behind them into `metadata.raw`.
fn with_raw_cause(text: String, error: &Value) -> String {
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) if !raw.is_empty() && !text.contains(raw) => format!("{text}\n{raw}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_errors_show_the_error_object_or_the_body() {
        let long = "x".repeat(5000);
        let long_error = format!(r#"{{"error":{{"message":"{long}"}}}}"#);
        let cases: [(u16, &str, String); 11] = [
            (
                429,
                r#"{"error": {"message": "Slow down", "type": "r"}}"#,
                r#"429: {"message":"Slow down","type":"r"}"#.into(),
            ),
            (400, "", "400 status code (no body)".into()),
            (413, "  \n", "413 status code (no body)".into()),
            (502, "<html>bad</html>", "502 <html>bad</html>".into()),
            (400, r#"{"error":"nope"}"#, r#"400 "nope""#.into()),
            (400, r#"{"detail":"nope"}"#, r#"400 {"detail":"nope"}"#.into()),
            (
                400,
                r#"{"error":null,"message":"mm"}"#,
                r#"400: {"error":null,"message":"mm"}"#.into(),
            ),
            (
                400,
                r#"[{"error":{"message":"nope"}}]"#,
                r#"400 [{"error":{"message":"nope"}}]"#.into(),
            ),
            (401, "{}", "401 {}".into()),
            (502, &long, format!("502 {}... [truncated 1000 chars]", "x".repeat(4000))),
            (
                400,
                &long_error,
                format!("400: {{\"message\":\"{}... [truncated 1014 chars]", "x".repeat(3988)),
            ),
        ];
        for (status, body, expected) in cases {
            assert_eq!(http_error(status, body), expected, "{}", cut(body));
        }
    }

    #[test]
    fn the_cause_a_gateway_passes_on_is_shown_once() {
        let quoted = r#"{"error":{"message":"m","metadata":{"raw":"say \"no\""}}}"#;
        assert_eq!(
            http_error(429, quoted),
            r#"429: {"message":"m","metadata":{"raw":"say \"no\""}}"#.to_owned() + "\nsay \"no\""
        );
        let plain = r#"{"error":{"message":"m","metadata":{"raw":"busy"}}}"#;
        assert_eq!(http_error(429, plain), r#"429: {"message":"m","metadata":{"raw":"busy"}}"#);
        assert_eq!(stream_error(plain), "m\nbusy");
        assert_eq!(
            stream_error(r#"{"error":{"message":"busy now","metadata":{"raw":"busy"}}}"#),
            "busy now"
        );
    }

    #[test]
    fn stream_errors_show_the_message_or_what_there_is() {
        let cases = [
            (r#"{"error":{"message":"boom","code":500}}"#, "boom"),
            (r#"{"error":"plain"}"#, r#""plain""#),
            (r#"{"error":{"code":5}}"#, r#"{"code":5}"#),
            (r#"{"message":"flat","type":"t"}"#, "flat"),
            ("no json", "no json"),
        ];
        for (data, expected) in cases {
            assert_eq!(stream_error(data), expected);
        }
    }
}
