//! Standard output of the machine modes: whole lines, in order.
//!
//! A thread owns the pipe, so that a slow reader stalls the run (the channel is bounded) without
//! stalling signals; lines that pile up meanwhile leave in one write.

use std::io::{self, Write};
use std::thread::JoinHandle;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

/// Lines under way before the run has to wait for the reader.
const LINES_IN_FLIGHT: usize = 256;
/// A write is sent off when this much has gathered, in bytes.
const BATCH_BYTES: usize = 64 * 1024;

/// Writes JSON lines.
#[derive(Debug)]
pub(crate) struct LineWriter {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<io::Result<()>>,
}

#[derive(Debug)]
enum Job {
    Line(Vec<u8>),
    /// Answers when everything queued before it is out.
    Flush(oneshot::Sender<()>),
}

/// The reader went away; there is nobody to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Closed;

impl From<mpsc::error::SendError<Job>> for Closed {
    fn from(_: mpsc::error::SendError<Job>) -> Self {
        Self
    }
}

impl From<oneshot::error::RecvError> for Closed {
    fn from(_: oneshot::error::RecvError) -> Self {
        Self
    }
}

/// Records are plain data, whose serialisation has no failing case; half a record would break the
/// reader, so one that fails counts like a lost reader.
impl From<serde_json::Error> for Closed {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

impl LineWriter {
    pub(crate) fn new(out: impl Write + Send + 'static) -> Self {
        let (jobs, receiver) = mpsc::channel(LINES_IN_FLIGHT);
        Self { jobs, thread: std::thread::spawn(move || write_lines(receiver, out)) }
    }

    /// Queues one record; waits while the reader is behind.
    pub(crate) async fn line(&self, record: &(impl Serialize + Sync)) -> Result<(), Closed> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        Ok(self.jobs.send(Job::Line(line)).await?)
    }

    /// Waits until everything queued so far is written.
    pub(crate) async fn flush(&self) -> Result<(), Closed> {
        let (done, is_done) = oneshot::channel();
        self.jobs.send(Job::Flush(done)).await?;
        Ok(is_done.await?)
    }

    /// Writes what is queued and gives the outcome.
    pub(crate) fn close(self) -> io::Result<()> {
        drop(self.jobs);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the output thread failed")))
    }
}

fn write_lines(mut jobs: mpsc::Receiver<Job>, mut out: impl Write) -> io::Result<()> {
    let mut batch = Vec::new();
    let mut flushed = Vec::new();
    while let Some(job) = jobs.blocking_recv() {
        let mut next = Some(job);
        while let Some(job) = next {
            match job {
                Job::Line(line) => batch.extend_from_slice(&line),
                Job::Flush(done) => flushed.push(done),
            }
            next = (batch.len() < BATCH_BYTES).then(|| jobs.try_recv().ok()).flatten();
        }
        out.write_all(&batch)?;
        out.flush()?;
        batch.clear();
        for done in flushed.drain(..) {
            // Whoever asked may have stopped waiting.
            done.send(()).unwrap_or_default();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_come_out_whole_and_in_order() {
        let sink = Sink::default();
        let writer = LineWriter::new(sink.clone());
        for n in 0..1000 {
            writer.line(&n).await.unwrap();
        }
        writer.flush().await.unwrap();
        let expected: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
        writer.close().unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_leaves_ends_the_writing() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let writer = LineWriter::new(Broken);
        while writer.line(&"x").await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(writer.close().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
