//! The entries of one session in memory: an index over the file's text, and the leaf.
//!
//! Text that was read stays as it was read; bodies are parsed when asked for. Entries made by this
//! process are kept typed, so their messages are shared and not read again. Walks are loops and
//! linear in depth.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::entry::{Entry, EntryKind};
use super::jsonl::{Diagnostic, Envelope, Line, Problem, lines};

/// Index over all entries, in file order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The file as read first, then what other processes added later.
    texts: Vec<String>,
    slots: Vec<Slot>,
    /// The newest entry of each id.
    by_id: IndexMap<Arc<str>, usize>,
    /// Entries whose parent has not been seen: roots, until it shows up.
    orphans: Vec<(usize, Box<str>)>,
    leaf: Option<usize>,
}

#[derive(Debug)]
struct Slot {
    kind: EntryKind,
    id: Arc<str>,
    parent: Option<usize>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Text { text: usize, start: usize, end: usize },
    Typed(Arc<Entry>),
}

/// One entry of a session, not yet parsed.
#[derive(Clone, Copy)]
pub struct EntryRef<'a> {
    tree: &'a Tree,
    slot: &'a Slot,
}

impl fmt::Debug for EntryRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryRef").field("kind", self.kind()).field("id", &self.id()).finish()
    }
}

impl<'a> EntryRef<'a> {
    pub fn kind(&self) -> &'a EntryKind {
        &self.slot.kind
    }

    pub fn id(&self) -> &'a str {
        &self.slot.id
    }

    /// The entry it hangs below; `None` for a root, also one whose parent is missing.
    pub fn parent(&self) -> Option<Self> {
        self.tree.at(self.slot.parent?)
    }

    /// The entry as JSON, exactly as the file has it.
    pub fn json(&self) -> Cow<'a, str> {
        match &self.slot.source {
            Source::Text { text, start, end } => Cow::Borrowed(
                self.tree.texts.get(*text).and_then(|t| t.get(*start..*end)).unwrap_or_default(),
            ),
            Source::Typed(entry) => {
                Cow::Owned(serde_json::to_string(entry.as_ref()).unwrap_or_default())
            }
        }
    }

    /// The entry, typed.
    ///
    /// # Errors
    /// Its fields do not fit its type.
    pub fn parse(&self) -> Result<Arc<Entry>, serde_json::Error> {
        match &self.slot.source {
            Source::Text { .. } => Entry::from_json(&self.json()).map(Arc::new),
            Source::Typed(entry) => Ok(Arc::clone(entry)),
        }
    }
}

/// How [`Tree::read`] treats what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// A whole file: the leaf becomes its last entry, entries with a known id are kept too.
    Whole,
    /// Something another process wrote: the leaf stays, known ids are passed over.
    Addition,
}

impl Tree {
    /// Indexes every line of `text` that is no header.
    pub(super) fn read(&mut self, text: String, reading: Reading, report: &mut Report<'_>) {
        let text_index = self.texts.len();
        let mut has_header = reading == Reading::Addition;
        for line in lines(&text) {
            let Some(content) = text.get(line.range.clone()) else { continue };
            if content.trim_ascii().is_empty() {
                report.blank(&line);
                continue;
            }
            let envelope = match serde_json::from_str::<Envelope<'_>>(content) {
                Ok(envelope) if envelope.r#type == "session" => {
                    if has_header {
                        report.malformed(&line, "a second header");
                    }
                    has_header = true;
                    continue;
                }
                Ok(envelope) if envelope.id.is_empty() => {
                    report.malformed(&line, "no id");
                    continue;
                }
                Ok(envelope) => envelope,
                Err(error) => {
                    report.unparsable(&line, &error);
                    continue;
                }
            };
            if reading == Reading::Addition && self.by_id.contains_key(envelope.id.as_ref()) {
                continue;
            }
            let source =
                Source::Text { text: text_index, start: line.range.start, end: line.range.end };
            let parent = envelope.parent_id.as_ref().map(|id| id.0.as_ref());
            self.insert((&*envelope.r#type).into(), &envelope.id, parent, source);
        }
        self.texts.push(text);
        self.adopt_orphans();
        if reading == Reading::Whole {
            self.leaf = self.slots.len().checked_sub(1);
        }
    }

    /// Adds an entry this process made; it becomes the leaf.
    pub(super) fn push(&mut self, entry: &Arc<Entry>) {
        let source = Source::Typed(Arc::clone(entry));
        self.insert(entry.kind.clone(), &entry.id, entry.parent_id.as_deref(), source);
        self.leaf = self.slots.len().checked_sub(1);
    }

    fn insert(&mut self, kind: EntryKind, id: &str, parent_id: Option<&str>, source: Source) {
        let index = self.slots.len();
        let parent = parent_id.and_then(|parent| self.by_id.get(parent).copied());
        if let (None, Some(parent_id)) = (parent, parent_id) {
            self.orphans.push((index, parent_id.into()));
        }
        let id: Arc<str> = id.into();
        self.slots.push(Slot { kind, id: Arc::clone(&id), parent, source });
        self.by_id.insert(id, index);
    }

    /// Parents that stand further down than their children are rare but legal.
    fn adopt_orphans(&mut self) {
        let (by_id, slots) = (&self.by_id, &mut self.slots);
        self.orphans.retain(|(child, parent_id)| match by_id.get(parent_id.as_ref()) {
            Some(parent) if parent != child => {
                if let Some(slot) = slots.get_mut(*child) {
                    slot.parent = Some(*parent);
                }
                false
            }
            _ => true,
        });
    }

    fn at(&self, index: usize) -> Option<EntryRef<'_>> {
        Some(EntryRef { tree: self, slot: self.slots.get(index)? })
    }

    pub(super) fn get(&self, id: &str) -> Option<EntryRef<'_>> {
        self.at(*self.by_id.get(id)?)
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = EntryRef<'_>> {
        self.slots.iter().map(|slot| EntryRef { tree: self, slot })
    }

    pub(super) fn leaf(&self) -> Option<EntryRef<'_>> {
        self.at(self.leaf?)
    }

    /// Moves the leaf; `false` when there is no such entry.
    pub(super) fn set_leaf(&mut self, id: Option<&str>) -> bool {
        let leaf = id.map(|id| self.by_id.get(id).copied());
        if leaf == Some(None) {
            return false;
        }
        self.leaf = leaf.flatten();
        true
    }

    /// The entries from the root down to `from`, both included.
    pub(super) fn path_to<'a>(&'a self, from: Option<EntryRef<'a>>) -> Vec<EntryRef<'a>> {
        // The bound ends the walk in a file whose parents form a ring.
        let mut path: Vec<_> =
            std::iter::successors(from, EntryRef::parent).take(self.slots.len()).collect();
        path.reverse();
        path
    }
}

/// Where a reader puts what it has to say.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) path: Option<&'a Path>,
    pub(super) found: &'a mut Vec<Diagnostic>,
}

impl Report<'_> {
    pub(super) fn blank(&mut self, line: &Line) {
        self.add(Some(line.number), Problem::BlankLine);
    }

    pub(super) fn unparsable(&mut self, line: &Line, error: &serde_json::Error) {
        if line.ended {
            self.malformed(line, &error.to_string());
        } else {
            self.add(Some(line.number), Problem::TornLine);
        }
    }

    fn malformed(&mut self, line: &Line, why: &str) {
        self.add(Some(line.number), Problem::MalformedLine(why.to_owned()));
    }

    pub(super) fn add(&mut self, line: Option<usize>, problem: Problem) {
        self.found.push(Diagnostic { path: self.path.map(Path::to_path_buf), line, problem });
    }
}
