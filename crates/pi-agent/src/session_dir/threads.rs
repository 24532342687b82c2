//! Sessions as threads: what was forked from a session stands below it.
//!
//! Pure: works on what [`super::list`] found.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::SessionInfo;

/// One line of a threaded list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Which of the sessions that were given.
    pub index: usize,
    /// How many sessions it stands below.
    pub depth: usize,
}

/// The order of a threaded list: each session after the one its `parent_session` names, threads and
/// the forks of one session by the latest activity anywhere below, newest first.
///
/// Every session has one row. One whose parent is not among them begins a thread; of sessions that
/// name each other in a ring, the last modified does.
pub fn threads(sessions: &[SessionInfo]) -> Vec<Row> {
    let mut forest = Forest::new(sessions);
    forest.sort();
    forest.rows()
}

struct Forest {
    /// By parent; `None`: what begins a thread.
    children: BTreeMap<Option<usize>, Vec<usize>>,
    /// Latest activity of a session or of any below it.
    latest: Vec<i64>,
}

impl Forest {
    fn new(sessions: &[SessionInfo]) -> Self {
        let parents = unringed(sessions, parents(sessions));
        let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (index, parent) in parents.iter().enumerate() {
            children.entry(*parent).or_default().push(index);
        }
        let latest = sessions.iter().map(|session| session.modified).collect();
        let mut forest = Self { children, latest };
        // Backwards, every session comes after all that stand below it.
        for Row { index, .. } in forest.rows().into_iter().rev() {
            let below = forest.children.get(&Some(index)).into_iter().flatten();
            let newest = below.filter_map(|child| forest.latest.get(*child)).max().copied();
            if let Some(latest) = forest.latest.get_mut(index) {
                *latest = newest.unwrap_or(*latest).max(*latest);
            }
        }
        forest
    }

    fn sort(&mut self) {
        for siblings in self.children.values_mut() {
            siblings.sort_by_key(|index| Reverse(self.latest.get(*index).copied()));
        }
    }

    /// Depth first, without recursion: forks of forks can be many.
    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.latest.len());
        let below = |parent: Option<usize>, depth: usize| {
            let children = self.children.get(&parent).into_iter().flatten().rev();
            children.map(move |index| Row { index: *index, depth })
        };
        let mut open: Vec<Row> = below(None, 0).collect();
        while let Some(row) = open.pop() {
            rows.push(row);
            open.extend(below(Some(row.index), row.depth + 1));
        }
        rows
    }
}

/// The parent of each. A file that was moved is known by its name, if no other has that.
fn parents(sessions: &[SessionInfo]) -> Vec<Option<usize>> {
    let mut by_path: BTreeMap<&Path, usize> = BTreeMap::new();
    let mut by_name: BTreeMap<&OsStr, Option<usize>> = BTreeMap::new();
    for (index, session) in sessions.iter().enumerate() {
        by_path.insert(&session.path, index);
        if let Some(name) = session.path.file_name() {
            by_name.entry(name).and_modify(|only| *only = None).or_insert(Some(index));
        }
    }
    let parent = |session: &SessionInfo| {
        let path = Path::new(session.parent_session.as_deref()?);
        let named = || by_name.get(path.file_name()?).copied().flatten();
        by_path.get(path).copied().or_else(named)
    };
    sessions.iter().map(parent).collect()
}

/// Takes the parent from one session of each ring.
fn unringed(sessions: &[SessionInfo], mut parents: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let mut seen_from: Vec<Option<usize>> = vec![None; sessions.len()];
    for start in 0..sessions.len() {
        let mut at = Some(start);
        while let Some((index, seen)) = at.and_then(|at| Some((at, seen_from.get_mut(at)?))) {
            if *seen == Some(start) {
                let head = ring_head(index, &parents, sessions);
                if let Some(parent) = parents.get_mut(head) {
                    *parent = None;
                }
            }
            if seen.is_some() {
                break;
            }
            *seen = Some(start);
            at = parents.get(index).copied().flatten();
        }
    }
    parents
}

/// The last modified of the ring that `member` is in.
fn ring_head(member: usize, parents: &[Option<usize>], sessions: &[SessionInfo]) -> usize {
    let others = std::iter::successors(Some(member), |at| {
        parents.get(*at).copied().flatten().filter(|parent| *parent != member)
    });
    others.max_by_key(|at| sessions.get(*at).map(|session| session.modified)).unwrap_or(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions by path, parent and time.
    fn sessions(list: &[(&str, &str, i64)]) -> Vec<SessionInfo> {
        let info = |&(path, parent, modified): &(&str, &str, i64)| SessionInfo {
            parent_session: (!parent.is_empty()).then(|| parent.to_owned()),
            ..SessionInfo::sample(path, modified)
        };
        list.iter().map(info).collect()
    }

    /// The threaded list, two blanks a level.
    fn drawn(list: &[(&str, &str, i64)]) -> Vec<String> {
        let name = |row: Row| format!("{}{}", "  ".repeat(row.depth), list[row.index].0);
        threads(&sessions(list)).into_iter().map(name).collect()
    }

    #[test]
    fn forks_stand_below_the_session_they_come_from() {
        let list = [("/a", "", 30), ("/b", "/a", 20), ("/c", "/b", 10), ("/d", "/a", 25)];
        assert_eq!(drawn(&list), ["/a", "  /d", "  /b", "    /c"]);
    }

    #[test]
    fn threads_sort_by_the_latest_activity_anywhere_in_them() {
        let list =
            [("/old", "", 1), ("/mid", "", 50), ("/fork", "/old", 2), ("/deep", "/fork", 99)];
        assert_eq!(drawn(&list), ["/old", "  /fork", "    /deep", "/mid"]);
        let forks =
            [("/a", "", 9), ("/b", "/a", 5), ("/c", "/a", 1), ("/d", "/c", 7), ("/e", "/a", 6)];
        assert_eq!(drawn(&forks), ["/a", "  /c", "    /d", "  /e", "  /b"]);
    }

    #[test]
    fn a_missing_parent_begins_a_thread() {
        assert_eq!(drawn(&[("/a", "/gone", 1), ("/b", "", 2)]), ["/b", "/a"]);
    }

    #[test]
    fn a_parent_that_was_moved_is_known_by_its_name_if_only_one_has_it() {
        let moved = [("/new/a.jsonl", "", 1), ("/new/b.jsonl", "/old/a.jsonl", 2)];
        assert_eq!(drawn(&moved), ["/new/a.jsonl", "  /new/b.jsonl"]);
        let twice = [("/x/a.jsonl", "", 1), ("/y/a.jsonl", "", 2), ("/b.jsonl", "/z/a.jsonl", 3)];
        assert_eq!(drawn(&twice), ["/b.jsonl", "/y/a.jsonl", "/x/a.jsonl"]);
    }

    #[test]
    fn a_ring_of_parents_is_opened_at_its_newest() {
        let ring = [("/a", "/c", 1), ("/b", "/a", 3), ("/c", "/b", 2), ("/below", "/a", 9)];
        assert_eq!(drawn(&ring), ["/b", "  /c", "    /a", "      /below"]);
        assert_eq!(drawn(&[("/a", "/a", 1)]), ["/a"]);
    }

    #[test]
    fn a_long_chain_is_walked_in_a_loop() {
        let info = |index: i64| SessionInfo {
            parent_session: Some(format!("/{}", index - 1)),
            ..SessionInfo::sample(&format!("/{index}"), index)
        };
        let chain: Vec<_> = (0..20_000).map(info).collect();
        let rows = threads(&chain);
        assert_eq!((rows.len(), rows[19_999].depth), (20_000, 19_999));
    }

    proptest::proptest! {
        #[test]
        fn every_session_has_one_row(parents in proptest::collection::vec(0usize..12, 0..12)) {
            let info = |(index, parent): (usize, &usize)| SessionInfo {
                parent_session: Some(format!("/{parent}")),
                ..SessionInfo::sample(&format!("/{index}"), *parent as i64)
            };
            let list: Vec<_> = parents.iter().enumerate().map(info).collect();
            let mut shown: Vec<_> = threads(&list).into_iter().map(|row| row.index).collect();
            shown.sort_unstable();
            proptest::prop_assert_eq!(shown, (0..list.len()).collect::<Vec<_>>());
        }
    }
}
