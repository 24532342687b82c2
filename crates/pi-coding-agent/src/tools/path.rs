//! From the path a model wrote to the path on disk.

use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use crate::paths;

/// Makes a path absolute against `cwd`: one leading `@` is dropped, `~` is the home, a `file://`
/// address is its path, Unicode spaces are spaces, `.` and `..` are resolved by name.
pub fn resolve(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let path = path.strip_prefix('@').unwrap_or(path);
    let path: String = path.chars().map(plain_space).collect();
    paths::fold(&cwd.join(expand(&path, home)))
}

/// `~` and `~/…` under `home`, `file://…` as its path; anything else as it is.
pub fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    if let Some(address) = path.strip_prefix("file://") {
        return PathBuf::from(percent_decode(address.strip_prefix("localhost").unwrap_or(address)));
    }
    home.map_or_else(|| PathBuf::from(path), |home| paths::expand_home(path, home))
}

/// Other spellings under which macOS may have stored the name, in the order to try them.
pub fn spellings(path: &Path) -> Vec<PathBuf> {
    let Some(text) = path.to_str() else {
        return Vec::new();
    };
    let nfd: String = text.nfd().collect();
    let candidates = [
        screenshot_space(text),
        nfd.clone(),
        text.replace('\'', "\u{2019}"),
        nfd.replace('\'', "\u{2019}"),
    ];
    candidates.into_iter().filter(|name| name != text).map(PathBuf::from).collect()
}

fn plain_space(c: char) -> char {
    match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// macOS writes a narrow no-break space before the AM or PM of a screenshot's name.
fn screenshot_space(text: &str) -> String {
    let mut out = text.to_owned();
    for (at, _) in text.match_indices(' ') {
        let follows = text.get(at + 1..at + 4).unwrap_or_default();
        if ["am.", "pm."].iter().any(|mark| follows.eq_ignore_ascii_case(mark)) {
            let shift = out.len() - text.len();
            out.replace_range(at + shift..=at + shift, "\u{202f}");
        }
    }
    out
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_against_the_session_folder() {
        let cases = [
            ("a.txt", "/w/a.txt"),
            ("./sub/../a.txt", "/w/a.txt"),
            ("../x", "/x"),
            ("/etc/hosts", "/etc/hosts"),
            ("@a.txt", "/w/a.txt"),
            ("@@a.txt", "/w/@a.txt"),
            ("~", "/home/u"),
            ("~/a", "/home/u/a"),
            ("@~/a", "/home/u/a"),
            ("~foo", "/w/~foo"),
            ("a\u{a0}b\u{202f}c", "/w/a b c"),
            ("file:///etc/my%20file", "/etc/my file"),
            ("", "/w"),
        ];
        for (given, want) in cases {
            let got = resolve(given, Path::new("/w"), Some(Path::new("/home/u")));
            assert_eq!(got, Path::new(want), "{given}");
        }
    }

    #[test]
    fn other_spellings_are_screenshot_space_nfd_curly_and_both() {
        let got = spellings(Path::new("/d/Caf\u{e9}'s 1.00 PM.png"));
        let want = [
            "/d/Caf\u{e9}'s 1.00\u{202f}PM.png",
            "/d/Cafe\u{301}'s 1.00 PM.png",
            "/d/Caf\u{e9}\u{2019}s 1.00 PM.png",
            "/d/Cafe\u{301}\u{2019}s 1.00 PM.png",
        ];
        assert_eq!(got, want.map(PathBuf::from));
        assert_eq!(
            spellings(Path::new("/d/at 1.00 am.png")),
            [PathBuf::from("/d/at 1.00\u{202f}am.png")]
        );
        assert!(spellings(Path::new("/d/plain.txt")).is_empty());
    }
}
