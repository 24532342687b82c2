//! Looking for a pattern in the lines of one file after another.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use pi_agent::env::{BlockingFiles, EnvError, EnvErrorKind, FileKind};
use tokio_util::sync::CancellationToken;

use super::super::truncate::format_size;
use super::file_lines::FileLines;
use crate::search::Visit;

/// Most memory one file may cost, in bytes: a longer line is not searched.
const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Query {
    pub matcher: RegexMatcher,
    /// Lines shown before and after a match.
    pub context: usize,
}

/// Searches the files of a tree, or a single one.
#[derive(Debug)]
pub(super) struct FileSearch {
    pub query: Query,
    pub files: Arc<dyn BlockingFiles>,
    /// What names are relative to.
    pub root: PathBuf,
    /// Most matches wanted of one file.
    pub limit: u64,
    pub cancel: CancellationToken,
}

/// Searching costs a buffer, which goes from file to file.
#[derive(Debug)]
pub(super) struct Searchers {
    plain: Searcher,
    /// For UTF-16.
    decoding: Searcher,
    /// Matches in a file.
    limit: u64,
}

/// What there is in one file.
pub(super) struct Searched {
    pub path: PathBuf,
    pub lines: FileLines,
    /// Why it was not searched to its end.
    pub problem: Option<String>,
}

impl FileSearch {
    /// Searches what is binary as well, if somebody `has_named` the file; in a file a walk has met
    /// a NUL byte says that it was not meant.
    pub(super) fn searchers(&self, has_named: bool, limit: u64) -> Searchers {
        let binary = if has_named { BinaryDetection::none() } else { BinaryDetection::quit(0) };
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(true)
            .before_context(self.query.context)
            .after_context(self.query.context)
            .binary_detection(binary)
            .heap_limit(Some(usize::try_from(MAX_LINE_BYTES).unwrap_or(usize::MAX)))
            .max_matches(Some(limit));
        let decoding = builder.build();
        Searchers { decoding, plain: builder.bom_sniffing(false).build(), limit }
    }

    pub(super) fn file(&self, searchers: &mut Searchers, path: PathBuf) -> Searched {
        let mut lines = FileLines::new(self.name(&path), searchers.limit);
        let result = self.search(searchers, &path, &mut lines);
        Searched { path, lines, problem: result.err().map(|error| reason(&error)) }
    }

    fn search(
        &self,
        searchers: &mut Searchers,
        path: &Path,
        lines: &mut FileLines,
    ) -> io::Result<()> {
        let matcher = &self.query.matcher;
        let file = match self.files.open(path) {
            // It has gone since it was listed.
            Err(error) if error.kind == EnvErrorKind::NotFound => return Ok(()),
            file => file.map_err(io::Error::other)?,
        };
        let mut text = PlainText::new(file, &self.cancel);
        match searchers.plain.search_reader(matcher, &mut text, &mut *lines) {
            Err(_) if text.is_utf16 => {
                let file = self.files.open(path).map_err(io::Error::other)?;
                let file = Interruptible { file, cancel: &self.cancel };
                searchers.decoding.search_reader(matcher, file, lines)
            }
            result => result,
        }
    }

    /// A single file is called by its own name.
    fn name(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let shown = if relative.as_os_str().is_empty() { path.file_name() } else { None };
        shown.unwrap_or(relative.as_os_str()).to_string_lossy().into_owned()
    }
}

impl Visit for FileSearch {
    type Picked = PathBuf;
    type Found = Vec<Searched>;
    type Bench = Searchers;
    const IS_LONG: bool = true;

    fn bench(&self) -> Searchers {
        self.searchers(false, self.limit)
    }

    fn pick(&self, path: &Path, kind: FileKind) -> Option<PathBuf> {
        (kind == FileKind::File).then(|| path.to_owned())
    }

    fn look(&self, searchers: &mut Searchers, picked: Vec<PathBuf>) -> Vec<Searched> {
        let searched = picked
            .into_iter()
            .map_while(|path| (!self.cancel.is_cancelled()).then(|| self.file(searchers, path)));
        searched.filter(|file| file.lines.matches > 0 || file.problem.is_some()).collect()
    }
}

/// Why a search ended before its file did, in a few words.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    // What the searcher says of a line that does not fit.
    if text.starts_with("configured allocation limit") {
        return format!("a line is longer than {}", format_size(MAX_LINE_BYTES));
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<EnvError>()) {
        Some(error) => error.reason(),
        None => text,
    }
}

/// A file whose reading can be given up.
struct Interruptible<'a> {
    file: Box<dyn Read + Send>,
    cancel: &'a CancellationToken,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// A file without its byte order mark, found in passing: asking for it first would cost every file
/// another call to the operating system.
struct PlainText<'a> {
    file: Interruptible<'a>,
    is_at_start: bool,
    /// It is to be read in another way; reading it in this one has failed for that.
    is_utf16: bool,
}

impl<'a> PlainText<'a> {
    fn new(file: Box<dyn Read + Send>, cancel: &'a CancellationToken) -> Self {
        Self { file: Interruptible { file, cancel }, is_at_start: true, is_utf16: false }
    }
}

impl Read for PlainText<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if !std::mem::take(&mut self.is_at_start) {
            return Ok(read);
        }
        match buffer.get(..read) {
            Some([0xff, 0xfe, ..] | [0xfe, 0xff, ..]) => {
                self.is_utf16 = true;
                Err(io::Error::other("UTF-16"))
            }
            Some([0xef, 0xbb, 0xbf, ..]) => {
                buffer.copy_within(3..read, 0);
                // Nothing left would pass for the end.
                if read == 3 { self.file.read(buffer) } else { Ok(read - 3) }
            }
            _ => Ok(read),
        }
    }
}
