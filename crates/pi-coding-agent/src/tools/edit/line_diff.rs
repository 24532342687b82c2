//! The shortest way from one list of lines to another (Myers, greedy, deletions before insertions).

use std::ops::Range;

/// Beyond this many changed lines a region counts as replaced: memory grows with its square.
const MAX_DISTANCE: usize = 1000;

/// Lines `old` of the one list become lines `new` of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The changes, in order; between them the lists are equal.
pub(super) fn changes(old: &[&[u8]], new: &[&[u8]]) -> Vec<LineChange> {
    let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) =
        (old.get(before..).unwrap_or_default(), new.get(before..).unwrap_or_default());
    let found = shortest(old_rest, new_rest).unwrap_or_else(|| replaced(old_rest, new_rest));
    found.into_iter().map(|change| shifted(&change, before)).collect()
}

fn shifted(change: &LineChange, by: usize) -> LineChange {
    LineChange {
        old: change.old.start + by..change.old.end + by,
        new: change.new.start + by..change.new.end + by,
    }
}

/// Everything but a common end.
fn replaced(old: &[&[u8]], new: &[&[u8]]) -> Vec<LineChange> {
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    vec![LineChange { old: 0..old.len() - after, new: 0..new.len() - after }]
}

/// `None` if the lists are further apart than [`MAX_DISTANCE`].
fn shortest(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<LineChange>> {
    let max = MAX_DISTANCE.min(old.len() + new.len());
    // furthest[k + max + 1]: the furthest old line reached on diagonal k = old line - new line.
    let middle = max + 1;
    let mut furthest = vec![0_usize; 2 * max + 3];
    let mut trace = Vec::new();
    for distance in 0..=max {
        // Only the diagonals one step can come from matter later.
        trace.push(furthest.get(middle - distance..=middle + distance)?.to_vec());
        for step in (0..=2 * distance).step_by(2) {
            let k = middle + step - distance;
            let (left, right) = (*furthest.get(k - 1)?, *furthest.get(k + 1)?);
            let down = step == 0 || (step != 2 * distance && left < right);
            let mut x = match (distance, down) {
                (0, _) => 0,
                (_, true) => right,
                (_, false) => left + 1,
            };
            let Some(mut y) = (x + middle).checked_sub(k) else { continue };
            while let (Some(a), Some(b)) = (old.get(x), new.get(y)) {
                if a != b {
                    break;
                }
                x += 1;
                y += 1;
            }
            *furthest.get_mut(k)? = x;
            if x >= old.len() && y >= new.len() {
                return way_back(&trace, old.len(), new.len());
            }
        }
    }
    None
}

/// Follows the trace from the end to the start, gathering neighbouring steps.
fn way_back(trace: &[Vec<usize>], old_len: usize, new_len: usize) -> Option<Vec<LineChange>> {
    let (mut x, mut y) = (old_len, new_len);
    let mut found: Vec<LineChange> = Vec::new();
    for distance in (1..trace.len()).rev() {
        // Entry i of this round's trace is diagonal i - distance.
        let before = trace.get(distance)?;
        let k = (x + distance).checked_sub(y)?;
        let left = k.checked_sub(1).and_then(|k| before.get(k)).copied();
        let right = before.get(k + 1).copied();
        let down = k == 0 || (k != 2 * distance && left < right);
        let (from_x, from_y) = if down {
            let from_x = right?;
            (from_x, (from_x + distance).checked_sub(k + 1)?)
        } else {
            let from_x = left?;
            (from_x, (from_x + distance + 1).checked_sub(k)?)
        };
        let (to_x, to_y) = if down { (from_x, from_y + 1) } else { (from_x + 1, from_y) };
        match found.last_mut().filter(|next| next.old.start == to_x && next.new.start == to_y) {
            Some(next) => (next.old.start, next.new.start) = (from_x, from_y),
            None => found.push(LineChange { old: from_x..to_x, new: from_y..to_y }),
        }
        (x, y) = (from_x, from_y);
    }
    found.reverse();
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<&[u8]> {
        text.split_inclusive('\n').map(str::as_bytes).collect()
    }

    fn diff(old: &str, new: &str) -> Vec<(Range<usize>, Range<usize>)> {
        let found = changes(&lines(old), &lines(new));
        found.into_iter().map(|change| (change.old, change.new)).collect()
    }

    #[test]
    fn changes_are_minimal_and_as_late_as_possible() {
        assert_eq!(diff("a\nb\n", "a\nb\n"), []);
        assert_eq!(diff("a\nb\nc\n", "a\nB\nc\n"), [(1..2, 1..2)]);
        assert_eq!(diff("a\nb\n", "a\nb\nb\n"), [(2..2, 2..3)]);
        assert_eq!(diff("a\nb\nb\nc\n", "a\nb\nc\n"), [(2..3, 2..2)]);
        assert_eq!(diff("a \n\n\nb\n", "a\n\nb\n"), [(0..1, 0..1), (2..3, 2..2)]);
        assert_eq!(diff("a\n", ""), [(0..1, 0..0)]);
        assert_eq!(diff("c", "c\n"), [(0..1, 0..1)]);
    }

    #[test]
    fn far_apart_lists_are_one_replacement_with_common_ends() {
        let old: String = (0..3000).map(|i| format!("old {i}\n")).collect();
        let new: String = (0..3000).map(|i| format!("new {i}\n")).collect();
        assert_eq!(diff(&format!("a\n{old}z\n"), &format!("a\n{new}z\n")), [(1..3001, 1..3001)]);
    }

    proptest! {
        #[test]
        fn applying_the_changes_gives_the_new_lines(old in "([ab]\n){0,12}", new in "([ab]\n){0,12}") {
            let (old, new) = (lines(&old), lines(&new));
            let mut built: Vec<&[u8]> = Vec::new();
            let mut at = 0;
            for change in changes(&old, &new) {
                built.extend(&old[at..change.old.start]);
                prop_assert_eq!(built.len(), change.new.start);
                built.extend(&new[change.new.clone()]);
                at = change.old.end;
            }
            built.extend(&old[at..]);
            prop_assert_eq!(built, new);
        }
    }
}
