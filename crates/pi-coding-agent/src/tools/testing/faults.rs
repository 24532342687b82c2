//! What may go wrong with a disk, at the next call of some name. Waits for releases, never for time.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_agent::env::{
    EnvError, EnvErrorKind, EnvFuture, FileReader, FileStat, FileWriter, Operation,
};
use tokio::sync::Semaphore;

/// Something that happens to a call before it reaches the machine.
pub(crate) enum Fault {
    /// The disk does not answer until it is released.
    Slow(Gate),
    /// The call fails and does nothing.
    Fails(EnvErrorKind),
    /// Of something to be written only so many bytes are, then the disk is full.
    FullAfter(usize),
    /// Somebody else does this just before.
    Meanwhile(Box<dyn FnOnce() + Send>),
}

/// The faults that are still to come. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<VecDeque<(&'static str, Fault)>>>);

impl Faults {
    /// Several for calls of one name happen one after another, a call each.
    pub(crate) fn add(&self, call: &'static str, fault: Fault) {
        self.0.lock().unwrap().push_back((call, fault));
    }

    fn next(&self, call: &str) -> Option<Fault> {
        let mut waiting = self.0.lock().unwrap();
        let at = waiting.iter().position(|(awaited, _)| *awaited == call)?;
        waiting.remove(at).map(|(_, fault)| fault)
    }

    /// What a call must live through. Gives how many bytes may still be written, if that is known.
    pub(super) async fn meet(
        &self,
        operation: Operation,
        call: &str,
        path: &Path,
    ) -> Result<Option<usize>, EnvError> {
        match self.next(call) {
            Some(Fault::Slow(gate)) => gate.pass().await,
            Some(Fault::Fails(kind)) => return Err(EnvError::new(operation, path, kind)),
            Some(Fault::FullAfter(room)) => return Ok(Some(room)),
            Some(Fault::Meanwhile(act)) => act(),
            None => {}
        }
        Ok(None)
    }
}

/// Holds a call back. Clones are the same gate.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    /// Closed when the gate is open.
    bar: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), bar: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until a call has come to the gate.
    pub(crate) async fn reached(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    pub(crate) fn release(&self) {
        self.bar.close();
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        drop(self.bar.acquire().await);
    }
}

/// An open file whose `read`s may meet faults.
pub(super) struct Reader {
    pub inner: Box<dyn FileReader>,
    pub path: PathBuf,
    pub faults: Faults,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl FileReader for Reader {
    fn stat(&self) -> &FileStat {
        self.inner.stat()
    }

    fn read_at(&self, offset: u64, buffer: Vec<u8>) -> EnvFuture<'_, Vec<u8>> {
        Box::pin(async move {
            self.faults.meet(Operation::Read, "read", &self.path).await?;
            self.inner.read_at(offset, buffer).await
        })
    }
}

/// A new file whose `write`s may meet faults.
pub(super) struct Writer {
    pub inner: Box<dyn FileWriter>,
    pub path: PathBuf,
    pub faults: Faults,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl FileWriter for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> EnvFuture<'a, ()> {
        Box::pin(async move {
            let room = self.faults.meet(Operation::Write, "write", &self.path).await?;
            match room.and_then(|room| bytes.get(..room)) {
                Some(fitting) => {
                    self.inner.write(fitting).await?;
                    self.inner.finish().await?;
                    Err(EnvError::new(Operation::Write, &self.path, EnvErrorKind::NoSpace))
                }
                None => self.inner.write(bytes).await,
            }
        })
    }

    fn finish(&mut self) -> EnvFuture<'_, ()> {
        Box::pin(async move {
            self.faults.meet(Operation::Write, "finish", &self.path).await?;
            self.inner.finish().await
        })
    }
}
