//! From the path a model wrote to the path on disk.

use std::path::{Path, PathBuf};

use pi_agent::env::{EnvErrorKind, ExecutionEnv};
use unicode_normalization::UnicodeNormalization;

use crate::paths;

/// Makes a path absolute against `cwd`: one leading `@` is dropped, `~` is the home, a `file://`
/// address is its path, `.` and `..` are resolved by name. What its spaces are, [`locate`] tells.
pub fn resolve(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let path = path.strip_prefix('@').unwrap_or(path);
    paths::fold(&cwd.join(expand(path, home)))
}

/// The file a path means: models write Unicode spaces for plain ones, so each name that has some is
/// itself where there is such a file or folder, and otherwise the name with plain spaces.
pub async fn locate(env: &dyn ExecutionEnv, path: &Path) -> PathBuf {
    let mut located = PathBuf::new();
    for name in path.components() {
        let plain = name.as_os_str().to_str().and_then(with_plain_spaces);
        located.push(name);
        if let Some(plain) = plain
            && is_missing(env, &located).await
        {
            located.set_file_name(plain);
        }
    }
    located
}

async fn is_missing(env: &dyn ExecutionEnv, path: &Path) -> bool {
    let found = env.stat(path).await;
    found.is_err_and(|error| {
        matches!(error.kind, EnvErrorKind::NotFound | EnvErrorKind::NotDirectory)
    })
}

/// `None` if it has no other spaces.
fn with_plain_spaces(name: &str) -> Option<String> {
    let plain: String = name.chars().map(plain_space).collect();
    (plain != name).then_some(plain)
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
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::Bed;

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
            ("a\u{a0}b", "/w/a\u{a0}b"),
            ("file:///etc/my%20file", "/etc/my file"),
            ("file:///a%+fb%4", "/a%+fb%4"),
            ("", "/w"),
        ];
        for (given, want) in cases {
            let got = resolve(given, Path::new("/w"), Some(Path::new("/home/u")));
            assert_eq!(got, Path::new(want), "{given}");
        }
    }

    #[tokio::test]
    async fn a_name_with_special_spaces_means_itself_where_there_is_one() {
        let bed = Bed::new();
        bed.put("a\u{a0}b.txt", "needle\n");
        bed.put("a b.txt", "other\n");
        bed.put("in\u{2003}it/f", "needle\n");
        let name = json!("a\u{a0}b.txt");
        assert_eq!(bed.text("read", json!({"path": name})).await, "needle\n");
        let grep = json!({"path": name, "pattern": "e"});
        assert_eq!(bed.text("grep", grep).await, "a\u{a0}b.txt:1: needle");
        let edits = json!([{"oldText": "needle", "newText": "pin"}]);
        bed.call("edit", json!({"path": name, "edits": edits})).await.unwrap();
        assert_eq!(bed.get("a\u{a0}b.txt"), b"pin\n");
        bed.call("write", json!({"path": name, "content": "all new"})).await.unwrap();
        assert_eq!(bed.get("a\u{a0}b.txt"), b"all new");
        assert_eq!(bed.get("a b.txt"), b"other\n");
        assert_eq!(bed.text("ls", json!({"path": "in\u{2003}it"})).await, "f");
        let find = json!({"path": "in\u{2003}it", "pattern": "*"});
        assert_eq!(bed.text("find", find).await, "f");
        let new = json!({"path": "in\u{2003}it/new\u{2003}one", "content": "x"});
        bed.call("write", new).await.unwrap();
        assert_eq!(bed.get("in\u{2003}it/new one"), b"x");
    }

    #[tokio::test]
    async fn special_spaces_are_plain_where_there_is_no_such_name() {
        let bed = Bed::new();
        bed.put("plain one.txt", "text");
        let spaced = |name: &str| name.replace(' ', "\u{202f}");
        assert_eq!(bed.text("read", json!({"path": spaced("plain one.txt")})).await, "text");
        let new = json!({"path": spaced("new dir/new name"), "content": "x"});
        assert_eq!(
            bed.text("write", new).await,
            format!("Successfully wrote to {}", spaced("new dir/new name"))
        );
        assert_eq!(bed.get("new dir/new name"), b"x");
        assert_eq!(
            bed.text("ls", json!({"path": spaced("no such")})).await,
            format!("Path not found: {}", bed.path("no such").display())
        );
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
