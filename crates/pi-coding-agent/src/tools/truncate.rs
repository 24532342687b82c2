//! Cutting long text down to what a model should read. Pure; knows nothing of files or processes.

use serde::{Deserialize, Serialize};

/// Most lines of one tool result.
pub const MAX_LINES: u64 = 2000;
/// Most bytes of one tool result.
pub const MAX_BYTES: u64 = 50 * 1024;
/// Stands for "no line limit": the largest integer every JSON reader keeps exact.
pub const NO_LINE_LIMIT: u64 = (1 << 53) - 1;

/// How much text may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub lines: u64,
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: MAX_LINES, bytes: MAX_BYTES }
    }
}

/// Size of a text of which only a part may be at hand. A final newline ends the last line and
/// starts no new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub lines: u64,
    pub bytes: u64,
}

impl Totals {
    pub fn of(text: &str) -> Self {
        let newlines = count(memchr::memchr_iter(b'\n', text.as_bytes()).count());
        let open_line = u64::from(!text.is_empty() && !text.ends_with('\n'));
        Self { lines: newlines + open_line, bytes: count(text.len()) }
    }
}

/// What was cut, as it is told in the `details` of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TruncationResult {
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<TruncatedBy>,
    pub total_lines: u64,
    pub total_bytes: u64,
    pub output_lines: u64,
    pub output_bytes: u64,
    /// The content is the end of one line that alone is over the limit.
    pub last_line_partial: bool,
    /// The first line alone is over the limit, so there is no content.
    pub first_line_exceeds_limit: bool,
    pub max_lines: u64,
    pub max_bytes: u64,
}

/// The limit that cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    Lines,
    Bytes,
}

/// Keeps whole lines from the start of `text`.
pub fn truncate_head(text: &str, limits: Limits) -> TruncationResult {
    head_of(text, Totals::of(text), limits)
}

/// [`truncate_head`] for a longer text that starts with `start`. What is missing must lie beyond
/// the byte limit.
pub fn head_of(start: &str, totals: Totals, limits: Limits) -> TruncationResult {
    if fits(totals, limits) {
        return whole(start, totals, limits);
    }
    let mut kept = Kept::default();
    let mut end = 0;
    let mut position = 0;
    for line in start.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        match kept.room(count(bare.len()), limits) {
            Room::Yes => end = position + bare.len(),
            Room::No(by) => {
                kept.by = by;
                break;
            }
        }
        position += line.len();
    }
    let first_line_exceeds_limit = kept.lines == 0 && kept.by == TruncatedBy::Bytes;
    TruncationResult {
        first_line_exceeds_limit,
        ..cut(start.get(..end).unwrap_or_default(), &kept, totals, limits)
    }
}

/// Keeps whole lines from the end of `text`, or the end of its last line if that alone is too long.
pub fn truncate_tail(text: &str, limits: Limits) -> TruncationResult {
    tail_of(text, Totals::of(text), limits)
}

/// [`truncate_tail`] for a longer text that ends with `end`. What is missing must lie beyond the
/// byte limit.
pub fn tail_of(end: &str, totals: Totals, limits: Limits) -> TruncationResult {
    if fits(totals, limits) {
        return whole(end, totals, limits);
    }
    let end = end.strip_suffix('\n').unwrap_or(end);
    let mut kept = Kept::default();
    let mut start = end.len();
    for line in end.rsplit('\n') {
        match kept.room(count(line.len()), limits) {
            Room::Yes if kept.lines == 1 => start -= line.len(),
            Room::Yes => start -= line.len() + 1,
            Room::No(by) => {
                kept.by = by;
                break;
            }
        }
    }
    let last_line_partial = kept.lines == 0 && kept.by == TruncatedBy::Bytes;
    if last_line_partial {
        start = end.len() - end.len().min(usize::try_from(limits.bytes).unwrap_or(usize::MAX));
        while !end.is_char_boundary(start) {
            start += 1;
        }
        kept.lines = 1;
    }
    TruncationResult {
        last_line_partial,
        ..cut(end.get(start..).unwrap_or_default(), &kept, totals, limits)
    }
}

/// A size for people: `B`, `KB` or `MB`, the latter two with one decimal.
pub fn format_size(bytes: u64) -> String {
    const KB: u64 = 1024;
    const MB: u64 = 1024 * KB;
    let (unit, name) = match bytes {
        0..KB => return format!("{bytes}B"),
        KB..MB => (KB, "KB"),
        _ => (MB, "MB"),
    };
    let tenths = (u128::from(bytes) * 10 + u128::from(unit / 2)) / u128::from(unit);
    format!("{}.{}{name}", tenths / 10, tenths % 10)
}

/// Lines taken so far.
struct Kept {
    lines: u64,
    bytes: u64,
    by: TruncatedBy,
}

impl Default for Kept {
    fn default() -> Self {
        Self { lines: 0, bytes: 0, by: TruncatedBy::Lines }
    }
}

enum Room {
    Yes,
    No(TruncatedBy),
}

impl Kept {
    /// Takes a line of `len` bytes if both limits allow it.
    fn room(&mut self, len: u64, limits: Limits) -> Room {
        if self.lines >= limits.lines {
            return Room::No(TruncatedBy::Lines);
        }
        let newline = u64::from(self.lines > 0);
        if self.bytes + newline + len > limits.bytes {
            return Room::No(TruncatedBy::Bytes);
        }
        self.lines += 1;
        self.bytes += newline + len;
        Room::Yes
    }
}

fn fits(totals: Totals, limits: Limits) -> bool {
    totals.lines <= limits.lines && totals.bytes <= limits.bytes
}

fn whole(text: &str, totals: Totals, limits: Limits) -> TruncationResult {
    TruncationResult {
        content: text.to_owned(),
        truncated: false,
        truncated_by: None,
        total_lines: totals.lines,
        total_bytes: totals.bytes,
        output_lines: totals.lines,
        output_bytes: totals.bytes,
        last_line_partial: false,
        first_line_exceeds_limit: false,
        max_lines: limits.lines,
        max_bytes: limits.bytes,
    }
}

fn cut(content: &str, kept: &Kept, totals: Totals, limits: Limits) -> TruncationResult {
    TruncationResult {
        truncated: true,
        truncated_by: Some(kept.by),
        output_lines: kept.lines,
        output_bytes: count(content.len()),
        ..whole(content, totals, limits)
    }
}

/// `usize` is never wider than 64 bits here.
pub(crate) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(n: usize) -> String {
        (1..=n).map(|i| format!("{i}\n")).collect()
    }

    #[test]
    fn text_within_both_limits_stays_whole() {
        for text in ["", "a", "a\n", &lines(2000), lines(2000).trim_end()] {
            let result = truncate_head(text, Limits::default());
            assert_eq!((result.truncated, result.truncated_by), (false, None));
            assert_eq!(result.content, text);
            assert_eq!(truncate_tail(text, Limits::default()), result);
        }
    }

    #[test]
    fn line_limit_keeps_2000_lines_of_either_end() {
        let head = truncate_head(&lines(2001), Limits::default());
        assert_eq!(head.truncated_by, Some(TruncatedBy::Lines));
        assert!(head.content.starts_with("1\n2\n") && head.content.ends_with("\n2000"));
        assert_eq!((head.total_lines, head.output_lines), (2001, 2000));
        assert_eq!((head.total_bytes, head.output_bytes), (8898, 8892));

        let tail = truncate_tail(&lines(2001), Limits::default());
        assert!(tail.content.starts_with("2\n3\n") && tail.content.ends_with("\n2001"));
        assert_eq!((tail.output_lines, tail.output_bytes), (2000, 8895));
    }

    #[test]
    fn byte_limit_keeps_whole_lines() {
        let text: String = (1..=3000).map(|i| format!("line {i} of the long file\n")).collect();
        let head = truncate_head(&text, Limits::default());
        assert_eq!(head.truncated_by, Some(TruncatedBy::Bytes));
        assert_eq!((head.output_lines, head.output_bytes), (1937, 51191));
        assert!(head.content.ends_with("line 1937 of the long file"));
        let tail = truncate_tail(&text, Limits::default());
        assert!(tail.content.ends_with("line 3000 of the long file"));
        assert!(tail.output_bytes <= MAX_BYTES && !tail.last_line_partial);
    }

    #[test]
    fn a_first_line_over_the_limit_leaves_no_content() {
        let head = truncate_head(&"z".repeat(60_000), Limits::default());
        assert!(head.first_line_exceeds_limit && head.content.is_empty());
        assert_eq!((head.output_lines, head.output_bytes, head.total_lines), (0, 0, 1));
    }

    #[test]
    fn only_the_final_newline_over_the_limit_counts_as_a_line_cut() {
        let head = truncate_head(&("z".repeat(51_200) + "\n"), Limits::default());
        assert_eq!((head.truncated_by, head.output_lines), (Some(TruncatedBy::Lines), 1));
        assert_eq!((head.total_bytes, head.output_bytes), (51_201, 51_200));
    }

    #[test]
    fn the_tail_of_one_long_line_is_kept_from_a_character_start() {
        let tail = truncate_tail(&("é".repeat(30_000) + "x\n"), Limits::default());
        assert!(tail.last_line_partial);
        assert_eq!((tail.output_lines, tail.output_bytes), (1, 51_199));
        assert!(tail.content.starts_with('é') && tail.content.ends_with("éx"));
    }

    #[test]
    fn a_short_last_line_hides_the_long_one_before_it() {
        let tail = truncate_tail(&("z".repeat(200_000) + "\nend\n"), Limits::default());
        assert_eq!((tail.content.as_str(), tail.last_line_partial), ("end", false));
        assert_eq!((tail.total_lines, tail.output_lines), (2, 1));
    }

    #[test]
    fn search_tools_have_no_line_limit() {
        let limits = Limits { lines: NO_LINE_LIMIT, bytes: MAX_BYTES };
        assert!(!truncate_head(&lines(5000), limits).truncated);
        let cut = serde_json::to_value(truncate_head(&lines(20_000), limits)).unwrap();
        assert_eq!(cut["maxLines"], 9_007_199_254_740_991_u64);
        assert_eq!(cut["truncatedBy"], "bytes");
    }

    #[test]
    fn sizes_have_one_decimal_above_bytes() {
        let cases = [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KB"),
            (1280, "1.3KB"),
            (51_200, "50.0KB"),
            (60_000, "58.6KB"),
            (70_000, "68.4KB"),
            (3_000_000, "2.9MB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(format_size(bytes), text);
        }
    }

    /// What either cut must keep to.
    fn check(text: &str, limits: Limits, result: &TruncationResult) {
        let totals = Totals::of(text);
        assert_eq!((result.total_lines, result.total_bytes), (totals.lines, totals.bytes));
        assert_eq!(result.output_bytes, count(result.content.len()));
        assert_eq!(result.truncated, result.content != text);
        assert_eq!(result.truncated, result.truncated_by.is_some());
        assert_eq!(result.truncated, !fits(totals, limits));
        if result.truncated {
            assert!(result.output_bytes <= limits.bytes && result.output_lines <= limits.lines);
        }
    }

    proptest! {
        #[test]
        fn whole_lines_are_kept_and_what_is_missing_is_told(
            text in "([a\u{e9}\u{20ac}\u{1f600}]{0,5}\n){0,12}[a\u{1f600}]{0,5}",
            lines in 1_u64..14,
            bytes in 4_u64..90,
        ) {
            let limits = Limits { lines, bytes };
            let all: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
            let fitting = |kept: &[&str]| count(kept.len()) <= lines && count(kept.join("\n").len()) <= bytes;

            let head = truncate_head(&text, limits);
            check(&text, limits, &head);
            let kept = usize::try_from(head.output_lines).unwrap();
            if head.truncated {
                prop_assert_eq!(all[..kept].join("\n"), &*head.content);
                prop_assert!(kept == all.len() || !fitting(&all[..=kept]));
                prop_assert_eq!(head.first_line_exceeds_limit, kept == 0);
                prop_assert!(!head.last_line_partial);
            }

            let tail = truncate_tail(&text, limits);
            check(&text, limits, &tail);
            let kept = usize::try_from(tail.output_lines).unwrap();
            if tail.last_line_partial {
                let last = all.last().unwrap();
                prop_assert!(last.ends_with(&tail.content) && count(last.len()) > bytes);
                // No room for one more character.
                let (left, _) = last.split_at(last.len() - tail.content.len());
                let next = left.chars().next_back().unwrap().len_utf8();
                prop_assert!(tail.output_bytes + count(next) > bytes);
            } else if tail.truncated {
                prop_assert_eq!(all[all.len() - kept..].join("\n"), &*tail.content);
                prop_assert!(kept == all.len() || !fitting(&all[all.len() - kept - 1..]));
            }
        }

        #[test]
        fn a_part_beyond_the_limit_is_cut_like_the_whole(
            text in "([a\u{e9}\u{1f600}]{0,5}\n){0,20}",
            lines in 1_u64..30,
            bytes in 4_u64..50,
            more in 0_usize..40,
        ) {
            let limits = Limits { lines, bytes };
            let room = usize::try_from(bytes).unwrap() + 1 + more;
            let (start, _) = text.split_at(text.floor_char_boundary(room.min(text.len())));
            let (_, end) = text.split_at(text.ceil_char_boundary(text.len().saturating_sub(room)));
            // Four bytes of slack: the cut may fall back within a character.
            prop_assume!(more >= 4 || text.len() <= room);
            if !fits(Totals::of(&text), limits) {
                prop_assert_eq!(head_of(start, Totals::of(&text), limits), truncate_head(&text, limits));
                prop_assert_eq!(tail_of(end, Totals::of(&text), limits), truncate_tail(&text, limits));
            }
        }
    }
}
