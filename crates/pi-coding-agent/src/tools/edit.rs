//! The tool that replaces exact pieces of a file.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::mutation_queue::MutationQueue;
use super::replace_file::replace_file;
use super::{ToolContext, aborted, arguments, blocking, definition, errno};
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
            Ok((given, edits, target, turn))
        });
        Box::pin(async move {
            let (given, edits, target, mut turn) = prepared?;
            call.cancel.run_until_cancelled(turn.wait()).await.ok_or_else(aborted)?;
            let cancel = call.cancel.clone();
            // Once begun, a write is not given up half way: the turn ends with the write itself.
            blocking(move || {
                let _turn = turn;
                if cancel.is_cancelled() {
                    return Err(aborted());
                }
                edit(&given, &target, &edits, || cancel.is_cancelled())
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

fn edit(
    given: &str,
    target: &Path,
    edits: &[Edit],
    cancelled: impl Fn() -> bool,
) -> Result<ToolOutput, ToolError> {
    let failed = |error: io::Error| {
        let code = errno::code(&error);
        match code {
            "EISDIR" => ToolError::new("EISDIR: illegal operation on a directory, read"),
            _ => ToolError::new(format!("Could not edit file: {given}. Error code: {code}.")),
        }
    };
    let (bytes, seen) = read_with_state(target).map_err(failed)?;
    let file = FileText::new(&bytes);
    let splices = matching::find(&file, edits).map_err(|problem| problem.in_file(given))?;
    if splices.is_empty() {
        return Err(matching::no_change(given, edits.len()));
    }
    let content = spliced(&bytes, &file, &splices);
    let EditDiff { display, patch, first_changed_line } =
        diff::describe(given, file.normalised(), &splices);
    if cancelled() {
        return Err(aborted());
    }
    let mut changed_meanwhile = false;
    let written = replace_file(target, &content, || {
        changed_meanwhile = fs::metadata(target).map(|now| FileState::of(&now) != seen)?;
        if changed_meanwhile {
            return Err(io::Error::other("changed meanwhile"));
        }
        Ok(())
    });
    if changed_meanwhile {
        return Err(ToolError::new(format!(
            "Could not edit file: {given}. It changed on disk in the meantime. Read it again."
        )));
    }
    written.map_err(failed)?;
    Ok(ToolOutput {
        details: Some(json!({
            "diff": display, "patch": patch, "firstChangedLine": first_changed_line,
        })),
        ..ToolOutput::text(format!("Successfully replaced {} block(s) in {given}.", edits.len()))
    })
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

fn read_with_state(target: &Path) -> io::Result<(Vec<u8>, FileState)> {
    let before = fs::metadata(target)?;
    if before.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    if !before.is_file() {
        // Reading a pipe or a device may never end.
        return Err(rustix::io::Errno::INVAL.into());
    }
    Ok((fs::read(target)?, FileState::of(&before)))
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileState {
    fn of(file: &Metadata) -> Self {
        Self {
            file: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests;
