//! Where an agent's files lie and its commands run, behind one trait.
//!
//! Owns: [`ExecutionEnv`], what it gives and takes, and [`LocalEnv`], which is this machine. Never:
//! knows which tools use it, cuts output, or reads the environment of the process.
//!
//! A container, another host or a sandbox is a further implementation of the trait; a decorator
//! that watches, maps or denies is one as well.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

mod blocking;
mod error;
mod file;
mod local;
mod process;
mod whole_file;

pub use blocking::{BlockingFiles, blocking_files};
pub use error::{EnvError, EnvErrorKind, Operation};
pub use file::{DirEntry, FileIdentity, FileKind, FileReader, FileStat, FileVersion, FileWriter};
pub use local::{LocalEnv, LocalEnvConfig, ProcessGroups, RunningGroup};
pub use process::{LeaderExit, ProcessCommand, ProcessEnd, ProcessEvent, RunningProcess};

/// What a method of [`ExecutionEnv`] gives.
pub type EnvFuture<'a, T> = BoxFuture<'a, Result<T, EnvError>>;

/// Files and processes of one place.
///
/// Paths are the environment's own and absolute; what a relative one means is for the caller to
/// say, with [`Self::cwd`]. Sizes and offsets are bytes.
///
/// An implementation keeps to this:
/// - Nothing blocks the thread that polls longer than starting or killing a process takes. A method
///   that must wait for a disk or a network waits elsewhere.
/// - A future may be dropped at any time. What it had begun with a file may then still come to its
///   end, but is never left half done where the method says "all or nothing"; who must know the
///   outcome polls to the end. What it had begun with a process is killed.
/// - Every error names the path as it was given, and has the kind the operating system's error has,
///   so that callers can tell a missing file from a forbidden one.
/// - Results do not depend on the order in which a file system lists names.
pub trait ExecutionEnv: Send + Sync + fmt::Debug {
    /// Where relative paths start and commands run, unless they say otherwise.
    fn cwd(&self) -> &Path;

    /// What `~` stands for.
    fn home(&self) -> Option<&Path>;

    /// Where [`Self::temporary_file`] makes its files.
    fn temp_dir(&self) -> &Path;

    /// The variables commands inherit. A command gets what its [`ProcessCommand`] says and nothing
    /// else, so the caller starts from these.
    fn environment(&self) -> &BTreeMap<OsString, OsString>;

    /// Unix time in milliseconds, by the clock that [`FileStat::modified_ms`] is told by.
    fn now_ms(&self) -> i64;

    /// What there is at `path`, links followed.
    fn stat<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, FileStat>;

    /// The one path of a file that may have many: links followed, `.` and `..` gone. Works for what
    /// does not exist yet, so that it can say where a write would go.
    fn real_path<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, PathBuf>;

    /// Opens a regular file for reading; anything else is refused without being opened
    /// ([`EnvErrorKind::IsDirectory`], [`EnvErrorKind::NotRegularFile`]), since reading a pipe or a
    /// device may never end.
    fn open<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Box<dyn FileReader>>;

    /// The names in a folder, in order of their bytes, without `.` and `..`.
    fn list<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Vec<DirEntry>>;

    /// Puts `content` at `path`, creating the file or replacing all of it; links are followed to
    /// their target. All or nothing for whoever reads meanwhile, wherever that is possible without
    /// losing something of the old file; what it may be read, written and run by stays. The folder
    /// must exist.
    ///
    /// With `expected`, nothing is written unless the file still has that version
    /// ([`EnvErrorKind::Changed`]).
    fn replace<'a>(
        &'a self,
        path: &'a Path,
        content: Vec<u8>,
        expected: Option<FileVersion>,
    ) -> EnvFuture<'a, ()>;

    /// Makes a folder and those above it. One that is there already is no error.
    fn make_dirs<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()>;

    /// Removes a file, a link (not what it points to), or an empty folder.
    fn remove<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()>;

    /// Makes a new file in [`Self::temp_dir`] that only its owner may read: `prefix`, 16 random
    /// hexadecimal digits, `suffix`. It stays when the writer is dropped.
    fn temporary_file<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> EnvFuture<'a, Box<dyn FileWriter>>;

    /// Starts a command as the leader of a process group of its own, without input and without
    /// reach to our terminal. `cancel` and the timeout end it with all it has started, also what
    /// left the group: what it has started is asked first (SIGTERM) and killed a second later. The
    /// program itself is not asked, as a shell would go on to its next command.
    ///
    /// Errors are of [`Operation::ChangeDirectory`] when there is no such working directory, of kind
    /// [`EnvErrorKind::Aborted`] when `cancel` or [`Self::kill_all`] came before, and otherwise name
    /// the program.
    fn spawn<'a>(
        &'a self,
        command: ProcessCommand,
        cancel: CancellationToken,
    ) -> EnvFuture<'a, Box<dyn RunningProcess>>;

    /// Kills everything commands have started, those that run and what they left behind, before it
    /// returns; nothing starts afterwards. What [`Self::replace`] has written in part is removed. For
    /// a process that is about to end.
    fn kill_all(&self);

    /// All of a regular file of at most `limit` bytes ([`EnvErrorKind::OverLimit`]), and what it was
    /// before it was read.
    fn read_file<'a>(&'a self, path: &'a Path, limit: u64) -> EnvFuture<'a, (Vec<u8>, FileStat)> {
        Box::pin(whole_file::read(self, path, limit))
    }

    /// The way to the files for threads that may block, where the environment has one that is
    /// faster than waiting for its futures. A decorator that watches or denies must answer for it as
    /// well, or have none. For use, there is the function [`blocking_files`].
    fn blocking_files(&self) -> Option<Arc<dyn BlockingFiles>> {
        None
    }
}
