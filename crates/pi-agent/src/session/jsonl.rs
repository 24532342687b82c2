//! Lines of a session file: finding them, reading their head, reporting what cannot be read.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Something about a session file that people should know; reading went on all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `None` for a session without a file.
    pub path: Option<PathBuf>,
    /// 1-based; `None` when it concerns an entry known only by id.
    pub line: Option<usize>,
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    BlankLine,
    /// No JSON object with `type` and `id`; holds the parser's words.
    MalformedLine(String),
    /// The last line has no end; a writer was cut off.
    TornLine,
    /// The entry stands in the tree, but its body does not fit its type.
    UnreadableEntry {
        id: String,
        error: String,
    },
    /// The branch begins in the middle: a line before its first entry is lost.
    MissingParent {
        id: String,
        parent: String,
    },
    /// Bytes that are not UTF-8 were replaced in memory. The file keeps them, unless it was of an
    /// older version and brought up to date.
    NotUtf8,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}", path.display())?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        match &self.problem {
            Problem::BlankLine => f.write_str("blank line skipped"),
            Problem::MalformedLine(error) => write!(f, "unreadable line skipped ({error})"),
            Problem::TornLine => f.write_str("the last line is cut off and was skipped"),
            Problem::UnreadableEntry { id, error } => {
                write!(f, "entry {id} is left out of the context ({error})")
            }
            Problem::MissingParent { id, parent } => write!(
                f,
                "entry {parent} is missing: what came before entry {id} is left out of the context"
            ),
            Problem::NotUtf8 => f.write_str("bytes that are not UTF-8 were replaced"),
        }
    }
}

/// The part of a line that places it in the tree. Bodies are skimmed, not built.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) parent_id: Option<Text<'a>>,
    /// Of a `message` entry, as it stands in the line.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

impl Envelope<'_> {
    /// Where in the line it was read from its message stands; empty when it has none.
    pub(super) fn message_range(&self, line: &str) -> Range<usize> {
        self.message.map_or(0..0, |message| {
            let start = message.get().as_ptr().addr().saturating_sub(line.as_ptr().addr());
            start..start + message.get().len()
        })
    }
}

/// A string that borrows where it can, also inside an `Option`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Lines of a text: number from 1, range without the line end, and whether the line has an end.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let (mut start, mut number) = (0, 0);
    std::iter::from_fn(move || {
        if start == text.len() {
            return None;
        }
        let end = ends.next();
        let range = start..end.unwrap_or(text.len());
        start = range.end + usize::from(end.is_some());
        number += 1;
        Some(Line { number, range, ended: end.is_some() })
    })
}

pub(super) struct Line {
    pub(super) number: usize,
    pub(super) range: Range<usize>,
    pub(super) ended: bool,
}

/// File bytes as text. Bytes that are not UTF-8 become U+FFFD, as JavaScript reads them; the bytes
/// come back too then.
pub(super) fn decode(bytes: Vec<u8>) -> (String, Option<Vec<u8>>) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(error.into_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_number_range_and_end() {
        let text = "ab\n\ncd";
        let found: Vec<_> = lines(text).map(|l| (l.number, text.get(l.range), l.ended)).collect();
        assert_eq!(found, [(1, Some("ab"), true), (2, Some(""), true), (3, Some("cd"), false)]);
    }
}
