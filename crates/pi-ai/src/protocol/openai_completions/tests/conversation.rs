//! Messages on the wire.

use super::*;
use crate::types::CacheRetention;

/// The messages sent for `messages` to a model with `over`.
fn wire(over: Value, messages: Value) -> Value {
    let context = context(json!({"messages": messages}));
    request(&model(over), &context, simple("off")).unwrap().body.to_value()["messages"].clone()
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

/// An answer of the test model itself.
fn answer(content: Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "openai-completions",
        "provider": "custom", "model": "m", "stopReason": "stop"})
}

fn foreign(content: Value) -> Value {
    with(answer(content), json!({"model": "other"}))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking(text: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "thinkingSignature": signature})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "x"}})
}

fn result(id: &str, content: Value) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content})
}

fn image() -> Value {
    json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})
}

fn wire_image() -> Value {
    json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
}

fn wire_call(id: &str) -> Value {
    json!({"id": id, "type": "function",
        "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}})
}

fn wire_result(id: &str, content: &str) -> Value {
    json!({"role": "tool", "content": content, "tool_call_id": id})
}

fn images_of_results(count: usize) -> Value {
    let mut parts = vec![text("Attached image(s) from tool result:")];
    parts.extend(std::iter::repeat_with(wire_image).take(count));
    user(json!(parts))
}

#[test]
fn user_content_is_text_or_parts_without_empty_ones() {
    let sent = wire(
        json!({}),
        json!([
            user(json!("plain")),
            user(json!([text("a"), text("b")])),
            user(json!([text(""), image()])),
            user(json!([])),
            user(json!([text("  ")])),
        ]),
    );
    let expected = json!([
        user(json!("plain")),
        user(json!([text("a"), text("b")])),
        user(json!([wire_image()])),
        user(json!([text("  ")])),
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn a_model_that_sees_no_images_gets_one_placeholder_per_run() {
    let placeholder = || text("(image omitted: model does not support images)");
    let sent = wire(
        json!({"input": ["text"]}),
        json!([user(json!([text("a"), image(), image(), text("b"), image()]))]),
    );
    assert_eq!(sent[0]["content"], json!([text("a"), placeholder(), text("b"), placeholder()]));
}

#[test]
fn answers_are_one_string_or_null_and_empty_ones_are_skipped() {
    let sent = wire(
        json!({}),
        json!([
            user(json!("q")),
            answer(json!([text("a"), text(" "), text("b")])),
            user(json!("q")),
            answer(json!([text(" ")])),
            user(json!("q")),
            answer(json!([thinking("only", "reasoning")])),
            user(json!("q")),
            answer(json!([])),
            user(json!("q")),
            answer(json!([call("c")])),
            result("c", json!([text("r")])),
        ]),
    );
    let q = || user(json!("q"));
    let expected = json!([
        q(), {"role": "assistant", "content": "ab"}, q(), q(), q(), q(),
        {"role": "assistant", "content": null, "tool_calls": [wire_call("c")]},
        wire_result("c", "r"),
    ]);
    assert_eq!(sent, expected);
}

#[test]
fn failed_answers_are_skipped_whole() {
    for reason in ["error", "aborted"] {
        let failed = with(answer(json!([text("half")])), json!({"stopReason": reason}));
        let sent = wire(json!({}), json!([user(json!("q")), failed, user(json!("again"))]));
        assert_eq!(sent, json!([user(json!("q")), user(json!("again"))]), "{reason}");
    }
}

#[test]
fn reasoning_returns_in_the_field_it_came_from() {
    let said = || text("x");
    // Blocks, the reasoning fields of the message.
    let cases = [
        (json!([thinking("t", "reasoning_content"), said()]), json!({"reasoning_content": "t"})),
        (json!([thinking("t", "reasoning"), said()]), json!({"reasoning": "t"})),
        (json!([thinking("t", "reasoning_text"), said()]), json!({"reasoning_text": "t"})),
        (
            json!([thinking("1", "reasoning"), thinking("2", "reasoning"), said()]),
            json!({"reasoning": "1\n2"}),
        ),
        (json!([thinking("t", "another_field"), said()]), json!({})),
        (json!([thinking("t", ""), said()]), json!({})),
        (json!([thinking("  ", "reasoning"), said()]), json!({})),
        (json!([{"type": "thinking", "thinking": "t"}, said()]), json!({})),
    ];
    for (blocks, fields) in cases {
        let sent =
            wire(json!({"reasoning": true}), json!([user(json!("q")), answer(blocks.clone())]));
        let expected = with(json!({"role": "assistant", "content": "x"}), fields);
        assert_eq!(sent[1], expected, "{blocks}");
    }
    let go = json!({"provider": "opencode-go", "reasoning": true});
    let own = with(
        answer(json!([thinking("t", "reasoning"), said()])),
        json!({"provider": "opencode-go"}),
    );
    assert_eq!(wire(go, json!([user(json!("q")), own]))[1]["reasoning_content"], "t");
}

#[test]
fn reasoning_of_another_model_is_not_sent() {
    let sent = wire(
        json!({"reasoning": true}),
        json!([user(json!("q")), foreign(json!([thinking("t", "reasoning"), text("x")]))]),
    );
    assert_eq!(sent[1], json!({"role": "assistant", "content": "x"}));
}

#[test]
fn reasoning_details_return_verbatim_and_in_order() {
    let details = json!([{"type": "reasoning.text", "text": "abc", "index": 0},
        {"type": "reasoning.encrypted", "data": "E", "id": "t1"}]);
    let sealed = json!({"type": "reasoning.encrypted", "id": "a", "data": "ENC"});
    let sealed_call = with(call("a"), json!({"thoughtSignature": sealed.to_string()}));
    let block = || thinking("abc", &details.to_string());
    let cases = [
        (json!([block(), text("x")]), Some(details.clone())),
        (json!([thinking("", &details.to_string()), text("x")]), Some(details.clone())),
        (json!([block(), thinking("y", "reasoning"), text("x")]), Some(details.clone())),
        (json!([thinking("abc", "[]"), text("x")]), None),
        (json!([sealed_call.clone()]), Some(json!([sealed]))),
        (json!([block(), sealed_call]), Some(json!([sealed]))),
        (json!([with(call("a"), json!({"thoughtSignature": "no json"}))]), None),
    ];
    for (blocks, expected) in cases {
        let sent = wire(
            json!({"reasoning": true}),
            json!([user(json!("q")), answer(blocks.clone()), result("a", json!([text("r")]))]),
        );
        assert_eq!(sent[1].get("reasoning_details"), expected.as_ref(), "{blocks}");
        assert_eq!(sent[1].get("reasoning"), None, "{blocks}");
    }
}

#[test]
fn hosts_that_require_reasoning_content_get_it_on_every_answer() {
    let compat = json!({"requiresReasoningContentOnAssistantMessages": true});
    let messages = || {
        json!([
            user(json!("q")),
            answer(json!([thinking("t", "reasoning_content"), text("x")])),
            answer(json!([text("y")])),
            foreign(json!([thinking("t", "reasoning_content"), text("z")])),
        ])
    };
    let sent = wire(json!({"reasoning": true, "compat": compat}), messages());
    let contents: Vec<&Value> =
        (1..4).map(|position| &sent[position]["reasoning_content"]).collect();
    assert_eq!(contents, [&json!("t"), &json!(""), &json!("")]);
    let sent = wire(json!({"compat": compat}), messages());
    assert_eq!(sent[2].get("reasoning_content"), None, "only for models that reason");
}

#[test]
fn thinking_can_be_sent_as_text() {
    let compat = json!({"requiresThinkingAsText": true});
    let blocks = json!([thinking("t", "reasoning"), thinking("u", "reasoning"), text("x")]);
    let sent = wire(
        json!({"compat": compat}),
        json!([user(json!("q")), answer(blocks), answer(json!([thinking("only", "reasoning")])),]),
    );
    assert_eq!(sent[1], json!({"role": "assistant", "content": [text("t\n\nu"), text("x")]}));
    assert_eq!(sent[2], json!({"role": "assistant", "content": [text("only")]}));
}

#[test]
fn tool_results_are_strings_and_their_images_follow_in_one_message() {
    let sent = wire(
        json!({}),
        json!([
            user(json!("q")),
            answer(json!([call("a"), call("b"), call("c"), call("d")])),
            result("a", json!([text("one"), text("two"), image()])),
            result("b", json!([])),
            result("c", json!([text(""), image()])),
            result("d", json!([image()])),
            user(json!("next")),
        ]),
    );
    let expected = json!([
        wire_result("a", "one\ntwo"),
        wire_result("b", "(no tool output)"),
        wire_result("c", "(see attached image)"),
        wire_result("d", "(see attached image)"),
        images_of_results(3),
        user(json!("next")),
    ]);
    assert_eq!(sent.as_array().unwrap()[2..], expected.as_array().unwrap()[..]);
}

#[test]
fn a_call_without_result_gets_one() {
    let sent =
        wire(json!({}), json!([user(json!("q")), answer(json!([call("a")])), user(json!("x"))]));
    assert_eq!(sent[2], wire_result("a", "No result provided"));
}

#[test]
fn demanding_hosts_get_the_form_they_require() {
    let messages = || {
        json!([
            user(json!("q")),
            answer(json!([call("a")])),
            result("a", json!([text("r"), image()])),
            user(json!("x")),
        ])
    };
    let with_flag = |flag: &str| wire(json!({"compat": {flag: true}}), messages());

    let sent = with_flag("requiresToolResultName");
    assert_eq!(sent[2]["name"], "read");
    let sent = with_flag("requiresNonNullAssistantContent");
    assert_eq!(sent[1]["content"], "");
    let sent = with_flag("requiresAssistantAfterToolResult");
    assert_eq!(sent[1]["content"], "");
    let roles: Vec<&str> =
        sent.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user", "user"]);
}

#[test]
fn foreign_ids_are_renamed_in_call_and_result_alike_and_own_ids_stay() {
    let id = "call_1|fc_1";
    let turn = |answer: Value| json!([user(json!("q")), answer, result(id, json!([text("r")]))]);
    let sent = wire(json!({}), turn(foreign(json!([call(id)]))));
    assert_eq!(sent[1]["tool_calls"][0]["id"], "call_1_fc_1");
    assert_eq!(sent[2]["tool_call_id"], "call_1_fc_1");
    let sent = wire(json!({}), turn(answer(json!([call(id)]))));
    assert_eq!(sent[1]["tool_calls"][0]["id"], id);
    assert_eq!(sent[2]["tool_call_id"], id);
}

#[test]
fn calls_of_grammar_tools_return_as_plain_text() {
    let grammar = json!({"name": "g", "description": "D", "parameters":
        {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: X"}}});
    let grammar_call = |id: &str, arguments: Value| json!({"type": "toolCall", "id": id, "name": "g", "arguments": arguments});
    let messages = json!([
        user(json!("q")),
        answer(json!([
            grammar_call("a", json!({"input": "li\n\"ne"})),
            grammar_call("b", json!({}))
        ])),
        result("a", json!([text("r")])),
        result("b", json!([text("r")])),
    ]);
    let context = context(json!({"tools": [grammar], "messages": messages}));
    let sent = |supported: bool| {
        let model = model(json!({"compat": {"supportsOpenAIGrammarTools": supported}}));
        request(&model, &context, simple("off")).unwrap().body.to_value()["messages"][1]["tool_calls"].clone()
    };
    let custom = |id: &str, input: &str| json!({"id": id, "type": "custom", "custom": {"name": "g", "input": input}});
    assert_eq!(sent(true), json!([custom("a", "li\n\"ne"), custom("b", "")]));
    assert_eq!(sent(false)[0]["function"]["arguments"], "{\"input\":\"li\\n\\\"ne\"}");
}

#[test]
fn later_prompts_and_tools_stay_in_place_where_the_model_takes_them() {
    let change = json!({"role": "system", "content": "Extra", "sections": {"env": "E", "old": null},
        "toolsAdded": [tool("late")]});
    let parts = json!({"systemPrompt": "S", "tools": [tool("read")],
        "messages": [user(json!("q")), change, user(json!("go"))]});
    let declared = |name: &str| json!({"type": "function", "function": tool(name)});
    let build = |system: bool, tools: bool| {
        let compat = json!({"supportsMidConvoSystemMessages": system, "supportsMidConvoToolAdditions": tools,
            "supportsDeveloperRole": true});
        let model = model(json!({"reasoning": true, "compat": compat}));
        request(&model, &context(parts.clone()), simple("off")).unwrap().body.to_value()
    };
    let developer = |content: &str| json!({"role": "developer", "content": content});
    let update = || {
        developer(
            "Extra\n\nUpdated system prompt section \"env\":\n\nE\n\nRemoved system prompt section \"old\".",
        )
    };

    for tools in [false, true] {
        let folded = build(false, tools);
        assert_eq!(
            folded["messages"],
            json!([developer("S\n\nExtra\n\nE"), user(json!("q")), user(json!("go"))])
        );
        assert_eq!(folded["tools"], json!([declared("read"), declared("late")]));
    }
    let system_only = build(true, false);
    assert_eq!(
        system_only["messages"],
        json!([developer("S"), user(json!("q")), update(), user(json!("go"))])
    );
    assert_eq!(system_only["tools"], json!([declared("read"), declared("late")]));
    let both = build(true, true);
    let added = json!({"role": "system", "tools": [declared("late")]});
    assert_eq!(
        both["messages"],
        json!([developer("S"), user(json!("q")), added, update(), user(json!("go"))])
    );
    assert_eq!(both["tools"], json!([declared("read")]));
}

#[test]
fn anthropic_markers_stand_on_prompt_last_tool_and_last_text() {
    let marked = |text: &str, marker: &Value| json!([{"type": "text", "text": text, "cache_control": marker}]);
    let build = |over: Value, messages: Value, retention: CacheRetention| {
        let parts =
            json!({"systemPrompt": "S", "tools": [tool("a"), tool("b")], "messages": messages});
        let mut options = simple("off");
        options.base.cache_retention = retention;
        request(&model(over), &context(parts), options).unwrap().body.to_value()
    };
    let format = || json!({"compat": {"cacheControlFormat": "anthropic"}});
    let short = json!({"type": "ephemeral"});
    let long = json!({"type": "ephemeral", "ttl": "1h"});

    let body = build(format(), json!([user(json!("q"))]), CacheRetention::Short);
    assert_eq!(body["messages"][0]["content"], marked("S", &short));
    assert_eq!(body["messages"][1]["content"], marked("q", &short));
    assert_eq!(body["tools"][0].get("cache_control"), None);
    assert_eq!(body["tools"][1]["cache_control"], short);

    let turn =
        json!([user(json!("q")), answer(json!([call("a")])), result("a", json!([text("r")]))]);
    let body = build(format(), turn, CacheRetention::Long);
    assert_eq!(body["messages"][3]["content"], marked("r", &long), "tool results too");
    let body = build(format(), json!([user(json!([text("x"), image()]))]), CacheRetention::Short);
    assert_eq!(body["messages"][1]["content"][0]["cache_control"], short, "the last text part");
    let body =
        build(format(), json!([user(json!("q")), user(json!([image()]))]), CacheRetention::Short);
    assert_eq!(body["messages"][1]["content"], marked("q", &short), "the last message with text");

    let unsupported =
        json!({"compat": {"cacheControlFormat": "anthropic", "supportsLongCacheRetention": false}});
    let body = build(unsupported, json!([user(json!("q"))]), CacheRetention::Long);
    assert_eq!(body["tools"][1]["cache_control"], short);
    let body = build(format(), json!([user(json!("q"))]), CacheRetention::None);
    assert_eq!(body["messages"][0]["content"], "S");
    let detected = json!({"provider": "openrouter", "id": "anthropic/claude"});
    let body = build(detected, json!([user(json!("q"))]), CacheRetention::Short);
    assert_eq!(body["tools"][1]["cache_control"], short);
    let body = build(json!({}), json!([user(json!("q"))]), CacheRetention::Short);
    assert_eq!(body["messages"][0]["content"], "S");
}
