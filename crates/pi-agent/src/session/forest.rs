//! A whole session as people look at it: every entry with its children and its mark.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::Value;

use super::labels::Label;
use super::{EntryRef, Session};

/// The entries of a session as a forest: roots, and under each entry its children in file order.
/// An entry whose parent is missing is a root.
#[derive(Debug)]
pub struct Forest<'a> {
    session: &'a Session,
    labels: IndexMap<String, Label>,
}

impl Session {
    /// All entries with their children and marks.
    pub fn tree(&self) -> Forest<'_> {
        Forest { session: self, labels: self.labels() }
    }
}

impl<'a> Forest<'a> {
    pub fn roots(&self) -> impl Iterator<Item = EntryRef<'a>> + use<'a> {
        self.session.tree.children(None)
    }

    pub fn children(&self, of: EntryRef<'a>) -> impl Iterator<Item = EntryRef<'a>> + use<'a> {
        self.session.tree.children(Some(of))
    }

    /// The mark of an entry, if it has one.
    pub fn label(&self, of: EntryRef<'_>) -> Option<&Label> {
        self.labels.get(of.id())
    }

    /// Every entry and how many stand above it, each before its children.
    pub fn walk(&self) -> impl Iterator<Item = (usize, EntryRef<'a>)> + '_ {
        let mut levels = vec![self.session.tree.children(None)];
        std::iter::from_fn(move || {
            loop {
                let depth = levels.len().checked_sub(1)?;
                match levels.last_mut()?.next() {
                    None => drop(levels.pop()),
                    Some(entry) => {
                        levels.push(self.session.tree.children(Some(entry)));
                        return Some((depth, entry));
                    }
                }
            }
        })
    }

    /// A JSON list of the roots. A node is `{entry, children, label?, labelTimestamp?}`; entries are
    /// the bytes of the file. The nesting is as deep as the conversation is long.
    pub fn to_json(&self) -> String {
        let mut json = String::from("[");
        let mut open: Vec<EntryRef<'_>> = Vec::new();
        for (depth, entry) in self.walk() {
            if depth < open.len() {
                open.drain(depth..).rev().for_each(|entry| self.close(entry, &mut json));
                json.push(',');
            }
            json.push_str(r#"{"entry":"#);
            json.push_str(&entry.json());
            json.push_str(r#","children":["#);
            open.push(entry);
        }
        open.drain(..).rev().for_each(|entry| self.close(entry, &mut json));
        json.push(']');
        json
    }

    fn close(&self, entry: EntryRef<'_>, json: &mut String) {
        json.push(']');
        if let Some(Label { text, timestamp }) = self.label(entry) {
            let (text, time) = (Value::from(text.as_str()), Value::from(timestamp.as_str()));
            _ = write!(json, r#","label":{text},"labelTimestamp":{time}"#);
        }
        json.push('}');
    }
}
