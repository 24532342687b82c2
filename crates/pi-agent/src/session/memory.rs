//! A session's text in memory, for embedders that keep it elsewhere or show it, and for tests.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::storage::{Changes, SessionStorage};

/// Text that clones share, as processes share a file.
#[derive(Debug, Clone, Default)]
pub struct MemoryStorage {
    shared: Arc<Mutex<Shared>>,
    /// What this clone has seen of it.
    seen: Seen,
}

#[derive(Debug, Default)]
struct Shared {
    text: Option<Vec<u8>>,
    /// Grows with every replacement.
    edition: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    edition: u64,
    length: usize,
}

impl MemoryStorage {
    /// A storage that holds `text` already.
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        let shared = Shared { text: Some(text.into()), edition: 1 };
        Self { shared: Arc::new(Mutex::new(shared)), seen: Seen::default() }
    }

    /// What is kept; `None` while nothing is.
    pub fn text(&self) -> Option<Vec<u8>> {
        lock(&self.shared).text.clone()
    }
}

impl SessionStorage for MemoryStorage {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let shared = lock(&self.shared);
        self.seen = shared.state();
        Ok(shared.text.clone())
    }

    fn changes(&mut self) -> io::Result<Changes> {
        let shared = lock(&self.shared);
        let seen = std::mem::replace(&mut self.seen, shared.state());
        let added = shared.text.as_ref().and_then(|text| text.get(seen.length..));
        Ok(match added {
            _ if seen == self.seen => Changes::None,
            Some(added) if seen.edition == shared.edition => Changes::Added(added.to_vec()),
            _ => Changes::Replaced,
        })
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        let mut shared = lock(&self.shared);
        let is_current = shared.state() == self.seen;
        let text = shared.text.get_or_insert_default();
        if text.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(lines.as_bytes());
        // With lines of others before them, these are read as a change.
        if is_current {
            self.seen = shared.state();
        }
        Ok(())
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        let mut shared = lock(&self.shared);
        if shared.state() != self.seen {
            return Ok(false);
        }
        *shared = Shared { text: Some(text.into()), edition: shared.edition + 1 };
        self.seen = shared.state();
        Ok(true)
    }
}

impl Shared {
    fn state(&self) -> Seen {
        Seen { edition: self.edition, length: self.text.as_ref().map_or(0, Vec::len) }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
