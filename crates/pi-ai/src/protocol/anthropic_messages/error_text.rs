//! The message text of a failed HTTP answer.

use serde_json::Value;

use crate::protocol::error_body::{cut, without_body};

/// `<status> <body>`, JSON bodies without needless blanks; error classification reads this form.
pub(super) fn error_text(status: u16, body: &str) -> String {
    let body = match serde_json::from_str::<Value>(body) {
        Ok(json) => match json.get("message") {
            Some(Value::String(message)) if !message.is_empty() => message.clone(),
            _ => json.to_string(),
        },
        Err(_) => body.to_owned(),
    };
    if body.is_empty() {
        return without_body(status);
    }
    format!("{status} {}", cut(&body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_status_and_the_body() {
        let cases = [
            (401, r#"{"error": {"type": "x"},  "n": 1}"#, r#"401 {"error":{"type":"x"},"n":1}"#),
            (400, r#"{"message":"m","a":1}"#, "400 m"),
            (400, r#"{"message":""}"#, r#"400 {"message":""}"#),
            (400, "[1, 2]", "400 [1,2]"),
            (500, "<html>x</html>", "500 <html>x</html>"),
            (413, "", "413 status code (no body)"),
        ];
        for (status, body, expected) in cases {
            assert_eq!(error_text(status, body), expected);
        }
    }
}
