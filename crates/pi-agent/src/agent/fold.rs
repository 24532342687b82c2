//! Keeps the answer that is arriving up to date with the events told.

use pi_ai::{
    AssistantBlock, AssistantEvent, AssistantMessage, TextContent, ThinkingContent, ToolCall,
};

/// Applies one event. Costs the length of its delta.
pub(super) fn fold(message: &mut AssistantMessage, event: &AssistantEvent) {
    match event {
        AssistantEvent::TextStart { .. } => {
            message.content.push(AssistantBlock::Text(TextContent::default()));
        }
        AssistantEvent::ThinkingStart { .. } => {
            message.content.push(AssistantBlock::Thinking(ThinkingContent::default()));
        }
        AssistantEvent::ToolCallStart { id, tool_name, .. } => {
            message.content.push(AssistantBlock::ToolCall(ToolCall {
                id: id.clone(),
                name: tool_name.clone(),
                ..ToolCall::default()
            }));
        }
        AssistantEvent::TextDelta { content_index, delta } => {
            if let Some(AssistantBlock::Text(block)) = message.content.get_mut(*content_index) {
                block.text.push_str(delta);
            }
        }
        AssistantEvent::ThinkingDelta { content_index, delta } => {
            if let Some(AssistantBlock::Thinking(block)) = message.content.get_mut(*content_index) {
                block.thinking.push_str(delta);
            }
        }
        AssistantEvent::ToolCallEnd { content_index, tool_call } => {
            if let Some(AssistantBlock::ToolCall(block)) = message.content.get_mut(*content_index) {
                block.clone_from(tool_call);
            }
        }
        AssistantEvent::Start
        | AssistantEvent::TextEnd { .. }
        | AssistantEvent::ThinkingEnd { .. }
        | AssistantEvent::ToolCallDelta { .. }
        | AssistantEvent::Done { .. }
        | AssistantEvent::Error { .. } => {}
    }
}
