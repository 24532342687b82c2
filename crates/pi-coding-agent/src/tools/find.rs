//! The tool that finds files and folders by name.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::FileKind;
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::listing::{Listing, Notice, Unreadable};
use super::search_call::{self, SearchCall};
use super::{ToolContext, arguments, definition};
use crate::search::{RuleKind, Visit};
use pattern::Pattern;

mod pattern;

/// Finds files and folders whose names match a glob.
#[derive(Debug)]
pub struct FindTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
}

/// Bytes of the longest pattern: beyond it no path can match.
const MAX_PATTERN: usize = 16 * 1024;

/// Results shown unless the model asks for more.
const DEFAULT_LIMIT: u64 = 1000;

impl FindTool {
    pub fn new(context: Arc<ToolContext>) -> Self {
        let definition = definition(
            "find",
            "Find files and directories by glob; paths come relative to the searched directory. \
             Respects .gitignore, includes hidden files. Stops after 1000 results or 50KB.",
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "Glob: *.rs matches names anywhere, src/**/*.ts paths",
                    },
                    "path": {
                        "type": "string",
                        "description": "Directory; the working directory by default",
                    },
                    "limit": {"type": "number", "description": "Most results, 1000 by default"},
                },
            }),
        );
        Self { context, definition }
    }
}

impl Tool for FindTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Find files by glob pattern")
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments::without_nulls(arguments, &["path", "limit"]))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let pattern = arguments::text(&call.arguments, "pattern")?;
            if pattern.len() > MAX_PATTERN {
                let text = format!("The pattern is longer than {MAX_PATTERN} bytes");
                return Err(ToolError::new(text));
            }
            let pattern =
                Pattern::new(&pattern).map_err(|error| ToolError::new(error.to_string()))?;
            let work = move |call| find(&call, pattern);
            search_call::run(&self.context, &call, DEFAULT_LIMIT, work).await
        })
    }
}

fn find(call: &SearchCall, pattern: Pattern) -> Result<ToolOutput, ToolError> {
    let names = Names { pattern, root: &call.root };
    let mut lines = Listing::default();
    let mut left = call.limit;
    let mut is_cut = false;
    let walked = call.tree(RuleKind::NAMES).walk(&names, |found: Vec<String>| {
        for path in found {
            if left == 0 {
                is_cut = true;
                return ControlFlow::Break(());
            }
            left -= 1;
            lines.push(&path);
        }
        ControlFlow::Continue(())
    });
    let problems = walked.map_err(|error| call.refused(&error))?;
    let too_many = is_cut.then(|| {
        let hint = ", or refine pattern";
        Notice::limit("results", call.limit, hint, "resultLimitReached")
    });
    let mut unreadable = Unreadable::default();
    unreadable.extend(problems.iter().map(|error| (&*error.path, error.reason())));
    let after = unreadable.notice(&call.root);
    Ok(lines.output("No files found matching pattern", too_many, after))
}

/// Looks at names only.
struct Names<'a> {
    pattern: Pattern,
    root: &'a Path,
}

impl Visit for Names<'_> {
    type Picked = String;
    type Found = Vec<String>;
    type Bench = ();
    const IS_LONG: bool = false;

    fn bench(&self) {}

    fn pick(&self, path: &Path, kind: FileKind) -> Option<String> {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let is_folder = kind == FileKind::Directory;
        let found = self.pattern.matches(path, relative, is_folder);
        found.then(|| {
            let name = relative.to_string_lossy();
            if is_folder { format!("{name}/") } else { name.into_owned() }
        })
    }

    fn look(&self, (): &mut (), picked: Vec<String>) -> Vec<String> {
        picked
    }
}

#[cfg(test)]
mod tests;
