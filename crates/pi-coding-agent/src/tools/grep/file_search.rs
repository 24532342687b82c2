//! Looking for a pattern in the lines of one file after another.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use pi_agent::env::{BlockingFiles, FileKind};
use tokio_util::sync::CancellationToken;

use super::file_lines::FileLines;
use crate::search::Visit;

/// Most memory one file may cost: a longer line is not searched.
const MAX_HEAP: usize = 8 * 1024 * 1024;

/// What is looked for.
#[derive(Debug)]
pub(super) struct Query {
    pub matcher: RegexMatcher,
    /// Lines shown before and after a match.
    pub context: usize,
}

impl Query {
    /// # Errors
    /// The pattern is no regular expression; the reason.
    pub(super) fn new(
        pattern: &str,
        is_literal: bool,
        ignore_case: bool,
        context: usize,
    ) -> Result<Self, grep_regex::Error> {
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .fixed_strings(is_literal)
            .case_insensitive(ignore_case)
            .line_terminator(Some(b'\n'))
            .build(pattern)?;
        Ok(Self { matcher, context })
    }
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

/// What there is in one file.
pub(super) struct Searched {
    pub path: PathBuf,
    pub lines: FileLines,
    /// Why it was not searched to its end.
    pub problem: Option<io::Error>,
}

impl FileSearch {
    /// The searcher for files somebody has named, or for those a walk has met: what looks binary
    /// then is none of those that were meant.
    pub(super) fn searcher(&self, is_named: bool, limit: u64) -> Searcher {
        let binary = if is_named { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
        SearcherBuilder::new()
            .line_number(true)
            .before_context(self.query.context)
            .after_context(self.query.context)
            .binary_detection(binary)
            .heap_limit(Some(MAX_HEAP))
            .max_matches(Some(limit))
            .build()
    }

    pub(super) fn file(&self, searcher: &mut Searcher, path: PathBuf) -> Searched {
        let mut lines = FileLines::new(self.name(&path));
        let result = match self.files.open(&path) {
            Ok(file) => {
                let file = Interruptible { file, cancel: &self.cancel };
                searcher.search_reader(&self.query.matcher, file, &mut lines)
            }
            Err(error) => Err(io::Error::other(error)),
        };
        Searched { path, lines, problem: result.err() }
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
    type Bench = Searcher;
    const IS_LONG: bool = true;

    fn bench(&self) -> Searcher {
        self.searcher(false, self.limit)
    }

    fn pick(&self, path: &Path, kind: FileKind) -> Option<PathBuf> {
        (kind == FileKind::File).then(|| path.to_owned())
    }

    fn look(&self, searcher: &mut Searcher, picked: Vec<PathBuf>) -> Vec<Searched> {
        let searched = picked
            .into_iter()
            .map_while(|path| (!self.cancel.is_cancelled()).then(|| self.file(searcher, path)));
        searched.filter(|file| file.lines.matches > 0 || file.problem.is_some()).collect()
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
