//! Locks between processes: a directory `<file>.lock` beside the file.
//!
//! The convention is that of the `proper-lockfile` package, so that programs of both worlds keep out
//! of each other's way: whoever makes the directory holds the lock and touches it every few seconds;
//! one that was not touched for [`STALE`] was left behind and may be taken. Blocks the thread while
//! it waits. Knows nothing of what is in the file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::file_identity::FileIdentity;

/// A lock that was not touched for this long belongs to nobody.
pub const STALE: Duration = Duration::from_secs(10);

/// How often a holder touches its lock.
const REFRESH: Duration = Duration::from_secs(5);

/// Longest wait for a lock: more than [`STALE`], so that one left by a crash is outlived.
const PATIENCE: Duration = Duration::from_secs(15);

/// Pauses between two tries double from the first to the second of these.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(200));

/// The right to change a file, until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    held: Arc<Held>,
    /// Dropping it ends the refresher.
    stop: Option<Sender<()>>,
    refresher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Held {
    dir: PathBuf,
    /// Kept open so that the directory cannot be mistaken for another. `None` where directories
    /// cannot be opened; there the lock is not refreshed.
    handle: Option<File>,
    identity: Option<FileIdentity>,
}

/// Why a lock is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "Another process is changing it. If none is running, remove the directory {}",
        dir.display()
    )]
    Busy { dir: PathBuf },
    /// Somebody took it for one left behind, which happens to a process that slept.
    #[error("The lock was taken over by another process: {}", dir.display())]
    Lost { dir: PathBuf },
    #[error("Cannot make the lock {}: {source}", dir.display())]
    Io { dir: PathBuf, source: io::Error },
}

impl From<LockError> for io::Error {
    fn from(error: LockError) -> Self {
        Self::other(error)
    }
}

impl FileLock {
    /// Takes the lock of `target`, which need not exist but whose folder must. Waits for another
    /// holder for up to 15 s.
    ///
    /// # Errors
    /// Another process holds it all the time, or the directory cannot be made.
    pub fn acquire(target: &Path) -> Result<Self, LockError> {
        Self::acquire_within(target, PATIENCE)
    }

    /// Like [`Self::acquire`], with a limit to the wait. There is one try at least.
    ///
    /// # Errors
    /// As for [`Self::acquire`].
    pub fn acquire_within(target: &Path, patience: Duration) -> Result<Self, LockError> {
        let dir = lock_dir(target);
        wait(patience, || match fs::create_dir(&dir) {
            Ok(()) => Some(Self::take(&dir)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                clear_if_stale(&dir);
                None
            }
            Err(source) => Some(Err(LockError::Io { dir: dir.clone(), source })),
        })
        .unwrap_or_else(|| Err(LockError::Busy { dir: dir.clone() }))
    }

    /// Waits until nobody holds the lock of `target`, and takes it not.
    ///
    /// # Errors
    /// Another process holds it all the time.
    pub(crate) fn wait_until_free(target: &Path) -> Result<(), LockError> {
        let dir = lock_dir(target);
        wait(PATIENCE, || match fs::symlink_metadata(&dir) {
            Ok(metadata) if !is_stale(&metadata) => None,
            _ => Some(()),
        })
        .ok_or(LockError::Busy { dir })
    }

    fn take(dir: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { dir: dir.to_owned(), source };
        let identity = FileIdentity::of(&fs::metadata(dir).map_err(failed)?);
        let held = Held { dir: dir.to_owned(), handle: File::open(dir).ok(), identity };
        let mut lock = Self { held: Arc::new(held), stop: None, refresher: None };
        let (stop, stopped) = mpsc::channel();
        let held = Arc::clone(&lock.held);
        let refresher = thread::Builder::new().name("lock".to_owned()).spawn(move || {
            while stopped.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) && held.touch() {}
        });
        lock.refresher = Some(refresher.map_err(failed)?);
        lock.stop = Some(stop);
        Ok(lock)
    }

    /// The lock's own directory.
    pub fn dir(&self) -> &Path {
        &self.held.dir
    }

    /// Makes sure the lock is still ours. Ask before what cannot be undone.
    ///
    /// # Errors
    /// Another process took it over.
    pub fn check(&self) -> Result<(), LockError> {
        if self.held.is_ours() {
            Ok(())
        } else {
            Err(LockError::Lost { dir: self.held.dir.clone() })
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(refresher) = self.refresher.take() {
            // It ends at once, and a panic in it would change nothing here.
            drop(refresher.join());
        }
        if self.held.is_ours() {
            // What stays behind goes stale.
            drop(fs::remove_dir(&self.held.dir));
        }
    }
}

impl Held {
    fn is_ours(&self) -> bool {
        fs::symlink_metadata(&self.dir)
            .is_ok_and(|metadata| FileIdentity::of(&metadata) == self.identity)
    }

    /// `false` when there is nothing left to keep up.
    fn touch(&self) -> bool {
        let touched = self.handle.as_ref().map(|dir| dir.set_modified(SystemTime::now()));
        self.is_ours() && touched.is_some_and(|touched| touched.is_ok())
    }
}

/// The lock directory of a file; links to it share one.
fn lock_dir(target: &Path) -> PathBuf {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let mut dir = OsString::from(target);
    dir.push(".lock");
    dir.into()
}

fn is_stale(metadata: &fs::Metadata) -> bool {
    metadata.modified().is_ok_and(|touched| is_stale_at(touched, SystemTime::now()))
}

fn is_stale_at(touched: SystemTime, now: SystemTime) -> bool {
    // A time in the future counts as touched just now.
    now.duration_since(touched).is_ok_and(|age| age > STALE)
}

/// Removes a lock that was left behind. It is put aside under another name first: of several
/// processes that want it gone only one gets it, and sees whether it is the one that was stale.
fn clear_if_stale(dir: &Path) {
    let Ok(metadata) = fs::symlink_metadata(dir) else { return };
    // Something else that happens to have the name is nobody's lock.
    if !metadata.is_dir() || !is_stale(&metadata) {
        return;
    }
    let mut aside = OsString::from(dir);
    aside.push(format!(".{}", uuid::Uuid::new_v4().simple()));
    if fs::rename(dir, &aside).is_err() {
        return;
    }
    let is_stale = fs::symlink_metadata(&aside).is_ok_and(|metadata| is_stale(&metadata));
    if !is_stale || fs::remove_dir(&aside).is_err() {
        // Somebody was faster and this is the new lock, or there is something in it: back to its
        // place.
        drop(fs::rename(&aside, dir));
    }
}

/// Tries until there is an answer, with growing pauses; `None` when patience ran out first.
fn wait<T>(patience: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    let (mut length, longest) = PAUSES;
    loop {
        if let Some(answer) = attempt() {
            return Some(answer);
        }
        let left = patience.saturating_sub(start.elapsed());
        if left.is_zero() {
            return None;
        }
        pause(length.min(left));
        length = (length * 2).min(longest);
    }
}

/// Sleeps, on the thread.
#[expect(clippy::disallowed_methods, reason = "files are shared by code that may block")]
pub(crate) fn pause(length: Duration) {
    thread::sleep(length);
}

#[cfg(test)]
mod tests;
