//! One line of notation per case: a session in, roles and texts out.

use std::path::Path;

use pi_ai::faux::FauxProvider;
use pi_ai::handoff::{self, HandoffRules, ToolPlacement};
use pi_ai::{StopReason, ThinkingLevel};
use serde_json::{Value, json};

use super::{Problem, Session};
use crate::message::{AgentMessage, convert_to_llm};

/// A session of these entries; ids are `e0`, `e1`, …, each the child of the one before.
fn session(entries: &[Value]) -> Session {
    let mut text =
        r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#.to_owned();
    for (index, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = format!("e{index}").into();
        if entry.get("parentId").is_none() {
            entry["parentId"] = index.checked_sub(1).map(|parent| format!("e{parent}")).into();
        }
        entry["timestamp"] = "1970-01-01T00:00:00.007Z".into();
        text = format!("{text}\n{entry}");
    }
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).expect("write");
    let session = Session::open(&path, Path::new("/w")).expect("opens").0;
    check_text(&session);
    session
}

fn context_json(session: &Session) -> String {
    let mut json = String::new();
    session.add_context_json(&mut json);
    json
}

/// What is counted and copied is what is built, where all of it can be read.
fn check_text(session: &Session) {
    let context = session.context();
    if context.diagnostics.is_empty() {
        let copied: Vec<AgentMessage> =
            serde_json::from_str(&context_json(session)).expect("messages");
        assert_eq!((session.context_len(), &copied), (copied.len(), &context.messages));
    }
}

fn message(role: &str, content: impl Into<Value>) -> Value {
    json!({"type": "message", "message": {"role": role, "content": content.into(), "provider": "p",
        "model": "m", "stopReason": "stop", "toolCallId": "c1", "toolName": "t"}})
}

fn user(text: &str) -> Value {
    message("user", text)
}

fn answer(text: &str) -> Value {
    message("assistant", json!([{"type": "text", "text": text}]))
}

fn calling(id: &str) -> Value {
    message("assistant", json!([{"type": "toolCall", "id": id, "name": "t", "arguments": {}}]))
}

fn result(text: &str) -> Value {
    message("toolResult", json!([{"type": "text", "text": text}]))
}

fn edit(target: &str, replacement: impl Into<Value>) -> Value {
    json!({"type": "context_edit", "targetId": target, "replacement": replacement.into()})
}

fn compaction(summary: &str, first_kept: &str) -> Value {
    json!({"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept,
        "tokensBefore": 9})
}

fn system(section: &str, text: impl Into<Value>) -> Value {
    json!({"type": "message", "message": {"role": "system", "content": "",
        "sections": {section: text.into()}}})
}

fn told(session: &Session) -> Vec<String> {
    session.context().messages.iter().map(line).collect()
}

fn line(message: &AgentMessage) -> String {
    let text = match message {
        AgentMessage::User(m) => m.content.to_text(),
        AgentMessage::Custom(m) => m.content.to_text(),
        AgentMessage::Assistant(m) => m.text(),
        AgentMessage::ToolResult(m) => {
            m.content.iter().filter_map(|block| block.as_text()).collect()
        }
        AgentMessage::CompactionSummary(m) => m.summary.clone(),
        AgentMessage::BranchSummary(m) => m.summary.clone(),
        AgentMessage::System(m) => format!("{:?}", m.sections.iter().flatten().next()),
        AgentMessage::BashExecution(m) => m.command.clone(),
    };
    format!("{} {text}", message.role())
}

#[test]
fn state_entries_add_no_messages_and_custom_messages_do() {
    let session = session(&[
        json!({"type": "model_change", "provider": "p", "modelId": "m"}),
        json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        user("a"),
        json!({"type": "custom", "customType": "x", "data": 1}),
        json!({"type": "label", "targetId": "e2", "label": "l"}),
        json!({"type": "session_info", "name": "n"}),
        json!({"type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": {}}),
        json!({"type": "custom_message", "customType": "x", "content": "c", "display": false}),
        json!({"type": "branch_summary", "fromId": "root", "summary": "b"}),
        json!({"type": "active_tools_change", "tools": ["read"]}),
        json!({"type": "weird", "more": 1}),
    ]);
    assert_eq!(told(&session), ["user a", "custom c", "branchSummary b"]);
    let context = session.context();
    assert!(context.diagnostics.is_empty());
    let times: Vec<_> = context.messages[1..]
        .iter()
        .map(|message| serde_json::to_value(message).expect("JSON")["timestamp"].clone())
        .collect();
    assert_eq!(times, [7, 7], "the entry's time becomes the message's");
}

#[test]
fn the_path_ends_at_the_leaf_and_leaves_other_branches_out() {
    let mut other = user("other");
    other["parentId"] = "e0".into();
    let mut session = session(&[user("a"), answer("b"), other]);
    assert_eq!(told(&session), ["user a", "user other"]);
    session.set_leaf(Some("e1")).expect("leaf");
    assert_eq!(told(&session), ["user a", "assistant b"]);
    session.set_leaf(None).expect("leaf");
    assert_eq!(told(&session), [""; 0]);
}

#[test]
fn the_model_is_the_one_chosen_or_heard_last() {
    let change = json!({"type": "model_change", "provider": "q", "modelId": "n"});
    let chosen = Some(("q".to_owned(), "n".to_owned()));
    let heard = Some(("p".to_owned(), "m".to_owned()));
    assert_eq!(session(&[user("a")]).context().model, None);
    assert_eq!(session(&[answer("a"), change.clone(), user("b")]).context().model, chosen);
    assert_eq!(session(&[change, answer("a"), user("b")]).context().model, heard);
}

#[test]
fn the_thinking_level_is_the_last_on_the_path_or_unrecorded() {
    let high = json!({"type": "thinking_level_change", "thinkingLevel": "high"});
    let odd = json!({"type": "thinking_level_change", "thinkingLevel": "odd"});
    assert_eq!(session(&[user("a")]).context().thinking_level, None);
    assert_eq!(session(&[high, odd]).context().thinking_level, Some(ThinkingLevel::High));
}

#[test]
fn a_compaction_comes_first_then_what_it_kept_then_the_rest() {
    let session = session(&[
        system("p", "x"),
        user("a"),
        compaction("old", "e1"),
        user("b"),
        system("p", "y"),
        answer("c"),
        compaction("new", "e3"),
        user("d"),
        system("p", "z"),
    ]);
    assert_eq!(
        told(&session),
        [
            "compactionSummary new",
            "user b",
            "assistant c",
            "user d",
            r#"system Some(("p", Some("z")))"#
        ]
    );
    assert_eq!(session.context().prompt.sections["p"], "z");
}

#[test]
fn a_compaction_may_keep_nothing_and_bring_the_prompt_along() {
    let mut own = compaction("s", "e2");
    own["systemMessage"] = system("p", "kept")["message"].clone();
    let session = session(&[system("p", "x"), user("a"), own, user("b")]);
    assert_eq!(
        told(&session),
        [r#"system Some(("p", Some("kept")))"#, "compactionSummary s", "user b"]
    );
    assert_eq!(session.context().prompt.sections["p"], "kept");
}

#[test]
fn the_prompt_is_the_replay_of_its_patches() {
    let session =
        session(&[system("p", "x"), system("q", "y"), system("p", Value::Null), system("q", "z")]);
    let sections = session.context().prompt.sections;
    assert_eq!(sections.into_iter().collect::<Vec<_>>(), [("q".to_owned(), "z".to_owned())]);
}

#[test]
fn the_newest_edit_drops_or_replaces_its_target() {
    let text = json!({"content": "new"});
    let cases = [
        (vec![user("a"), answer("b"), edit("e0", Value::Null)], vec!["assistant b"]),
        (vec![user("a"), edit("e0", Value::Null), edit("e0", text.clone())], vec!["user new"]),
        (vec![user("a"), edit("e0", text.clone()), edit("e0", Value::Null)], vec![]),
        (vec![answer("b"), edit("e0", text.clone())], vec!["assistant new"]),
        (vec![calling("c1"), result("r"), edit("e1", text)], vec!["assistant ", "toolResult new"]),
        (
            vec![user("a"), edit("e0", json!({"content": [{"type": "text", "text": "n"}]}))],
            vec!["user n"],
        ),
        (
            vec![
                json!({"type": "custom_message", "customType": "x", "content": "c", "display": true}),
                edit("e0", json!({"content": "new"})),
            ],
            vec!["custom new"],
        ),
        // Content that suits no message leaves the target as it was.
        (vec![user("a"), edit("e0", json!({"content": 7}))], vec!["user a"]),
    ];
    for (entries, expected) in cases {
        assert_eq!(told(&session(&entries)), expected, "{entries:?}");
    }
}

#[test]
fn a_dropped_answer_takes_its_tool_results_along() {
    let session = session(&[
        user("a"),
        calling("c1"),
        result("gone"),
        edit("e1", Value::Null),
        calling("c1"),
        result("stays"),
    ]);
    assert_eq!(told(&session), ["user a", "assistant ", "toolResult stays"]);
}

#[test]
fn an_unreadable_message_is_left_out_and_reported() {
    let session = session(&[user("a"), message("alien", "x"), user("b")]);
    assert_eq!(told(&session), ["user a", "user b"]);
    let problems = session.context().diagnostics;
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("entry e1 is left out"), "{}", problems[0]);
}

#[test]
fn unknown_parts_of_a_message_leave_the_rest_of_it_in_the_context() {
    let alien = json!({"type": "alien", "more": [1]});
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "toolCall", "id": "c1", "name": "t", "arguments": "{\"k\": 1}"});
    let mut calling = message("assistant", json!([alien, text("b"), call, alien]));
    calling["message"]["stopReason"] = "alien".into();
    calling["message"]["usage"] = json!({"input": 1.5, "output": -1, "totalTokens": "many"});
    let session = session(&[
        message("system", json!([alien, text("s")])),
        message("user", json!([text("a"), alien])),
        calling,
        message("toolResult", json!([alien, text("r")])),
        message("assistant", "plain"),
        json!({"type": "custom_message", "customType": "x", "content": [alien, text("c")]}),
    ]);
    let context = session.context();
    assert_eq!(context.diagnostics, []);
    let AgentMessage::System(prompt) = &context.messages[0] else { panic!("prompt first") };
    assert_eq!(prompt.content.to_text(), "s");
    assert_eq!(
        told(&session)[1..],
        ["user a", "assistant b", "toolResult r", "assistant plain", "custom c"]
    );
    let AgentMessage::Assistant(answer) = &context.messages[2] else { panic!("answer third") };
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    assert_eq!(answer.tool_calls().map(|call| call.arguments.len()).collect::<Vec<_>>(), [1]);
    let lines: Vec<_> = session.entries().map(|entry| entry.json().into_owned()).collect();
    let with_alien = lines.iter().filter(|line| line.contains(r#""type":"alien","more":[1]"#));
    assert_eq!(with_alien.count(), 5, "what is kept on disk is whole");
}

#[test]
fn a_result_whose_call_is_lost_is_not_sent() {
    let mut damaged = calling("c1");
    damaged["message"]["content"] = json!(7);
    let session = session(&[user("a"), damaged, result("r"), answer("b"), user("c")]);
    let context = session.context();
    assert_eq!(context.diagnostics.len(), 1);
    let model = FauxProvider::model();
    let rules = HandoffRules {
        model: &model,
        mid_conversation_system: true,
        tool_placement: ToolPlacement::None,
        tool_call_id: &|id, _, _| id.to_owned(),
    };
    let context =
        pi_ai::Context { messages: convert_to_llm(&context.messages), ..pi_ai::Context::default() };
    let sent: Vec<_> = handoff::prepare(&context, &rules)
        .messages
        .into_iter()
        .map(|message| line(&message.into()))
        .collect();
    assert_eq!(sent, ["user a", "assistant b", "user c"]);
}

#[test]
fn a_dropped_entry_of_any_kind_is_gone_and_only_what_was_said_can_be_replaced() {
    let bash = json!({"type": "message", "message": {"role": "bashExecution", "command": "ls"}});
    let branch = json!({"type": "branch_summary", "fromId": "root", "summary": "b"});
    let cases = [
        (bash, "bashExecution ls"),
        (branch, "branchSummary b"),
        (system("p", "x"), r#"system Some(("p", Some("x")))"#),
        (compaction("s", "e0"), "compactionSummary s"),
    ];
    for (entry, line) in cases {
        let dropped = session(&[entry.clone(), user("a"), edit("e0", Value::Null)]);
        assert_eq!(told(&dropped), ["user a"], "{line}");
        let replaced = session(&[entry, user("a"), edit("e0", json!({"content": "new"}))]);
        assert_eq!(told(&replaced), [line, "user a"]);
    }
}

#[test]
fn an_answer_replaced_without_its_calls_takes_their_results_along() {
    let text = json!({"content": "no call"});
    let session = session(&[calling("c1"), result("gone"), edit("e0", text)]);
    assert_eq!(told(&session), ["assistant no call"]);
}

#[test]
fn an_edit_counts_only_on_its_own_branch() {
    let mut session = session(&[user("a"), answer("b"), edit("e0", Value::Null)]);
    assert_eq!(told(&session), ["assistant b"]);
    session.set_leaf(Some("e1")).expect("leaf");
    assert_eq!(told(&session), ["user a", "assistant b"]);
}

#[test]
fn an_edit_reaches_what_a_compaction_kept() {
    let session = session(&[
        user("a"),
        answer("b"),
        compaction("s", "e0"),
        edit("e0", json!({"content": "new"})),
        edit("e1", Value::Null),
    ]);
    assert_eq!(told(&session), ["compactionSummary s", "user new"]);
}

fn tools_on(session: &Session) -> Option<String> {
    session.context().active_tools.map(|names| names.join(" "))
}

#[test]
fn the_tools_that_are_on_are_those_recorded_last_on_the_path() {
    let tools = |added: &[&str], removed: &[&str]| {
        let tool = |name: &&str| json!({"name": name, "description": "", "parameters": {}});
        let added: Vec<_> = added.iter().map(tool).collect();
        let removed: Vec<_> = removed.iter().map(|name| json!({"name": name})).collect();
        json!({"type": "message", "message": {"role": "system", "content": "",
            "toolsAdded": added, "toolsRemoved": removed}})
    };
    let change = |names: &[&str]| json!({"type": "active_tools_change", "activeToolNames": names});
    let odd = json!({"type": "active_tools_change", "activeToolNames": "all"});
    let mut checkpoint = compaction("s", "e1");
    checkpoint["systemMessage"] = tools(&["read"], &[])["message"].clone();
    let cases = [
        (vec![user("a")], None),
        (vec![odd.clone()], None),
        (vec![change(&["b", "a"])], Some("b a")),
        (vec![change(&["a"]), change(&[])], Some("")),
        (vec![change(&["a"]), odd], Some("a")),
        // The first system message is the whole prompt: a prompt without tools means none.
        (vec![system("p", "x")], Some("")),
        (vec![tools(&["a", "b"], &[]), system("p", "x")], Some("a b")),
        (vec![tools(&["a", "b"], &[]), tools(&["c"], &["a"])], Some("b c")),
        (vec![tools(&["a"], &[]), change(&["z"])], Some("z")),
        // A patch of sections says nothing of tools; one of tools does.
        (vec![tools(&["a"], &[]), change(&["z"]), system("p", "x")], Some("z")),
        (vec![tools(&["a"], &[]), change(&["z"]), tools(&["z"], &["a"])], Some("z")),
        (vec![tools(&["a"], &[]), change(&["z"]), tools(&["y"], &[])], Some("a y")),
        (vec![change(&["z"]), user("a"), checkpoint.clone()], Some("read")),
        (vec![user("a"), user("b"), checkpoint, change(&["z"])], Some("z")),
    ];
    for (entries, expected) in cases {
        assert_eq!(tools_on(&session(&entries)).as_deref(), expected, "{entries:?}");
    }
    let mut session = session(&[change(&["a"]), user("a"), change(&["b"])]);
    session.set_leaf(Some("e1")).expect("leaf");
    assert_eq!(tools_on(&session).as_deref(), Some("a"));
}

#[test]
fn messages_know_the_entries_they_stem_from() {
    let mut checkpoint = compaction("s", "e1");
    checkpoint["systemMessage"] = system("p", "kept")["message"].clone();
    let session = session(&[
        user("gone"),
        user("a"),
        system("p", "x"),
        json!({"type": "label", "targetId": "e1", "label": "l"}),
        checkpoint,
        json!({"type": "custom_message", "customType": "x", "content": "c", "display": true}),
        answer("dropped"),
        edit("e6", Value::Null),
    ]);
    let told = session.context_entries();
    let ids: Vec<_> = told.iter().map(|(entry, message)| (entry.id(), message.role())).collect();
    assert_eq!(
        ids,
        [("e4", "system"), ("e4", "compactionSummary"), ("e1", "user"), ("e5", "custom")]
    );
    let messages: Vec<_> = told.into_iter().map(|(_, message)| message).collect();
    assert_eq!(messages, session.context().messages);
}

#[test]
fn edits_and_compactions_that_cannot_be_read_are_reported() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"a","timestamp":1}}"#,
        r#"{"type":"context_edit","id":"b","parentId":"a","timestamp":"","targetId":5}"#,
        r#"{"type":"compaction","id":"c","parentId":"b","timestamp":"","summary":5}"#,
    ];
    let (session, _) = Session::from_text(lines.join("\n"), Path::new("/w")).expect("session");
    let context = session.context();
    assert_eq!(context.messages.len(), 1);
    let unreadable = context.diagnostics.iter().map(|found| match &found.problem {
        Problem::UnreadableEntry { id, .. } => id.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(unreadable.collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn messages_are_copied_as_the_file_has_them() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
        r#"{"message": {"role":"user", "content":"a","timestamp":1,"extra":1.50} ,"type":"message","id":"a"}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant"},"more":{"message":1}}"#,
        r#"{"type":"custom","id":"c","parentId":"b","message":{"role":"user","content":"no"}}"#,
    ];
    let (session, _) = Session::from_text(lines.join("\n"), Path::new("/w")).expect("session");
    let expected =
        r#"[{"role":"user", "content":"a","timestamp":1,"extra":1.50},{"role":"assistant"}]"#;
    assert_eq!(context_json(&session), expected);
    assert_eq!(session.context_len(), 2);
    let empty = Session::in_memory(Path::new("/w"), "s".to_owned()).expect("session");
    assert_eq!((empty.context_len(), context_json(&empty).as_str()), (0, "[]"));
}
