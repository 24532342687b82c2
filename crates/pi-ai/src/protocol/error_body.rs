//! Texts the protocols' errors have in common. Their form is part of error classification: see
//! [`crate::retry`].

/// Characters of a body that are shown; a proxy's error page can be megabytes.
const MAX_SHOWN_CHARS: usize = 4000;

/// The text of a failed answer that says nothing.
pub(super) fn without_body(status: u16) -> String {
    format!("{status} status code (no body)")
}

/// `text`, cut where it is longer than anyone reads.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (shown, rest) = text.split_at(end);
            format!("{shown}... [truncated {} chars]", rest.chars().count())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_whole_characters() {
        let expected = format!("{}... [truncated 3 chars]", "é".repeat(4000));
        assert_eq!(cut(&"é".repeat(4003)), expected);
        assert_eq!(cut(&"x".repeat(4000)), "x".repeat(4000));
    }
}
