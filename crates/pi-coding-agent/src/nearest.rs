//! What somebody may have meant by a name that nothing has.
//!
//! Owns: the measure of likeness. Never: words a hint.

/// Most names worth offering.
const MOST: usize = 3;

/// Those of `candidates` that `word` may be a slip of, or the beginning of; the best first.
pub(crate) fn words<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    rank(candidates, |candidate| {
        let is_beginning = word.chars().count() >= 4 && candidate.starts_with(word);
        if is_beginning { Some(0) } else { within_reach(word, distance(word, candidate, false)) }
    })
}

/// Those of `candidates` a part of which `word` may be a slip of; the best first.
pub(crate) fn parts<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    rank(candidates, |candidate| within_reach(word, distance(word, candidate, true)))
}

/// A hint that offers `names`, if there are any.
pub(crate) fn did_you_mean(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("Did you mean {only}?")),
        [first @ .., last] => Some(format!("Did you mean {} or {last}?", first.join(", "))),
    }
}

fn rank<'a>(
    candidates: impl IntoIterator<Item = &'a str>,
    score: impl Fn(&str) -> Option<usize>,
) -> Vec<&'a str> {
    let scored = candidates.into_iter().filter_map(|name| Some((score(name)?, name.len(), name)));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_unstable();
    scored.dedup();
    // What is further off than the best is noise.
    let best = scored.first().map(|(score, ..)| *score);
    let names = scored.into_iter().filter(|(score, ..)| Some(*score) == best);
    names.map(|(.., name)| name).take(MOST).collect()
}

/// One slip in four characters is likely; more is another word.
fn within_reach(word: &str, distance: usize) -> Option<usize> {
    let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
    (distance <= letters / 4 + usize::from(letters == 3)).then_some(distance)
}

/// How many characters have to be put in, left out, changed or swapped with their neighbour to make
/// `word` of `text`, ignoring case; with `in_part`, of some part of `text`.
fn distance(word: &str, text: &str, in_part: bool) -> usize {
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    // Row by row: the cost of making the characters of `word` so far of the first n of `text`.
    let mut row: Vec<usize> =
        if in_part { vec![0; text.len() + 1] } else { (0..=text.len()).collect() };
    let mut above: Option<(char, Vec<usize>)> = None;
    for (index, letter) in word.chars().flat_map(char::to_lowercase).enumerate() {
        let mut next = vec![index + 1];
        let mut left = index + 1;
        for (column, other) in text.iter().enumerate() {
            let cost = |row: &[usize], column: usize| row.get(column).copied().unwrap_or_default();
            let mut best = (cost(&row, column) + usize::from(letter != *other))
                .min(cost(&row, column + 1) + 1)
                .min(left + 1);
            if let Some((before, above)) = &above
                && let Some(previous) = column.checked_sub(1)
                && text.get(previous) == Some(&letter)
                && before == other
            {
                best = best.min(cost(above, previous) + 1);
            }
            next.push(best);
            left = best;
        }
        above = Some((letter, std::mem::replace(&mut row, next)));
    }
    let whole = row.last().copied().unwrap_or_default();
    if in_part { row.into_iter().min().unwrap_or(whole) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_slips() {
        for (word, text, whole, part) in [
            ("", "", 0, 0),
            ("abc", "", 3, 3),
            ("", "abc", 3, 0),
            ("isntall", "install", 1, 1),
            ("sonet", "claude-sonnet-4", 10, 1),
            ("HIGH", "high", 0, 0),
            ("kitten", "sitting", 3, 2),
            ("b\u{e4}r", "bar", 1, 1),
        ] {
            assert_eq!(distance(word, text, false), whole, "{word} {text}");
            assert_eq!(distance(word, text, true), part, "{word} in {text}");
        }
    }

    #[test]
    fn only_what_is_near_is_offered_and_the_nearest_first() {
        let options = ["--model", "--models", "--mode", "--print", "-nt", "-t"];
        for (word, expected) in [
            ("--modl", &["--mode", "--model"][..]),
            ("--prin", &["--print"]),
            ("--prnit", &["--print"]),
            ("-model", &["--model"]),
            ("--bogus-option", &[]),
            ("-Z", &[]),
            ("-", &[]),
            ("", &[]),
        ] {
            assert_eq!(words(word, options), expected, "{word}");
        }
        let models = ["p/claude-sonnet-4-5", "p/claude-opus-4", "q/gpt-5"];
        assert_eq!(parts("sonet", models), ["p/claude-sonnet-4-5"]);
        assert_eq!(parts("claude-opsu", models), ["p/claude-opus-4"]);
        assert_eq!(parts("nothing-like-this", models), [""; 0]);
    }

    #[test]
    fn a_hint_lists_what_is_meant() {
        assert_eq!(did_you_mean(&[]), None);
        assert_eq!(did_you_mean(&["a"]).unwrap(), "Did you mean a?");
        assert_eq!(did_you_mean(&["a", "b", "c"]).unwrap(), "Did you mean a, b or c?");
    }
}
