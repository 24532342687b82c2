//! Rewriting a conversation for the model that reads it next.
//!
//! Folds prompt and tool changes, drops what only another model may read, renames foreign tool-call
//! ids, gives every tool call a result, and leaves out results that answer no call. Pure.

use crate::types::Context;
use crate::types::{AssistantMessage, Message, Model, Tool};

mod fold;
mod transform;

#[cfg(test)]
mod tests;

pub use fold::{initial_tools, update_text};

/// What the target protocol and model can take.
pub struct HandoffRules<'a> {
    pub model: &'a Model,
    /// Later system messages stay in place; else they are folded into the leading prompt.
    pub mid_conversation_system: bool,
    /// Where tool changes go.
    pub tool_placement: ToolPlacement,
    /// New id of a tool call: old id, the answer it stands in, and whether that answer is the
    /// target model's own. Calls and their results are renamed alike.
    pub tool_call_id: &'a dyn Fn(&str, &AssistantMessage, bool) -> String,
}

impl std::fmt::Debug for HandoffRules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandoffRules").field("model", &self.model.id).finish_non_exhaustive()
    }
}

/// Where tools declared after the first request are told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolPlacement {
    /// The top-level list always holds the current tools.
    #[default]
    None,
    /// The top-level list holds the tools up to the last removal or redeclaration; later additions
    /// stay in their system messages.
    Additions,
    /// The list holds the leading tools only; every later change stays in place.
    Changes,
}

/// A conversation ready for a request builder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prepared {
    /// The leading prompt; empty when there is none.
    pub system_prompt: String,
    pub tools: Vec<Tool>,
    /// Holds system messages only where the rules keep them in place.
    pub messages: Vec<Message>,
}

/// Prepares `context` by `rules`. Messages that need no change are shared, not copied.
pub fn prepare(context: &Context, rules: &HandoffRules<'_>) -> Prepared {
    let folded = fold::fold(context, rules);
    let messages = transform::transform(folded.messages, rules);
    Prepared { system_prompt: folded.system_prompt, tools: folded.tools, messages }
}
