//! The tool that reads a text file, in pages, or an image.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{EnvError, EnvErrorKind, ExecutionEnv, FileReader};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::encoding::{Decoder, Encoding};
use super::image::{self, ImageKind, ImageLimits, MAX_FILE_BYTES, PreparedImage};
use super::truncate::{Limits, TruncatedBy, TruncationResult, count, format_size, head_of};
use super::{ToolContext, ToolModel, aborted, arguments, blocking, definition, path, refused};
use window::{Page, Window};

mod window;

/// Reads text files in one pass and constant memory, and images.
#[derive(Debug)]
pub struct ReadTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
    guidelines: Vec<String>,
    /// A large image takes much memory while it is decoded, so there is only one at a time.
    decoding: Arc<Semaphore>,
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
        Self { context, definition, guidelines, decoding: Arc::new(Semaphore::new(1)) }
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
                path: self.context.resolve(&given),
                given,
                offset: arguments::number(&call.arguments, "offset")?,
                limit: arguments::number(&call.arguments, "limit")?,
                model: self.context.session.model(),
                auto_resize: self.context.session.auto_resize_images(),
                decoding: Arc::clone(&self.decoding),
            };
            // A file system that hangs must not hold the call: what it is at is left behind.
            let work = request.run(&*self.context.env);
            call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
        })
    }
}

struct Request {
    /// The path as the model wrote it.
    given: String,
    /// The same, absolute.
    path: PathBuf,
    /// The first line, from 1.
    offset: Option<f64>,
    limit: Option<f64>,
    model: ToolModel,
    auto_resize: bool,
    decoding: Arc<Semaphore>,
}

/// Bytes per read: every one goes to another thread and back, which costs as much as some 100 KB.
const CHUNK: usize = 1024 * 1024;

impl Request {
    async fn run(&self, env: &dyn ExecutionEnv) -> Result<ToolOutput, ToolError> {
        let (path, file) = self.open(env).await?;
        let start = file.read_at(0, vec![0; CHUNK]).await.map_err(|error| refused(&error))?;
        match image::sniff(&start) {
            Some(kind) => self.image(kind, &*file, start).await,
            None => self.text(&*file, start, &self.shell_name(&path, env.cwd())).await,
        }
    }

    /// Opens the file, trying other spellings of a name that is not there.
    async fn open(
        &self,
        env: &dyn ExecutionEnv,
    ) -> Result<(PathBuf, Box<dyn FileReader>), ToolError> {
        let path = path::locate(env, &self.path).await;
        let missing = match env.open(&path).await {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind == EnvErrorKind::NotFound => error,
            Err(error) => return Err(self.not_opened(&error)),
        };
        for spelling in path::spellings(&path) {
            match env.open(&spelling).await {
                Ok(file) => return Ok((spelling, file)),
                Err(error) if error.kind == EnvErrorKind::NotFound => {}
                Err(error) => return Err(self.not_opened(&error)),
            }
        }
        Err(self.not_opened(&missing))
    }

    /// What a shell in `cwd` calls the file: as the model did, unless a shell would not see what is
    /// meant by it.
    fn shell_name(&self, path: &Path, cwd: &Path) -> String {
        if cwd.join(&self.given) == path {
            shell_word(&self.given)
        } else {
            shell_word(&path.to_string_lossy())
        }
    }

    fn not_opened(&self, error: &EnvError) -> ToolError {
        ToolError::new(match error.kind {
            EnvErrorKind::IsDirectory => {
                "EISDIR: illegal operation on a directory, read".to_owned()
            }
            EnvErrorKind::NotRegularFile => {
                format!("Not a regular file: {}. Use bash to read it.", self.given)
            }
            EnvErrorKind::NotFound if self.given.contains('\u{fffd}') => format!(
                "{}. A name that is shown with \u{fffd} is not valid UTF-8. Use bash to read it.",
                error.told_as("access")
            ),
            _ => error.told_as("access"),
        })
    }

    /// `chunk` is the start of the file.
    async fn text(
        &self,
        file: &dyn FileReader,
        mut chunk: Vec<u8>,
        shell_name: &str,
    ) -> Result<ToolOutput, ToolError> {
        let start = (self.offset.unwrap_or(1.0) - 1.0).max(0.0);
        let end = self.limit.map(|limit| start + limit.max(0.0)).map(arguments::whole);
        let start = arguments::whole(start);
        let encoding = Encoding::of(&chunk);
        // The window decodes what it shows of UTF-8; in UTF-16 not even lines can be told before.
        let mut utf16 = (encoding != Encoding::Utf8).then(|| Decoder::new(encoding));
        let mut window = Window::new(start, end);
        let mut read = 0;
        loop {
            match &mut utf16 {
                Some(decoder) => decoder.feed(&chunk, &mut |text| window.feed(text)),
                None => window.feed(&chunk),
            }
            if chunk.len() < CHUNK {
                break;
            }
            read += count(chunk.len());
            chunk = file.read_at(read, chunk).await.map_err(|error| refused(&error))?;
        }
        if let Some(mut decoder) = utf16 {
            decoder.finish(&mut |text| window.feed(text));
        }
        let page = window.finish();
        if start >= page.file_lines {
            return Err(ToolError::new(format!(
                "Offset {} is beyond end of file ({} lines total)",
                self.offset.unwrap_or(1.0),
                page.file_lines
            )));
        }
        Ok(self.page_output(page, encoding, start, end, shell_name))
    }

    /// `start` and `end` are lines from 0, the end not included.
    fn page_output(
        &self,
        page: Page,
        encoding: Encoding,
        start: u64,
        end: Option<u64>,
        shell_name: &str,
    ) -> ToolOutput {
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
            let bytes = cut.max_bytes;
            let command = match encoding {
                Encoding::Utf8 => format!("sed -n '{line}p' {shell_name}"),
                Encoding::Utf16(_) => {
                    format!("iconv -f UTF-16 -t UTF-8 {shell_name} | sed -n '{line}p'")
                }
            };
            format!(
                "[Line {line} is {size}, exceeds {limit} limit. \
                 Use bash: {command} | head -c {bytes}]"
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

    /// `bytes` are the start of the file.
    async fn image(
        &self,
        kind: ImageKind,
        file: &dyn FileReader,
        mut bytes: Vec<u8>,
    ) -> Result<ToolOutput, ToolError> {
        let promised = file.stat().size;
        if promised > MAX_FILE_BYTES {
            return Ok(self.image_output(image::too_large(kind, promised)));
        }
        let mut is_last = bytes.len() < CHUNK;
        while !is_last && count(bytes.len()) <= MAX_FILE_BYTES {
            let more = file.read_at(count(bytes.len()), vec![0; CHUNK]).await;
            let more = more.map_err(|error| refused(&error))?;
            is_last = more.len() < CHUNK;
            bytes.extend_from_slice(&more);
        }
        let limits = self.auto_resize.then(|| ImageLimits::new(self.model.image_resize.as_ref()));
        let alone = Arc::clone(&self.decoding).acquire_owned().await;
        let prepared = blocking(move || {
            // Held by the work itself, which goes on when the call is given up.
            let _alone = alone;
            Ok(image::prepare(bytes, kind, limits))
        })
        .await?;
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

/// Quoted for a shell where it needs to be.
fn shell_word(path: &str) -> String {
    // It would pass for an option.
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    let plain = |c: char| c.is_alphanumeric() || "/._-~+:@%,=".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
