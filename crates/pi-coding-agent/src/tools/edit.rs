//! The tool that replaces exact pieces of a file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{EnvError, EnvErrorKind, ExecutionEnv};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::mutation_queue::MutationQueue;
use super::{ToolContext, aborted, arguments, blocking, definition, to_the_end};
use diff::EditDiff;
use matching::{Edit, Splice};
use text::FileText;

mod diff;
mod fuzzy;
mod legacy;
mod line_diff;
mod matching;
mod text;

/// Replaces pieces of a file, each found exactly once in the file as it was before the call.
#[derive(Debug)]
pub struct EditTool {
    context: Arc<ToolContext>,
    queue: MutationQueue,
    definition: pi_ai::Tool,
    guidelines: Vec<String>,
}

impl EditTool {
    /// `queue` is shared with every other tool that changes files.
    pub fn new(context: Arc<ToolContext>, queue: MutationQueue) -> Self {
        let definition = definition(
            "edit",
            "Replace pieces of one file. Every oldText must occur exactly once in the file as it is \
             now, and the pieces must not overlap.",
            json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {
                    "path": {"type": "string", "description": "File path, relative or absolute"},
                    "edits": {
                        "type": "array",
                        "description": "All replacements for this file",
                        "items": {
                            "type": "object",
                            "required": ["oldText", "newText"],
                            "properties": {
                                "oldText": {
                                    "type": "string",
                                    "description": "Exact text to find, just long enough to be unique",
                                },
                                "newText": {"type": "string", "description": "What takes its place"},
                            },
                        },
                    },
                },
            }),
        );
        let guidelines = vec![
            "Change files with edit; put all changes to one file into one call's edits[].".to_owned(),
            "Each oldText is matched against the file as it was before the call, so do not build one \
             edit on another; merge neighbouring changes."
                .to_owned(),
        ];
        Self { context, queue, definition, guidelines }
    }
}

impl Tool for EditTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Replace exact text in a file")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(legacy::modernise(arguments))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // The place in the queue is taken here, so that it follows the order of the calls.
        let prepared = arguments::text(&call.arguments, "path").and_then(|given| {
            let edits = read_edits(&call.arguments)?;
            let target = self.context.resolve(&given);
            let turn = self.queue.join(&target);
            Ok((Request { given, target, edits, cancel: call.cancel.clone() }, turn))
        });
        Box::pin(async move {
            let (request, mut turn) = prepared?;
            call.cancel.run_until_cancelled(turn.wait()).await.ok_or_else(aborted)?;
            let env = Arc::clone(&self.context.env);
            // Once begun, a write is not given up half way: the turn ends with the write itself.
            to_the_end(async move {
                let _turn = turn;
                request.run(&*env).await
            })
            .await
        })
    }
}

fn read_edits(arguments: &Map<String, Value>) -> Result<Vec<Edit>, ToolError> {
    let items = match arguments.get("edits") {
        Some(Value::Array(items)) if !items.is_empty() => items,
        _ => {
            return Err(ToolError::new(
                "Edit tool input is invalid. edits must contain at least one replacement.",
            ));
        }
    };
    items
        .iter()
        .map(|item| match (item.get("oldText"), item.get("newText")) {
            (Some(Value::String(old)), Some(Value::String(new))) => {
                Ok(Edit { old: old.clone(), new: new.clone() })
            }
            _ => Err(ToolError::new(
                "Edit tool input is invalid. Every edit needs the strings oldText and newText.",
            )),
        })
        .collect()
}

struct Request {
    /// The path as the model wrote it.
    given: String,
    target: PathBuf,
    edits: Vec<Edit>,
    cancel: CancellationToken,
}

impl Request {
    async fn run(self, env: &dyn ExecutionEnv) -> Result<ToolOutput, ToolError> {
        let Self { given, target, edits, cancel } = self;
        let check = || if cancel.is_cancelled() { Err(aborted()) } else { Ok(()) };
        check()?;
        let read = env.read_file(&target, u64::MAX).await;
        let (bytes, seen) = read.map_err(|error| failed(&error, &given))?;
        let count = edits.len();
        let (edited, given) =
            blocking(move || Ok((edited(&given, &bytes, &edits)?, given))).await?;
        check()?;
        let written = env.replace(&target, edited.content, Some(seen.version)).await;
        written.map_err(|error| failed(&error, &given))?;
        let EditDiff { display, patch, first_changed_line } = edited.diff;
        Ok(ToolOutput {
            details: Some(json!({
                "diff": display, "patch": patch, "firstChangedLine": first_changed_line,
            })),
            ..ToolOutput::text(format!("Successfully replaced {count} block(s) in {given}."))
        })
    }
}

fn failed(error: &EnvError, given: &str) -> ToolError {
    let code = match error.kind {
        EnvErrorKind::IsDirectory => {
            return ToolError::new("EISDIR: illegal operation on a directory, read");
        }
        EnvErrorKind::Changed => {
            return ToolError::new(format!(
                "Could not edit file: {given}. It changed on disk in the meantime. Read it again."
            ));
        }
        // What other programs say to one that wants to edit a device.
        EnvErrorKind::NotRegularFile => "EINVAL",
        kind => kind.code().unwrap_or("EIO"),
    };
    ToolError::new(format!("Could not edit file: {given}. Error code: {code}."))
}

/// A file after its edits.
struct Edited {
    content: Vec<u8>,
    diff: EditDiff,
}

fn edited(given: &str, bytes: &[u8], edits: &[Edit]) -> Result<Edited, ToolError> {
    let file = FileText::new(bytes);
    let splices = matching::find(&file, edits).map_err(|problem| problem.in_file(given))?;
    if splices.is_empty() {
        return Err(matching::no_change(given, edits.len()));
    }
    let content = spliced(bytes, &file, &splices);
    let diff = diff::describe(given, file.normalised(), &splices);
    Ok(Edited { content, diff })
}

/// The new file: replacements put in, every other byte as it was.
fn spliced(bytes: &[u8], file: &FileText<'_>, splices: &[Splice]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for splice in splices {
        let (start, end) = (file.raw_offset(splice.range.start), file.raw_offset(splice.range.end));
        out.extend_from_slice(bytes.get(done..start).unwrap_or_default());
        out.extend_from_slice(&file.with_line_ending_of(splice.range.start, &splice.new));
        done = end;
    }
    out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
