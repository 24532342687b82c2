//! Checks a request as its vendor would.

use std::collections::BTreeSet;

use serde_json::Value;

use super::http::Request;

/// What is wrong with the request, if anything.
pub(super) fn fault(request: &Request) -> Option<String> {
    check(request).err()
}

fn check(request: &Request) -> Result<(), String> {
    if request.method != "POST" {
        return Err(format!("{} is not allowed", request.method));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| format!("the body is not JSON: {error}"))?;
    if body.get("stream") != Some(&Value::Bool(true)) {
        return Err("stream is not true".to_owned());
    }
    if text(&body, "model").is_empty() {
        return Err("no model".to_owned());
    }
    let messages = items(&body, "messages");
    if messages.is_empty() {
        return Err("no messages".to_owned());
    }
    let authorized = |name| request.header(name).is_some_and(|value| !value.trim().is_empty());
    if request.path().ends_with("/messages") {
        if !authorized("x-api-key") && !authorized("authorization") {
            return Err("neither x-api-key nor authorization".to_owned());
        }
        if request.header("anthropic-version").is_none() {
            return Err("no anthropic-version".to_owned());
        }
        anthropic(&body, messages)
    } else if request.path().ends_with("/chat/completions") {
        if !authorized("authorization") {
            return Err("no authorization".to_owned());
        }
        completions(messages)
    } else {
        Err(format!("unknown path {}", request.target))
    }
}

fn anthropic(body: &Value, messages: &[Value]) -> Result<(), String> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|limit| limit == 0) {
        return Err("max_tokens is no positive number".to_owned());
    }
    no_empty_text("system", body.get("system"))?;
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut last = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages.{index}");
        let role = text(message, "role");
        no_empty_text(&place, message.get("content"))?;
        match role {
            // Later system messages stand between the turns.
            "system" => continue,
            // The vendor joins users' messages; one follows the other where an answer failed.
            "assistant" if last == "assistant" => {
                return Err(format!("{place}: two assistant messages in a row"));
            }
            "assistant" if last.is_empty() => {
                return Err(format!("{place}: the first message is not the user's"));
            }
            "user" | "assistant" => last = role,
            _ => return Err(format!("{place}: unknown role {role:?}")),
        }
        let blocks = items(message, "content");
        if role == "user" {
            for block in blocks.iter().filter(|block| text(block, "type") == "tool_result") {
                let id = text(block, "tool_use_id");
                if !open.remove(id) {
                    return Err(format!("{place}: tool result {id:?} without its call"));
                }
                no_empty_text(&place, block.get("content"))?;
            }
        }
        unanswered(&place, &open)?;
        if role == "assistant" {
            let calls = blocks.iter().filter(|block| text(block, "type") == "tool_use");
            for call in calls {
                open_call(&place, text(call, "id"), &mut open)?;
            }
        }
    }
    unanswered("the end", &open)
}

fn completions(messages: &[Value]) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages.{index}");
        no_empty_parts(&place, message.get("content"))?;
        match text(message, "role") {
            "tool" => {
                let id = text(message, "tool_call_id");
                if !open.remove(id) {
                    return Err(format!("{place}: tool result {id:?} without its call"));
                }
            }
            "system" | "developer" | "user" => unanswered(&place, &open)?,
            "assistant" => {
                unanswered(&place, &open)?;
                for call in items(message, "tool_calls") {
                    open_call(&place, text(call, "id"), &mut open)?;
                }
            }
            role => return Err(format!("{place}: unknown role {role:?}")),
        }
    }
    unanswered("the end", &open)
}

fn open_call<'a>(place: &str, id: &'a str, open: &mut BTreeSet<&'a str>) -> Result<(), String> {
    if id.is_empty() || !open.insert(id) {
        return Err(format!("{place}: tool call id {id:?} is empty or doubled"));
    }
    Ok(())
}

fn unanswered(place: &str, open: &BTreeSet<&str>) -> Result<(), String> {
    match open.first() {
        Some(id) => Err(format!("{place}: tool call {id:?} has no result")),
        None => Ok(()),
    }
}

/// Text of a message, whole or in blocks, must not be blank.
fn no_empty_text(place: &str, content: Option<&Value>) -> Result<(), String> {
    match content {
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(format!("{place}: text is empty"))
        }
        other => no_empty_parts(place, other),
    }
}

fn no_empty_parts(place: &str, content: Option<&Value>) -> Result<(), String> {
    let Some(Value::Array(blocks)) = content else { return Ok(()) };
    let blank =
        |block: &&Value| text(block, "type") == "text" && text(block, "text").trim().is_empty();
    match blocks.iter().find(blank) {
        Some(_) => Err(format!("{place}: a text block is empty")),
        None => Ok(()),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(path: &str, headers: &[(&str, &str)], body: &Value) -> Request {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let (method, target) = ("POST".to_owned(), path.to_owned());
        Request { method, target, headers, body: body.to_string().into_bytes(), number: 1 }
    }

    fn anthropic_fault(messages: &Value) -> Option<String> {
        let headers = [("x-api-key", "k"), ("anthropic-version", "1")];
        let body = json!({"model": "m", "max_tokens": 9, "stream": true, "messages": messages});
        fault(&request("/v1/messages", &headers, &body))
    }

    fn completions_fault(messages: &Value) -> Option<String> {
        let body = json!({"model": "m", "stream": true, "messages": messages});
        fault(&request("/chat/completions", &[("authorization", "Bearer k")], &body))
    }

    #[test]
    fn anthropic_conversations_must_be_whole() {
        let hi = json!({"role": "user", "content": "hi"});
        let call = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "n", "input": {}}]});
        let result = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": "ok"}]});
        let said = json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]});
        let system = json!({"role": "system", "content": [{"type": "text", "text": "s"}]});
        let blank = json!({"role": "user", "content": [{"type": "text", "text": " "}]});
        assert_eq!(anthropic_fault(&json!([hi, call, system, result, said])), None);
        assert_eq!(anthropic_fault(&json!([hi, hi])), None);
        for (messages, word) in [
            (json!([hi, said, said]), "two assistant messages in a row"),
            (json!([said]), "the first message is not the user's"),
            (json!([hi, call]), "tool call \"c\" has no result"),
            (json!([hi, call, hi]), "tool call \"c\" has no result"),
            (json!([hi, said, result]), "tool result \"c\" without its call"),
            (json!([blank]), "a text block is empty"),
            (json!([{"role": "user", "content": ""}]), "text is empty"),
            (json!([]), "no messages"),
        ] {
            let fault = anthropic_fault(&messages).unwrap_or_default();
            assert!(fault.contains(word), "{messages}: {fault}");
        }
    }

    #[test]
    fn completions_conversations_must_be_whole() {
        let hi = json!({"role": "user", "content": "hi"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]});
        let result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
        assert_eq!(completions_fault(&json!([hi, hi, call, result, hi])), None);
        for (messages, word) in [
            (json!([hi, call, hi]), "tool call \"c\" has no result"),
            (json!([hi, call]), "the end: tool call \"c\" has no result"),
            (json!([hi, result]), "tool result \"c\" without its call"),
            (json!([{"role": "bot"}]), "unknown role"),
        ] {
            let fault = completions_fault(&messages).unwrap_or_default();
            assert!(fault.contains(word), "{messages}: {fault}");
        }
    }

    #[test]
    fn requests_need_a_key_and_must_stream() {
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user"}]});
        assert_eq!(fault(&request("/chat/completions", &[], &body)).unwrap(), "no authorization");
        let body = json!({"model": "m"});
        assert_eq!(fault(&request("/chat/completions", &[], &body)).unwrap(), "stream is not true");
    }
}
