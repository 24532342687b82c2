//! The tool that finds files and folders by name.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{BlockingFiles, EnvErrorKind, FileKind, blocking_files};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::listing::{Listing, Notice, Unreadable};
use super::{ToolContext, aborted, arguments, blocking, definition, refused};
use crate::search::{self, RuleKind, Visit};
use pattern::Pattern;

mod pattern;

/// Finds files and folders whose names match a glob.
#[derive(Debug)]
pub struct FindTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
}

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
            let arguments = &call.arguments;
            let pattern = arguments::text(arguments, "pattern")?;
            let path = arguments::optional_text(arguments, "path")?;
            // Whoever stops waiting leaves nothing behind that goes on searching.
            let cancel = call.cancel.child_token();
            let _end = cancel.clone().drop_guard();
            let request = Request {
                context: Arc::clone(&self.context),
                files: blocking_files(&self.context.env),
                root: self.context.resolve(path.as_deref().unwrap_or(".")),
                pattern: Pattern::new(&pattern)
                    .map_err(|error| ToolError::new(error.to_string()))?,
                limit: arguments::limit(arguments, "limit", DEFAULT_LIMIT)?,
                cancel,
            };
            let work = blocking(move || request.run());
            call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
        })
    }
}

struct Request {
    context: Arc<ToolContext>,
    files: Arc<dyn BlockingFiles>,
    root: PathBuf,
    pattern: Pattern,
    limit: u64,
    cancel: CancellationToken,
}

impl Request {
    fn run(self) -> Result<ToolOutput, ToolError> {
        let names = Names { pattern: self.pattern, root: &self.root };
        let tree = search::tree(
            &self.context.env,
            self.files,
            self.root.clone(),
            RuleKind::NAMES,
            self.cancel,
        );
        let mut lines = Listing::default();
        let mut left = self.limit;
        let mut is_cut = false;
        let walked = tree.walk(&names, |found: Vec<String>| {
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
        let problems = walked.map_err(|error| match error.kind {
            EnvErrorKind::NotFound => {
                ToolError::new(format!("Path not found: {}", self.root.display()))
            }
            EnvErrorKind::NotDirectory => {
                ToolError::new(format!("Not a directory: {}", self.root.display()))
            }
            _ => refused(&error),
        })?;
        let limit = self.limit;
        let too_many = is_cut.then(|| Notice {
            text: format!(
                "{limit} results limit reached. Use limit={} for more, or refine pattern",
                limit.saturating_mul(2)
            ),
            detail: Some(("resultLimitReached", json!(limit))),
        });
        let mut unreadable = Unreadable::default();
        unreadable.extend(problems.iter().map(|error| (&*error.path, error.cause())));
        let after = unreadable.notice(&self.root);
        Ok(lines.output("No files found matching pattern", too_many, after))
    }
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
