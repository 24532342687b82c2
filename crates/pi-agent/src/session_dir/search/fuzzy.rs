//! Rough matching: letters in the right order, with others between them.

/// How many characters are left out between the first and the last letter of `word` in `text`, at
/// the place where that is least; `None`: the letters are not all there, in this order. `word` is in
/// lower case.
pub(super) fn gap(word: &str, text: &str) -> Option<usize> {
    let word: Vec<char> = word.chars().collect();
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let starts = text.iter().enumerate().filter(|(_, c)| Some(*c) == word.first());
    starts.filter_map(|(start, _)| span(&word, text.get(start..)?)).min()?.checked_sub(word.len())
}

/// How many characters of `text`, from its beginning, hold all letters of `word`.
fn span(word: &[char], text: &[char]) -> Option<usize> {
    let mut at = 0;
    for letter in word {
        at += text.get(at..)?.iter().position(|c| c == letter)? + 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_is_what_lies_between_the_letters() {
        let cases = [
            ("abc", "abc", Some(0)),
            ("abc", "xABCx", Some(0)),
            ("abc", "a-b-c", Some(2)),
            ("abc", "a----b abc", Some(0)),
            ("abc", "ab", None),
            ("abc", "cba", None),
            ("üa", "Über a", Some(4)),
            ("", "abc", None),
            ("a", "", None),
        ];
        for (word, text, expected) in cases {
            assert_eq!(gap(word, text), expected, "{word} in {text}");
        }
    }
}
