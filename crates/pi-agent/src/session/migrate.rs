//! Bringing files of versions 1 and 2 to version 3.
//!
//! Works on raw JSON fields: what is not touched stays as it was, to the last digit. Lines that
//! cannot be parsed are lost on the way. Pure; writing the result is the caller's.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::header::{CURRENT_VERSION, new_entry_id};
use super::jsonl::lines;
use super::tree::Report;

type Fields = IndexMap<String, Box<RawValue>>;

/// The whole file in the current version. Lines left behind are reported.
///
/// # Errors
/// A field cannot be written as JSON, which no field that was read does.
pub(super) fn migrate(
    text: &str,
    from: u64,
    report: &mut Report<'_>,
) -> Result<String, serde_json::Error> {
    let mut records: Vec<Fields> = Vec::new();
    for line in lines(text) {
        let content = text.get(line.range.clone()).unwrap_or_default();
        match serde_json::from_str(content) {
            Ok(record) => records.push(record),
            Err(_) if content.trim_ascii().is_empty() => report.blank(&line),
            Err(error) => report.unparsable(&line, &error),
        }
    }
    if from < 2 {
        add_tree(&mut records)?;
    }
    if from < 3 {
        rename_hook_messages(&mut records)?;
    }
    if let Some(header) = records.first_mut() {
        header.insert("version".to_owned(), to_raw_value(&CURRENT_VERSION)?);
    }
    let mut migrated = String::with_capacity(text.len() + records.len() * 48);
    for record in &records {
        migrated.push_str(&serde_json::to_string(record)?);
        migrated.push('\n');
    }
    Ok(migrated)
}

/// Version 1 was a list: each entry becomes the child of the one before, and indexes become ids.
fn add_tree(records: &mut [Fields]) -> Result<(), serde_json::Error> {
    // By place in the file; the header has none.
    let mut ids: Vec<Option<String>> = Vec::with_capacity(records.len());
    let mut taken = BTreeSet::new();
    for record in records {
        if ids.is_empty() {
            ids.push(None);
            continue;
        }
        let id = new_entry_id(|id| taken.contains(id));
        record.insert("id".to_owned(), to_raw_value(&id)?);
        record.insert("parentId".to_owned(), to_raw_value(&ids.last())?);
        if let Some(index) = record.get("firstKeptEntryIndex").and_then(|index| number(index)) {
            record.shift_remove("firstKeptEntryIndex");
            // An index that is no entry before this one keeps nothing.
            let first_kept = index.and_then(|index| ids.get(index)?.as_ref()).unwrap_or(&id);
            record.insert("firstKeptEntryId".to_owned(), to_raw_value(first_kept)?);
        }
        taken.insert(id.clone());
        ids.push(Some(id));
    }
    Ok(())
}

/// `None`: not a number at all; inside, an index that a list can have. It counts every parsed line,
/// the header too.
fn number(json: &RawValue) -> Option<Option<usize>> {
    let text = json.get();
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_number.then(|| text.strip_suffix(".0").unwrap_or(text).parse().ok())
}

/// Messages of hooks are custom messages since version 3.
fn rename_hook_messages(records: &mut [Fields]) -> Result<(), serde_json::Error> {
    #[derive(Deserialize)]
    struct Role {
        role: String,
    }
    for record in records {
        let Some(message) = record.get_mut("message") else { continue };
        let is_hook = serde_json::from_str::<Role>(message.get())
            .is_ok_and(|message| message.role == "hookMessage");
        if !is_hook {
            continue;
        }
        let mut fields: Fields = serde_json::from_str(message.get())?;
        fields.insert("role".to_owned(), to_raw_value("custom")?);
        *message = to_raw_value(&fields)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::jsonl::Problem;
    use super::*;
    use serde_json::Value;

    fn migrated(text: &str, from: u64) -> Vec<Value> {
        migrate(text, from, &mut Report { path: None, found: &mut Vec::new() })
            .expect("migrates")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    #[test]
    fn version_1_becomes_a_chain_and_keeps_unknown_fields_in_place() {
        let text = concat!(
            r#"{"type":"session","id":"s","cwd":"/w","provider":"old"}"#,
            "\n",
            r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"a","x":1.10}}"#,
            "\n\nnot json\n",
            r#"{"type":"weird","foo":1}"#,
            "\n",
        );
        let mut found = Vec::new();
        let mut report = Report { path: None, found: &mut found };
        let out = migrate(text, 1, &mut report).expect("migrates");
        assert_eq!(found.iter().map(|d| d.line).collect::<Vec<_>>(), [Some(3), Some(4)]);
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(
            lines[0],
            r#"{"type":"session","id":"s","cwd":"/w","provider":"old","version":3}"#
        );
        let first: Value = serde_json::from_str(lines[1]).expect("JSON");
        let id = first["id"].as_str().expect("id");
        assert_eq!(
            lines[1],
            format!(
                r#"{{"type":"message","timestamp":"t","message":{{"role":"user","content":"a","x":1.10}},"id":"{id}","parentId":null}}"#
            )
        );
        let second: Value = serde_json::from_str(lines[2]).expect("JSON");
        assert_eq!((&second["type"], &second["parentId"]), (&"weird".into(), &id.into()));
        assert_eq!(lines.len(), 3);
    }

    /// Line 1 is the header; lines 2 and 3 have indexes 1 and 2, and the compaction has 3.
    #[test]
    fn compaction_indexes_count_every_parsed_line() {
        let cases = [
            ("1", Some(1)),
            ("2", Some(2)),
            ("2.0", Some(2)),
            // The header, itself, one below it, one that is not there, and what is no index.
            ("0", Some(3)),
            ("3", Some(3)),
            ("4", Some(3)),
            ("99", Some(3)),
            ("-1", Some(3)),
            ("1.5", Some(3)),
            ("\"2\"", None),
            ("null", None),
        ];
        for (index, expected) in cases {
            let text = format!(
                "{{\"type\":\"session\",\"id\":\"s\"}}\nbroken\n\n{{\"type\":\"a\"}}\n{{\"type\":\"b\"}}\n\
                 {{\"type\":\"compaction\",\"firstKeptEntryIndex\":{index}}}\n{{\"type\":\"c\"}}\n",
            );
            let out = migrated(&text, 1);
            let expected = expected.map_or(&Value::Null, |line: usize| &out[line]["id"]);
            assert_eq!(&out[3]["firstKeptEntryId"], expected, "{index}");
            let is_left = out[3].get("firstKeptEntryIndex").is_some();
            assert_eq!(is_left, expected.is_null(), "{index}");
        }
    }

    #[test]
    fn line_ends_of_all_kinds_and_long_lines_are_read() {
        let long = "x".repeat(3_000_000);
        let text = format!(
            "{{\"type\":\"session\",\"id\":\"s\"}}\r\n\r\n{{\"type\":\"a\",\"long\":\"{long}\"}}\r\n{{\"type\":\"b\"}}"
        );
        let mut found = Vec::new();
        let out = migrate(&text, 1, &mut Report { path: None, found: &mut found });
        let out = out.expect("migrates");
        assert_eq!(found.iter().map(|d| d.line).collect::<Vec<_>>(), [Some(2)]);
        assert!(out.ends_with("}\n") && !out.contains('\r') && out.contains(&long));
        assert_eq!(out.lines().count(), 3);
    }

    #[test]
    fn lines_that_are_no_object_vanish_and_are_reported() {
        let text =
            "{\"type\":\"session\",\"id\":\"s\"}\n42\nnull\n[1]\n\"s\"\n{\"type\":\"a\"}\n{\"ty";
        let mut found = Vec::new();
        let out = migrate(text, 1, &mut Report { path: None, found: &mut found });
        assert_eq!(out.expect("migrates").lines().count(), 2);
        assert_eq!(found.iter().filter_map(|d| d.line).collect::<Vec<_>>(), [2, 3, 4, 5, 7]);
        assert_eq!(found.last().map(|d| &d.problem), Some(&Problem::TornLine));
    }

    #[test]
    fn a_header_alone_gets_its_version() {
        for (text, from) in [
            ("{\"type\":\"session\",\"id\":\"s\"}", 1),
            ("{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n", 2),
        ] {
            let out = migrated(text, from);
            assert_eq!((out.len(), &out[0]["version"], &out[0]["id"]), (1, &3.into(), &"s".into()));
        }
    }

    #[test]
    fn version_2_renames_hook_messages_only() {
        let text = concat!(
            "{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n",
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage","customType":"x"}}"#,
            "\n",
            r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"hookMessage"}}"#,
            "\n",
        );
        let out = migrated(text, 2);
        assert_eq!(out[0]["version"], 3);
        assert_eq!(out[1]["message"]["role"], "custom");
        assert_eq!(out[1]["id"], "a");
        assert_eq!(out[2]["message"]["content"], "hookMessage");
    }
}
