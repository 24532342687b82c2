//! The tool that looks for a pattern in files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use pi_agent::env::{BlockingFiles, EnvErrorKind, FileKind, blocking_files};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::listing::{Listing, Notice, Unreadable};
use super::{ToolContext, aborted, arguments, blocking, definition, refused};
use crate::search::{self, RuleKind};
use file_search::{FileSearch, Query, Searched};

mod file_lines;
mod file_search;

/// Finds lines that match a pattern, in a file or in all files of a tree.
#[derive(Debug)]
pub struct GrepTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
}

/// Matches shown unless the model asks for more.
const DEFAULT_LIMIT: u64 = 100;

impl GrepTool {
    pub fn new(context: Arc<ToolContext>) -> Self {
        let definition = definition(
            "grep",
            "Search file contents for a pattern; lines come as path:line: text. Respects .gitignore, \
             includes hidden files, skips binary ones. Stops after 100 matches or 50KB; lines are \
             cut at 500 characters.",
            json!({
                "type": "object",
                "required": ["pattern"],
                "properties": {
                    "pattern": {
                        "type": "string",
                        "description": "Regular expression, or plain text with literal",
                    },
                    "path": {
                        "type": "string",
                        "description": "File or directory; the working directory by default",
                    },
                    "glob": {
                        "type": "string",
                        "description": "Only files like this, such as *.rs or src/**/*.ts",
                    },
                    "ignoreCase": {"type": "boolean", "description": "Ignore case"},
                    "literal": {"type": "boolean", "description": "The pattern is plain text"},
                    "context": {
                        "type": "number",
                        "description": "Lines shown before and after each match, 0 by default",
                    },
                    "limit": {"type": "number", "description": "Most matches, 100 by default"},
                },
            }),
        );
        Self { context, definition }
    }
}

impl Tool for GrepTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Search file contents for patterns")
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        let optional = ["path", "glob", "ignoreCase", "literal", "context", "limit"];
        Ok(arguments::without_nulls(arguments, &optional))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = &call.arguments;
            let pattern = arguments::text(arguments, "pattern")?;
            let path = arguments::optional_text(arguments, "path")?;
            let context = arguments::number(arguments, "context")?.map_or(0, arguments::whole);
            let matcher = matcher(
                &pattern,
                Style {
                    is_literal: arguments::flag(arguments, "literal"),
                    ignore_case: arguments::flag(arguments, "ignoreCase"),
                },
            )?;
            let context = usize::try_from(context).unwrap_or(usize::MAX).min(MAX_CONTEXT);
            // Whoever stops waiting leaves nothing behind that goes on searching.
            let cancel = call.cancel.child_token();
            let _end = cancel.clone().drop_guard();
            let request = Request {
                context: Arc::clone(&self.context),
                files: blocking_files(&self.context.env),
                root: self.context.resolve(path.as_deref().unwrap_or(".")),
                query: Query { matcher, context },
                glob: arguments::optional_text(arguments, "glob")?,
                limit: arguments::limit(arguments, "limit", DEFAULT_LIMIT)?,
                cancel,
            };
            let work = blocking(move || request.run());
            call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
        })
    }
}

/// Lines of context beyond this are more than a result can hold.
const MAX_CONTEXT: usize = 25_000;

/// How a pattern is meant.
#[derive(Clone, Copy)]
struct Style {
    is_literal: bool,
    ignore_case: bool,
}

fn matcher(pattern: &str, style: Style) -> Result<RegexMatcher, ToolError> {
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .fixed_strings(style.is_literal)
        .case_insensitive(style.ignore_case)
        .line_terminator(Some(b'\n'))
        .build_many(&[pattern]);
    matcher.map_err(|error| {
        // The matcher has put the pattern into a larger one; its author should see their own.
        let plain = if style.is_literal { None } else { regex::Regex::new(pattern).err() };
        let plain = plain.map(|plain| plain.to_string());
        ToolError::new(match (plain, error.kind()) {
            (Some(plain), _) => plain,
            (None, ErrorKind::NotAllowed(_)) => format!(
                "{error}\n\nLines are searched one at a time: no match goes over the end of a line."
            ),
            (None, _) => error.to_string(),
        })
    })
}

struct Request {
    context: Arc<ToolContext>,
    files: Arc<dyn BlockingFiles>,
    root: PathBuf,
    query: Query,
    glob: Option<String>,
    limit: u64,
    cancel: CancellationToken,
}

impl Request {
    fn run(self) -> Result<ToolOutput, ToolError> {
        let root = self.files.stat(&self.root).map_err(|error| match error.kind {
            EnvErrorKind::NotFound => {
                ToolError::new(format!("Path not found: {}", self.root.display()))
            }
            _ => refused(&error),
        })?;
        let search = FileSearch {
            query: self.query,
            files: Arc::clone(&self.files),
            root: self.root.clone(),
            // One more tells whether there are more than are wanted.
            limit: self.limit.saturating_add(1),
            cancel: self.cancel.clone(),
        };
        let mut results = Results::new(self.limit);
        if root.kind == FileKind::Other {
            let path = self.root.display();
            return Err(ToolError::new(format!(
                "Not a regular file: {path}. Use bash to read it."
            )));
        }
        if root.kind == FileKind::Directory {
            let overrides = overrides(&self.root, self.glob.as_deref())?;
            let tree =
                search::tree(&self.context.env, self.files, self.root, RuleKind::TEXT, self.cancel)
                    .with_overrides(overrides);
            let problems =
                tree.walk(&search, |found| results.take(found)).map_err(|error| refused(&error))?;
            results.unreadable.extend(problems.iter().map(|error| (&*error.path, error.cause())));
        } else {
            let mut searchers = search.searchers(true, search.limit);
            let found = search.file(&mut searchers, self.root);
            if let (0, Some(problem)) = (found.lines.matches, &found.problem) {
                return Err(ToolError::new(problem.to_string()));
            }
            _ = results.take(vec![found]);
        }
        Ok(results.output(&search))
    }
}

fn overrides(root: &Path, glob: Option<&str>) -> Result<Override, ToolError> {
    let mut builder = OverrideBuilder::new(root);
    if let Some(glob) = glob.filter(|glob| !glob.is_empty()) {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        builder.add(glob).map_err(|error| ToolError::new(error.to_string()))?;
    }
    builder.build().map_err(|error| ToolError::new(error.to_string()))
}

/// What was found so far.
struct Results {
    limit: u64,
    lines: Listing,
    matches: u64,
    has_cut_lines: bool,
    /// The file that has the first match too many, and how many of its matches are wanted.
    last: Option<(PathBuf, u64)>,
    unreadable: Unreadable,
}

impl Results {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            lines: Listing::default(),
            matches: 0,
            has_cut_lines: false,
            last: None,
            unreadable: Unreadable::default(),
        }
    }

    fn take(&mut self, found: Vec<Searched>) -> ControlFlow<()> {
        for file in found {
            if let Some(problem) = &file.problem {
                self.unreadable.extend([(&*file.path, problem.to_string())]);
            }
            if file.lines.matches > self.limit - self.matches {
                self.last = Some((file.path, self.limit - self.matches));
                return ControlFlow::Break(());
            }
            self.add(&file);
        }
        ControlFlow::Continue(())
    }

    fn add(&mut self, file: &Searched) {
        self.matches += file.lines.matches;
        self.has_cut_lines |= file.lines.has_cut_lines;
        self.lines.append(&file.lines.lines);
    }

    fn output(mut self, search: &FileSearch) -> ToolOutput {
        let limit = self.limit;
        let is_cut = self.last.is_some();
        if let Some((path, wanted @ 1..)) = self.last.take() {
            // Once more, to end where the wanted matches and what belongs to them end.
            let mut searchers = search.searchers(path == search.root, wanted);
            self.add(&search.file(&mut searchers, path));
        }
        let too_many = is_cut.then(|| Notice {
            text: format!(
                "{limit} matches limit reached. Use limit={} for more, or refine pattern",
                limit.saturating_mul(2)
            ),
            detail: Some(("matchLimitReached", json!(limit))),
        });
        let cut_lines = self.has_cut_lines.then(|| Notice {
            text: "Some lines truncated to 500 chars. Use read tool to see full lines".to_owned(),
            detail: Some(("linesTruncated", json!(true))),
        });
        let after = cut_lines.into_iter().chain(self.unreadable.notice(&search.root));
        self.lines.output("No matches found", too_many, after)
    }
}

#[cfg(test)]
mod tests;
