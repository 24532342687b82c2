//! A file's bytes seen as text with plain line feeds, and the way back.

use std::borrow::Cow;

use crate::tools::truncate::count;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The content of a file for matching: without byte order mark, line breaks `\r\n` and `\r` as
/// `\n`. Positions in it lead back to the bytes of the file.
#[derive(Debug)]
pub(super) struct FileText<'a> {
    raw: &'a [u8],
    bom: usize,
    normalised: Cow<'a, [u8]>,
    /// Positions in the normalised text of line feeds that are `\r\n` in the file.
    crlf: Vec<usize>,
}

impl<'a> FileText<'a> {
    pub(super) fn new(raw: &'a [u8]) -> Self {
        let bom = if raw.starts_with(BOM) { BOM.len() } else { 0 };
        let body = raw.get(bom..).unwrap_or_default();
        let (normalised, crlf) = to_line_feeds(body);
        Self { raw, bom, normalised, crlf }
    }

    pub(super) fn normalised(&self) -> &[u8] {
        &self.normalised
    }

    pub(super) fn has_bom(&self) -> bool {
        self.bom > 0
    }

    /// Where a position of the normalised text is in the file.
    pub(super) fn raw_offset(&self, position: usize) -> usize {
        self.bom + position + self.crlf.partition_point(|feed| *feed < position)
    }

    /// `text` with the line break that ends the line at `position`; the last line takes the one
    /// before it.
    pub(super) fn with_line_ending_of<'t>(&self, position: usize, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self.line_ending_at(position) {
            b"\n" => Cow::Borrowed(text),
            ending => {
                let mut out = Vec::with_capacity(text.len() + text.len() / 16);
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    match line.strip_suffix(b"\n") {
                        Some(bare) => {
                            out.extend_from_slice(bare);
                            out.extend_from_slice(ending);
                        }
                        None => out.extend_from_slice(line),
                    }
                }
                Cow::Owned(out)
            }
        }
    }

    fn line_ending_at(&self, position: usize) -> &'static [u8] {
        let (before, after) = self.normalised.split_at(position.min(self.normalised.len()));
        let feed = memchr::memchr(b'\n', after)
            .map(|at| position + at)
            .or_else(|| memchr::memrchr(b'\n', before));
        let Some(feed) = feed else {
            return b"\n";
        };
        if self.crlf.binary_search(&feed).is_ok() {
            return b"\r\n";
        }
        match self.raw.get(self.raw_offset(feed)) {
            Some(b'\r') => b"\r",
            _ => b"\n",
        }
    }
}

/// Text of a model, line breaks as in [`FileText`].
pub(super) fn normalise(text: &str) -> Vec<u8> {
    to_line_feeds(text.as_bytes()).0.into_owned()
}

fn to_line_feeds(body: &[u8]) -> (Cow<'_, [u8]>, Vec<usize>) {
    let mut crlf = Vec::new();
    if memchr::memchr(b'\r', body).is_none() {
        return (Cow::Borrowed(body), crlf);
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = memchr::memchr(b'\r', rest) {
        let (line, tail) = rest.split_at(at);
        out.extend_from_slice(line);
        rest = match tail {
            [_, b'\n', next @ ..] => {
                crlf.push(out.len());
                next
            }
            [_, next @ ..] => next,
            [] => tail,
        };
        out.push(b'\n');
    }
    out.extend_from_slice(rest);
    (Cow::Owned(out), crlf)
}

/// Line feeds in `bytes`.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    count(memchr::memchr_iter(b'\n', bytes).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_lead_back_to_the_bytes_of_the_file() {
        let raw = b"\xef\xbb\xbfa\r\nb\rc\nd";
        let text = FileText::new(raw);
        assert_eq!(text.normalised(), b"a\nb\nc\nd");
        assert!(text.has_bom());
        let raw_offsets: Vec<usize> = (0..=7).map(|at| text.raw_offset(at)).collect();
        assert_eq!(raw_offsets, [3, 4, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn new_lines_take_the_ending_of_the_line_they_start_in() {
        let text = FileText::new(b"a\r\nb\rc\nd");
        let ending = |at| text.with_line_ending_of(at, b"x\ny").into_owned();
        assert_eq!(ending(0), b"x\r\ny");
        assert_eq!(ending(2), b"x\ry");
        assert_eq!(ending(4), b"x\ny");
        assert_eq!(ending(6), b"x\ny");
        assert_eq!(FileText::new(b"a\r\nb").with_line_ending_of(2, b"\n").into_owned(), b"\r\n");
        assert_eq!(FileText::new(b"ab").with_line_ending_of(1, b"\n").into_owned(), b"\n");
    }
}
