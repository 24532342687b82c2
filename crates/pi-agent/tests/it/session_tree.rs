//! Any conversation, however it was branched: the tree agrees with a plain reading of its lines,
//! before and after the file is opened anew.

use std::collections::BTreeMap;
use std::path::Path;

use pi_agent::AgentMessage;
use pi_agent::session::{Entry, EntryBody, Session, SessionContext};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

#[derive(Debug, Clone)]
enum Step {
    /// Appends an entry of this type; the index picks an earlier entry it may refer to.
    Append(&'static str, Index),
    /// Moves the leaf, or before every entry.
    Go(Option<Index>),
}

const TYPES: [&str; 19] = [
    "user",
    "assistant",
    "calling",
    "toolResult",
    "system",
    "tools",
    "custom",
    "custom_message",
    "branch_summary",
    "compaction",
    "drop",
    "replace",
    "label",
    "unlabel",
    "model_change",
    "thinking_level_change",
    "active_tools_change",
    "session_info",
    "usage",
];

/// Few types at a time, so that they meet often.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::sample::subsequence(&TYPES[..], 3..=9).prop_flat_map(|types| {
        let step = prop_oneof![
            6 => (prop::sample::select(types), any::<Index>())
                .prop_map(|(kind, at)| Step::Append(kind, at)),
            1 => prop::option::weighted(0.9, any::<Index>()).prop_map(Step::Go),
        ];
        prop::collection::vec(step, 1..24)
    })
}

/// What an entry says. `number` makes it unlike the others, `target` is an earlier entry's id.
fn body(kind: &str, number: usize, target: &str) -> EntryBody {
    let text = format!("text {number}");
    let usage = json!({"input": number, "output": 1, "cacheRead": 2, "cacheWrite": 3,
        "totalTokens": 0, "cost": {"total": 0.25}});
    let message = |fields: Value| json!({"type": "message", "message": fields});
    let answer = |content: Value| {
        message(json!({"role": "assistant", "content": content, "provider": "p",
            "model": text, "stopReason": "stop", "usage": usage}))
    };
    let tool =
        |name: usize| json!({"name": format!("tool {name}"), "description": "", "parameters": {}});
    let mut line = match kind {
        "user" => message(json!({"role": "user", "content": text})),
        "assistant" => answer(json!([{"type": "text", "text": text}])),
        "calling" => answer(json!([{"type": "text", "text": text},
            {"type": "toolCall", "id": format!("call {}", number % 2), "name": "t", "arguments": {}}])),
        "toolResult" => message(json!({"role": "toolResult", "toolName": "t", "usage": usage,
            "toolCallId": format!("call {}", number % 2), "content": [{"type": "text", "text": text}]})),
        "system" => message(json!({"role": "system", "content": "",
            "sections": {"a": text, "b": (number.is_multiple_of(2)).then_some("b")}})),
        "tools" => message(json!({"role": "system", "content": "",
            "toolsAdded": [tool(number % 3)], "toolsRemoved": [{"name": format!("tool {}", (number + 1) % 3)}]})),
        "custom" => json!({"type": kind, "customType": "x", "data": text}),
        "custom_message" => {
            json!({"type": kind, "customType": "x", "content": text, "display": false})
        }
        "branch_summary" => {
            json!({"type": kind, "fromId": target, "summary": text, "usage": usage})
        }
        "compaction" => json!({"type": kind, "summary": text, "firstKeptEntryId": target,
            "tokensBefore": number, "usage": usage}),
        "drop" => json!({"type": "context_edit", "targetId": target, "replacement": null}),
        "replace" => {
            json!({"type": "context_edit", "targetId": target, "replacement": {"content": text}})
        }
        "label" => json!({"type": kind, "targetId": target, "label": text}),
        "unlabel" => json!({"type": "label", "targetId": target, "label": ""}),
        "model_change" => json!({"type": kind, "provider": "q", "modelId": text}),
        "thinking_level_change" => {
            json!({"type": kind, "thinkingLevel": if number.is_multiple_of(2) { "low" } else { "high" }})
        }
        "active_tools_change" => json!({"type": kind, "activeToolNames": [text]}),
        "session_info" => json!({"type": kind, "name": text}),
        _ => json!({"type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": usage}),
    };
    line["id"] = "x".into();
    serde_json::from_value::<Entry>(line).expect(kind).body
}

fn id(line: &Value) -> &str {
    line["id"].as_str().expect("id")
}

fn lines_of(session: &Session) -> Vec<Value> {
    session.entries().map(|entry| serde_json::from_str(&entry.json()).expect("JSON")).collect()
}

/// The lines from the root to `leaf`.
fn path<'a>(lines: &'a [Value], leaf: Option<&str>) -> Vec<&'a Value> {
    let Some(line) = leaf.and_then(|leaf| lines.iter().find(|line| id(line) == leaf)) else {
        return vec![];
    };
    let mut path = path(lines, line["parentId"].as_str());
    path.push(line);
    path
}

/// Entry, role and text of each message on the path, by the book.
fn told(path: &[&Value]) -> Vec<(String, String, String)> {
    let role = |line: &Value| line["message"]["role"].as_str().unwrap_or_default().to_owned();
    let compaction = path.iter().rposition(|line| line["type"] == "compaction");
    let mut selected: Vec<&Value> = vec![];
    if let Some(at) = compaction {
        selected.push(path[at]);
        let kept = path[..at].iter().position(|line| line["id"] == path[at]["firstKeptEntryId"]);
        let kept = path[kept.unwrap_or(at)..at].iter();
        selected.extend(kept.filter(|line| role(line) != "system" && line["type"] != "compaction"));
    }
    selected.extend(&path[compaction.map_or(0, |at| at + 1)..]);

    let edit = |line: &Value| {
        path.iter()
            .rev()
            .find(|edit| edit["targetId"] == line["id"] && edit["type"] == "context_edit")
    };
    // What is left of the calls of an answer; any edit takes them.
    let calls = |line: &Value| {
        let blocks = line["message"]["content"].as_array().cloned().unwrap_or_default();
        blocks
            .iter()
            .filter_map(|block| block["id"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut told = vec![];
    for (at, line) in selected.iter().enumerate() {
        let message = &line["message"];
        let (role, text) = match line["type"].as_str().expect("type") {
            "message" if message["role"] == "system" => (role(line), String::new()),
            "message" => match &message["content"] {
                Value::String(text) => (role(line), text.clone()),
                blocks => (role(line), blocks[0]["text"].as_str().expect("text").to_owned()),
            },
            "compaction" => {
                ("compactionSummary".to_owned(), line["summary"].as_str().expect("text").to_owned())
            }
            "branch_summary" => {
                ("branchSummary".to_owned(), line["summary"].as_str().expect("text").to_owned())
            }
            "custom_message" => {
                ("custom".to_owned(), line["content"].as_str().expect("text").to_owned())
            }
            _ => continue,
        };
        let replacement = edit(line).map(|edit| &edit["replacement"]);
        if replacement == Some(&Value::Null) {
            continue;
        }
        if role == "toolResult" {
            let call = message["toolCallId"].as_str().expect("call");
            let caller =
                selected[..at].iter().rfind(|line| calls(line).iter().any(|id| id == call));
            if caller.is_some_and(|caller| edit(caller).is_some()) {
                continue;
            }
        }
        let replacement = replacement.and_then(|replacement| replacement["content"].as_str());
        let is_said = ["user", "assistant", "toolResult", "custom"].contains(&role.as_str());
        let text = replacement.filter(|_| is_said).map_or(text, str::to_owned);
        told.push((id(line).to_owned(), role, text));
    }
    told
}

fn text_of(message: &AgentMessage) -> String {
    match message {
        AgentMessage::System(_) => String::new(),
        AgentMessage::User(m) => m.content.to_text(),
        AgentMessage::Custom(m) => m.content.to_text(),
        AgentMessage::Assistant(m) => m.text(),
        AgentMessage::ToolResult(m) => m.content.iter().filter_map(|b| b.as_text()).collect(),
        AgentMessage::CompactionSummary(m) => m.summary.clone(),
        AgentMessage::BranchSummary(m) => m.summary.clone(),
        AgentMessage::BashExecution(m) => m.command.clone(),
    }
}

/// Sections, declared tools and tools that are on, by the book.
fn check_prompt(
    context: &SessionContext,
    path: &[&Value],
    told: &[(String, String, String)],
) -> Result<(), TestCaseError> {
    let (mut sections, mut tools) = (BTreeMap::new(), Vec::<String>::new());
    let mut on: Option<Vec<String>> = None;
    let mut first = true;
    for line in path {
        if line["type"] == "active_tools_change" {
            let names = line["activeToolNames"].as_array().expect("names");
            on = Some(names.iter().map(|name| name.as_str().expect("name").to_owned()).collect());
        }
        let message = &line["message"];
        if message["role"] != "system" || !told.iter().any(|(told, ..)| told == id(line)) {
            continue;
        }
        for (name, text) in message["sections"].as_object().into_iter().flatten() {
            sections.remove(name);
            sections.extend(text.as_str().map(|text| (name.clone(), text.to_owned())));
        }
        let name = |tool: &Value| tool["name"].as_str().expect("name").to_owned();
        for removed in message["toolsRemoved"].as_array().into_iter().flatten() {
            tools.retain(|tool| *tool != name(removed));
        }
        for added in message["toolsAdded"].as_array().into_iter().flatten() {
            if !tools.contains(&name(added)) {
                tools.push(name(added));
            }
        }
        if first || message.get("toolsAdded").is_some() {
            on = Some(tools.clone());
        }
        first = false;
    }
    prop_assert_eq!(
        context.prompt.sections.clone().into_iter().collect::<BTreeMap<_, _>>(),
        sections
    );
    prop_assert_eq!(context.prompt.tools.keys().cloned().collect::<Vec<_>>(), tools);
    prop_assert_eq!(&context.active_tools, &on);
    Ok(())
}

/// Compares everything there is to ask at this leaf with a plain reading of the lines.
fn check_leaf(
    session: &mut Session,
    lines: &[Value],
    leaf: Option<&str>,
) -> Result<(), TestCaseError> {
    session.set_leaf(leaf).expect("an entry");
    let path = path(lines, leaf);
    let ids: Vec<_> = path.iter().map(|line| id(line)).collect();
    prop_assert_eq!(session.branch().iter().map(|e| e.id()).collect::<Vec<_>>(), &ids[..]);
    prop_assert_eq!(
        session.walk_up().map(|e| e.id()).collect::<Vec<_>>(),
        ids.iter().rev().copied().collect::<Vec<_>>()
    );
    let children = lines.iter().filter(|line| line["parentId"].as_str() == leaf).map(id);
    prop_assert_eq!(
        session.children(leaf).iter().map(|e| e.id()).collect::<Vec<_>>(),
        children.collect::<Vec<_>>()
    );
    for other in lines {
        let common =
            self::path(lines, Some(id(other))).into_iter().rfind(|line| ids.contains(&id(line)));
        let found = leaf.and_then(|leaf| session.common_ancestor(leaf, id(other)));
        prop_assert_eq!(found.map(|e| e.id()), common.map(id));
    }

    let expected = told(&path);
    let context = session.context();
    prop_assert!(context.diagnostics.is_empty());
    let found = session.context_entries();
    let by_entry: Vec<_> = found
        .iter()
        .map(|(entry, message)| {
            (entry.id().to_owned(), message.role().to_owned(), text_of(message))
        })
        .collect();
    prop_assert_eq!(&by_entry, &expected);
    prop_assert_eq!(
        found.into_iter().map(|(_, message)| message).collect::<Vec<_>>(),
        &context.messages[..]
    );
    check_prompt(&context, &path, &expected)?;

    let model = path.iter().rev().find_map(|line| match line["type"].as_str() {
        Some("model_change") => Some(("q".to_owned(), line["modelId"].as_str()?.to_owned())),
        _ if line["message"]["role"] == "assistant" => {
            Some(("p".to_owned(), line["message"]["model"].as_str()?.to_owned()))
        }
        _ => None,
    });
    let level = path.iter().rev().find_map(|line| line["thinkingLevel"].as_str());
    prop_assert_eq!(context.model, model);
    prop_assert_eq!(
        context.thinking_level.map(|level| serde_json::to_value(level).expect("JSON")),
        level.map(Value::from)
    );
    Ok(())
}

/// A node of the tree as the format has it.
fn node(lines: &[Value], line: &Value) -> Value {
    let mut node = json!({"entry": line, "children": nodes(lines, Some(id(line)))});
    let label =
        lines.iter().rfind(|label| label["type"] == "label" && label["targetId"] == line["id"]);
    if let Some(label) = label.filter(|label| label["label"] != "") {
        node["label"] = label["label"].clone();
        node["labelTimestamp"] = label["timestamp"].clone();
    }
    node
}

fn nodes(lines: &[Value], parent: Option<&str>) -> Value {
    lines
        .iter()
        .filter(|line| line["parentId"].as_str() == parent)
        .map(|line| node(lines, line))
        .collect()
}

fn check(session: &mut Session) -> Result<(), TestCaseError> {
    let lines = lines_of(session);
    check_leaf(session, &lines, None)?;
    for line in &lines {
        check_leaf(session, &lines, Some(id(line)))?;
    }
    let tree: Value = serde_json::from_str(&session.tree().to_json()).expect("JSON");
    prop_assert_eq!(&tree, &nodes(&lines, None));
    let labels = session.labels();
    for line in &lines {
        let label = node(&lines, line).get("label").cloned();
        prop_assert_eq!(labels.get(id(line)).map(|label| Value::from(label.text.as_str())), label);
        prop_assert_eq!(session.label(id(line)), labels.get(id(line)).cloned());
    }

    let totals = session.totals();
    let count =
        |role: &str| lines.iter().filter(|line| line["message"]["role"] == role).count() as u64;
    let paid: Vec<_> = lines
        .iter()
        .flat_map(|line| [&line["usage"], &line["message"]["usage"]])
        .filter(|usage| usage.is_object())
        .collect();
    let calls = lines.iter().filter(|line| line["message"]["content"][1]["type"] == "toolCall");
    prop_assert_eq!(
        (totals.user_messages, totals.assistant_messages, totals.tool_results),
        (count("user"), count("assistant"), count("toolResult"))
    );
    prop_assert_eq!(totals.tool_calls, calls.count() as u64);
    prop_assert_eq!(
        totals.total_messages,
        lines.iter().filter(|l| l["type"] == "message").count() as u64
    );
    prop_assert_eq!(
        totals.tokens.input,
        paid.iter().filter_map(|usage| usage["input"].as_u64()).sum::<u64>()
    );
    prop_assert_eq!(totals.tokens.total() - totals.tokens.input, 6 * paid.len() as u64);
    prop_assert_eq!(totals.cost, 0.25 * paid.len() as f64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_tree_agrees_with_its_lines_and_with_itself_reopened(
        steps in steps(),
    ) {
        let dir = tempfile::tempdir().expect("temp dir");
        let file = dir.path().join("s.jsonl");
        let mut session =
            Session::create(&file, Path::new("/w"), "s".to_owned()).expect("session");
        for (number, step) in steps.iter().enumerate() {
            let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
            match step {
                Step::Append(kind, at) => {
                    let target = if ids.is_empty() { "root" } else { at.get(&ids) };
                    session.append(body(kind, number, target)).expect("append");
                }
                Step::Go(at) => {
                    let at = at.filter(|_| !ids.is_empty()).map(|at| at.get(&ids).as_str());
                    session.set_leaf(at).expect("an entry");
                }
            }
        }
        check(&mut session)?;
        if session.is_saved() {
            let (mut again, diagnostics) = Session::open(&file, Path::new("/w")).expect("opens");
            prop_assert_eq!(diagnostics, []);
            prop_assert_eq!(again.leaf().map(|e| e.id()), again.entries().next_back().map(|e| e.id()));
            prop_assert_eq!(lines_of(&again), lines_of(&session));
            check(&mut again)?;
        }
    }
}
