//! Globs over model names: `*` and `?` stop at `/`, `**` does not, `[a-z]` and `[!a]` are sets.

use regex::{Regex, RegexBuilder};

/// Whether a text is a glob.
pub(super) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The glob as an expression over whole names, ignoring case. `None` when it is not a valid glob.
pub(super) fn compile(glob: &str) -> Option<Regex> {
    let mut expression = String::from("^");
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.next_if_eq(&'*').is_some() => expression.push_str(".*"),
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => {
                expression.push('[');
                if rest.next_if(|c| matches!(c, '!' | '^')).is_some() {
                    expression.push('^');
                }
                for c in rest.by_ref() {
                    match c {
                        ']' => break,
                        '\\' | '[' | '&' | '~' | '^' => expression.extend(['\\', c]),
                        c => expression.push(c),
                    }
                }
                expression.push(']');
            }
            c => expression.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    expression.push('$');
    RegexBuilder::new(&expression).case_insensitive(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        let cases = [
            ("fx/*", "fx/m1", true),
            ("fx/*", "fx/org/x", false),
            ("fx/**", "fx/org/x", true),
            ("*/x*", "org/x:free", true),
            ("ORG/X*", "org/x:free", true),
            ("*zed", "zed", true),
            ("*zed", "zed2", false),
            ("son-?", "son-4", true),
            ("m[2-3]", "m2", true),
            ("m[2-3]", "m1", false),
            ("m[!1]", "m2", true),
            ("m[!1]", "m1", false),
            ("a.b*", "axb", false),
            ("a[^]", "a^", false),
        ];
        for (glob, name, expected) in cases {
            let matched = compile(glob).is_some_and(|glob| glob.is_match(name));
            assert_eq!(matched, expected, "{glob} {name}");
        }
    }
}
