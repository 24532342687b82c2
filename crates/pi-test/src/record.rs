//! Making records of two runs comparable.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

/// Replaces what differs from run to run with placeholders: folders, UUIDs, entry ids, times,
/// durations. Equal ids get equal placeholders, numbered in order of appearance.
#[derive(Debug, Default)]
pub struct Normalizer {
    /// Longest first, so that a folder inside another wins.
    folders: Vec<(String, String)>,
    uuids: BTreeMap<String, usize>,
    entries: BTreeMap<String, usize>,
}

impl Normalizer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows the folders of a scratch home as `<WS>`, `<AGENT>`, `<HOME>` and `<TMP>`.
    pub fn for_scratch(scratch: &crate::Scratch) -> Self {
        let mut normalizer = Self::new();
        normalizer.folder(&scratch.ws(), "<WS>");
        normalizer.folder(&scratch.agent(), "<AGENT>");
        normalizer.folder(&scratch.home(), "<HOME>");
        normalizer.folder(&scratch.tmp(), "<TMP>");
        normalizer
    }

    /// Shows `path` as `placeholder` wherever it occurs.
    pub fn folder(&mut self, path: &Path, placeholder: &str) {
        self.folders.push((path.display().to_string(), placeholder.to_owned()));
        self.folders.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    }

    /// Text with placeholders.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, placeholder) in &self.folders {
            text = text.replace(path, placeholder);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let (length, placeholder) = if let Some(uuid) = rest.get(..36).filter(|s| is_uuid(s)) {
                (36, numbered("uuid", &mut self.uuids, uuid))
            } else if rest.get(..24).is_some_and(is_iso_time) {
                (24, "<iso>".to_owned())
            } else {
                (first.len_utf8(), first.to_string())
            };
            out.push_str(&placeholder);
            rest = rest.get(length..).unwrap_or_default();
        }
        out
    }

    /// A JSON record with placeholders, by the names session files and events use.
    pub fn json(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let mut out = Map::new();
                for (key, value) in object {
                    out.insert(self.text(key), self.member(key, value));
                }
                Value::Object(out)
            }
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::String(text) => Value::String(self.text(text)),
            other => other.clone(),
        }
    }

    fn member(&mut self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("timestamp", Value::Number(_)) => "<ms>".into(),
            ("durationMs", Value::Number(_)) => "<duration>".into(),
            (_, Value::String(id)) if is_id_key(key) && is_entry_id(id) => {
                numbered("e", &mut self.entries, id).into()
            }
            _ => self.json(value),
        }
    }
}

/// Every place where the two differ, as `path: expected … found …`.
pub fn json_differences(expected: &Value, found: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare("$", expected, found, &mut differences);
    differences
}

fn compare(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => compare(&format!("{path}.{key}"), value, other, out),
                    None => out.push(format!("{path}.{key}: expected {value} found nothing")),
                }
            }
            for (key, value) in b {
                if !a.contains_key(key) {
                    out.push(format!("{path}.{key}: expected nothing found {value}"));
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (value, other)) in a.iter().zip(b).enumerate() {
                compare(&format!("{path}[{index}]"), value, other, out);
            }
        }
        // 1 and 1.0 are one number.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if expected == found => {}
        _ => out.push(format!("{path}: expected {expected} found {found}")),
    }
}

fn numbered(name: &str, seen: &mut BTreeMap<String, usize>, id: &str) -> String {
    let next = seen.len() + 1;
    let number = *seen.entry(id.to_owned()).or_insert(next);
    format!("<{name}:{number}>")
}

fn is_id_key(key: &str) -> bool {
    key == "id" || key.ends_with("Id") || key.ends_with("EntryId")
}

/// Session entries carry eight hexadecimal digits.
fn is_entry_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// `2026-01-02T03:04:05.678Z`.
fn is_iso_time(text: &str) -> bool {
    text.bytes().zip("dddd-dd-ddTdd:dd:dd.dddZ".bytes()).all(|(byte, shape)| match shape {
        b'd' => byte.is_ascii_digit(),
        _ => byte == shape,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_from_run_to_run_becomes_a_placeholder() {
        let mut normalizer = Normalizer::new();
        normalizer.folder(Path::new("/t/x"), "<ROOT>");
        normalizer.folder(Path::new("/t/x/ws"), "<WS>");
        let record = json!({
            "id": "0123abcd", "parentId": "89abcdef", "firstKeptEntryId": "0123abcd",
            "cwd": "/t/x/ws/a", "timestamp": 1_700_000_000_000_i64, "durationMs": 5,
            "at": "2026-01-02T03:04:05.678Z",
            "file": "/t/x/f_01890a5d-ac96-774b-bcce-b302099a8057.jsonl",
            "count": 3, "name": "caf\u{e9} 0123abcd",
        });
        assert_eq!(
            normalizer.json(&record),
            json!({
                "id": "<e:1>", "parentId": "<e:2>", "firstKeptEntryId": "<e:1>",
                "cwd": "<WS>/a", "timestamp": "<ms>", "durationMs": "<duration>",
                "at": "<iso>", "file": "<ROOT>/f_<uuid:1>.jsonl",
                "count": 3, "name": "caf\u{e9} 0123abcd",
            })
        );
    }

    #[test]
    fn differences_name_their_place() {
        let expected = json!({"a": [1, {"b": 2}], "c": 1});
        let found = json!({"a": [1.0, {"b": 3}], "d": 1});
        assert_eq!(
            json_differences(&expected, &found),
            [
                "$.a[1].b: expected 2 found 3",
                "$.c: expected 1 found nothing",
                "$.d: expected nothing found 1"
            ]
        );
        assert!(json_differences(&expected, &expected).is_empty());
    }
}
