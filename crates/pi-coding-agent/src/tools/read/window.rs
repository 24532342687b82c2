//! The lines a page shows, picked out of a stream of bytes. Everything else is only counted.

use crate::tools::encoding::{Decoder, Encoding};
use crate::tools::truncate::{MAX_BYTES, Totals, count};

/// Bytes kept of the selected lines: more than a result may show, so that what is missing always
/// lies beyond the byte limit.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const KEEP: usize = MAX_BYTES as usize + 16 * 1024;

/// Selects lines `start..end` (from 0). A file of n newlines has n + 1 lines: the piece after the
/// last newline counts even when it is empty.
#[derive(Debug)]
pub(super) struct Window {
    start: u64,
    end: Option<u64>,
    /// Newlines seen in the file.
    newlines: u64,
    /// The selection has ended before the file.
    closed: bool,
    /// Of what is selected; other lines need none.
    decoder: Decoder,
    kept: Vec<u8>,
    /// Of the decoded text.
    bytes: u64,
    selected_newlines: u64,
    first_line_bytes: u64,
    last_byte: Option<u8>,
}

/// The selected lines.
#[derive(Debug)]
pub(super) struct Page {
    /// Their text, or as much of it as a result may need.
    pub text: String,
    /// Size of the whole selection.
    pub totals: Totals,
    pub first_line_bytes: u64,
    /// Lines of the file.
    pub file_lines: u64,
}

impl Window {
    pub(super) fn new(start: u64, end: Option<u64>) -> Self {
        Self {
            start,
            end,
            newlines: 0,
            closed: end == Some(start),
            decoder: Decoder::new(Encoding::Utf8),
            kept: Vec::new(),
            bytes: 0,
            selected_newlines: 0,
            first_line_bytes: 0,
            last_byte: None,
        }
    }

    /// Takes the next bytes of UTF-8; bad ones are replaced, and the chunk may be cut anywhere.
    pub(super) fn feed(&mut self, mut chunk: &[u8]) {
        if self.newlines < self.start {
            let (passed, rest) = after_newlines(chunk, self.start - self.newlines);
            self.newlines += passed;
            chunk = rest;
        }
        if self.newlines < self.start || chunk.is_empty() {
            return;
        }
        if !self.closed {
            let wanted = self.end.map_or(u64::MAX, |end| end - self.newlines);
            let (passed, rest) = after_newlines(chunk, wanted);
            self.newlines += passed;
            let taken = chunk.len() - rest.len();
            self.closed = passed == wanted;
            // The newline that ends the last selected line is left out.
            let selected = chunk.get(..taken - usize::from(self.closed)).unwrap_or_default();
            self.select(selected, passed - u64::from(self.closed));
            chunk = rest;
        }
        if self.closed {
            self.newlines += newlines(chunk);
        }
    }

    pub(super) fn finish(mut self) -> Page {
        let Self { decoder, kept, bytes, first_line_bytes, selected_newlines, .. } = &mut self;
        decoder.finish(&mut |text| {
            keep(kept, text);
            *bytes += count(text.len());
            *first_line_bytes += if *selected_newlines == 0 { count(text.len()) } else { 0 };
        });
        let open_line = u64::from(self.last_byte.is_some_and(|last| last != b'\n'));
        Page {
            totals: Totals { lines: self.selected_newlines + open_line, bytes: self.bytes },
            first_line_bytes: self.first_line_bytes,
            file_lines: self.newlines + 1,
            // Only what was cut off beyond the limit may end within a character.
            text: String::from_utf8_lossy(&self.kept).into_owned(),
        }
    }

    fn select(&mut self, part: &[u8], newlines: u64) {
        let Self { decoder, kept, bytes, first_line_bytes, selected_newlines, .. } = self;
        let mut is_first_line = *selected_newlines == 0;
        decoder.feed(part, &mut |text| {
            if is_first_line {
                let end = memchr::memchr(b'\n', text);
                *first_line_bytes += count(end.unwrap_or(text.len()));
                is_first_line = end.is_none();
            }
            keep(kept, text);
            *bytes += count(text.len());
        });
        self.selected_newlines += newlines;
        self.last_byte = part.last().copied().or(self.last_byte);
    }
}

fn keep(kept: &mut Vec<u8>, text: &[u8]) {
    let room = KEEP.saturating_sub(kept.len()).min(text.len());
    kept.extend_from_slice(text.get(..room).unwrap_or_default());
}

/// Passes up to `wanted` (at least one) newlines; gives their number and what follows. With fewer
/// of them in the chunk nothing follows.
fn after_newlines(chunk: &[u8], wanted: u64) -> (u64, &[u8]) {
    let all = newlines(chunk);
    if all < wanted {
        return (all, &[]);
    }
    let nth = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
    let end = memchr::memchr_iter(b'\n', chunk).nth(nth).map_or(chunk.len(), |at| at + 1);
    (wanted, chunk.get(end..).unwrap_or_default())
}

fn newlines(chunk: &[u8]) -> u64 {
    count(memchr::memchr_iter(b'\n', chunk).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(text: &str, start: u64, end: Option<u64>, chunk: usize) -> Page {
        let mut window = Window::new(start, end);
        for part in text.as_bytes().chunks(chunk.max(1)) {
            window.feed(part);
        }
        window.finish()
    }

    proptest! {
        #[test]
        fn any_chunking_selects_what_splitting_the_whole_text_selects(
            text in "[ab\n]{0,40}",
            start in 0_usize..8,
            length in proptest::option::of(0_usize..8),
            chunk in 1_usize..9,
        ) {
            let lines: Vec<&str> = text.split('\n').collect();
            let end = length.map(|length| start + length);
            let got = page(&text, start as u64, end.map(|end| end as u64), chunk);
            prop_assert_eq!(got.file_lines, lines.len() as u64);
            if start < lines.len() {
                let stop = end.unwrap_or(lines.len()).min(lines.len());
                let want = lines[start..stop].join("\n");
                prop_assert_eq!(got.totals, Totals::of(&want));
                let first = want.split('\n').next().unwrap();
                prop_assert_eq!(got.first_line_bytes, first.len() as u64);
                prop_assert_eq!(got.text, want);
            }
        }
    }

    #[test]
    fn only_as_much_as_a_result_may_show_is_kept() {
        let text = "0123456789\n".repeat(100_000);
        let got = page(&text, 10, None, 1 << 18);
        assert!(got.text.len() <= KEEP);
        assert_eq!(got.totals, Totals { lines: 99_990, bytes: 99_990 * 11 });
        assert_eq!(got.file_lines, 100_001);
    }
}
