//! Standard output of the machine modes: whole lines, in order.
//!
//! A thread owns the pipe, so that a slow reader stalls the run without stalling signals. Lines
//! gather for a moment before they leave: a burst of deltas costs a write a millisecond, not a
//! write and a wake-up each. A line that comes alone leaves at once, without the thread, where that
//! cannot block.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::Notify;

use super::stdio::StandardOutput;

/// How long lines may gather. Nobody who reads events notices.
const GATHER: Duration = Duration::from_millis(1);
/// What may be under way before the run has to wait for the reader, in bytes.
const MAX_PENDING: usize = 256 * 1024;

/// Longest line that leaves without the thread, in bytes: what a pipe that has room always takes.
const MAX_ALONE: usize = 4096;

/// What is written at once, in bytes: as much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// Writes JSON lines.
#[derive(Debug)]
pub(crate) struct LineWriter {
    pipe: Arc<Pipe>,
    thread: JoinHandle<io::Result<()>>,
    /// How much of a short line was written without waiting.
    write_now: fn(&[u8]) -> usize,
}

/// The reader went away; there is nobody to write for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct Closed;

#[derive(Debug, Default)]
struct Pipe {
    state: Mutex<State>,
    /// There is something for the thread.
    filled: Condvar,
    /// The thread took what was pending, or ended.
    taken: Notify,
    /// The thread has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// The thread is writing what it took.
    is_writing: bool,
    /// Nobody wants lines to gather any more.
    is_urgent: bool,
    /// No more lines will come.
    is_closing: bool,
    /// The thread has ended.
    is_over: bool,
    /// Pieces that were written.
    steps: u64,
    /// When the last line came.
    last: Option<Instant>,
    /// Why the thread has ended before its time.
    failure: Option<(io::ErrorKind, String)>,
}

impl State {
    fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }
}

impl LineWriter {
    pub(crate) fn to_standard_output() -> Self {
        Self::new(StandardOutput, StandardOutput::write_now)
    }

    #[cfg(test)]
    pub(crate) fn to(out: impl Write + Send + 'static) -> Self {
        Self::new(out, |_| 0)
    }

    fn new(out: impl Write + Send + 'static, write_now: fn(&[u8]) -> usize) -> Self {
        let pipe = Arc::<Pipe>::default();
        let of_thread = Arc::clone(&pipe);
        Self { pipe, thread: std::thread::spawn(move || of_thread.write_to(out)), write_now }
    }

    /// Queues one record; waits while the reader is behind.
    pub(crate) async fn line(&self, record: &(impl Serialize + Sync)) -> Result<(), Closed> {
        self.queue(|pending| {
            // Records are plain data, whose serialisation has no failing case; half a record would
            // break the reader, so one that fails counts like a lost reader.
            serde_json::to_writer(pending, record).map_err(|_impossible| Closed)
        })
        .await
    }

    /// Queues one record that is JSON already, perhaps a large one; waits while the reader is behind.
    pub(crate) async fn text(&self, text: String) -> Result<(), Closed> {
        self.queue(|pending| {
            if pending.is_empty() && text.len() > pending.capacity() {
                *pending = text.into_bytes();
            } else {
                pending.extend_from_slice(text.as_bytes());
            }
            Ok(())
        })
        .await
    }

    async fn queue(
        &self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Closed>,
    ) -> Result<(), Closed> {
        self.wait_until(|state| !state.is_full()).await?;
        let mut state = self.pipe.state();
        let before = state.pending.len();
        if let Err(closed) = write(&mut state.pending) {
            state.pending.truncate(before);
            return Err(closed);
        }
        state.pending.push(b'\n');
        let now = Instant::now();
        let is_alone = state.last.is_none_or(|last| now.duration_since(last) >= GATHER);
        state.last = Some(now);
        if before == 0 && !state.is_writing && is_alone && state.pending.len() <= MAX_ALONE {
            let written = (self.write_now)(&state.pending);
            state.pending.drain(..written);
        }
        let is_new = before == 0 && !state.pending.is_empty();
        drop(state);
        if is_new {
            self.pipe.filled.notify_one();
        }
        Ok(())
    }

    /// Waits until everything queued so far is written.
    pub(crate) async fn flush(&self) -> Result<(), Closed> {
        self.pipe.state().is_urgent = true;
        self.pipe.filled.notify_one();
        self.wait_until(|state| state.pending.is_empty() && !state.is_writing).await
    }

    /// Whether the reader is behind by as much as may be under way.
    pub(crate) fn is_full(&self) -> bool {
        self.pipe.state().is_full()
    }

    /// Waits until the reader has caught up, or left.
    pub(crate) async fn room(&self) {
        self.wait_until(|state| !state.is_full()).await.unwrap_or_default();
    }

    /// Waits until the reader has taken nothing for this long although there was something.
    pub(crate) async fn stalled(&self, patience: Duration) {
        loop {
            let steps = self.pipe.state().steps;
            tokio::time::sleep(patience).await;
            let state = self.pipe.state();
            let is_waiting = state.is_writing || !state.pending.is_empty();
            if is_waiting && state.steps == steps {
                return;
            }
        }
    }

    /// Waits until everything is written, as long as the reader goes on taking it, and gives what
    /// went wrong meanwhile. What a reader does not take is given up.
    ///
    /// # Errors
    /// Writing failed.
    pub(crate) async fn finish(&self, patience: Duration) -> io::Result<()> {
        tokio::select! {
            flushed = self.flush() => flushed.unwrap_or_default(),
            () = self.stalled(patience) => {}
        }
        match self.pipe.state().failure.clone() {
            Some((kind, text)) => Err(io::Error::new(kind, text)),
            None => Ok(()),
        }
    }

    /// Waits until nobody reads any more. It shows with what is written; a pipe says nothing before.
    pub(crate) async fn closed(&self) {
        let mut ended = std::pin::pin!(self.pipe.ended.notified());
        // Listens from here on, or an end before the next line would be missed.
        ended.as_mut().enable();
        if !self.pipe.state().is_over {
            ended.await;
        }
    }

    /// Writes what is queued and gives the outcome.
    pub(crate) fn close(self) -> io::Result<()> {
        self.pipe.state().is_closing = true;
        self.pipe.filled.notify_one();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the output thread failed")))
    }

    async fn wait_until(&self, is_so: impl Fn(&State) -> bool) -> Result<(), Closed> {
        let now = || {
            let state = self.pipe.state();
            if state.is_over { Some(Err(Closed)) } else { is_so(&state).then_some(Ok(())) }
        };
        loop {
            if let Some(outcome) = now() {
                return outcome;
            }
            let mut taken = std::pin::pin!(self.pipe.taken.notified());
            // Listens from here on, then looks again, or a notice in between would be missed.
            taken.as_mut().enable();
            if let Some(outcome) = now() {
                return outcome;
            }
            taken.await;
        }
    }
}

impl Pipe {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, out: impl Write) -> io::Result<()> {
        let result = self.write_all(out);
        let mut state = self.state();
        state.is_over = true;
        if let Err(error) = &result {
            state.failure = Some((error.kind(), error.to_string()));
        }
        drop(state);
        self.taken.notify_waiters();
        self.ended.notify_waiters();
        result
    }

    fn write_all(&self, mut out: impl Write) -> io::Result<()> {
        let mut batch = Vec::new();
        while self.take(&mut batch) {
            self.taken.notify_waiters();
            for piece in batch.chunks(PIECE) {
                out.write_all(piece)?;
                self.state().steps += 1;
            }
            out.flush()?;
            batch.clear();
            self.state().is_writing = false;
            self.taken.notify_waiters();
        }
        Ok(())
    }

    /// Waits for lines and takes them. `false`: there are none and none will come.
    fn take(&self, batch: &mut Vec<u8>) -> bool {
        let mut state = self.state();
        while state.pending.is_empty() && !state.is_closing {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let gathers = |state: &mut State| {
            !state.is_closing && !state.is_urgent && state.pending.len() < MAX_PENDING
        };
        let waited = self.filled.wait_timeout_while(state, GATHER, gathers);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(batch, &mut state.pending);
        state.is_writing = !batch.is_empty();
        state.is_writing
    }
}

#[cfg(test)]
mod tests {
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
        let writer = LineWriter::to(sink.clone());
        for n in 0..1000 {
            writer.line(&n).await.unwrap();
        }
        writer.flush().await.unwrap();
        let expected: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(String::from_utf8(sink.0.lock().unwrap().clone()).unwrap(), expected);
        writer.close().unwrap();
    }

    #[tokio::test]
    async fn a_line_leaves_without_being_asked() {
        let (reader, out) = io::pipe().unwrap();
        let writer = LineWriter::to(out);
        writer.line(&"now").await.unwrap();
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            io::BufRead::read_line(&mut io::BufReader::new(reader), &mut line).map(|_| line)
        });
        assert_eq!(read.await.unwrap().unwrap(), "\"now\"\n");
        writer.close().unwrap();
    }

    #[tokio::test]
    async fn a_slow_reader_stalls_the_writer_and_loses_nothing() {
        let (reader, out) = io::pipe().unwrap();
        let writer = LineWriter::to(out);
        let line = "x".repeat(64 * 1024);
        let mut queued = 0;
        // Far more than pipe and buffer hold: some line has to wait for the reader.
        while let Some(Ok(())) = futures_util::FutureExt::now_or_never(writer.line(&line)) {
            queued += 1;
            assert!(queued < 1000, "nothing held the writer back");
            tokio::task::yield_now().await;
        }
        let read = tokio::task::spawn_blocking(move || io::read_to_string(reader));
        writer.line(&"end").await.unwrap();
        writer.close().unwrap();
        let text = read.await.unwrap().unwrap();
        assert_eq!(text.lines().count(), queued + 1);
        assert!(text.ends_with("\"end\"\n"));
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
        let writer = LineWriter::to(Broken);
        while writer.line(&"x").await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(writer.close().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_line_that_leaves_without_the_thread_keeps_its_place() {
        static OUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
        struct Shared;
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                OUT.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        // Takes no more than three bytes.
        let write_now = |bytes: &[u8]| Shared.write(bytes.chunks(3).next().unwrap()).unwrap();
        let writer = LineWriter::new(Shared, write_now);
        let mut expected = String::new();
        for n in [1, 22, 333, 4444] {
            writer.line(&n).await.unwrap();
            expected = format!("{expected}{n}\n");
            if n > 22 {
                writer.flush().await.unwrap();
                tokio::time::sleep(GATHER * 2).await;
            }
        }
        writer.close().unwrap();
        assert_eq!(String::from_utf8(OUT.lock().unwrap().clone()).unwrap(), expected);
    }
}
