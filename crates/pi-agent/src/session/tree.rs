//! The entries of one session in memory: an index over the file's text, and the leaf.
//!
//! Text that was read stays as it was read; bodies are parsed when asked for. Entries made by this
//! process are kept typed, so their messages are shared and not read again. Walks are loops and
//! linear in depth.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::entry::{Entry, EntryBody, EntryKind};
use super::jsonl::{Diagnostic, Envelope, Line, Problem, lines};
use crate::message::AgentMessage;

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
    /// Made when somebody asks for children, thrown away when an entry comes.
    children: OnceLock<ChildIndex>,
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
    Text {
        text: usize,
        start: usize,
        end: usize,
        /// Where in the line its message stands; empty where it has none.
        message: Range<usize>,
    },
    Typed(Arc<Entry>),
}

/// One entry of a session, not yet parsed.
#[derive(Clone, Copy)]
pub struct EntryRef<'a> {
    tree: &'a Tree,
    slot: &'a Slot,
    index: usize,
}

/// Two of one session are equal when they are the same entry.
impl PartialEq for EntryRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.slot, other.slot)
    }
}

impl Eq for EntryRef<'_> {}

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
            Source::Text { text, start, end, .. } => Cow::Borrowed(
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

    /// The message of a `message` entry as JSON, exactly as the file has it.
    pub(super) fn message_json(&self) -> Option<Cow<'a, str>> {
        match &self.slot.source {
            Source::Text { text, start, end, message } if !message.is_empty() => {
                let line = self.tree.texts.get(*text)?.get(*start..*end)?;
                line.get(message.clone()).map(Cow::Borrowed)
            }
            Source::Typed(entry) if let EntryBody::Message { message } = &entry.body => {
                serde_json::to_string(message).ok().map(Cow::Owned)
            }
            Source::Text { .. } | Source::Typed(_) => None,
        }
    }

    /// Length in bytes of what [`Self::message_json`] borrows.
    pub(super) fn message_len(&self) -> usize {
        match &self.slot.source {
            Source::Text { message, .. } => message.len(),
            Source::Typed(_) => 0,
        }
    }

    /// The message of a `message` entry. A context reads little else, so the head is passed over.
    ///
    /// # Errors
    /// Its fields do not fit its role.
    pub(super) fn message(&self) -> Result<AgentMessage, serde_json::Error> {
        match &self.slot.source {
            Source::Typed(entry) if let EntryBody::Message { message } = &entry.body => {
                Ok(message.clone())
            }
            Source::Text { .. } | Source::Typed(_) => Entry::message_from_json(&self.json()),
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
            let Range { start, end } = line.range;
            let message = envelope.message_range(content);
            let source = Source::Text { text: text_index, start, end, message };
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
        self.children.take();
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
        let mut adopted = Vec::new();
        self.orphans.retain(|(child, parent_id)| match by_id.get(parent_id.as_ref()) {
            Some(parent) if parent != child => {
                if let Some(slot) = slots.get_mut(*child) {
                    slot.parent = Some(*parent);
                }
                adopted.push(*child);
                false
            }
            _ => true,
        });
        if !adopted.is_empty() {
            self.children.take();
            self.cut_rings(&adopted);
        }
    }

    /// Makes a root of the first entry of each ring, so that every walk ends. Only an adopted entry
    /// can close one: every other stands below its parent.
    fn cut_rings(&mut self, adopted: &[usize]) {
        let mut walk_of = vec![None; self.slots.len()];
        for start in adopted {
            let mut at = Some(*start);
            while let Some(index) = at {
                match walk_of.get_mut(index) {
                    Some(walk @ None) => *walk = Some(*start),
                    Some(Some(walk)) if walk == start => {
                        self.cut_ring(index);
                        break;
                    }
                    _ => break,
                }
                at = self.slots.get(index).and_then(|slot| slot.parent);
            }
        }
    }

    fn cut_ring(&mut self, on_ring: usize) {
        let parent = |index: &usize| self.slots.get(*index).and_then(|slot| slot.parent);
        let rest = std::iter::successors(parent(&on_ring), parent).take_while(|at| *at != on_ring);
        let first = rest.fold(on_ring, usize::min);
        if let Some(slot) = self.slots.get_mut(first) {
            slot.parent = None;
        }
    }

    /// The text that was read first: the whole file, as it was then.
    pub(super) fn text_read_first(&self) -> &str {
        self.texts.first().map_or("", String::as_str)
    }

    fn at(&self, index: usize) -> Option<EntryRef<'_>> {
        Some(EntryRef { tree: self, slot: self.slots.get(index)?, index })
    }

    pub(super) fn get(&self, id: &str) -> Option<EntryRef<'_>> {
        self.at(*self.by_id.get(id)?)
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = EntryRef<'_>> {
        self.slots.iter().enumerate().map(|(index, slot)| EntryRef { tree: self, slot, index })
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
        let mut path: Vec<_> = walk_up(from).collect();
        path.reverse();
        path
    }

    /// Roots, or the entries below `parent`, in file order.
    pub(super) fn children(
        &self,
        parent: Option<EntryRef<'_>>,
    ) -> impl Iterator<Item = EntryRef<'_>> {
        let index = self.children.get_or_init(|| ChildIndex::new(&self.slots));
        index.of(parent.map(|parent| parent.index)).iter().filter_map(|child| self.at(*child))
    }
}

/// From an entry up to its root, both included.
pub(super) fn walk_up(from: Option<EntryRef<'_>>) -> impl Iterator<Item = EntryRef<'_>> {
    std::iter::successors(from, EntryRef::parent)
}

/// The children of every entry, those of one beside each other.
#[derive(Debug)]
struct ChildIndex {
    /// Where the children of entry `i` begin, at `i + 1`; the roots begin at 0.
    starts: Vec<usize>,
    children: Vec<usize>,
}

impl ChildIndex {
    fn new(slots: &[Slot]) -> Self {
        let family = |slot: &Slot| slot.parent.map_or(0, |parent| parent + 1);
        let mut starts = vec![0; slots.len() + 2];
        for slot in slots {
            if let Some(count) = starts.get_mut(family(slot) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let (mut next, mut children) = (starts.clone(), vec![0; slots.len()]);
        for (index, slot) in slots.iter().enumerate() {
            let Some(at) = next.get_mut(family(slot)) else { continue };
            if let Some(child) = children.get_mut(*at) {
                *child = index;
            }
            *at += 1;
        }
        Self { starts, children }
    }

    fn of(&self, parent: Option<usize>) -> &[usize] {
        let family = parent.map_or(0, |parent| parent + 1);
        match self.starts.get(family..family + 2) {
            Some(&[start, end]) => self.children.get(start..end).unwrap_or_default(),
            _ => &[],
        }
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
