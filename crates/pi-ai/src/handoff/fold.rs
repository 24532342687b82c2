//! Folding prompt and tool changes.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{HandoffRules, ToolPlacement};
use crate::types::Context;
use crate::types::{Message, SystemContent, SystemMessage, Tool};

/// What is left of a context when its state changes are accounted for.
pub(super) struct Folded {
    pub(super) system_prompt: String,
    pub(super) tools: Vec<Tool>,
    pub(super) messages: Vec<Message>,
}

pub(super) fn fold(context: &Context, rules: &HandoffRules<'_>) -> Folded {
    let (lead, rest) = split_lead(context);
    let changes = || {
        rest.iter().enumerate().filter_map(|(position, message)| match message {
            Message::System(system) => Some((position, system.as_ref())),
            Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) => None,
        })
    };

    let mut prompt = Prompt::default();
    let mut tools = ToolSet::default();
    if let Some(lead) = &lead {
        prompt.apply(lead);
        tools.apply(lead);
    }
    if !rules.mid_conversation_system {
        changes().for_each(|(_, change)| prompt.apply(change));
    }
    // Changes from this position on tell of tools themselves.
    let told_from = match rules.tool_placement {
        ToolPlacement::None => rest.len(),
        ToolPlacement::Additions => first_told_addition(&tools, changes()),
        ToolPlacement::Changes => 0,
    };
    changes().filter(|(position, _)| *position < told_from).for_each(|(_, c)| tools.apply(c));

    let messages = rest
        .iter()
        .enumerate()
        .filter_map(|(position, message)| match message {
            Message::System(system) => {
                in_place(system, rules, position >= told_from).map(Message::System)
            }
            Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) => {
                Some(message.clone())
            }
        })
        .collect();
    Folded { system_prompt: prompt.render(), tools: tools.into_list(), messages }
}

/// The tools a conversation begins with.
pub fn initial_tools(context: &Context) -> &[Tool] {
    if has_own_lead(context) {
        return &context.tools;
    }
    match context.messages.first() {
        Some(Message::System(system)) => system.tools_added.as_deref().unwrap_or_default(),
        _ => &[],
    }
}

/// How a change of the prompt is told to the model in the middle of a conversation; empty when only
/// tools changed.
pub fn update_text(change: &SystemMessage) -> String {
    let mut parts = Vec::new();
    push_content(&change.content, &mut parts);
    for (name, text) in change.sections.iter().flatten() {
        parts.push(match text {
            Some(text) => format!("Updated system prompt section \"{name}\":\n\n{text}"),
            None => format!("Removed system prompt section \"{name}\"."),
        });
    }
    parts.join("\n\n")
}

/// The message that states prompt and tools at first, and the messages after it.
fn split_lead(context: &Context) -> (Option<Arc<SystemMessage>>, &[Message]) {
    if has_own_lead(context) {
        let lead = SystemMessage {
            content: SystemContent::Text(context.system_prompt.clone().unwrap_or_default()),
            tools_added: Some(context.tools.clone()),
            ..SystemMessage::default()
        };
        return (Some(Arc::new(lead)), &context.messages);
    }
    match context.messages.split_first() {
        Some((Message::System(lead), rest)) => (Some(Arc::clone(lead)), rest),
        _ => (None, &context.messages),
    }
}

fn has_own_lead(context: &Context) -> bool {
    context.system_prompt.as_deref().is_some_and(|prompt| !prompt.is_empty())
        || !context.tools.is_empty()
}

/// Position after the last change that removes or redeclares a tool.
fn first_told_addition<'a>(
    lead: &ToolSet,
    changes: impl Iterator<Item = (usize, &'a SystemMessage)>,
) -> usize {
    let mut tools = lead.clone();
    let mut first = 0;
    for (position, change) in changes {
        let removes = change.tools_removed.iter().flatten().any(|tool| tools.has(&tool.name));
        let redeclares = change.tools_added.iter().flatten().any(|tool| tools.has(&tool.name));
        if removes || redeclares {
            first = position + 1;
        }
        tools.apply(change);
    }
    first
}

/// A later system message without what is told elsewhere; `None` when nothing is left.
fn in_place(
    system: &Arc<SystemMessage>,
    rules: &HandoffRules<'_>,
    keep_tools: bool,
) -> Option<Arc<SystemMessage>> {
    let has_prompt = rules.mid_conversation_system && !update_text(system).is_empty();
    let has_tools = system.tools_added.as_ref().is_some_and(|tools| !tools.is_empty())
        || system.tools_removed.as_ref().is_some_and(|tools| !tools.is_empty());
    match (has_prompt, has_tools && keep_tools) {
        (false, false) => None,
        (true, true) => Some(Arc::clone(system)),
        (true, false) if !has_tools => Some(Arc::clone(system)),
        (true, false) => Some(Arc::new(SystemMessage {
            content: system.content.clone(),
            sections: system.sections.clone(),
            timestamp: system.timestamp,
            tools_added: None,
            tools_removed: None,
        })),
        (false, true) => Some(Arc::new(SystemMessage {
            content: SystemContent::default(),
            sections: None,
            timestamp: system.timestamp,
            tools_added: system.tools_added.clone(),
            tools_removed: system.tools_removed.clone(),
        })),
    }
}

/// Each non-empty text of `content` becomes a part of its own.
fn push_content(content: &SystemContent, parts: &mut Vec<String>) {
    match content {
        SystemContent::Text(text) if text.is_empty() => {}
        SystemContent::Text(text) => parts.push(text.clone()),
        SystemContent::Blocks(blocks) => {
            let texts = blocks.iter().map(|block| &block.text.text);
            parts.extend(texts.filter(|text| !text.is_empty()).cloned());
        }
    }
}

#[derive(Default)]
struct Prompt {
    contents: Vec<String>,
    sections: IndexMap<String, String>,
}

impl Prompt {
    fn apply(&mut self, change: &SystemMessage) {
        push_content(&change.content, &mut self.contents);
        for (name, text) in change.sections.iter().flatten() {
            match text {
                Some(text) => drop(self.sections.insert(name.clone(), text.clone())),
                None => drop(self.sections.shift_remove(name)),
            }
        }
    }

    fn render(mut self) -> String {
        self.contents.extend(self.sections.into_values().filter(|text| !text.is_empty()));
        self.contents.join("\n\n")
    }
}

/// Tools in order of their first declaration.
#[derive(Default, Clone)]
struct ToolSet(IndexMap<String, Tool>);

impl ToolSet {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A tool removed and declared in one change is a redeclaration: it keeps its place.
    fn apply(&mut self, change: &SystemMessage) {
        let added = change.tools_added.as_deref().unwrap_or_default();
        for removed in change.tools_removed.iter().flatten() {
            if !added.iter().any(|tool| tool.name == removed.name) {
                drop(self.0.shift_remove(&removed.name));
            }
        }
        for tool in added {
            drop(self.0.insert(tool.name.clone(), tool.clone()));
        }
    }

    fn into_list(self) -> Vec<Tool> {
        self.0.into_values().collect()
    }
}
