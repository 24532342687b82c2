//! The tool that looks for a pattern in files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use pi_agent::env::FileKind;
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::listing::{Listing, Notice, Unreadable};
use super::search_call::{self, SearchCall};
use super::{ToolContext, arguments, definition};
use crate::search::RuleKind;
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
            let context = arguments::number(arguments, "context")?.map_or(0, arguments::whole);
            let style = Style {
                is_literal: arguments::flag(arguments, "literal"),
                ignore_case: arguments::flag(arguments, "ignoreCase"),
            };
            let query = Query {
                matcher: matcher(&pattern, style)?,
                context: usize::try_from(context).unwrap_or(usize::MAX).min(MAX_CONTEXT),
            };
            let glob = arguments::optional_text(arguments, "glob")?;
            let work = move |call| grep(&call, query, glob.as_deref());
            search_call::run(&self.context, &call, DEFAULT_LIMIT, work).await
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
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .fixed_strings(style.is_literal)
        .case_insensitive(style.ignore_case)
        .line_terminator(Some(b'\n'));
    let error = match builder.build(pattern) {
        Ok(matcher) => return Ok(matcher),
        Err(error) => error,
    };
    // The matcher has put the pattern into a larger one; its author should see their own.
    let plain = if style.is_literal { Ok(()) } else { regex::Regex::new(pattern).map(drop) };
    let is_sound = plain.is_ok() && !matches!(error.kind(), ErrorKind::NotAllowed(_));
    // A comment at the end would swallow what closes the larger one.
    if is_sound && let Ok(matcher) = builder.build(&format!("{pattern}\n")) {
        return Ok(matcher);
    }
    Err(ToolError::new(match (plain, error.kind()) {
        (Err(plain), _) => plain.to_string(),
        (Ok(()), ErrorKind::NotAllowed(_)) => format!(
            "{error}\n\nLines are searched one at a time: no match goes over the end of a line."
        ),
        (Ok(()), _) => error.to_string(),
    }))
}

fn grep(call: &SearchCall, query: Query, glob: Option<&str>) -> Result<ToolOutput, ToolError> {
    let root = call.files.stat(&call.root).map_err(|error| call.refused(&error))?;
    let search = FileSearch {
        query,
        files: Arc::clone(&call.files),
        root: call.root.clone(),
        // One more tells whether there are more than are wanted.
        limit: call.limit.saturating_add(1),
        cancel: call.cancel.clone(),
    };
    let mut results = Results::new(call.limit);
    match root.kind {
        FileKind::Directory => {
            let tree = call.tree(RuleKind::TEXT).with_overrides(overrides(&call.root, glob)?);
            let walked = tree.walk(&search, |found| results.take(found));
            let problems = walked.map_err(|error| call.refused(&error))?;
            results.unreadable.extend(problems.iter().map(|error| (&*error.path, error.reason())));
        }
        FileKind::File => {
            let mut searchers = search.searchers(true, search.limit);
            let found = search.file(&mut searchers, call.root.clone());
            if let (0, Some(problem)) = (found.lines.matches, &found.problem) {
                let path = call.root.display();
                return Err(ToolError::new(format!("Not searched to the end: {path} ({problem})")));
            }
            _ = results.take(vec![found]);
        }
        FileKind::Link | FileKind::Other => {
            let path = call.root.display();
            return Err(ToolError::new(format!(
                "Not a regular file: {path}. Use bash to read it."
            )));
        }
    }
    Ok(results.output(&search))
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
                self.unreadable.extend([(&*file.path, problem.clone())]);
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
        let too_many = is_cut
            .then(|| Notice::limit("matches", limit, ", or refine pattern", "matchLimitReached"));
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
