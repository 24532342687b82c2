//! What an edit did, for people and for `patch`. Looks at the changed regions and their
//! surroundings only, however large the file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use super::line_diff;
use super::matching::Splice;
use super::text::count_lines;
use crate::tools::truncate::count;

/// Unchanged lines shown around a change.
const CONTEXT: u64 = 4;

/// Bytes shown of a line: what is longer was written by a program, and nobody reads it in a diff.
const MAX_LINE: usize = 8 * 1024;

/// The `details` of a successful edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditDiff {
    /// Numbered lines: removed and unchanged ones by the old file, added ones by the new one.
    pub display: String,
    /// Unified diff.
    pub patch: String,
    /// In the new file, from 1.
    pub first_changed_line: u64,
}

/// `old` is the whole text, line feeds only; `splices` are in order.
pub(super) fn describe(path: &str, old: &[u8], splices: &[Splice]) -> EditDiff {
    let changes = changes(old, splices);
    let old_total = count_lines(old) + 1;
    let (added, removed) = changes.iter().fold((0, 0), |(added, removed), change| {
        (added + change.added_feeds(), removed + change.removed_feeds(old))
    });
    let width = old_total.max(old_total + added - removed).to_string().len();
    let lines_shown_last = old_total - u64::from(old.is_empty() || old.ends_with(b"\n"));

    let mut display = String::new();
    let mut patch = format!("--- {path}\n+++ {path}\n");
    let mut shown = 0;
    for hunk in hunks(old, &changes) {
        if hunk.old_line > shown {
            skipped(&mut display, width);
        }
        hunk.write(old, width, &mut display, &mut patch);
        shown = hunk.old_line + hunk.old_count;
    }
    if shown < lines_shown_last {
        skipped(&mut display, width);
    }
    // Every line above ended with a line feed.
    display.pop();
    let first_changed_line = changes.first().map_or(1, |change| change.new_line + 1);
    EditDiff { display, patch, first_changed_line }
}

/// A line, or its beginning and how much more there is.
fn beginning(line: &[u8]) -> Cow<'_, str> {
    if line.len() <= MAX_LINE {
        return String::from_utf8_lossy(line);
    }
    let mut end = MAX_LINE;
    // Not within a character.
    while end > 0 && line.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
        end -= 1;
    }
    let (start, rest) = line.split_at(end);
    let text = String::from_utf8_lossy(start);
    format!("{text}... [{} more bytes]", rest.len()).into()
}

fn skipped(display: &mut String, width: usize) {
    _ = writeln!(display, " {:width$} ...", "");
}

/// Old lines that become new ones. Lines are numbered from 0.
#[derive(Debug)]
struct Change {
    /// Bytes of the old text, whole lines.
    old: Range<usize>,
    old_line: u64,
    new_line: u64,
    added: Vec<Vec<u8>>,
}

impl Change {
    fn removed<'a>(&self, old: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        lines(old.get(self.old.clone()).unwrap_or_default())
    }

    fn removed_count(&self, old: &[u8]) -> u64 {
        count(self.removed(old).count())
    }

    fn removed_feeds(&self, old: &[u8]) -> u64 {
        count_lines(old.get(self.old.clone()).unwrap_or_default())
    }

    fn added_feeds(&self) -> u64 {
        count(self.added.iter().filter(|line| line.ends_with(b"\n")).count())
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn changes(old: &[u8], splices: &[Splice]) -> Vec<Change> {
    let regions = regions(old, splices);
    let mut found: Vec<Change> = Vec::new();
    // The line and byte up to which lines are counted, and how many more the new text has.
    let (mut line, mut at, mut more) = (0, 0, 0_i64);
    for (index, region) in regions.iter().enumerate() {
        let end = regions.get(index + 1).map_or(old.len(), |next| next.old.start);
        let old_lines: Vec<&[u8]> =
            lines(old.get(region.old.clone()).unwrap_or_default()).collect();
        let new_lines: Vec<&[u8]> = lines(&region.new).collect();
        let region_line = line + count_lines(old.get(at..region.old.start).unwrap_or_default());
        let mut position = region.old.start;
        let mut passed = 0;
        let mut in_region = line_diff::changes(&old_lines, &new_lines).into_iter().peekable();
        while let Some(change) = in_region.next() {
            let bytes = |range: Range<usize>| -> usize {
                old_lines.get(range).unwrap_or_default().iter().map(|line| line.len()).sum()
            };
            position += bytes(passed..change.old.start);
            let length = bytes(change.old.clone());
            let old_line = region_line + count(change.old.start);
            let mut next = Change {
                old: position..position + length,
                old_line,
                new_line: old_line.saturating_add_signed(more),
                added: new_lines
                    .get(change.new.clone())
                    .unwrap_or_default()
                    .iter()
                    .map(|line| line.to_vec())
                    .collect(),
            };
            position += length;
            passed = change.old.end;
            more += i64::try_from(change.new.len()).unwrap_or(0)
                - i64::try_from(change.old.len()).unwrap_or(0);
            if in_region.peek().is_none() {
                slide_down(old, &mut next, end);
            }
            found.push(next);
        }
        line = region_line + count_lines(old.get(region.old.start..position).unwrap_or_default());
        at = position;
    }
    found
}

/// Moves a pure insertion or deletion behind lines equal to its first one, where a comparison of
/// the whole files would see it.
fn slide_down(old: &[u8], change: &mut Change, end: usize) {
    loop {
        let following = old.get(change.old.end..end).and_then(|rest| lines(rest).next());
        let Some(following) = following.filter(|line| line.ends_with(b"\n")) else {
            return;
        };
        let removed_first = change.removed(old).next();
        match (removed_first, change.added.first()) {
            (Some(first), None) if first == following => {
                let length = first.len();
                change.old = change.old.start + length..change.old.end + following.len();
            }
            (None, Some(first)) if first == following => {
                change.added.rotate_left(1);
                change.old = change.old.start + following.len()..change.old.end + following.len();
            }
            _ => return,
        }
        change.old_line += 1;
        change.new_line += 1;
    }
}

/// Whole lines around one splice, or several that share a line.
struct Region {
    old: Range<usize>,
    new: Vec<u8>,
}

fn regions(old: &[u8], splices: &[Splice]) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    let mut last_end = 0;
    for splice in splices {
        let (before, after) = (old.get(..splice.range.start), old.get(splice.range.end..));
        let start = before.and_then(|text| memchr::memrchr(b'\n', text)).map_or(0, |at| at + 1);
        let end = after
            .and_then(|text| memchr::memchr(b'\n', text))
            .map_or(old.len(), |at| splice.range.end + at + 1);
        match found.last_mut().filter(|region| start < region.old.end) {
            Some(region) => {
                // What was taken behind the last splice is taken again up to this one.
                let behind = region.old.end - last_end;
                region.new.truncate(region.new.len() - behind);
                region
                    .new
                    .extend_from_slice(old.get(last_end..splice.range.start).unwrap_or_default());
                region.old.end = end;
            }
            None => {
                let new = old.get(start..splice.range.start).unwrap_or_default().to_vec();
                found.push(Region { old: start..end, new });
            }
        }
        if let Some(region) = found.last_mut() {
            region.new.extend_from_slice(&splice.new);
            region.new.extend_from_slice(old.get(splice.range.end..end).unwrap_or_default());
        }
        last_end = splice.range.end;
    }
    found
}

/// Changes close enough to share their context.
struct Hunk<'a> {
    changes: &'a [Change],
    /// Bytes of the old text, context included.
    old: Range<usize>,
    old_line: u64,
    old_count: u64,
    new_line: u64,
    new_count: u64,
}

fn hunks<'a>(old: &[u8], changes: &'a [Change]) -> Vec<Hunk<'a>> {
    let near = |a: &Change, b: &Change| {
        let between = b.old_line - a.old_line - a.removed_count(old);
        between <= 2 * CONTEXT
    };
    changes.chunk_by(near).filter_map(|group| Hunk::around(old, group)).collect()
}

impl<'a> Hunk<'a> {
    fn around(old: &[u8], changes: &'a [Change]) -> Option<Self> {
        let (first, last) = (changes.first()?, changes.last()?);
        let (mut start, mut before) = (first.old.start, 0);
        while before < CONTEXT && start > 0 {
            start = memchr::memrchr(b'\n', old.get(..start - 1)?).map_or(0, |at| at + 1);
            before += 1;
        }
        let (mut end, mut after) = (last.old.end, 0);
        while after < CONTEXT && end < old.len() {
            end += lines(old.get(end..)?).next()?.len();
            after += 1;
        }
        let removed: u64 = changes.iter().map(|change| change.removed_count(old)).sum();
        let added: u64 = changes.iter().map(|change| count(change.added.len())).sum();
        let old_line = first.old_line - before;
        let old_count = last.old_line + last.removed_count(old) + after - old_line;
        Some(Self {
            changes,
            old: start..end,
            old_line,
            old_count,
            new_line: first.new_line - before,
            new_count: old_count - removed + added,
        })
    }

    fn write(&self, old: &[u8], width: usize, display: &mut String, patch: &mut String) {
        // An empty side is named by the line before it.
        let start = |line: u64, count: u64| if count == 0 { line } else { line + 1 };
        _ = writeln!(
            patch,
            "@@ -{},{} +{},{} @@",
            start(self.old_line, self.old_count),
            self.old_count,
            start(self.new_line, self.new_count),
            self.new_count
        );
        let mut line = |sign: char, number: u64, text: &[u8]| {
            let bare = text.strip_suffix(b"\n").unwrap_or(text);
            let shown = beginning(bare);
            _ = writeln!(display, "{sign}{number:>width$} {shown}");
            _ = writeln!(patch, "{sign}{shown}");
            if bare.len() == text.len() {
                patch.push_str("\\ No newline at end of file\n");
            }
        };
        let mut number = self.old_line;
        let mut at = self.old.start;
        for change in self.changes {
            for text in lines(old.get(at..change.old.start).unwrap_or_default()) {
                number += 1;
                line(' ', number, text);
            }
            for text in change.removed(old) {
                number += 1;
                line('-', number, text);
            }
            for (text, number) in change.added.iter().zip(change.new_line + 1..) {
                line('+', number, text);
            }
            at = change.old.end;
        }
        for text in lines(old.get(at..self.old.end).unwrap_or_default()) {
            number += 1;
            line(' ', number, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `patch` would make of a unified diff.
    fn patched(old: &str, patch: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut at = 0;
        let mut lines = patch.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            if let Some(header) = line.strip_prefix("@@ -") {
                let (start, rest) = header.split_once(',').unwrap();
                let start: usize = start.parse().unwrap();
                let empty = rest.starts_with("0 ");
                let upto = if empty { start } else { start - 1 };
                out.extend(old[at..upto].iter().copied());
                at = upto;
                continue;
            }
            let (sign, text) = line.split_at(1);
            let open = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if open { text.trim_end_matches('\n') } else { text };
            match sign {
                "+" => out.push_str(text),
                _ => {
                    assert_eq!(old[at], text);
                    at += 1;
                    if sign == " " {
                        out.push_str(text);
                    }
                }
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    proptest! {
        #[test]
        fn the_patch_turns_the_old_text_into_the_new_one(
            old in "([ab]?\n){0,30}[ab]?",
            cuts in proptest::collection::vec((0_usize..60, "[ab\n]{0,4}"), 2..7),
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|(at, new)| (at.min(old.len()), new)).collect();
            cuts.sort();
            let splices: Vec<Splice> = cuts
                .chunks_exact(2)
                .map(|pair| Splice { range: pair[0].0..pair[1].0, new: pair[0].1.clone().into_bytes() })
                .filter(|splice| old.as_bytes()[splice.range.clone()] != splice.new)
                .collect();
            let mut new = old.clone();
            for splice in splices.iter().rev() {
                new.replace_range(splice.range.clone(), std::str::from_utf8(&splice.new).unwrap());
            }
            let got = describe("f", old.as_bytes(), &splices);
            prop_assert_eq!(patched(&old, &got.patch), new, "{}", got.patch);
        }
    }
}
