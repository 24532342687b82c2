//! The order in which people look for names.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// What a name is sorted by: without case and accents first, then with accents, then as it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortKey {
    letters: Vec<u32>,
    lower: String,
    name: String,
}

impl SortKey {
    pub(super) fn new(name: String) -> Self {
        let lower = name.to_lowercase();
        let letters = if lower.is_ascii() {
            lower.chars().map(rank).collect()
        } else {
            lower.nfd().filter(|c| !is_combining_mark(*c)).map(rank).collect()
        };
        Self { letters, lower, name }
    }

    pub(super) fn into_name(self) -> String {
        self.name
    }
}

/// White space and punctuation as the Unicode collation's root table has them, before digits and
/// letters.
const FIRST: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

fn rank(c: char) -> u32 {
    match FIRST.find(c) {
        Some(at) => u32::try_from(at).unwrap_or(u32::MAX),
        None => u32::from(c) + 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_people_sort_them() {
        // As `localeCompare` has the names in lower case.
        let sorted = "_x -x .x #x ~x $x A a a_b a-b a.b a1 a10 a2 ab B co-op coop file_1 file-10 \
                      resume résumé resumes 中 日";
        let mut names: Vec<&str> = sorted.split(' ').rev().collect();
        names.sort_by_key(|name| SortKey::new((*name).to_owned()));
        assert_eq!(names.join(" "), sorted);
    }
}
