//! The matching lines of one file, as the model reads them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::super::listing::Listing;

/// Most characters shown of one line, in UTF-16 code units.
const MAX_LINE: usize = 500;

const CUT_MARK: &str = "... [truncated]";

/// What a file gives to the result.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    /// As the result calls the file.
    name: String,
    pub lines: Listing,
    /// Lines that match.
    pub matches: u64,
    /// Most matches wanted; what follows is context at most.
    wanted: u64,
    /// A line is not shown whole.
    pub has_cut_lines: bool,
}

impl FileLines {
    pub(super) fn new(name: String, wanted: u64) -> Self {
        Self { name, wanted, ..Self::default() }
    }

    fn push(&mut self, mark: char, number: Option<u64>, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (shown, is_cut) = beginning(line);
        self.has_cut_lines |= is_cut;
        let mut text = String::with_capacity(self.name.len() + shown.len() + 24);
        let number = number.unwrap_or_default();
        _ = write!(text, "{}{mark}{number}{mark} {shown}", self.name);
        if is_cut {
            text.push_str(CUT_MARK);
        }
        self.lines.push(&text);
    }
}

impl Sink for FileLines {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let is_wanted = self.matches < self.wanted;
        self.push(if is_wanted { ':' } else { '-' }, found.line_number(), found.bytes());
        self.matches += u64::from(is_wanted);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push('-', found.line_number(), found.bytes());
        Ok(true)
    }
}

/// As much of a line as is shown, and whether that is not all of it.
fn beginning(line: &[u8]) -> (Cow<'_, str>, bool) {
    // No character is longer than four bytes, and one more tells that there is more.
    let (start, rest) = line.split_at(line.len().min(4 * (MAX_LINE + 1)));
    let text = String::from_utf8_lossy(start);
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > MAX_LINE {
            return (text.get(..at).unwrap_or_default().to_owned().into(), true);
        }
    }
    (text, !rest.is_empty())
}
