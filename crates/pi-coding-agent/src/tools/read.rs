//! The tool that reads a text file, in pages, or an image.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::image::{self, ImageKind, ImageLimits, PreparedImage};
use super::truncate::{Limits, TruncatedBy, TruncationResult, format_size, head_of};
use super::{ToolContext, ToolModel, aborted, arguments, blocking, definition, errno, path};
use window::{Page, Window};

mod window;

/// Reads text files in one pass and constant memory, and images.
#[derive(Debug)]
pub struct ReadTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
    guidelines: Vec<String>,
}

impl ReadTool {
    pub fn new(context: Arc<ToolContext>) -> Self {
        let definition = definition(
            "read",
            "Read a text file or an image (PNG, JPEG, GIF, WebP, BMP). Text stops after 2000 lines \
             or 50KB, whichever comes first; page through more with offset and limit.",
            json!({
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {"type": "string", "description": "File path, relative or absolute"},
                    "offset": {"type": "number", "description": "First line to show, from 1"},
                    "limit": {"type": "number", "description": "Most lines to show"},
                },
            }),
        );
        let guidelines = vec!["Look at files with read, not with cat or sed.".to_owned()];
        Self { context, definition, guidelines }
    }
}

impl Tool for ReadTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Read files and images")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments::without_nulls(arguments, &["offset", "limit"]))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let given = arguments::text(&call.arguments, "path")?;
            let request = Request {
                target: self.context.resolve(&given),
                given,
                offset: arguments::number(&call.arguments, "offset")?,
                limit: arguments::number(&call.arguments, "limit")?,
                model: self.context.session.model(),
                auto_resize: self.context.session.auto_resize_images(),
                cancel: call.cancel.clone(),
            };
            // A file system that hangs must not hold the call: the thread is left behind.
            let work = blocking(move || request.run());
            call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
        })
    }
}

struct Request {
    /// The path as the model wrote it.
    given: String,
    target: PathBuf,
    /// The first line, from 1.
    offset: Option<f64>,
    limit: Option<f64>,
    model: ToolModel,
    auto_resize: bool,
    cancel: CancellationToken,
}

/// Bytes per read: large enough that counting lines runs at memory speed.
const CHUNK: usize = 256 * 1024;

impl Request {
    fn run(&self) -> Result<ToolOutput, ToolError> {
        let mut file = self.open()?;
        let mut chunk = vec![0; CHUNK];
        let first = self.fill(&mut file, &mut chunk)?;
        let start = chunk.get(..first).unwrap_or_default();
        match image::sniff(start) {
            Some(kind) => self.image(kind, file, start.to_vec()),
            None => self.text(file, chunk, first),
        }
    }

    /// Opens the file, trying other spellings of a name that is not there.
    fn open(&self) -> Result<File, ToolError> {
        let refused =
            |error: &io::Error, path: &Path| ToolError::new(errno::message(error, "access", path));
        let missing = match self.open_as(&self.target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => error,
            result => return result.map_err(|error| refused(&error, &self.target))?,
        };
        for path in path::spellings(&self.target) {
            match self.open_as(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => return result.map_err(|error| refused(&error, &path))?,
            }
        }
        Err(refused(&missing, &self.target))
    }

    fn open_as(&self, path: &Path) -> io::Result<Result<File, ToolError>> {
        let kind = std::fs::metadata(path)?;
        if kind.is_dir() {
            return Ok(Err(ToolError::new("EISDIR: illegal operation on a directory, read")));
        }
        if !kind.is_file() {
            // Reading a pipe or a device may never end.
            let text = format!("Not a regular file: {}. Use bash to read it.", self.given);
            return Ok(Err(ToolError::new(text)));
        }
        File::open(path).map(Ok)
    }

    /// Reads until `chunk` is full or the file ends; gives the number of bytes.
    fn fill(&self, file: &mut File, chunk: &mut [u8]) -> Result<usize, ToolError> {
        let mut filled = 0;
        while let Some(free) = chunk.get_mut(filled..).filter(|free| !free.is_empty()) {
            if self.cancel.is_cancelled() {
                return Err(aborted());
            }
            match file.read(free) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ToolError::new(errno::message(&error, "read", &self.target)));
                }
            }
        }
        Ok(filled)
    }

    fn text(
        &self,
        mut file: File,
        mut chunk: Vec<u8>,
        first: usize,
    ) -> Result<ToolOutput, ToolError> {
        let start = (self.offset.unwrap_or(1.0) - 1.0).max(0.0);
        let end = self.limit.map(|limit| start + limit.max(0.0));
        let mut window = Window::new(whole(start), end.map(whole));
        let mut filled = first;
        while filled > 0 {
            window.feed(chunk.get(..filled).unwrap_or_default());
            filled = self.fill(&mut file, &mut chunk)?;
        }
        let page = window.finish();
        if whole(start) >= page.file_lines {
            return Err(ToolError::new(format!(
                "Offset {} is beyond end of file ({} lines total)",
                self.offset.unwrap_or(1.0),
                page.file_lines
            )));
        }
        Ok(self.page_output(page, whole(start), end.map(whole)))
    }

    /// `start` and `end` are lines from 0, the end not included.
    fn page_output(&self, page: Page, start: u64, end: Option<u64>) -> ToolOutput {
        let cut = head_of(&page.text, page.totals, Limits::default());
        let total = page.file_lines;
        if !cut.truncated {
            let text = match end.filter(|end| *end < total) {
                Some(end) => format!(
                    "{}\n\n[{} more lines in file. Use offset={} to continue.]",
                    page.text,
                    total - end,
                    end + 1
                ),
                None => page.text,
            };
            return text_output(text, None);
        }
        let limit = format_size(cut.max_bytes);
        let text = if cut.first_line_exceeds_limit {
            let (line, size) = (start + 1, format_size(page.first_line_bytes));
            let (path, bytes) = (shell_word(&self.given), cut.max_bytes);
            format!(
                "[Line {line} is {size}, exceeds {limit} limit. \
                 Use bash: sed -n '{line}p' {path} | head -c {bytes}]"
            )
        } else {
            let (first, last) = (start + 1, start + cut.output_lines);
            let by_bytes = match cut.truncated_by {
                Some(TruncatedBy::Bytes) => format!(" ({limit} limit)"),
                _ => String::new(),
            };
            format!(
                "{}\n\n[Showing lines {first}-{last} of {total}{by_bytes}. \
                 Use offset={} to continue.]",
                cut.content,
                last + 1
            )
        };
        text_output(text, Some(cut))
    }

    fn image(
        &self,
        kind: ImageKind,
        mut file: File,
        mut bytes: Vec<u8>,
    ) -> Result<ToolOutput, ToolError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.fill(&mut file, &mut chunk)? {
                0 => break,
                n => bytes.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            }
        }
        let limits = ImageLimits::new(self.model.image_resize.as_ref());
        let prepared = image::prepare(bytes, kind, self.auto_resize.then_some(limits));
        Ok(self.image_output(prepared))
    }

    fn image_output(&self, prepared: PreparedImage) -> ToolOutput {
        let mut note = format!("Read image file [{}]", prepared.mime_type);
        for hint in &prepared.hints {
            note.push('\n');
            note.push_str(hint);
        }
        let Some(image) = prepared.image else {
            return text_output(note, None);
        };
        let structured = json!({
            "type": "image", "data": image.data, "mimeType": image.mime_type, "note": note,
        });
        let unsupported = !self.model.sees_images;
        ToolOutput {
            content: vec![InputBlock::text(note), InputBlock::Image(image)],
            details: unsupported.then(|| json!({"imageUnsupportedByModel": self.model.id})),
            structured_content: Some(structured),
            ..ToolOutput::default()
        }
    }
}

fn text_output(text: String, truncation: Option<TruncationResult>) -> ToolOutput {
    ToolOutput {
        structured_content: Some(Value::String(text.clone())),
        details: truncation.map(|truncation| json!({"truncation": truncation})),
        ..ToolOutput::text(text)
    }
}

/// Rounds down; what is no line number becomes the nearest one.
fn whole(line: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let line = line as u64;
    line
}

/// Quoted for a shell where it needs to be.
fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-~+:@%,=".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
