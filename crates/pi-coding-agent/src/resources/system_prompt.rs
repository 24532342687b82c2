//! The system prompt, as named sections in their fixed order.
//!
//! Owns: pi's own words to the model. Never: holds a date or anything else that changes between two
//! runs; a changed byte costs the provider's cache.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use pi_agent::Tool;

use super::context_files::ContextFile;

const PREAMBLE: &str = "You are pi, a coding agent in the user's terminal. You help by reading files, running commands, and changing code.";
const MORE_TOOLS: &str = "The project may add tools of its own.";
const SHELL_FOR_FILES: &str = "Find and list files with bash: ls, rg, find.";
const CONCISE: &str = "Be concise.";
const SHOW_PATHS: &str = "Name the paths of files you work with.";
const CONTEXT_INTRO: &str = "Instructions of the user and the project:";

/// Tools that make `bash` unnecessary for looking around.
const SEARCH_TOOLS: [&str; 3] = ["grep", "find", "ls"];

/// What the prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// The active tools, in order.
    pub tools: &'a [Arc<dyn Tool>],
    /// Stands in for preamble, tools, rules and docs.
    pub custom: Option<&'a str>,
    pub append: Option<&'a str>,
    pub context_files: &'a [ContextFile],
    /// Body of the skills section; `None` when no skill is to be offered.
    pub skills: Option<&'a str>,
    /// Absolute directory of pi's own documentation, if there is one.
    pub docs_dir: Option<&'a Path>,
    pub cwd: &'a Path,
}

/// Sections by name, each with its tags; the preamble has none. To be joined by blank lines.
pub fn sections(parts: &PromptParts<'_>) -> IndexMap<String, String> {
    let mut sections = IndexMap::new();
    let mut add = |name: &str, body: &dyn Display| {
        sections.insert(name.to_owned(), format!("<{name}>\n{body}\n</{name}>"));
    };
    if parts.custom.is_none() {
        add("tools", &tools(parts.tools));
        add("rules", &rules(parts.tools));
        if let Some(docs) = parts.docs_dir {
            add(
                "docs",
                &format_args!(
                    "pi's documentation: {}. Read it only when asked about pi.",
                    docs.display()
                ),
            );
        }
    }
    if let Some(append) = parts.append {
        add("addendum", &append);
    }
    if !parts.context_files.is_empty() {
        add("project_context", &project_context(parts.context_files));
    }
    if let Some(skills) = parts.skills {
        add("skills", &skills);
    }
    add("cwd", &parts.cwd.display());
    sections.shift_insert(0, "preamble".to_owned(), parts.custom.unwrap_or(PREAMBLE).to_owned());
    sections
}

fn tools(tools: &[Arc<dyn Tool>]) -> String {
    let mut lines: Vec<String> = tools
        .iter()
        .filter_map(|tool| {
            Some(format!("- {}: {}", tool.definition().name, tool.prompt_snippet()?))
        })
        .collect();
    if lines.is_empty() {
        lines.push("(none)".to_owned());
    }
    lines.push(MORE_TOOLS.to_owned());
    lines.join("\n")
}

fn rules(tools: &[Arc<dyn Tool>]) -> String {
    let active = |name: &str| tools.iter().any(|tool| tool.definition().name == name);
    let shell = active("bash") && !SEARCH_TOOLS.iter().any(|name| active(name));
    let of_tools = tools.iter().flat_map(|tool| tool.prompt_guidelines()).map(String::as_str);
    let mut rules: Vec<&str> = shell.then_some(SHELL_FOR_FILES).into_iter().collect();
    for rule in of_tools.chain([CONCISE, SHOW_PATHS]) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules.iter().map(|rule| format!("- {rule}")).collect::<Vec<_>>().join("\n")
}

fn project_context(files: &[ContextFile]) -> String {
    let files = files.iter().map(|file| {
        format!(
            "\n\n<project_instructions path=\"{}\">\n{}\n</project_instructions>",
            file.path.display(),
            file.content
        )
    });
    std::iter::once(CONTEXT_INTRO.to_owned()).chain(files).collect()
}

#[cfg(test)]
mod tests;
