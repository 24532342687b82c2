//! Where a text that was not found may have been meant: the lines of the file most like it. Costs a
//! few passes over the file, whatever the text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::similar::Shape;
use super::text::count_lines;
use crate::tools::truncate::count;

/// Lines of the text that are compared.
const MOST_LINES: usize = 200;
/// Lines and bytes that are shown.
const SHOWN_LINES: usize = 12;
const SHOWN_BYTES: usize = 2000;
/// Of a longer line only a part is looked at and shown.
const LINE_BYTES: usize = 400;
/// How far from a place the ends of its line are looked for.
const FARTHEST: usize = 64 * 1024;
/// Words that are looked for.
const WORDS: usize = 16;
/// Lines or words to start from, and places of each that are tried.
const ANCHORS: usize = 6;
const PLACES: usize = 16;
/// Of the file, where every line is compared.
const SEARCHED_BYTES: usize = 1 << 20;
/// Shorter ones are everywhere.
const LINE_THAT_TELLS: usize = 4;
const WORD_THAT_TELLS: usize = 3;
/// From 0, nothing in common, to 1, the same.
const ALIKE: f64 = 0.5;
/// What a piece that is all within a longer line counts.
const PART: f64 = 0.75;

/// Lines of a file that are like a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nearest {
    /// From 1.
    first_line: u64,
    lines: Vec<String>,
    difference: Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    Blanks,
    /// The first line that is different, from 1.
    Line(u64),
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first_line;
        let last = first + count(self.lines.len()).saturating_sub(1);
        match last == first {
            true => write!(f, "Most like it is line {first}, ")?,
            false => write!(f, "Most like it are lines {first}-{last}, ")?,
        }
        match self.difference {
            Difference::Blanks => f.write_str("different in whitespace only:")?,
            Difference::Line(line) => write!(f, "different from line {line} on:")?,
        }
        for line in &self.lines {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

/// The place in `file` most like `text`, if any is like it at all. Both have plain line feeds.
pub(super) fn nearest(file: &[u8], text: &[u8]) -> Option<Nearest> {
    let wanted = Wanted::new(text)?;
    let best = |places: Vec<Place>| {
        let starts: BTreeSet<Place> = places.iter().filter_map(|place| place.start(file)).collect();
        let likeness = |start: Place| (wanted.likeness(file, &start), start);
        let alike = starts.into_iter().map(likeness).filter(|(likeness, _)| *likeness >= ALIKE);
        // The first of equals.
        alike.reduce(|best, next| if next.0 > best.0 { next } else { best })
    };
    let (_, start) = best(wanted.places(file)).or_else(|| best(wanted.likest_line(file)))?;
    Some(wanted.shown(file, &start))
}

/// A line of the file, and which line of the text it may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// A byte of the line.
    at: usize,
    /// From 0.
    line: usize,
    /// Where in a long line to look.
    focus: usize,
}

impl Place {
    /// The place of the text's first line.
    fn start(&self, file: &[u8]) -> Option<Self> {
        let mut at = line_start(file, self.at);
        for _ in 0..self.line {
            at = line_start(file, at.checked_sub(1)?);
        }
        let focus = if self.line == 0 { self.focus } else { at };
        Some(Self { at, line: 0, focus })
    }

    /// `most` lines from here on, each seen through at most [`LINE_BYTES`].
    fn views<'a>(&self, file: &'a [u8], most: usize) -> Vec<View<'a>> {
        let mut views = Vec::new();
        let mut at = self.at;
        while views.len() < most {
            let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            let focus = if views.is_empty() { self.focus } else { at };
            let near = rest.get(..focus.saturating_sub(at) + FARTHEST).unwrap_or(rest);
            let feed = memchr(b'\n', near);
            let end = at + feed.unwrap_or(near.len());
            views.push(View::of(file, at..end, focus));
            if feed.is_none() {
                break;
            }
            at = end + 1;
        }
        views
    }
}

fn line_start(file: &[u8], at: usize) -> usize {
    let farthest = at.saturating_sub(FARTHEST);
    let before = file.get(farthest..at).and_then(|before| memrchr(b'\n', before));
    before.map_or(farthest, |feed| farthest + feed + 1)
}

/// What is seen of a line.
struct View<'a> {
    bytes: &'a [u8],
    is_cut: (bool, bool),
}

impl<'a> View<'a> {
    fn of(file: &'a [u8], line: Range<usize>, focus: usize) -> Self {
        let mut seen = line.clone();
        if line.len() > LINE_BYTES {
            let last_start = line.end - LINE_BYTES;
            seen.start = focus.saturating_sub(LINE_BYTES / 4).clamp(line.start, last_start);
            seen.end = seen.start + LINE_BYTES;
            let is_inside = |at: usize| file.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
            while seen.start < seen.end && is_inside(seen.start) {
                seen.start += 1;
            }
            while seen.start < seen.end && is_inside(seen.end) {
                seen.end -= 1;
            }
        }
        let is_cut = (seen.start > line.start, seen.end < line.end);
        Self { bytes: file.get(seen).unwrap_or_default(), is_cut }
    }

    fn shown(&self) -> String {
        let mark = |is_cut| if is_cut { "[...]" } else { "" };
        let text = String::from_utf8_lossy(self.bytes);
        format!("{}{text}{}", mark(self.is_cut.0), mark(self.is_cut.1))
    }
}

/// The text that was not found.
struct Wanted<'a> {
    /// Without blank ones at either end.
    lines: Vec<&'a [u8]>,
    shapes: Vec<Shape>,
}

impl<'a> Wanted<'a> {
    fn new(text: &'a [u8]) -> Option<Self> {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
        let first = lines.iter().position(|line| !is_blank(line))?;
        lines.drain(..first);
        lines.truncate(MOST_LINES);
        while lines.last().is_some_and(is_blank) {
            lines.pop();
        }
        let seen = |line: &&'a [u8]| Shape::of(line.get(..LINE_BYTES).unwrap_or(line));
        let shapes = lines.iter().map(seen).collect();
        Some(Self { lines, shapes })
    }

    /// Where something of the text is in the file, what is rarest there first.
    fn places(&self, file: &[u8]) -> Vec<Place> {
        let mut found = self.lines_found(file);
        found.extend(self.words_found(file));
        found.retain(|found| found.times > 0);
        found.sort_by_key(|found| (found.times, Reverse(found.length)));
        found.truncate(ANCHORS);
        found.iter().flat_map(Found::places).collect()
    }

    /// Lines that are in the file but for blanks around them.
    fn lines_found(&self, file: &[u8]) -> Vec<Found> {
        let mut found: BTreeMap<&[u8], Found> = BTreeMap::new();
        for (index, line) in self.lines.iter().enumerate() {
            let line = line.trim_ascii();
            if line.len() >= LINE_THAT_TELLS {
                found.entry(line).or_insert_with(|| Found::new(index, 0, line.len()));
            }
        }
        let longest = found.keys().map(|line| line.len()).max().unwrap_or(0);
        let mut at = 0;
        while longest > 0 && at < file.len() {
            let rest = file.get(at..).unwrap_or_default();
            let length = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default().trim_ascii();
            if line.len() <= longest
                && let Some(found) = found.get_mut(line)
            {
                found.add(at);
            }
            at += length + 1;
        }
        found.into_values().collect()
    }

    /// The longest words.
    fn words_found(&self, file: &[u8]) -> Vec<Found> {
        let mut words: BTreeMap<&[u8], Found> = BTreeMap::new();
        for (index, line) in self.lines.iter().enumerate() {
            let is_apart =
                |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
            let mut offset = 0;
            for word in line.split(is_apart) {
                if word.len() >= WORD_THAT_TELLS {
                    words.entry(word).or_insert_with(|| Found::new(index, offset, word.len()));
                }
                offset += word.len() + 1;
            }
        }
        let mut words: Vec<(&[u8], Found)> = words.into_iter().collect();
        words.sort_by_key(|(word, _)| Reverse(word.len()));
        words.truncate(WORDS);
        for (word, found) in &mut words {
            // One more than is tried tells how rare it is.
            memmem::find_iter(file, word).take(PLACES + 1).for_each(|at| found.add(at));
        }
        words.into_iter().map(|(_, found)| found).collect()
    }

    /// The line near the start of the file that is most like the longest of the text: for a text
    /// of which nothing is in the file as it is.
    fn likest_line(&self, file: &[u8]) -> Vec<Place> {
        let mut heaviest = (0, self.shapes.first());
        for (index, shape) in self.shapes.iter().enumerate() {
            if heaviest.1.is_some_and(|so_far| so_far.weight() < shape.weight()) {
                heaviest = (index, Some(shape));
            }
        }
        let (index, Some(wanted)) = heaviest else { return Vec::new() };
        let mut best: Option<(f64, usize)> = None;
        let mut at = 0;
        for line in file.get(..SEARCHED_BYTES).unwrap_or(file).split(|byte| *byte == b'\n') {
            let likeness = wanted.likeness(&Shape::of(line.get(..LINE_BYTES).unwrap_or(line)));
            if best.is_none_or(|(most, _)| likeness > most) {
                best = Some((likeness, at));
            }
            at += line.len() + 1;
        }
        best.map(|(_, at)| Place { at, line: index, focus: at }).into_iter().collect()
    }

    /// From 0 to 1; a line counts by its length. Lines but the first may have moved by two.
    fn likeness(&self, file: &[u8], start: &Place) -> f64 {
        let views = start.views(file, self.lines.len() + 2);
        let seen: Vec<Shape> = views.iter().map(|view| Shape::of(view.bytes)).collect();
        let last = self.shapes.len() - 1;
        let (mut sum, mut most) = (0.0, 0.0);
        for (index, shape) in self.shapes.iter().enumerate() {
            let near = if index == 0 { 0..1 } else { index.saturating_sub(2)..index + 3 };
            let near = seen.iter().take(near.end).skip(near.start);
            let like = near.map(|seen| {
                // The text may begin and end within a line.
                let part =
                    if index == 0 || index == last { PART * shape.part_of(seen) } else { 0.0 };
                shape.likeness(seen).max(part)
            });
            sum += shape.weight() * like.fold(0.0, f64::max);
            most += shape.weight();
        }
        sum / most
    }

    fn shown(&self, file: &[u8], start: &Place) -> Nearest {
        let views = start.views(file, self.lines.len());
        let different = self
            .lines
            .iter()
            .zip(&views)
            .enumerate()
            .position(|(index, (line, view))| !self.is_at(index, line, view))
            .unwrap_or(views.len());
        let bare = |line: &[u8]| -> Vec<u8> {
            line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
        };
        let only_blanks = views.len() == self.lines.len()
            && self.lines.iter().zip(&views).all(|(line, view)| bare(line) == bare(view.bytes));
        let skipped = if views.len() > SHOWN_LINES { different.saturating_sub(2) } else { 0 };
        let mut room = SHOWN_BYTES;
        let lines: Vec<String> = views
            .iter()
            .skip(skipped)
            .take(SHOWN_LINES)
            .map(View::shown)
            .take_while(|line| {
                let fits = room == SHOWN_BYTES || line.len() <= room;
                room = room.saturating_sub(line.len() + 1);
                fits
            })
            .collect();
        let first = count_lines(file.get(..start.at).unwrap_or_default()) + 1;
        Nearest {
            first_line: first + count(skipped),
            lines,
            difference: if only_blanks {
                Difference::Blanks
            } else {
                Difference::Line(first + count(different))
            },
        }
    }

    /// Whether the line of the file has what the text wants there.
    fn is_at(&self, index: usize, wanted: &[u8], view: &View<'_>) -> bool {
        match (index == 0, index + 1 == self.lines.len()) {
            (true, true) => memmem::find(view.bytes, wanted).is_some(),
            (true, false) => view.bytes.ends_with(wanted),
            (false, true) => view.bytes.starts_with(wanted),
            (false, false) => view.bytes == wanted,
        }
    }
}

/// Where something of the text was found in the file.
struct Found {
    /// Its line of the text, from 0, and where it is in that line.
    line: usize,
    offset: usize,
    length: usize,
    times: usize,
    first: Vec<usize>,
}

impl Found {
    fn new(line: usize, offset: usize, length: usize) -> Self {
        Self { line, offset, length, times: 0, first: Vec::new() }
    }

    fn add(&mut self, at: usize) {
        self.times += 1;
        if self.first.len() < PLACES {
            self.first.push(at);
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let (line, offset) = (self.line, self.offset);
        self.first.iter().map(move |at| Place { at: *at, line, focus: at.saturating_sub(offset) })
    }
}

#[cfg(test)]
mod tests;
