//! How much two lines have in common.

/// The pairs of neighbouring characters of a line, in order: without blanks, and with small letters
/// for capital ones.
#[derive(Debug)]
pub(super) struct Shape(Vec<[u8; 2]>);

impl Shape {
    pub(super) fn of(line: &[u8]) -> Self {
        let bare: Vec<u8> = line
            .iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .map(u8::to_ascii_lowercase)
            .collect();
        let mut pairs: Vec<[u8; 2]> = bare.array_windows().copied().collect();
        // A single character is a pair with nothing.
        if let [only] = *bare {
            pairs.push([only, 0]);
        }
        pairs.sort_unstable();
        Self(pairs)
    }

    /// By the length; 0 of a blank line.
    pub(super) fn weight(&self) -> f64 {
        float(self.0.len())
    }

    /// From 0, nothing in common, to 1, the same. Two blank lines are the same.
    pub(super) fn likeness(&self, other: &Self) -> f64 {
        ratio(2 * self.common(other), self.0.len() + other.0.len())
    }

    /// How much of this line is in the other: from 0, nothing, to 1, all.
    pub(super) fn part_of(&self, other: &Self) -> f64 {
        ratio(self.common(other), self.0.len())
    }

    fn common(&self, other: &Self) -> usize {
        let mut others = other.0.iter().peekable();
        let mut common = 0;
        for pair in &self.0 {
            while others.next_if(|other| *other < pair).is_some() {}
            common += usize::from(others.next_if_eq(&pair).is_some());
        }
        common
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { float(part) / float(whole) }
}

fn float(number: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lines are short")]
    let number = number as f64;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_counts_common_pairs_and_no_blanks() {
        let cases = [
            ("abcd", "abcd", 1.0, 1.0),
            ("a b\tcd", "  abCd ", 1.0, 1.0),
            ("abc", "xabcx", 2.0 * 2.0 / 6.0, 1.0),
            ("aaa", "aa", 2.0 / 3.0, 0.5),
            ("abc", "xyz", 0.0, 0.0),
            ("a", "a", 1.0, 1.0),
            ("", "  ", 1.0, 1.0),
            ("ab", "", 0.0, 0.0),
        ];
        for (a, b, likeness, part) in cases {
            let (a, b) = (Shape::of(a.as_bytes()), Shape::of(b.as_bytes()));
            assert_eq!((a.likeness(&b), a.part_of(&b)), (likeness, part), "{a:?} {b:?}");
        }
    }
}
