//! Text with the differences ironed out that models do not see: look-alike characters and blanks
//! at line ends. Lines stay lines.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;
use unicode_normalization::UnicodeNormalization;

use super::matching::Splice;

/// A text in loose form, line by line beside the original.
#[derive(Debug)]
pub(super) struct LooseText<'a> {
    original: &'a [u8],
    text: Cow<'a, [u8]>,
}

impl<'a> LooseText<'a> {
    pub(super) fn new(original: &'a [u8]) -> Self {
        Self { original, text: loosen(original) }
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Turns replacements in the loose text into replacements of whole original lines, so that
    /// lines no edit touches keep their bytes. `edits` are in order and do not overlap.
    pub(super) fn splice(&self, edits: impl Iterator<Item = Splice>) -> Vec<Splice> {
        let mut lines = Lines::new(self.original, &self.text);
        let mut blocks: Vec<Block> = Vec::new();
        for edit in edits {
            let last = edit.range.end.saturating_sub(1).max(edit.range.start);
            lines.go_to(edit.range.start);
            let first_line = lines.at.clone();
            lines.go_to(last);
            let end = lines.end_of_line(edit.range.end);
            match blocks.last_mut().filter(|block| first_line.loose < block.end.loose) {
                Some(block) => {
                    block.end = end;
                    block.edits.push(edit);
                }
                None => blocks.push(Block { start: first_line, end, edits: vec![edit] }),
            }
        }
        blocks.iter().map(|block| block.splice(&self.text)).collect()
    }
}

/// Loose form of a text.
pub(super) fn loosen(text: &[u8]) -> Cow<'_, [u8]> {
    let is_loose =
        |line: &[u8]| line.is_ascii() && !line.last().is_some_and(u8::is_ascii_whitespace);
    if lines_of(text).all(is_loose) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    for line in lines_of(text) {
        out.extend_from_slice(&loose_line(line, true));
        out.push(b'\n');
    }
    // `lines_of` gives one piece more than there are line feeds.
    out.pop();
    Cow::Owned(out)
}

/// [`loosen`], but for blanks at the end of the last line.
pub(super) fn loosen_but_end(text: &[u8]) -> Cow<'_, [u8]> {
    let start = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    let (lines, last) = text.split_at(start);
    let mut out = loosen(lines).into_owned();
    out.extend_from_slice(&loose_line(last, false));
    Cow::Owned(out)
}

fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn loose_line(line: &[u8], trim: bool) -> Cow<'_, [u8]> {
    if line.is_ascii() {
        return Cow::Borrowed(if trim { line.trim_ascii_end() } else { line });
    }
    // Bytes that are no text have no look-alikes and must not be lost.
    let Ok(text) = std::str::from_utf8(line) else {
        return Cow::Borrowed(line);
    };
    let text: String = text.nfkc().map(look_alike).collect();
    let text = if trim { text.trim_end_matches(is_blank) } else { &text };
    Cow::Owned(text.as_bytes().to_vec())
}

fn is_blank(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

fn look_alike(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// The same place in both forms.
#[derive(Debug, Clone)]
struct Place {
    original: usize,
    loose: usize,
}

/// Walks both forms line by line, forward only.
struct Lines<'a> {
    original: &'a [u8],
    loose: &'a [u8],
    /// Start of the current line.
    at: Place,
}

impl<'a> Lines<'a> {
    fn new(original: &'a [u8], loose: &'a [u8]) -> Self {
        Self { original, loose, at: Place { original: 0, loose: 0 } }
    }

    /// Goes to the line that holds a position of the loose text.
    fn go_to(&mut self, position: usize) {
        let passed = self.loose.get(self.at.loose..position).unwrap_or_default();
        let Some(last_feed) = memchr::memrchr(b'\n', passed) else {
            return;
        };
        let feeds = memchr_iter(b'\n', passed).count();
        let rest = self.original.get(self.at.original..).unwrap_or_default();
        let feed = memchr_iter(b'\n', rest).nth(feeds - 1).unwrap_or(rest.len());
        self.at =
            Place { original: self.at.original + feed + 1, loose: self.at.loose + last_feed + 1 };
    }

    /// Where the current line ends: before its line feed, or behind it if `position` is there.
    fn end_of_line(&self, position: usize) -> Place {
        let end = |text: &[u8], start: usize| {
            let rest = text.get(start..).unwrap_or_default();
            start + memchr::memchr(b'\n', rest).unwrap_or(rest.len())
        };
        let place = Place {
            original: end(self.original, self.at.original),
            loose: end(self.loose, self.at.loose),
        };
        let behind = usize::from(position > place.loose);
        Place { original: place.original + behind, loose: place.loose + behind }
    }
}

/// Neighbouring lines rewritten together.
struct Block {
    start: Place,
    end: Place,
    edits: Vec<Splice>,
}

impl Block {
    fn splice(&self, loose: &[u8]) -> Splice {
        let piece = |range: Range<usize>| loose.get(range).unwrap_or_default();
        let mut new = Vec::new();
        let mut done = self.start.loose;
        for edit in &self.edits {
            new.extend_from_slice(piece(done..edit.range.start));
            new.extend_from_slice(&edit.new);
            done = edit.range.end;
        }
        new.extend_from_slice(piece(done..self.end.loose));
        Splice { range: self.start.original..self.end.original, new }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loose(text: &str) -> String {
        String::from_utf8(loosen(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn look_alikes_become_plain() {
        let cases = [
            ("a  \nb\t\n", "a\nb\n"),
            ("\u{2018}\u{2019}\u{201a}\u{201b}", "''''"),
            ("\u{201c}\u{201d}\u{201e}\u{201f}", "\"\"\"\""),
            ("\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}.", "-------."),
            ("a\u{a0}\u{2002}\u{2009}\u{202f}\u{205f}\u{3000}b", "a      b"),
            ("\u{fb01}\u{ff21}", "fiA"),
            ("x\u{a0}\u{feff}", "x"),
            ("a\u{200b}b", "a\u{200b}b"),
            ("", ""),
            ("\n\n", "\n\n"),
            ("plain\ntext", "plain\ntext"),
        ];
        for (text, want) in cases {
            assert_eq!(loose(text), want, "{text:?}");
        }
        assert!(matches!(loosen(b"plain\n"), Cow::Borrowed(_)));
        assert_eq!(loosen_but_end(b"a \nb ").as_ref(), b"a\nb ");
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        assert_eq!(loosen(b"\xff\xfe  \na ").as_ref(), b"\xff\xfe  \na");
    }
}
