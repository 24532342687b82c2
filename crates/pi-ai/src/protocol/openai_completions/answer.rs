//! An earlier answer as a Chat Completions message.

use serde_json::{Map, Value, json};

use super::messages::MessageRules;
use crate::types::{AssistantBlock, AssistantMessage, ThinkingContent, ToolCall};

/// Delta fields reasoning text arrives in; it returns in the field it came from.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The message; `None` when neither text nor calls are left to say.
pub(super) fn answer_message(answer: &AssistantMessage, rules: MessageRules<'_>) -> Option<Value> {
    let compat = rules.compat;
    let text = visible_text(answer);
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));

    let mut says_something = text.is_some();
    let reasoning = spoken_thinking(answer);
    let content = match text {
        text if compat.thinking_as_text && !reasoning.is_empty() => {
            says_something = true;
            let mut parts = vec![json!({"type": "text", "text": join(&reasoning, "\n\n")})];
            parts.extend(text.map(|text| json!({"type": "text", "text": text})));
            Value::Array(parts)
        }
        Some(text) => Value::String(text),
        None if compat.non_null_assistant_content || compat.assistant_after_tool_result => {
            json!("")
        }
        None => Value::Null,
    };
    message.insert("content".into(), content);

    if !compat.thinking_as_text
        && let Some(field) = reasoning_field(&reasoning, rules)
    {
        message.insert(field.into(), json!(join(&reasoning, "\n")));
    }
    let calls: Vec<Value> = answer.tool_calls().map(|call| wire_call(call, rules)).collect();
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
        says_something = true;
    }
    if !compat.thinking_as_text
        && let Some(details) = reasoning_details(answer)
    {
        message.insert("reasoning_details".into(), Value::Array(details));
    }
    if compat.reasoning_content_always && rules.model.reasoning {
        message.entry("reasoning_content").or_insert_with(|| json!(""));
    }
    says_something.then_some(Value::Object(message))
}

/// Text blocks that are not blank, run together.
fn visible_text(answer: &AssistantMessage) -> Option<String> {
    let text: String = answer
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(text) if !text.text.trim().is_empty() => Some(text.text.as_str()),
            AssistantBlock::Text(_) | AssistantBlock::Thinking(_) | AssistantBlock::ToolCall(_) => {
                None
            }
        })
        .collect();
    (!text.is_empty()).then_some(text)
}

fn thinking_blocks(answer: &AssistantMessage) -> impl Iterator<Item = &ThinkingContent> {
    answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking(thinking) => Some(thinking),
        AssistantBlock::Text(_) | AssistantBlock::ToolCall(_) => None,
    })
}

fn spoken_thinking(answer: &AssistantMessage) -> Vec<&ThinkingContent> {
    thinking_blocks(answer).filter(|thinking| !thinking.thinking.trim().is_empty()).collect()
}

fn join(thinking: &[&ThinkingContent], separator: &str) -> String {
    thinking.iter().map(|block| block.thinking.as_str()).collect::<Vec<_>>().join(separator)
}

/// The field the first thought came from.
fn reasoning_field(thinking: &[&ThinkingContent], rules: MessageRules<'_>) -> Option<&'static str> {
    let signature = thinking.first()?.thinking_signature.as_deref()?;
    let field = REASONING_FIELDS.into_iter().find(|field| *field == signature)?;
    let moves = field == "reasoning" && rules.compat.quirks.reasoning_returns_as_content;
    Some(if moves { "reasoning_content" } else { field })
}

/// Details as the provider sent them: those kept with the calls, else those kept with the thinking.
fn reasoning_details(answer: &AssistantMessage) -> Option<Vec<Value>> {
    let of_calls: Vec<Value> = answer
        .tool_calls()
        .filter_map(|call| serde_json::from_str(call.thought_signature.as_deref()?).ok())
        .filter(Value::is_object)
        .collect();
    if !of_calls.is_empty() {
        return Some(of_calls);
    }
    thinking_blocks(answer)
        .filter_map(|thinking| serde_json::from_str(thinking.thinking_signature.as_deref()?).ok())
        .find(|details: &Vec<Value>| !details.is_empty())
}

fn wire_call(call: &ToolCall, rules: MessageRules<'_>) -> Value {
    if let Some(property) = rules.grammar_properties.get(&call.name) {
        let input = match call.arguments.get(property) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        return json!({
            "id": call.id,
            "type": "custom",
            "custom": {"name": call.name, "input": input},
        });
    }
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    })
}
