use std::sync::Arc;

use serde_json::json;

use super::{HandoffRules, Prepared, ToolPlacement, initial_tools, prepare, update_text};
use crate::types::Context;
use crate::types::{AssistantMessage, Message, Model, SystemMessage, Tool};

fn model(input: &[&str]) -> Model {
    serde_json::from_value(json!({
        "id": "m", "name": "M", "api": "a", "provider": "p", "input": input,
    }))
    .unwrap()
}

fn tool(name: &str, description: &str) -> Tool {
    Tool {
        name: name.into(),
        description: description.into(),
        parameters: json!({"type": "object"}),
        constrained_sampling: None,
    }
}

fn messages(value: serde_json::Value) -> Vec<Message> {
    serde_json::from_value(value).unwrap()
}

fn keep_own_ids(id: &str, _: &AssistantMessage, same: bool) -> String {
    if same { id.to_owned() } else { id.replace(['|', '.'], "_") }
}

fn run(context: &Context, mid: bool, tool_placement: ToolPlacement) -> Prepared {
    let model = model(&["text", "image"]);
    prepare(
        context,
        &HandoffRules {
            model: &model,
            mid_conversation_system: mid,
            tool_placement,
            tool_call_id: &keep_own_ids,
        },
    )
}

fn transcript(value: serde_json::Value) -> Context {
    Context { messages: messages(value), ..Context::default() }
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// One letter per message, results with their error flag.
fn outline(prepared: &Prepared) -> Vec<String> {
    prepared
        .messages
        .iter()
        .map(|message| match message {
            Message::System(system) => format!("system:{}", update_text(system)),
            Message::User(user) => format!("user:{}", user.content.to_text()),
            Message::Assistant(answer) => format!("assistant:{}", answer.text()),
            Message::ToolResult(result) => format!("result:{}", result.tool_call_id),
        })
        .collect()
}

fn user(text: &str) -> serde_json::Value {
    json!({"role": "user", "content": text})
}

fn answer(content: &serde_json::Value, model: &str, stop: &str) -> serde_json::Value {
    json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": model,
           "stopReason": stop, "timestamp": 7})
}

fn call(id: &str) -> serde_json::Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}})
}

fn result(id: &str) -> serde_json::Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "read",
           "content": [{"type": "text", "text": "r"}]})
}

fn changing_conversation() -> Context {
    Context {
        system_prompt: Some("S".into()),
        tools: vec![tool("read", "1"), tool("write", "1")],
        messages: messages(json!([
            user("q"),
            {"role": "system", "content": "Extra.", "sections": {"env": "<env>1</env>"},
             "toolsAdded": [{"name": "bash", "description": "1", "parameters": {}}]},
            user("r"),
            {"role": "system", "sections": {"env": "<env>2</env>", "cwd": "<cwd>/</cwd>"},
             "toolsRemoved": [{"name": "write"}]},
            user("s"),
            {"role": "system", "content": "", "sections": {"env": null},
             "toolsAdded": [{"name": "grep", "description": "1", "parameters": {}}]},
        ])),
    }
}

#[test]
fn updates_are_folded_into_the_prompt_unless_they_may_stay() {
    let context = changing_conversation();
    let folded = run(&context, false, ToolPlacement::None);
    assert_eq!(folded.system_prompt, "S\n\nExtra.\n\n<cwd>/</cwd>");
    assert_eq!(names(&folded.tools), ["read", "bash", "grep"]);
    assert_eq!(outline(&folded), ["user:q", "user:r", "user:s"]);

    let kept = run(&context, true, ToolPlacement::None);
    assert_eq!(kept.system_prompt, "S");
    assert_eq!(names(&kept.tools), ["read", "bash", "grep"]);
    assert_eq!(
        outline(&kept),
        [
            "user:q",
            "system:Extra.\n\nUpdated system prompt section \"env\":\n\n<env>1</env>",
            "user:r",
            "system:Updated system prompt section \"env\":\n\n<env>2</env>\n\n\
             Updated system prompt section \"cwd\":\n\n<cwd>/</cwd>",
            "user:s",
            "system:Removed system prompt section \"env\".",
        ]
    );
    let has_tools = |message: &Message| match message {
        Message::System(system) => system.tools_added.is_some() || system.tools_removed.is_some(),
        _ => false,
    };
    assert!(!kept.messages.iter().any(has_tools), "told at the top already");
}

#[test]
fn tool_changes_go_where_the_placement_says() {
    type Expected<'a> = (ToolPlacement, &'a [&'a str], &'a [(&'a [&'a str], &'a [&'a str])]);
    let cases: [Expected<'_>; 3] = [
        (ToolPlacement::None, &["read", "bash", "grep"], &[]),
        (ToolPlacement::Additions, &["read", "bash"], &[(&["grep"], &[])]),
        (
            ToolPlacement::Changes,
            &["read", "write"],
            &[(&["bash"], &[]), (&[], &["write"]), (&["grep"], &[])],
        ),
    ];
    for (placement, top, in_place) in cases {
        let prepared = run(&changing_conversation(), false, placement);
        assert_eq!(names(&prepared.tools), top, "{placement:?}");
        let told: Vec<(Vec<&str>, Vec<&str>)> = prepared
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::System(system) => Some((
                    names(system.tools_added.as_deref().unwrap_or_default()),
                    system.tools_removed.iter().flatten().map(|t| t.name.as_str()).collect(),
                )),
                _ => None,
            })
            .collect();
        let told: Vec<_> = told.iter().map(|(a, r)| (a.as_slice(), r.as_slice())).collect();
        assert_eq!(told, in_place, "{placement:?}");
    }
}

#[test]
fn a_redeclared_tool_keeps_its_place_and_ends_the_told_additions() {
    let context = transcript(json!([
        {"role": "system", "content": "S",
         "toolsAdded": [{"name": "a", "description": "1", "parameters": {}},
                        {"name": "b", "description": "1", "parameters": {}}]},
        user("q"),
        {"role": "system", "toolsAdded": [{"name": "c", "description": "1", "parameters": {}}]},
        {"role": "system", "toolsAdded": [{"name": "a", "description": "2", "parameters": {}}],
         "toolsRemoved": [{"name": "a"}, {"name": "unknown"}]},
        {"role": "system", "toolsAdded": [{"name": "d", "description": "1", "parameters": {}}]},
    ]));
    assert_eq!(names(initial_tools(&context)), ["a", "b"]);
    let current = run(&context, true, ToolPlacement::None);
    assert_eq!(names(&current.tools), ["a", "b", "c", "d"]);
    assert_eq!(current.tools[0].description, "2");
    assert_eq!(outline(&current), ["user:q"], "system messages that only change tools vanish");
    let additions = run(&context, true, ToolPlacement::Additions);
    assert_eq!(names(&additions.tools), ["a", "b", "c"]);
    assert_eq!(outline(&additions), ["user:q", "system:"]);
}

#[test]
fn the_leading_prompt_comes_from_the_context_or_the_first_message() {
    let first = json!({"role": "system", "content": "C",
                       "sections": {"one": "<one>1</one>", "two": "<two>2</two>"}});
    let cases = [
        (None, "C\n\n<one>1</one>\n\n<two>2</two>", "C\n\n<one>1</one>\n\n<two>2</two>"),
        (Some(""), "C\n\n<one>1</one>\n\n<two>2</two>", "C\n\n<one>1</one>\n\n<two>2</two>"),
        (Some("P"), "P\n\nC\n\n<one>1</one>\n\n<two>2</two>", "P"),
    ];
    for (system_prompt, folded, kept) in cases {
        let context = Context {
            system_prompt: system_prompt.map(str::to_owned),
            ..transcript(json!([first.clone(), user("q")]))
        };
        assert_eq!(run(&context, false, ToolPlacement::None).system_prompt, folded);
        assert_eq!(run(&context, true, ToolPlacement::None).system_prompt, kept);
    }
    assert_eq!(run(&transcript(json!([user("q")])), false, ToolPlacement::None).system_prompt, "");
    let late = transcript(json!([user("q"), first]));
    assert_eq!(run(&late, true, ToolPlacement::None).system_prompt, "");
}

#[test]
fn images_become_one_placeholder_a_run_for_a_blind_model() {
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let context = transcript(json!([
        {"role": "user", "content": [image, image, {"type": "text", "text": "t"}, image]},
        answer(&json!([call("c")]), "m", "toolUse"),
        {"role": "toolResult", "toolCallId": "c", "toolName": "read",
         "content": [{"type": "text", "text": "t"}, image, image]},
    ]));
    let blind = model(&["text"]);
    let rules = HandoffRules {
        model: &blind,
        mid_conversation_system: false,
        tool_placement: ToolPlacement::None,
        tool_call_id: &keep_own_ids,
    };
    let prepared = prepare(&context, &rules);
    let Message::User(user) = &prepared.messages[0] else { panic!("user first") };
    assert_eq!(
        user.content.to_text(),
        "(image omitted: model does not support images)\nt\n\
         (image omitted: model does not support images)"
    );
    let Message::ToolResult(result) = &prepared.messages[2] else { panic!("result third") };
    let texts: Vec<_> = result.content.iter().filter_map(|block| block.as_text()).collect();
    assert_eq!(texts, ["t", "(tool image omitted: model does not support images)"]);
}

#[test]
fn what_only_another_model_may_read_is_dropped() {
    let content = json!([
        {"type": "thinking", "thinking": "signed", "thinkingSignature": "S"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "S"},
        {"type": "thinking", "thinking": " \n", "thinkingSignature": ""},
        {"type": "thinking", "thinking": "", "redacted": true},
        {"type": "text", "text": "t", "textSignature": "TS"},
        {"type": "toolCall", "id": "x|y", "name": "read", "arguments": {}, "thoughtSignature": "TS"},
    ]);
    for (model, kept_thoughts, signed, id) in [("m", 4, true, "x|y"), ("other", 0, false, "x_y")] {
        let context = transcript(json!([answer(&content, model, "toolUse"), result("x|y")]));
        let prepared = run(&context, false, ToolPlacement::None);
        let Message::Assistant(answer) = &prepared.messages[0] else { panic!("answer first") };
        let value = serde_json::to_value(&answer.content).unwrap();
        let blocks = value.as_array().unwrap();
        let thoughts = blocks.iter().filter(|block| block["type"] == "thinking").count();
        assert_eq!(thoughts, kept_thoughts, "{model}");
        let signatures = ["textSignature", "thoughtSignature"]
            .map(|key| blocks.iter().any(|block| block.get(key).is_some()));
        assert_eq!(signatures, [signed, signed], "{model}");
        assert_eq!(answer.tool_calls().next().unwrap().id, id, "{model}");
        let Message::ToolResult(result) = &prepared.messages[1] else { panic!("result second") };
        assert_eq!(result.tool_call_id, id, "{model}");
    }
}

#[test]
fn every_call_gets_a_result_before_the_talk_goes_on() {
    let note = json!({"role": "system", "content": "N"});
    let cases = [
        (
            "orphan before a user message",
            json!([answer(&json!([call("1"), call("2")]), "m", "toolUse"), result("2"), user("u")]),
            vec!["assistant:", "result:2", "result:1", "user:u"],
        ),
        (
            "orphan at the end",
            json!([answer(&json!([call("1")]), "m", "toolUse")]),
            vec!["assistant:", "result:1"],
        ),
        (
            "system message between call and result",
            json!([answer(&json!([call("1")]), "m", "toolUse"), note, result("1"), user("u")]),
            vec!["assistant:", "result:1", "system:N", "user:u"],
        ),
        (
            "system message after all results",
            json!([answer(&json!([call("1")]), "m", "toolUse"), result("1"), note, user("u")]),
            vec!["assistant:", "result:1", "system:N", "user:u"],
        ),
        (
            "held message at the end",
            json!([answer(&json!([call("1")]), "m", "toolUse"), note]),
            vec!["assistant:", "result:1", "system:N"],
        ),
        (
            "failed answers are skipped whole",
            json!([
                answer(&json!([{"type": "text", "text": "half"}, call("1")]), "m", "aborted"),
                answer(&json!([{"type": "text", "text": "half"}]), "m", "error"),
                user("u")
            ]),
            vec!["user:u"],
        ),
    ];
    for (case, transcribed, expected) in cases {
        let prepared = run(&transcript(transcribed), true, ToolPlacement::None);
        assert_eq!(outline(&prepared), expected, "{case}");
    }
}

#[test]
fn a_result_without_its_call_is_left_out() {
    let one_call = || answer(&json!([call("1")]), "m", "toolUse");
    let said = |text: &str| answer(&json!([{"type": "text", "text": text}]), "m", "stop");
    let note = json!({"role": "system", "content": "N"});
    let cases = [
        ("at the beginning", json!([result("1"), user("u")]), vec!["user:u"]),
        ("after a user message", json!([user("u"), result("1")]), vec!["user:u"]),
        (
            "after an answer without calls",
            json!([user("u"), said("a"), result("1"), user("v")]),
            vec!["user:u", "assistant:a", "user:v"],
        ),
        (
            "of another call",
            json!([one_call(), result("2"), result("1"), result("3")]),
            vec!["assistant:", "result:1"],
        ),
        (
            "in place of the one that is missing",
            json!([one_call(), result("2"), user("u")]),
            vec!["assistant:", "result:1", "user:u"],
        ),
        (
            "of an earlier turn",
            json!([one_call(), result("1"), said("a"), result("1"), user("u")]),
            vec!["assistant:", "result:1", "assistant:a", "user:u"],
        ),
        (
            "after the talk went on",
            json!([one_call(), user("u"), result("1")]),
            vec!["assistant:", "result:1", "user:u"],
        ),
        (
            "of an answer that failed",
            json!([answer(&json!([call("1")]), "m", "error"), result("1"), user("u")]),
            vec!["user:u"],
        ),
        (
            "beside a system message",
            json!([one_call(), note, result("2"), result("1"), note, result("1")]),
            vec!["assistant:", "result:1", "system:N", "system:N"],
        ),
    ];
    for (case, transcribed, expected) in cases {
        let prepared = run(&transcript(transcribed), true, ToolPlacement::None);
        assert_eq!(outline(&prepared), expected, "{case}");
    }
}

#[test]
fn the_first_of_several_results_of_a_call_is_sent() {
    let told = |text: &str| json!({"role": "toolResult", "toolCallId": "1", "content": [{"type": "text", "text": text}]});
    let sent = |transcribed| {
        let prepared = run(&transcript(transcribed), true, ToolPlacement::None);
        let results = prepared.messages.into_iter().filter_map(|message| match message {
            Message::ToolResult(result) => result.content[0].as_text().map(str::to_owned),
            _ => None,
        });
        results.collect::<Vec<_>>()
    };
    let once = answer(&json!([call("1")]), "m", "toolUse");
    assert_eq!(sent(json!([once, told("a"), told("b")])), ["a"]);
    let twice = answer(&json!([call("1"), call("1")]), "m", "toolUse");
    assert_eq!(sent(json!([twice, told("a"), told("b"), told("c")])), ["a", "b"]);
}

#[test]
fn results_follow_their_renamed_calls() {
    let foreign = answer(&json!([call("a.b")]), "other", "toolUse");
    let context = transcript(json!([foreign, result("a.b"), result("a.b"), result("c.d")]));
    assert_eq!(outline(&run(&context, false, ToolPlacement::None)), ["assistant:", "result:a_b"]);
}

#[test]
fn a_made_up_result_is_an_error_with_the_renamed_id() {
    let context = transcript(json!([answer(&json!([call("a.b")]), "other", "toolUse")]));
    let prepared = run(&context, false, ToolPlacement::None);
    assert_eq!(
        serde_json::to_value(&prepared.messages[1]).unwrap(),
        json!({"role": "toolResult", "toolCallId": "a_b", "toolName": "read",
               "content": [{"type": "text", "text": "No result provided"}],
               "isError": true, "timestamp": 7})
    );
}

#[test]
fn null_content_is_empty() {
    let context = transcript(json!([
        {"role": "user", "content": null},
        answer(&json!(null), "m", "stop"),
        answer(&json!([call("c")]), "m", "toolUse"),
        {"role": "toolResult", "toolCallId": "c", "content": null},
    ]));
    assert_eq!(
        outline(&run(&context, false, ToolPlacement::None)),
        ["user:", "assistant:", "assistant:", "result:c"]
    );
}

#[test]
fn unchanged_messages_are_shared() {
    let context = transcript(json!([
        user("u"),
        answer(&json!([{"type": "text", "text": "t"}, call("1")]), "m", "toolUse"),
        result("1"),
        {"role": "system", "content": "N"},
    ]));
    let prepared = run(&context, true, ToolPlacement::Changes);
    for (before, after) in context.messages.iter().zip(&prepared.messages) {
        let shared = match (before, after) {
            (Message::User(a), Message::User(b)) => Arc::ptr_eq(a, b),
            (Message::Assistant(a), Message::Assistant(b)) => Arc::ptr_eq(a, b),
            (Message::ToolResult(a), Message::ToolResult(b)) => Arc::ptr_eq(a, b),
            (Message::System(a), Message::System(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        assert!(shared, "{before:?}");
    }
}

#[test]
fn blocks_of_a_system_message_are_parts_of_the_prompt() {
    let change: SystemMessage = serde_json::from_value(json!({
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""},
                    {"type": "text", "text": "b"}],
    }))
    .unwrap();
    assert_eq!(update_text(&change), "a\n\nb");
}
