//! Ways through the tree: up, down, where two paths part, and where choosing an entry leads. Loops,
//! never recursion.

use pi_ai::{InputBlock, UserContent};

use crate::message::AgentMessage;

use super::entry::EntryBody;
use super::tree::{EntryRef, walk_up};
use super::{Diagnostic, Session, SessionError, context, no_such_entry};

/// Where choosing an entry of the tree leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedTarget<'a> {
    /// The leaf to go to; `None`: before every entry.
    pub leaf: Option<&'a str>,
    /// What the user is given to write anew.
    pub editor_text: Option<String>,
}

impl Session {
    /// From the leaf up to its root, each entry found when it is asked for.
    pub fn walk_up(&self) -> impl Iterator<Item = EntryRef<'_>> {
        walk_up(self.leaf())
    }

    /// The entries right below one, or the roots, in file order. An entry whose parent is missing
    /// is a root; an id that is not in the session has no children.
    pub fn children(&self, id: Option<&str>) -> Vec<EntryRef<'_>> {
        let parent = id.map(|id| self.entry(id));
        if parent == Some(None) {
            return Vec::new();
        }
        self.tree.children(parent.flatten()).collect()
    }

    /// The deepest entry that lies on the paths from the root to both, themselves included. `None`
    /// when they hang below different roots or one of them is not in the session.
    pub fn common_ancestor(&self, a: &str, b: &str) -> Option<EntryRef<'_>> {
        let (a, b) = (self.entry(a)?, self.entry(b)?);
        let depth = |entry| walk_up(Some(entry)).count();
        let (depth_a, depth_b) = (depth(a), depth(b));
        let a = walk_up(Some(a)).skip(depth_a.saturating_sub(depth_b));
        let b = walk_up(Some(b)).skip(depth_b.saturating_sub(depth_a));
        a.zip(b).find(|(a, b)| a == b).map(|(a, _)| a)
    }

    /// The messages the path to the leaf comes to, as [`Self::context`] has them, each with the
    /// entry it stems from. A compaction can bring two. Entries that cannot be read are left out.
    pub fn context_entries(&self) -> Vec<(EntryRef<'_>, AgentMessage)> {
        self.context_entries_of(&self.branch())
    }

    /// The same for any path from a root downwards.
    pub(crate) fn context_entries_of<'a>(
        &self,
        path: &[EntryRef<'a>],
    ) -> Vec<(EntryRef<'a>, AgentMessage)> {
        let mut left_out: Vec<Diagnostic> = Vec::new();
        context::told(path, &mut left_out)
    }

    /// Choosing what the user said, or what an extension said for them, means saying it anew: its
    /// parent is the leaf, and its text comes back. Choosing any other entry means going on after
    /// it.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn select_target(&self, id: &str) -> Result<SelectedTarget<'_>, SessionError> {
        let entry = self.entry(id).ok_or_else(|| no_such_entry(id))?;
        let said = entry.parse().ok().and_then(|parsed| match &parsed.body {
            EntryBody::Message { message: AgentMessage::User(m) } => Some(text_of(&m.content)),
            EntryBody::CustomMessage { content, .. } => Some(text_of(content)),
            _ => None,
        });
        let leaf = if said.is_some() { entry.parent() } else { Some(entry) };
        Ok(SelectedTarget { leaf: leaf.map(|leaf| leaf.id()), editor_text: said })
    }
}

/// The text as it was typed: blocks run together.
pub(super) fn text_of(content: &UserContent) -> String {
    match content {
        UserContent::Text(text) => text.clone(),
        UserContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
    }
}
