//! Which files a conversation touched, by its tool calls.
//!
//! Owns: the sets, the two lists they come to, and the lists' text below a summary. Never: looks
//! at a file; paths are what the model wrote.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::message::AgentMessage;

/// Paths by what was done to them, or tried: failed calls count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileOperations {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}

/// What a summary says of files; the `details` of its entry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileLists {
    /// Only read.
    pub read_files: Vec<String>,
    /// Written or edited.
    pub modified_files: Vec<String>,
}

impl FileOperations {
    /// Adds the calls of a message: an answer's own, a tool result's nested ones.
    pub fn add_message(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Assistant(answer) => {
                for call in answer.tool_calls() {
                    self.add_call(&call.name, &call.arguments);
                }
            }
            AgentMessage::ToolResult(result) => {
                let nested = result.nested_calls.iter().flat_map(|nested| &nested.calls);
                for call in nested {
                    if let Some(Value::Object(arguments)) = &call.arguments {
                        self.add_call(&call.name, arguments);
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the lists of an earlier summary. Details of another shape add nothing.
    pub fn add_details(&mut self, details: Option<&Value>) {
        let lists = details.and_then(|details| FileLists::deserialize(details).ok());
        let lists = lists.unwrap_or_default();
        self.read.extend(lists.read_files);
        self.edited.extend(lists.modified_files);
    }

    /// Both lists, sorted.
    pub fn lists(&self) -> FileLists {
        let modified: BTreeSet<_> = self.written.union(&self.edited).cloned().collect();
        FileLists {
            read_files: self.read.difference(&modified).cloned().collect(),
            modified_files: modified.into_iter().collect(),
        }
    }

    fn add_call(&mut self, tool: &str, arguments: &Map<String, Value>) {
        let set = match tool {
            "read" => &mut self.read,
            "write" => &mut self.written,
            "edit" => &mut self.edited,
            _ => return,
        };
        if let Some(Value::String(path)) = arguments.get("path").filter(|path| *path != "") {
            set.insert(path.clone());
        }
    }
}

impl FileLists {
    /// Puts the lists below a summary; an empty one is left out.
    pub(super) fn append_to(&self, summary: &mut String) {
        for (tag, paths) in [(READ, &self.read_files), (MODIFIED, &self.modified_files)] {
            if !paths.is_empty() {
                _ = write!(summary, "\n\n<{tag}>\n{}\n</{tag}>", paths.join("\n"));
            }
        }
    }
}

/// A summary without the lists below it.
pub(super) fn without_lists(summary: &str) -> &str {
    let mut rest = summary;
    for tag in [MODIFIED, READ] {
        let text = rest.strip_suffix(&format!("\n</{tag}>"));
        let text = text.and_then(|text| text.rsplit_once(&format!("\n\n<{tag}>\n")));
        rest = text.map_or(rest, |(before, _)| before);
    }
    rest
}

const READ: &str = "read-files";
const MODIFIED: &str = "modified-files";
