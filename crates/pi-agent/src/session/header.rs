//! The first line of a session file, ids and times.

use std::path::{Path, absolute};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Version of the format this crate writes.
pub const CURRENT_VERSION: u64 = 3;

/// First line of a session file. Fields this version does not know stay in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `session`.
    pub r#type: String,
    /// Absent in the oldest files, which are version 1. Above [`CURRENT_VERSION`] is read as is.
    #[serde(default = "first_version")]
    pub version: u64,
    pub id: String,
    /// ISO 8601, UTC, milliseconds.
    #[serde(default)]
    pub timestamp: String,
    /// Absolute directory the session belongs to; empty in very old files.
    #[serde(default)]
    pub cwd: String,
    /// The file this one was forked, cloned or started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Fields this version does not know.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

impl Header {
    /// The header of a session that begins now. A relative `parent` is made absolute.
    pub fn new(cwd: &Path, id: String, parent: Option<&Path>) -> Self {
        let parent = parent.map(|path| absolute(path).unwrap_or_else(|_| path.to_owned()));
        Self {
            r#type: "session".to_owned(),
            version: CURRENT_VERSION,
            id,
            timestamp: now_iso(),
            cwd: cwd.to_string_lossy().into_owned(),
            parent_session: parent.map(|path| path.to_string_lossy().into_owned()),
            rest: serde_json::Map::new(),
        }
    }

    /// Gives a session that names no directory this one.
    pub(super) fn or_cwd(mut self, cwd: &Path) -> Self {
        if self.cwd.is_empty() {
            self.cwd = cwd.to_string_lossy().into_owned();
        }
        self
    }

    /// Reads a line that should be a header.
    pub(crate) fn from_json(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok().filter(|header: &Self| header.r#type == "session")
    }
}

fn first_version() -> u64 {
    1
}

/// The id breaks the rule for session ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character"
)]
pub struct InvalidSessionId;

/// Checks a session id somebody chose.
///
/// # Errors
/// The id breaks the rule the error states.
pub fn check_session_id(id: &str) -> Result<(), InvalidSessionId> {
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let allowed = id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if allowed && is_edge(id.chars().next()) && is_edge(id.chars().next_back()) {
        Ok(())
    } else {
        Err(InvalidSessionId)
    }
}

/// A new session id: a UUID of version 7, so ids sort by time.
pub fn new_session_id() -> String {
    Uuid::now_v7().to_string()
}

/// A new entry id: eight hex digits, or a whole UUID when `taken` refuses a hundred of those.
pub(super) fn new_entry_id(taken: impl Fn(&str) -> bool) -> String {
    (0..100)
        .map(|_| {
            let mut id = Uuid::new_v4().simple().to_string();
            id.truncate(8);
            id
        })
        .find(|id| !taken(id))
        .unwrap_or_else(|| Uuid::new_v4().to_string())
}

/// Now, as the file writes times: `2026-01-02T03:04:05.006Z`.
pub(super) fn now_iso() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// A session name fit for one line: runs of line ends become a space, the ends are trimmed.
pub fn clean_name(name: &str) -> String {
    name.split(['\n', '\r'])
        .enumerate()
        .filter(|(index, part)| *index == 0 || !part.is_empty())
        .map(|(_, part)| part)
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_keep_the_rule() {
        for good in ["a", "A-1_b.c", "01a22d82-19a9-72ef-90dd-f4cbdeaae1a6", "7"] {
            assert_eq!(check_session_id(good), Ok(()), "{good}");
        }
        for bad in ["", "-a", "a-", ".a", "a.", "a b", "ä", "a/b", "a\n"] {
            assert_eq!(check_session_id(bad), Err(InvalidSessionId), "{bad}");
        }
    }

    #[test]
    fn new_session_ids_are_version_7() {
        let id = new_session_id();
        assert_eq!(Uuid::parse_str(&id).expect("uuid").get_version_num(), 7);
        assert_eq!(check_session_id(&id), Ok(()));
    }

    #[test]
    fn entry_ids_are_eight_hex_digits_or_a_uuid() {
        let id = new_entry_id(|_| false);
        assert_eq!(id.len(), 8);
        assert!(id.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')));
        assert_eq!(new_entry_id(|id| id.len() == 8).len(), 36);
    }

    #[test]
    fn names_lose_line_ends_and_outer_blanks() {
        let cases = [
            ("  my  name \n x", "my  name   x"),
            ("a\n\nb\r\nc\td", "a b c\td"),
            ("\n", ""),
            ("  ", ""),
            ("plain", "plain"),
            ("\na\n", "a"),
        ];
        for (name, expected) in cases {
            assert_eq!(clean_name(name), expected, "{name:?}");
        }
    }

    #[test]
    fn times_have_milliseconds_and_a_z() {
        let now = now_iso();
        assert_eq!((now.len(), now.chars().next_back()), (24, Some('Z')), "{now}");
    }

    #[test]
    fn fields_that_are_not_known_stay() {
        let line = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w","x":[1.5],"provider":"p"}"#;
        let header = Header::from_json(line).expect("header");
        assert_eq!(serde_json::to_string(&header).expect("JSON"), line);
    }

    #[test]
    fn the_parent_is_named_from_the_root() {
        let header = Header::new(Path::new("/w"), "id".into(), Some(Path::new("p.jsonl")));
        let parent = header.parent_session.expect("parent");
        assert!(Path::new(&parent).is_absolute() && parent.ends_with("p.jsonl"), "{parent}");
    }

    #[test]
    fn headers_are_written_in_the_known_order() {
        let mut header = Header::new(Path::new("/w"), "id".into(), Some(Path::new("/p.jsonl")));
        header.timestamp = "t".into();
        assert_eq!(
            serde_json::to_string(&header).expect("serializes"),
            r#"{"type":"session","version":3,"id":"id","timestamp":"t","cwd":"/w","parentSession":"/p.jsonl"}"#
        );
    }
}
