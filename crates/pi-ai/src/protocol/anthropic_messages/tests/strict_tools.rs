//! Strict tools, and what happens when the provider has enough of them.

use serde_json::{Value, json};

use super::{context, model, plain};
use crate::protocol::anthropic_messages::AnthropicMessages;
use crate::protocol::{HttpRequest, HttpWire};
use crate::types::Context;
use crate::types::{Model, StreamOptions};

const LIMIT: &str = "The compiled grammar is too large, which would cause performance issues.";

fn strict_model() -> Model {
    model(json!({"compat": {"supportsStrictTools": true, "supportsMidConvoSystemMessages": true,
                            "supportsMidConvoToolChanges": true}}))
}

fn tool(name: &str, strict: &str, property: &Value) -> Value {
    json!({"name": name, "description": "d",
           "parameters": {"type": "object", "properties": {"a": property}},
           "constrainedSampling": {"type": "json_schema", "strict": strict}})
}

fn with_tools(first: &[Value], later: &[Value]) -> Context {
    context(json!([
        {"role": "system", "content": "S", "toolsAdded": first},
        {"role": "user", "content": "q"},
        {"role": "system", "toolsAdded": later},
    ]))
}

fn in_session(session: Option<&str>) -> StreamOptions {
    StreamOptions { session_id: session.map(str::to_owned), ..plain() }
}

/// Names of the tools that are strict, of the list and of later additions.
fn strict_names(request: &HttpRequest) -> Vec<String> {
    let body = request.body.to_value();
    let listed = body["tools"].as_array().into_iter().flatten();
    let added = body["messages"].as_array().unwrap().iter().flat_map(|message| {
        message["content"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|block| &block["tool"]["definition"])
    });
    listed
        .chain(added)
        .filter(|declaration| declaration["strict"] == true)
        .map(|declaration| declaration["name"].as_str().unwrap().to_owned())
        .collect()
}

fn limit_body() -> String {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": LIMIT}})
        .to_string()
}

#[test]
fn strict_tools_carry_the_rewritten_schema() {
    let text = json!({"type": "string"});
    let tools = with_tools(&[tool("t", "prefer", &text)], &[]);
    let request = AnthropicMessages::new().request(&strict_model(), &tools, &plain()).unwrap();
    let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false,
                        "properties": {"a": {"anyOf": [text, {"type": "null"}]}}});
    assert_eq!(request.body.to_value()["tools"][0]["strict"], true);
    assert_eq!(request.body.to_value()["tools"][0]["input_schema"], schema);
    assert_eq!(request.body.to_value()["tools"][1].get("strict"), None, "the placeholder");
}

#[test]
fn keywords_beyond_the_strict_mode_leave_a_tool_loose() {
    let list = |keyword: &str, value: Value| json!({"type": "array", "items": {"type": "string"}, keyword: value});
    let number = |keyword: &str| json!({"type": "number", keyword: 1});
    let cases = [
        (json!({"type": "string", "minLength": 1, "pattern": "a"}), true),
        (json!({"type": "string", "format": "date-time"}), true),
        (json!({"type": "string", "format": "regex"}), false),
        (list("minItems", json!(1)), true),
        (list("minItems", json!(2)), false),
        (list("maxItems", json!(2)), false),
        (list("uniqueItems", json!(false)), false),
        (number("minimum"), false),
        (number("maximum"), false),
        (number("exclusiveMinimum"), false),
        (number("exclusiveMaximum"), false),
        (number("multipleOf"), false),
    ];
    for (property, strict) in cases {
        let tools = with_tools(&[tool("t", "prefer", &property)], &[]);
        let request = AnthropicMessages::new().request(&strict_model(), &tools, &plain()).unwrap();
        assert_eq!(!strict_names(&request).is_empty(), strict, "{property}");
    }
}

#[test]
fn loose_schemas_keep_definitions_and_what_they_allow() {
    let parameters = json!({
        "$schema": "x", "title": "T", "description": "D", "type": "object",
        "properties": {"a": {"$ref": "#/$defs/X"}}, "additionalProperties": true,
        "$defs": {"X": {"type": "string"}}, "definitions": {"Y": {"type": "string"}},
        "allOf": [{}],
    });
    let cases = [
        (
            parameters.clone(),
            json!({"type": "object", "properties": parameters["properties"], "required": [],
                   "additionalProperties": true, "$defs": parameters["$defs"],
                   "definitions": parameters["definitions"]}),
        ),
        (json!({"type": "string"}), json!({"type": "object", "properties": {}, "required": []})),
        (
            json!({"type": "object", "properties": null}),
            json!({"type": "object", "properties": {}, "required": []}),
        ),
    ];
    for (parameters, sent) in cases {
        let tools =
            with_tools(&[json!({"name": "t", "description": "d", "parameters": parameters})], &[]);
        let request = AnthropicMessages::new().request(&strict_model(), &tools, &plain()).unwrap();
        assert_eq!(request.body.to_value()["tools"][0]["input_schema"], sent);
    }
}

#[test]
fn a_tool_that_must_be_strict_is_an_error_where_it_cannot() {
    let text = json!({"type": "string"});
    for (model, property) in
        [(model(json!({})), &text), (strict_model(), &json!({"type": "number", "minimum": 1}))]
    {
        let tools = with_tools(&[tool("t", "require", property)], &[]);
        let error = AnthropicMessages::new().request(&model, &tools, &plain()).unwrap_err();
        assert!(error.starts_with("Tool \"t\" requires strict arguments, but "), "{error}");
    }
}

#[test]
fn over_the_limit_preferred_tools_turn_loose_for_the_session() {
    let text = json!({"type": "string"});
    let context = with_tools(
        &[tool("p", "prefer", &text), tool("r", "require", &text)],
        &[tool("later", "prefer", &text)],
    );
    let (wire, model) = (AnthropicMessages::new(), strict_model());
    let options = in_session(Some("s1"));
    let request = wire.request(&model, &context, &options).unwrap();
    assert_eq!(strict_names(&request), ["p", "r", "later"]);

    let second = wire.fallback(&model, &options, &request, 400, &limit_body()).unwrap();
    assert_eq!(strict_names(&second), ["r"]);
    assert_eq!(second.default_headers, request.default_headers);
    let next = wire.request(&model, &context, &options).unwrap();
    assert_eq!(
        next.body.to_value(),
        second.body.to_value(),
        "the resend is what the session sends from now on"
    );
    assert_eq!(wire.fallback(&model, &options, &second, 400, &limit_body()), None, "once");

    for other in [Some("s2"), None] {
        let request = wire.request(&model, &context, &in_session(other)).unwrap();
        assert_eq!(strict_names(&request), ["p", "r", "later"], "other sessions stay strict");
    }
    let request = wire.request(&model, &context, &in_session(None)).unwrap();
    assert!(wire.fallback(&model, &in_session(None), &request, 400, &limit_body()).is_some());
    let request = wire.request(&model, &context, &in_session(None)).unwrap();
    assert_eq!(strict_names(&request).len(), 3, "without a session nothing is remembered");
}

#[test]
fn the_marker_for_caching_stays_on_a_loosened_tool() {
    let context = with_tools(&[tool("p", "prefer", &json!({"type": "string"}))], &[]);
    let (wire, model) = (AnthropicMessages::new(), strict_model());
    let options = StreamOptions { cache_retention: crate::types::CacheRetention::Short, ..plain() };
    let request = wire.request(&model, &context, &options).unwrap();
    let second = wire.fallback(&model, &options, &request, 400, &limit_body()).unwrap();
    assert_eq!(second.body.to_value()["tools"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(second.body.to_value()["tools"][0].get("strict"), None);
}

#[test]
fn only_the_limits_are_answered_with_a_second_request() {
    let text = json!({"type": "string"});
    let model = strict_model();
    let cases = [
        ("prefer", 400, LIMIT, true),
        ("prefer", 400, "Too many strict tools (30)", true),
        ("prefer", 400, "Schemas contains too many parameters with union types (20)", true),
        ("prefer", 400, "Schemas contains too many optional parameters (25)", false),
        ("prefer", 422, LIMIT, false),
        ("require", 400, LIMIT, false),
    ];
    for (strict, status, message, resent) in cases {
        let context = with_tools(&[tool("t", strict, &text)], &[]);
        let wire = AnthropicMessages::new();
        let request = wire.request(&model, &context, &plain()).unwrap();
        let second = wire.fallback(&model, &plain(), &request, status, message);
        assert_eq!(second.is_some(), resent, "{status} {message}");
    }
}
