//! Prompt sections and tools as the system messages of a conversation leave them.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use pi_ai::{SystemMessage, Tool, ToolReference};

/// The prompt a conversation has reached. Order is that of first mention.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptState {
    pub sections: IndexMap<String, String>,
    pub tools: IndexMap<String, Tool>,
    /// What system messages said outside of sections, in order.
    pub text: String,
    /// Names of tools that were taken away and not given back.
    pub withdrawn: BTreeSet<String>,
}

impl PromptState {
    /// Plays one more system message.
    pub fn apply(&mut self, message: &SystemMessage) {
        let text = message.content.to_text();
        if !text.is_empty() {
            if !self.text.is_empty() {
                self.text.push_str("\n\n");
            }
            self.text.push_str(&text);
        }
        for (name, text) in message.sections.iter().flatten() {
            if let Some(text) = text {
                self.sections.insert(name.clone(), text.clone());
            } else {
                self.sections.shift_remove(name);
            }
        }
        for removed in message.tools_removed.iter().flatten() {
            self.tools.shift_remove(&removed.name);
            self.withdrawn.insert(removed.name.clone());
        }
        for tool in message.tools_added.iter().flatten() {
            self.tools.insert(tool.name.clone(), tool.clone());
            self.withdrawn.remove(&tool.name);
        }
    }

    /// The message that leads from here to the wanted prompt; `None` when it is reached already.
    /// The order of tools alone is no difference. The timestamp is now.
    pub fn patch_to(
        &self,
        sections: &IndexMap<String, String>,
        tools: &[Tool],
    ) -> Option<SystemMessage> {
        let changed = sections
            .iter()
            .filter(|(name, text)| self.sections.get(*name) != Some(text))
            .map(|(name, text)| (name.clone(), Some(text.clone())));
        let gone = self
            .sections
            .keys()
            .filter(|name| !sections.contains_key(*name))
            .map(|name| (name.clone(), None));
        let sections: IndexMap<_, _> = changed.chain(gone).collect();
        let added: Vec<Tool> =
            tools.iter().filter(|tool| self.tools.get(&tool.name) != Some(tool)).cloned().collect();
        let removed: Vec<ToolReference> = self
            .tools
            .keys()
            .filter(|name| !tools.iter().any(|tool| tool.name == **name))
            .map(|name| ToolReference { name: name.clone() })
            .collect();
        if sections.is_empty() && added.is_empty() && removed.is_empty() {
            return None;
        }
        Some(SystemMessage {
            sections: (!sections.is_empty()).then_some(sections),
            timestamp: pi_ai::now_ms(),
            tools_added: (!added.is_empty()).then_some(added),
            tools_removed: (!removed.is_empty()).then_some(removed),
            ..SystemMessage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> Tool {
        serde_json::from_value(json!({
            "name": name, "description": description, "parameters": {"type": "object"}
        }))
        .expect("tool")
    }

    fn sections(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    /// The patch as JSON without its time.
    fn patch(state: &PromptState, s: &[(&str, &str)], tools: &[Tool]) -> serde_json::Value {
        let mut json = serde_json::to_value(state.patch_to(&sections(s), tools)).expect("JSON");
        if let Some(fields) = json.as_object_mut() {
            fields.remove("timestamp");
        }
        json
    }

    #[test]
    fn the_first_patch_holds_everything_and_later_ones_only_changes() {
        let mut state = PromptState::default();
        let (a, b) = (tool("a", "1"), tool("b", "1"));
        let first = state.patch_to(&sections(&[("p", "x"), ("q", "y")]), &[a.clone(), b.clone()]);
        state.apply(&first.expect("first patch"));
        assert_eq!(state.sections, sections(&[("p", "x"), ("q", "y")]));
        assert_eq!(state.tools.keys().collect::<Vec<_>>(), ["a", "b"]);

        let same = [("p", "x"), ("q", "y")];
        assert_eq!(patch(&state, &same, &[a.clone(), b.clone()]), json!(null));
        assert_eq!(patch(&state, &same, &[b.clone(), a.clone()]), json!(null));
        assert_eq!(
            patch(&state, &[("p", "z")], &[a.clone(), b]),
            json!({"content": "", "sections": {"p": "z", "q": null}})
        );
        assert_eq!(
            patch(&state, &same, &[tool("a", "2")]),
            json!({"content": "", "toolsAdded": [tool("a", "2")], "toolsRemoved": [{"name": "b"}]})
        );
        assert_eq!(
            patch(&state, &same, &[a]),
            json!({"content": "", "toolsRemoved": [{"name": "b"}]})
        );
    }

    #[test]
    fn replaying_patches_reaches_the_wanted_prompt() {
        let mut state = PromptState::default();
        let steps = [
            (sections(&[("p", "x"), ("q", "y")]), vec![tool("a", "1"), tool("b", "1")]),
            (sections(&[("q", "y2")]), vec![tool("b", "1")]),
            (sections(&[("q", "y2"), ("p", "x")]), vec![tool("b", "2"), tool("a", "1")]),
            (sections(&[]), vec![]),
        ];
        for (sections, tools) in steps {
            if let Some(message) = state.patch_to(&sections, &tools) {
                state.apply(&message);
            }
            assert_eq!(state.patch_to(&sections, &tools), None);
        }
    }
}
