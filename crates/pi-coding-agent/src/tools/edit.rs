//! The tool that replaces exact pieces of a file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{EnvError, EnvErrorKind, ExecutionEnv, FileVersion};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::encoding::{self, Encoding};
use super::mutation_queue::MutationQueue;
use super::truncate::format_size;
use super::{ToolContext, aborted, arguments, blocking, definition, path};
use diff::EditDiff;
use matching::{Edit, Splice};
use text::FileText;

mod diff;
mod fuzzy;
mod legacy;
mod line_diff;
mod matching;
mod nearest;
mod similar;
mod text;

/// Bytes of the largest file that is edited: while that is done it is in memory several times.
const MAX_FILE_BYTES: u64 = 512 << 20;

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
            let path = self.context.resolve(&given);
            let turn = self.queue.join(&path);
            Ok((Request { given, path, edits }, turn))
        });
        Box::pin(async move {
            let (request, mut turn) = prepared?;
            let env = Arc::clone(&self.context.env);
            let prepare = async {
                turn.wait().await;
                request.prepare(&*env).await
            };
            let change = call.cancel.run_until_cancelled(prepare).await.ok_or_else(aborted)??;
            if call.cancel.is_cancelled() {
                return Err(aborted());
            }
            turn.finish(&call.cancel, async move { change.make(&*env).await }).await
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
    /// The same, absolute.
    path: PathBuf,
    edits: Vec<Edit>,
}

impl Request {
    /// Reads the file and works out what it becomes. Changes nothing, and may be given up.
    async fn prepare(self, env: &dyn ExecutionEnv) -> Result<Change, ToolError> {
        let Self { given, path, edits } = self;
        let target = path::locate(env, &path).await;
        let read = env.read_file(&target, MAX_FILE_BYTES).await;
        let (bytes, seen) = read.map_err(|error| failed(&error, &given))?;
        blocking(move || {
            let edited = edited(&given, &bytes, &edits)?;
            Ok(Change { given, target, edits: edits.len(), edited, seen: seen.version })
        })
        .await
    }
}

/// All that is left to do is to write it.
struct Change {
    given: String,
    target: PathBuf,
    /// How many.
    edits: usize,
    edited: Edited,
    /// The version of the file that was read.
    seen: FileVersion,
}

impl Change {
    async fn make(self, env: &dyn ExecutionEnv) -> Result<ToolOutput, ToolError> {
        let Self { given, target, edits, edited, seen } = self;
        let written = env.replace(&target, edited.content, Some(seen)).await;
        written.map_err(|error| failed(&error, &given))?;
        let EditDiff { display, patch, first_changed_line } = edited.diff;
        Ok(ToolOutput {
            details: Some(json!({
                "diff": display, "patch": patch, "firstChangedLine": first_changed_line,
            })),
            ..ToolOutput::text(format!("Successfully replaced {edits} block(s) in {given}."))
        })
    }
}

fn failed(error: &EnvError, given: &str) -> ToolError {
    let reason = match error.kind {
        EnvErrorKind::IsDirectory => {
            return ToolError::new("EISDIR: illegal operation on a directory, read");
        }
        EnvErrorKind::Changed => "It changed on disk in the meantime. Read it again.".to_owned(),
        EnvErrorKind::OverLimit => format!(
            "It is larger than {}, the most that can be edited. Use bash to change it.",
            format_size(MAX_FILE_BYTES)
        ),
        EnvErrorKind::NotRegularFile => {
            "It is not a regular file. Use bash to change it.".to_owned()
        }
        kind => format!("Error code: {}.", kind.code().unwrap_or("EIO")),
    };
    ToolError::new(format!("Could not edit file: {given}. {reason}"))
}

/// A file after its edits.
struct Edited {
    content: Vec<u8>,
    diff: EditDiff,
}

fn edited(given: &str, bytes: &[u8], edits: &[Edit]) -> Result<Edited, ToolError> {
    let encoding = Encoding::of(bytes);
    let text = encoding::to_utf8(bytes, encoding).ok_or_else(|| {
        ToolError::new(format!(
            "Could not edit file: {given}. It begins like UTF-16, but parts of it are not and would \
             be lost. Use bash to change it."
        ))
    })?;
    let file = FileText::new(&text);
    let splices = matching::find(&file, edits).map_err(|problem| problem.in_file(given))?;
    if splices.is_empty() {
        return Err(matching::no_change(given, edits.len()));
    }
    let content = encoding::from_utf8(spliced(&text, &file, &splices), encoding);
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
mod model_tests;
#[cfg(test)]
mod tests;
