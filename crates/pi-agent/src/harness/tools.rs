//! Which tools there are, and which of them the model may call.

use std::sync::Arc;

use super::Harness;
use crate::tool::Tool;

/// Which tools are active when a conversation is taken up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveTools {
    /// Those of these names, whatever the session says.
    Only(Vec<String>),
    /// As the session left them; where it says nothing of tools, those of these names.
    Restored(Vec<String>),
}

/// Every tool, active or not, in the order the model sees them.
#[derive(Debug)]
pub(super) struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    active: ActiveTools,
}

impl ToolRegistry {
    pub(super) fn new(tools: Vec<Arc<dyn Tool>>, active: ActiveTools) -> Self {
        Self { tools, active }
    }

    /// Those that are active before the session has been read.
    pub(super) fn default_active(&self) -> Vec<Arc<dyn Tool>> {
        let (ActiveTools::Only(names) | ActiveTools::Restored(names)) = &self.active;
        self.named(names)
    }

    /// Those the session left active; `None` when that does not count, or nothing is recorded.
    pub(super) fn restore(&self, recorded: Option<&[String]>) -> Option<Vec<Arc<dyn Tool>>> {
        match (&self.active, recorded) {
            (ActiveTools::Restored(_), Some(names)) => Some(self.named(names)),
            _ => None,
        }
    }

    /// The tools of these names, in the order of the names. Names nobody has are left out.
    fn named(&self, names: &[impl AsRef<str>]) -> Vec<Arc<dyn Tool>> {
        let tool =
            |name: &str| self.tools.iter().find(|tool| tool.definition().name == name).cloned();
        names.iter().filter_map(|name| tool(name.as_ref())).collect()
    }
}

/// Tools. What is changed while a prompt is on counts from the next request, which tells the model.
impl Harness {
    /// Every tool there is, active or not.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.inner.state().tools.tools.clone()
    }

    /// Adds a tool, or puts it in the place of the one of its name. `is_active` counts unless the
    /// conversation has seen the tool taken away.
    pub fn register_tool(&self, tool: Arc<dyn Tool>, is_active: bool) {
        self.inner.load();
        let name = tool.definition().name.clone();
        let is_active = is_active && !self.inner.state().prompt.withdrawn.contains(&name);
        let mut active = self.active_tools();
        if is_active && !active.contains(&name) {
            active.push(name.clone());
        }
        {
            let tools = &mut self.inner.state().tools.tools;
            match tools.iter_mut().find(|known| known.definition().name == name) {
                Some(known) => *known = tool,
                None => tools.push(tool),
            }
        }
        self.set_active_tools(&active);
    }

    /// Takes a tool away; `false` when there is none of the name.
    pub fn unregister_tool(&self, name: &str) -> bool {
        self.inner.load();
        let is_gone = {
            let tools = &mut self.inner.state().tools.tools;
            let before = tools.len();
            tools.retain(|tool| tool.definition().name != name);
            tools.len() < before
        };
        self.set_active_tools(&self.active_tools());
        is_gone
    }

    /// Names of the active tools, in the order the model sees them.
    pub fn active_tools(&self) -> Vec<String> {
        self.inner.load();
        let tools = self.inner.agent.tools();
        tools.iter().map(|tool| tool.definition().name.clone()).collect()
    }

    /// Makes the tools of these names the active ones. Tools that stay keep their place; names
    /// nobody has are left out.
    pub fn set_active_tools(&self, names: &[impl AsRef<str>]) {
        self.inner.load();
        let current = self.inner.agent.tools();
        let place = |tool: &Arc<dyn Tool>| {
            let name = &tool.definition().name;
            current.iter().position(|t| t.definition().name == *name).unwrap_or(usize::MAX)
        };
        let mut tools = self.inner.state().tools.named(names);
        tools.sort_by_key(place);
        self.inner.agent.set_tools(tools);
    }
}
