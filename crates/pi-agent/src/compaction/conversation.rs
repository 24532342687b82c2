//! A conversation as plain text, for a model that is to write about it and not to go on with it.

use pi_ai::utf16::text_units;
use pi_ai::{AssistantBlock, AssistantMessage, InputBlock, Message, ToolCall, ToolResultMessage};

use crate::message::{AgentMessage, convert_to_llm};

/// UTF-16 units of a tool's output that are shown.
const TOOL_RESULT_UNITS: u64 = 2000;

/// The paragraphs of a conversation, one below the other.
pub(super) fn to_text(messages: &[AgentMessage]) -> String {
    paragraphs(messages).join(BETWEEN)
}

/// What stands between two paragraphs.
pub(super) const BETWEEN: &str = "\n\n";

/// One paragraph a message, with who says it in front. Prompts, thinking and images are left out.
pub(super) fn paragraphs(messages: &[AgentMessage]) -> Vec<String> {
    let mut paragraphs = Vec::new();
    for message in convert_to_llm(messages) {
        match message {
            Message::System(_) => {}
            Message::User(m) => add(&mut paragraphs, "User", &m.content.to_text()),
            Message::Assistant(m) => add_answer(&mut paragraphs, &m),
            Message::ToolResult(m) => add(&mut paragraphs, "Tool result", &result_text(&m)),
        }
    }
    paragraphs
}

/// The first `units` UTF-16 units of a text, with a notice of how many more there are.
pub(super) fn shortened(text: String, units: u64) -> String {
    let mut counted = 0;
    let end = text.char_indices().find(|(_, char)| {
        counted += if u32::from(*char) > 0xFFFF { 2 } else { 1 };
        counted > units
    });
    let Some((end, _)) = end else { return text };
    let (shown, cut) = text.split_at(end);
    format!("{shown}\n\n[{} more characters not shown]", text_units(cut))
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

fn result_text(result: &ToolResultMessage) -> String {
    let blocks = result.content.iter().filter_map(InputBlock::as_text);
    shortened(blocks.collect::<Vec<_>>().join("\n"), TOOL_RESULT_UNITS)
}
