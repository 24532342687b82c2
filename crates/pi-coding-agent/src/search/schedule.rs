//! Work on a tree by several threads whose results come out in the order of the tree.
//!
//! Every job has a place in the tree. The first place waiting is always worked on next, so that the
//! results of the beginning are there early and little is held back; what is done is given out as
//! soon as nothing before it is still to come. Pure; knows nothing of threads or files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Where something stands in a tree: the position in its folder, after those of the folders above.
/// Ordered as a walk meets it, a folder before what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Vec<u32>);

impl Place {
    pub(super) fn root() -> Self {
        Self(Vec::new())
    }

    pub(super) fn child(&self, position: u32) -> Self {
        let mut place = Vec::with_capacity(self.0.len() + 1);
        place.extend_from_slice(&self.0);
        place.push(position);
        Self(place)
    }
}

/// Jobs that wait, places being worked on, and results that come too early.
#[derive(Debug)]
pub(super) struct Schedule<J, R> {
    waiting: BinaryHeap<Reverse<Waiting<J>>>,
    running: Vec<Place>,
    early: BTreeMap<Place, R>,
}

#[derive(Debug)]
struct Waiting<J> {
    place: Place,
    job: J,
}

impl<J> PartialEq for Waiting<J> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<J> Eq for Waiting<J> {}

impl<J> PartialOrd for Waiting<J> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<J> Ord for Waiting<J> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

impl<J, R> Schedule<J, R> {
    pub(super) fn new() -> Self {
        Self { waiting: BinaryHeap::new(), running: Vec::new(), early: BTreeMap::new() }
    }

    /// Adds a job; a place holds one. Only while a job at or before its place is running, or
    /// before any has been taken: otherwise its results would come too late.
    pub(super) fn add(&mut self, place: Place, job: J) {
        self.waiting.push(Reverse(Waiting { place, job }));
    }

    /// The first job that waits; its place counts as being worked on until [`Self::done`].
    pub(super) fn take(&mut self) -> Option<(Place, J)> {
        let Reverse(Waiting { place, job }) = self.waiting.pop()?;
        self.running.push(place.clone());
        Some((place, job))
    }

    /// The job at `place` has ended.
    pub(super) fn done(&mut self, place: &Place) {
        if let Some(at) = self.running.iter().position(|running| running == place) {
            self.running.swap_remove(at);
        }
    }

    /// Keeps a result until its turn has come.
    pub(super) fn put(&mut self, place: Place, result: R) {
        self.early.insert(place, result);
    }

    /// The next result in order, if nothing that may come before it is still to be done.
    pub(super) fn next_result(&mut self) -> Option<R> {
        let first_open = self.first_open();
        let first = self.early.first_entry()?;
        match first_open {
            Some(open) if open <= *first.key() => None,
            _ => Some(first.remove()),
        }
    }

    /// Results that have come too early.
    pub(super) fn held_back(&self) -> usize {
        self.early.len()
    }

    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Whether nothing waits and nothing is being worked on.
    pub(super) fn is_finished(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    fn first_open(&self) -> Option<Place> {
        let waiting = self.waiting.peek().map(|Reverse(waiting)| &waiting.place);
        self.running.iter().chain(waiting).min().cloned()
    }
}

#[cfg(test)]
mod tests;
