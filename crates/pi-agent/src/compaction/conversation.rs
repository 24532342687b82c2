//! A conversation as plain text, for a model that is to write about it and not to go on with it.

use pi_ai::{AssistantBlock, AssistantMessage, InputBlock, Message, ToolCall, ToolResultMessage};

use crate::message::{AgentMessage, convert_to_llm};

/// UTF-16 units of a tool's output that are shown.
const TOOL_RESULT_UNITS: usize = 2000;

/// One paragraph a message, with who says it in front. Prompts, thinking and images are left out.
pub(super) fn to_text(messages: &[AgentMessage]) -> String {
    let mut paragraphs = Vec::new();
    for message in convert_to_llm(messages) {
        match message {
            Message::System(_) => {}
            Message::User(m) => add(&mut paragraphs, "User", &m.content.to_text()),
            Message::Assistant(m) => add_answer(&mut paragraphs, &m),
            Message::ToolResult(m) => add(&mut paragraphs, "Tool result", &shortened(&m)),
        }
    }
    paragraphs.join("\n\n")
}

fn add(paragraphs: &mut Vec<String>, who: &str, text: &str) {
    if !text.is_empty() {
        paragraphs.push(format!("[{who}]: {text}"));
    }
}

fn add_answer(paragraphs: &mut Vec<String>, answer: &AssistantMessage) {
    let text = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Text(text) => Some(text.text.as_str()),
        AssistantBlock::Thinking(_) | AssistantBlock::ToolCall(_) => None,
    });
    add(paragraphs, "Assistant", &text.collect::<Vec<_>>().join("\n"));
    let calls: Vec<_> = answer.tool_calls().map(call_text).collect();
    add(paragraphs, "Assistant tool calls", &calls.join("; "));
}

/// As in `read(path="a.txt")`.
fn call_text(call: &ToolCall) -> String {
    let arguments = call.arguments.iter().map(|(name, value)| format!("{name}={value}"));
    format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", "))
}

fn shortened(result: &ToolResultMessage) -> String {
    let blocks = result.content.iter().filter_map(InputBlock::as_text);
    let text = blocks.collect::<Vec<_>>().join("\n");
    let mut units = 0;
    let end = text.char_indices().find(|(_, char)| {
        units += char.len_utf16();
        units > TOOL_RESULT_UNITS
    });
    let Some((end, _)) = end else { return text };
    let (shown, cut) = text.split_at(end);
    format!("{shown}\n\n[{} more characters not shown]", cut.encode_utf16().count())
}
