//! Calls that change one file run one after another, in the order they were asked for.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::path::real_path;

/// One waiting line per real file. Clones share the lines.
#[derive(Debug, Clone, Default)]
pub struct MutationQueue {
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug, Default)]
struct Lines {
    next_id: u64,
    by_path: BTreeMap<PathBuf, VecDeque<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    /// Taken when the waiter's turn comes; the first in line has none.
    call: Option<oneshot::Sender<()>>,
}

impl MutationQueue {
    /// Joins the line of `path`. The place is taken now, not when [`Turn::wait`] is first polled.
    pub fn join(&self, path: &Path) -> Turn {
        let key = real_path(path);
        let mut lines = self.lock();
        let id = lines.next_id;
        lines.next_id += 1;
        let line = lines.by_path.entry(key.clone()).or_default();
        let (call, called) = if line.is_empty() {
            (None, None)
        } else {
            let (call, called) = oneshot::channel();
            (Some(call), Some(called))
        };
        line.push_back(Waiter { id, call });
        drop(lines);
        Turn { queue: self.clone(), key, id, called }
    }

    fn leave(&self, key: &Path, id: u64) {
        let mut lines = self.lock();
        let Some(line) = lines.by_path.get_mut(key) else {
            return;
        };
        line.retain(|waiter| waiter.id != id);
        if let Some(call) = line.front_mut().and_then(|first| first.call.take()) {
            _ = call.send(());
        }
        if line.is_empty() {
            lines.by_path.remove(key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in line; dropping it lets the next one go.
#[derive(Debug)]
pub struct Turn {
    queue: MutationQueue,
    key: PathBuf,
    id: u64,
    called: Option<oneshot::Receiver<()>>,
}

impl Turn {
    /// Waits until everyone before is done.
    pub async fn wait(&mut self) {
        if let Some(called) = &mut self.called {
            // The sender lives as long as this place in line does.
            _ = called.await;
        }
        self.called = None;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.leave(&self.key, self.id);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn ready(turn: &mut Turn) -> bool {
        let mut wait = Box::pin(turn.wait());
        wait.as_mut().now_or_never().is_some()
    }

    #[test]
    fn one_file_is_served_in_order_of_joining() {
        let queue = MutationQueue::default();
        let mut first = queue.join(Path::new("/x/a"));
        let second = queue.join(Path::new("/x/a"));
        let third = queue.join(Path::new("/x/a"));
        assert!(ready(&mut first));
        drop(first);
        drop(second);
        let mut third = third;
        assert!(ready(&mut third));
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_does_not_let_others_pass() {
        let queue = MutationQueue::default();
        let first = queue.join(Path::new("/x/a"));
        let second = queue.join(Path::new("/x/a"));
        let mut third = queue.join(Path::new("/x/a"));
        drop(second);
        let waiting = tokio::spawn(async move { third.wait().await });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        waiting.await.unwrap();
    }

    #[test]
    fn links_share_the_line_of_their_target_and_other_files_do_not_wait() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("real"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let queue = MutationQueue::default();
        let mut real = queue.join(&dir.path().join("real"));
        let mut link = queue.join(&dir.path().join("link"));
        let mut other = queue.join(&dir.path().join("other"));
        assert!(ready(&mut real) && ready(&mut other));
        assert!(link.called.as_mut().is_some_and(|called| called.try_recv().is_err()));
    }

    #[test]
    fn idle_lines_are_forgotten() {
        let queue = MutationQueue::default();
        drop(queue.join(Path::new("/x/a")));
        let a = queue.join(Path::new("/x/a"));
        let b = queue.join(Path::new("/x/a"));
        drop(b);
        drop(a);
        assert!(queue.lock().by_path.is_empty());
    }
}
