//! Ways through the tree: up, down, and where two paths part. Loops, never recursion.

use crate::message::AgentMessage;

use super::tree::{EntryRef, walk_up};
use super::{Diagnostic, Session, context};

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
}
