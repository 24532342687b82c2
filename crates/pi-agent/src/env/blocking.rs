//! The files of an environment for threads that may wait.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::{DirEntry, EnvError, ExecutionEnv, FileReader, FileStat};

/// Reading files without futures, for work that touches very many of them: a search spends more on
/// passing each file from thread to thread than on the file. To be called on threads that may
/// block; [`blocking_files`] gives it for every environment.
///
/// Paths and errors are those of [`ExecutionEnv`].
pub trait BlockingFiles: Send + Sync + fmt::Debug {
    /// What there is at `path`, links followed.
    fn stat(&self, path: &Path) -> Result<FileStat, EnvError>;

    /// The names in a folder, in order of their bytes, without `.` and `..`.
    fn list(&self, path: &Path) -> Result<Vec<DirEntry>, EnvError>;

    /// Opens for reading from its start what a listing or [`Self::stat`] has told to be a regular
    /// file. It is not asked again: what has become something else in between gives an error or
    /// nothing when it is read, and never makes the caller wait.
    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, EnvError>;
}

/// The environment's own way to its files ([`ExecutionEnv::blocking_files`]), or its futures waited
/// for. Must be called within a Tokio runtime; what it gives may be used on any thread that is not
/// one of the runtime's own.
pub fn blocking_files(env: &Arc<dyn ExecutionEnv>) -> Arc<dyn BlockingFiles> {
    env.blocking_files()
        .unwrap_or_else(|| Arc::new(Awaited { env: Arc::clone(env), runtime: Handle::current() }))
}

/// Waits for an environment that has futures only.
#[derive(Debug)]
struct Awaited {
    env: Arc<dyn ExecutionEnv>,
    runtime: Handle,
}

impl BlockingFiles for Awaited {
    fn stat(&self, path: &Path) -> Result<FileStat, EnvError> {
        self.runtime.block_on(self.env.stat(path))
    }

    fn list(&self, path: &Path) -> Result<Vec<DirEntry>, EnvError> {
        self.runtime.block_on(self.env.list(path))
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, EnvError> {
        let file = self.runtime.block_on(self.env.open(path))?;
        Ok(Box::new(AwaitedReader {
            file,
            runtime: self.runtime.clone(),
            offset: 0,
            chunk: Vec::new(),
            taken: 0,
        }))
    }
}

/// Bytes asked for at once: every request may go far.
const CHUNK: usize = 256 * 1024;

struct AwaitedReader {
    file: Box<dyn FileReader>,
    runtime: Handle,
    /// Where the next chunk starts.
    offset: u64,
    chunk: Vec<u8>,
    /// Bytes of the chunk that have been given.
    taken: usize,
}

impl Read for AwaitedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            let mut next = std::mem::take(&mut self.chunk);
            next.resize(CHUNK, 0);
            let read = self.runtime.block_on(self.file.read_at(self.offset, next));
            self.chunk = read.map_err(io::Error::other)?;
            self.offset += u64::try_from(self.chunk.len()).unwrap_or(u64::MAX);
            self.taken = 0;
        }
        let rest = self.chunk.get(self.taken..).unwrap_or_default();
        let given = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.taken += given;
        Ok(given)
    }
}
