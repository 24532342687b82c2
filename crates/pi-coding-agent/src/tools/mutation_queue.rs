//! Calls that change one file run one after another, in the order they were asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_agent::ToolError;
use pi_agent::env::{ExecutionEnv, FileIdentity};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{crashed, path};

/// One waiting line per real file. Clones share the lines.
#[derive(Debug, Clone)]
pub struct MutationQueue {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    env: Arc<dyn ExecutionEnv>,
    places: Mutex<Places>,
    /// Somebody has left.
    left: Notify,
}

/// Everybody who waits or is at work, in the order of joining.
#[derive(Debug, Default)]
struct Places {
    next_id: u64,
    by_id: BTreeMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Which file that is. Found out by the first who must know; there is no time to when joining.
    real: Option<Real>,
}

/// A file by its real path, and by what it is where other real paths lead to it as well.
#[derive(Debug)]
struct Real {
    path: PathBuf,
    shared: Option<FileIdentity>,
}

impl Real {
    async fn of(env: &dyn ExecutionEnv, path: PathBuf) -> Self {
        let path = path::locate(env, &path).await;
        let path = env.real_path(&path).await.unwrap_or(path);
        let shared = env.stat(&path).await.ok().and_then(|found| found.shared);
        Self { path, shared }
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || (self.shared.is_some() && self.shared == other.shared)
    }
}

impl MutationQueue {
    /// `env` says which paths are one file.
    pub fn new(env: Arc<dyn ExecutionEnv>) -> Self {
        let inner = Inner { env, places: Mutex::default(), left: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Joins the line of `path`. The place is taken now, not when [`Turn::wait`] is first polled.
    pub fn join(&self, path: &Path) -> Turn {
        let mut places = self.inner.places();
        let id = places.next_id;
        places.next_id += 1;
        places.by_id.insert(id, Place { path: path.to_owned(), real: None });
        drop(places);
        Turn { queue: self.clone(), id }
    }
}

impl Inner {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in line; dropping it lets the next one go.
#[derive(Debug)]
pub struct Turn {
    queue: MutationQueue,
    id: u64,
}

impl Turn {
    /// Waits until everyone before is done with the file.
    pub async fn wait(&mut self) {
        let Inner { env, left, .. } = &*self.queue.inner;
        loop {
            let somebody_leaves = left.notified();
            let standing = self.queue.inner.places().standing(self.id);
            match standing {
                Standing::First => return,
                Standing::Behind => somebody_leaves.await,
                // The one whose path it is may not have been polled yet, and nobody waits for that.
                Standing::Unclear { id, path } => {
                    let real = Real::of(&**env, path).await;
                    self.queue.inner.places().settle(id, real);
                }
            }
        }
    }

    /// Runs `work`, which changes the file, to its end even if nobody waits any more, and keeps the
    /// place until then.
    ///
    /// # Errors
    /// Those of `work`; `cancel` came first, and the work is left behind.
    pub(super) async fn finish<T: Send + 'static>(
        self,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, ToolError>> + Send + 'static,
    ) -> Result<T, ToolError> {
        let work = tokio::spawn(async move {
            let _place = self;
            work.await
        });
        tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|broken| Err(crashed(&broken))),
            () = cancel.cancelled() => Err(ToolError::new(
                "Operation aborted. The change had begun and may still be made.",
            )),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.inner.places().by_id.remove(&self.id);
        self.queue.inner.left.notify_waiters();
    }
}

enum Standing {
    First,
    /// Somebody before has the same file.
    Behind,
    /// It must be known first which file this one means.
    Unclear {
        id: u64,
        path: PathBuf,
    },
}

impl Places {
    fn standing(&self, id: u64) -> Standing {
        let mut before = self.by_id.range(..id).peekable();
        let (Some(mine), Some(_)) = (self.by_id.get(&id), before.peek()) else {
            return Standing::First;
        };
        let Some(real) = &mine.real else {
            return Standing::Unclear { id, path: mine.path.clone() };
        };
        for (id, place) in before {
            match &place.real {
                None => return Standing::Unclear { id: *id, path: place.path.clone() },
                Some(other) if other.is(real) => return Standing::Behind,
                Some(_) => {}
            }
        }
        Standing::First
    }

    /// The first answer stays.
    fn settle(&mut self, id: u64, real: Real) {
        if let Some(place) = self.by_id.get_mut(&id) {
            place.real.get_or_insert(real);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tools::testing::Bed;

    fn queue(bed: &Bed) -> MutationQueue {
        MutationQueue::new(bed.env())
    }

    /// Whether its turn comes while nobody leaves.
    async fn is_called(turn: &mut Turn) -> bool {
        tokio::time::timeout(Duration::from_millis(200), turn.wait()).await.is_ok()
    }

    #[tokio::test]
    async fn one_file_is_served_in_order_of_joining() {
        let bed = Bed::new();
        let queue = queue(&bed);
        let mut first = queue.join(Path::new("/x/a"));
        let second = queue.join(Path::new("/x/a"));
        let mut third = queue.join(Path::new("/x/a"));
        assert!(!is_called(&mut third).await);
        assert!(is_called(&mut first).await);
        drop(first);
        assert!(!is_called(&mut third).await);
        drop(second);
        assert!(is_called(&mut third).await);
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_does_not_let_others_pass() {
        let bed = Bed::new();
        let queue = queue(&bed);
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

    #[tokio::test]
    async fn links_share_the_line_of_their_target_and_other_files_do_not_wait() {
        let bed = Bed::new();
        bed.put("real", "x");
        std::os::unix::fs::symlink("real", bed.path("link")).unwrap();
        std::fs::hard_link(bed.path("real"), bed.path("name")).unwrap();
        let queue = queue(&bed);
        let mut link = queue.join(&bed.path("link"));
        let mut real = queue.join(&bed.path("real"));
        let mut name = queue.join(&bed.path("name"));
        let mut other = queue.join(&bed.path("other"));
        // Nobody has asked for the turn of the link yet, and it counts all the same.
        assert!(is_called(&mut other).await && !is_called(&mut real).await);
        assert!(!is_called(&mut name).await);
        assert!(is_called(&mut link).await);
        drop(link);
        assert!(is_called(&mut real).await);
    }

    #[tokio::test]
    async fn special_spaces_join_the_line_of_the_file_they_mean() {
        let bed = Bed::new();
        bed.put("its\u{a0}own", "x");
        std::os::unix::fs::symlink("its\u{a0}own", bed.path("link")).unwrap();
        let queue = queue(&bed);
        let join = |name| queue.join(&bed.path(name));
        let (_first, mut own, mut other) = (join("link"), join("its\u{a0}own"), join("its own"));
        assert!(!is_called(&mut own).await && is_called(&mut other).await);
        let (_first, mut same) = (join("new one"), join("new\u{a0}one"));
        assert!(!is_called(&mut same).await);
    }

    #[tokio::test]
    async fn who_is_alone_does_not_wait_for_the_disk() {
        use futures_util::FutureExt as _;
        let bed = Bed::new();
        let mut only = queue(&bed).join(Path::new("/x/a"));
        assert!(only.wait().now_or_never().is_some());
    }

    #[test]
    fn those_who_left_are_forgotten() {
        let bed = Bed::new();
        let queue = queue(&bed);
        drop(queue.join(Path::new("/x/a")));
        let a = queue.join(Path::new("/x/a"));
        let b = queue.join(Path::new("/x/a"));
        drop(b);
        drop(a);
        assert!(queue.inner.places().by_id.is_empty());
    }
}
