//! How messages become turns of the API.

use serde_json::{Value, json};

use super::{context, model, plain, sent};
use crate::protocol::HttpWire;
use crate::protocol::anthropic_messages::{AnthropicMessages, Options};
use crate::types::Context;
use crate::types::{CacheRetention, Model, StreamOptions};

fn user(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": "AA==", "mimeType": "image/png"})
}

fn sent_image() -> Value {
    json!({"type": "image",
           "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"p": 1}})
}

/// An answer of the test model.
fn answer(content: &Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "anthropic-messages",
           "provider": "anthropic", "model": "claude-test", "stopReason": "stop"})
}

fn result(id: &str, content: &Value, is_error: bool) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content,
           "isError": is_error})
}

/// A model that takes prompt, tool and effort changes inside the conversation.
fn managed() -> Model {
    model(json!({"thinkingLevelMap": {"off": null}, "compat": {
        "forceAdaptiveThinking": true, "supportsMidConvoEffort": true,
        "supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true}}))
}

fn in_place() -> Model {
    model(json!({"compat": {
        "supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true}}))
}

fn body(model: &Model, context: &Context, cache_retention: CacheRetention) -> Value {
    let options = StreamOptions { cache_retention, ..plain() };
    AnthropicMessages::new().request(model, context, &options).unwrap().body.to_value()
}

#[test]
fn blank_user_text_is_never_sent() {
    let messages = context(json!([
        user("  "),
        {"role": "user", "content": [text(" "), text("a"), text("")]},
        {"role": "user", "content": [text(" ")]},
        {"role": "user", "content": []},
        {"role": "user", "content": [image()]},
        user("q"),
    ]));
    assert_eq!(
        sent(&model(json!({})), &messages),
        json!([
            {"role": "user", "content": [text("a")]},
            {"role": "user", "content": [sent_image()]},
            {"role": "user", "content": "q"},
        ])
    );
}

#[test]
fn blank_answer_text_and_empty_answers_are_left_out() {
    let messages = context(json!([
        user("q"),
        answer(&json!([text(" "), text("a ")])),
        user("r"),
        answer(&json!([text("\n")])),
        user("s"),
    ]));
    assert_eq!(
        sent(&model(json!({})), &messages),
        json!([user("q"), {"role": "assistant", "content": [text("a ")]}, user("r"), user("s")])
    );
}

#[test]
fn thinking_is_replayed_by_what_is_known_of_it() {
    let thinking = |text: &str, signature: Option<&str>| {
        let mut block = json!({"type": "thinking", "thinking": text});
        if let Some(signature) = signature {
            block["thinkingSignature"] = json!(signature);
        }
        block
    };
    let wire = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let redacted = json!({"type": "thinking", "thinking": "[Reasoning redacted]",
                          "thinkingSignature": "DATA", "redacted": true});
    let strict_host = json!({});
    let lenient_host = json!({"compat": {"allowEmptySignature": true}});
    let cases = [
        (&strict_host, thinking("a", Some("S")), Some(wire("a", "S"))),
        (&strict_host, thinking("", Some("S")), Some(wire("", "S"))),
        (&strict_host, thinking("half", None), Some(text("half"))),
        (&strict_host, thinking("half", Some(" ")), Some(text("half"))),
        (&strict_host, thinking(" ", None), None),
        (&strict_host, redacted, Some(json!({"type": "redacted_thinking", "data": "DATA"}))),
        (&strict_host, json!({"type": "thinking", "thinking": "x", "redacted": true}), None),
        (&lenient_host, thinking("a", None), Some(wire("a", ""))),
        (&lenient_host, thinking("a", Some("")), Some(wire("a", ""))),
        (&lenient_host, thinking("a", Some("S")), Some(wire("a", "S"))),
        (&lenient_host, thinking(" ", None), None),
    ];
    for (host, block, expected) in cases {
        let messages =
            context(json!([user("q"), answer(&json!([block.clone(), text("t")])), user("r")]));
        let mut content: Vec<Value> = expected.into_iter().collect();
        content.push(text("t"));
        let sent = sent(&model(host.clone()), &messages);
        assert_eq!(sent[1]["content"], Value::Array(content), "{block}");
    }
}

#[test]
fn foreign_ids_fit_and_agree_with_their_results() {
    let id = format!("call_A/+=|fc_{}", "x".repeat(80));
    let fitted = format!("call_A____fc_{}", "x".repeat(51));
    let mut foreign = answer(&json!([call(&id)]));
    foreign["model"] = json!("other");
    let messages = context(json!([user("q"), foreign, result(&id, &json!([text("r")]), false)]));
    let sent_messages = sent(&model(json!({})), &messages);
    assert_eq!(sent_messages[1]["content"][0]["id"], json!(fitted));
    assert_eq!(sent_messages[2]["content"][0]["tool_use_id"], json!(fitted));

    let own = context(json!([
        user("q"),
        answer(&json!([call("a|b")])),
        result("a|b", &json!([]), false)
    ]));
    assert_eq!(sent(&model(json!({})), &own)[1]["content"][0]["id"], "a|b");
}

#[test]
fn consecutive_results_are_one_message() {
    let messages = context(json!([
        user("q"),
        answer(&json!([call("1"), call("2"), call("3"), call("4"), call("5")])),
        result("1", &json!([text("a"), text("b"), text(" ")]), false),
        result("2", &json!([image()]), false),
        result("3", &json!([]), true),
        result("4", &json!([image(), text("x"), text(" ")]), false),
        user("r"),
    ]));
    let wire = |id: &str, content: Value, is_error: bool| json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error});
    assert_eq!(
        sent(&model(json!({})), &messages)[2],
        json!({"role": "user", "content": [
            wire("1", json!("a\nb\n "), false),
            wire("2", json!([text("(see attached image)"), sent_image()]), false),
            wire("3", json!(""), true),
            wire("4", json!([sent_image(), text("x")]), false),
            wire("5", json!("No result provided"), true),
        ]})
    );
}

#[test]
fn images_of_error_results_follow_all_results() {
    let messages = context(json!([
        user("q"),
        answer(&json!([call("1"), call("2")])),
        result("1", &json!([text("a"), image(), image(), text("b"), image()]), true),
        result("2", &json!([text("ok")]), false),
    ]));
    let note = "(image attached after the tool results)";
    let body = body(&model(json!({})), &messages, CacheRetention::Short);
    let mut last_image = sent_image();
    last_image["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(
        body["messages"][2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "1", "is_error": true,
             "content": format!("a\n{note}\nb\n{note}")},
            {"type": "tool_result", "tool_use_id": "2", "is_error": false, "content": "ok"},
            text("Images from the error result of tool call 1 (read):"),
            sent_image(), sent_image(), last_image,
        ])
    );
}

#[test]
fn system_messages_go_right_before_the_next_answer_that_is_sent() {
    let note = |text: &str| json!({"role": "system", "content": text});
    let sent_note = |content: &str| json!({"role": "system", "content": [text(content)]});
    let messages = context(json!([
        note("S"),
        user("q"),
        note("A"),
        answer(&json!([text(" ")])),
        user("r"),
        {"role": "system", "sections": {"env": null}},
        answer(&json!([text("x")])),
        user("s"),
        note("B"),
        user("t"),
    ]));
    assert_eq!(
        sent(&in_place(), &messages),
        json!([
            user("q"), user("r"), sent_note("A"),
            sent_note("Removed system prompt section \"env\"."),
            {"role": "assistant", "content": [text("x")]},
            user("s"), user("t"), sent_note("B"),
        ])
    );
}

#[test]
fn tool_changes_stay_in_place_behind_a_frozen_list() {
    let tool = |name: &str, description: &str| {
        json!({"name": name, "description": description,
               "parameters": {"type": "object", "properties": {}}})
    };
    let messages = context(json!([
        {"role": "system", "content": "S", "toolsAdded": [tool("a", "1"), tool("b", "1")]},
        user("q"),
        {"role": "system", "content": "N", "toolsRemoved": [{"name": "b"}, {"name": "a"}],
         "toolsAdded": [tool("a", "2"), tool("c", "1")]},
    ]));
    let body = body(&in_place(), &messages, CacheRetention::Short);
    let cache_control = json!({"type": "ephemeral"});
    let schema = json!({"type": "object", "properties": {}, "required": []});
    let declared = |name: &str, description: &str| {
        json!({"name": name, "description": description, "eager_input_streaming": true,
               "input_schema": schema})
    };
    let mut last = declared("b", "1");
    last["cache_control"] = cache_control.clone();
    assert_eq!(
        body["tools"],
        json!([
            declared("a", "1"),
            last,
            {"name": "__pi_deferred_placeholder__", "input_schema": schema, "defer_loading": true,
             "description": "Reserved placeholder. Never available. Never call this."},
        ])
    );
    let addition = |name: &str, description: &str| {
        json!({"type": "tool_addition", "tool": {
            "type": "tool_definition", "definition": declared(name, description)}})
    };
    let mut marked = addition("c", "1");
    marked["cache_control"] = cache_control;
    assert_eq!(
        body["messages"][1],
        json!({"role": "system", "content": [
            text("N"),
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "b"}},
            addition("a", "2"),
            marked,
        ]})
    );
}

#[test]
fn tools_that_come_first_later_are_listed_at_the_top() {
    let messages = context(json!([
        {"role": "system", "content": "S"},
        user("q"),
        {"role": "system", "toolsAdded": [{"name": "a", "description": "d", "parameters": {}}]},
    ]));
    let body = body(&in_place(), &messages, CacheRetention::None);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["messages"], json!([user("q")]));
}

#[test]
fn recorded_effort_is_told_before_each_answer_of_the_provider() {
    let effort =
        |word: &str| json!({"role": "system", "content": [], "output_config": {"effort": word}});
    let with_level = |content: &str, level: &str, fields: Value| {
        let mut answer = answer(&json!([text(content)]));
        answer["providerThinkingLevel"] = json!(level);
        answer.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        answer
    };
    let sent_answer = |content: &str| json!({"role": "assistant", "content": [text(content)]});
    let messages = context(json!([
        {"role": "system", "content": "S"},
        user("q"),
        with_level("x", "high", json!({})),
        user("r"),
        with_level("other model", "max", json!({"model": "other"})),
        user("s"),
        with_level("other provider", "low", json!({"provider": "other"})),
        user("t"),
        with_level(" ", "xhigh", json!({})),
        {"role": "system", "content": "N"},
        with_level("y", "low", json!({})),
        user("u"),
    ]));
    let options = StreamOptions {
        protocol: Options {
            thinking_enabled: Some(true),
            effort: Some("medium".into()),
            ..Options::default()
        }
        .into(),
        ..plain()
    };
    let request = AnthropicMessages::new().request(&managed(), &messages, &options).unwrap();
    assert_eq!(
        request.body.to_value()["messages"],
        json!([
            user("q"), effort("high"), sent_answer("x"),
            user("r"), effort("max"), sent_answer("other model"),
            user("s"), sent_answer("other provider"),
            user("t"),
            {"role": "system", "content": [text("N")]}, effort("low"), sent_answer("y"),
            user("u"), effort("medium"),
        ])
    );
}

#[test]
fn the_cache_marker_ends_what_the_model_has_not_said() {
    let marker = json!({"type": "ephemeral"});
    let question = context(json!([{"role": "system", "content": "S"}, user("q")]));
    let body_of = |context| body(&managed(), context, CacheRetention::Short);
    let asked = body_of(&question);
    assert_eq!(asked["messages"][0]["content"][0]["cache_control"], marker);
    assert_eq!(asked["messages"][1]["content"], json!([]), "the effort message is never marked");

    let answered = context(json!([user("q"), answer(&json!([text("a")]))]));
    assert!(!body_of(&answered)["messages"].to_string().contains("cache_control"));

    let told = context(json!([
        {"role": "system", "content": "S"}, user("q"), answer(&json!([text("a")])),
        {"role": "system", "content": "N"},
    ]));
    assert_eq!(body_of(&told)["messages"][2]["content"][0]["cache_control"], marker);
    assert_eq!(body_of(&context(json!([user(" ")])))["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn a_blank_prompt_is_not_sent() {
    let blank = Context { system_prompt: Some(" ".into()), ..context(json!([user("q")])) };
    assert_eq!(body(&model(json!({})), &blank, CacheRetention::Short).get("system"), None);
}
