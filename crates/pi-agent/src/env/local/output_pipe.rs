//! The pipe a command writes its output to.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

/// Bytes it should hold, so that even the fastest command does not fill it in a [`REST`].
const SIZE: usize = 1024 * 1024;

/// How long an emptied pipe is left alone. Many commands print in pieces of 4 KiB and less, and being
/// woken for each of them costs more than all that is done with what they print.
const REST: Duration = Duration::from_millis(1);

/// The end that is read.
#[derive(Debug)]
pub(super) struct OutputPipe {
    state: State,
    may_rest: bool,
}

#[derive(Debug)]
enum State {
    Watched(Receiver),
    /// Not watched, as every write would wake us.
    Resting(OwnedFd, Instant),
    /// Nobody can write any more.
    Ended,
}

impl OutputPipe {
    /// # Errors
    /// There are too many open files.
    pub(super) fn new() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let may_rest = enlarge(&reader);
        let state = State::Watched(Receiver::from_owned_fd(reader.into())?);
        Ok((Self { state, may_rest }, writer))
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Reads what there is, as soon as there is something; 0 bytes at the end. The future may be
    /// dropped; nothing is lost.
    pub(super) async fn read(&mut self, buffer: &mut [u8]) -> usize {
        if let State::Resting(_, until) = &self.state {
            tokio::time::sleep_until(*until).await;
            self.watch();
        }
        let State::Watched(receiver) = &mut self.state else { return 0 };
        let length = receiver.read(buffer).await.unwrap_or(0);
        if length == 0 {
            self.state = State::Ended;
        } else if length < buffer.len() && self.may_rest {
            self.rest();
        }
        length
    }

    /// Does not rest any more: the command has ended, or was told to.
    pub(super) fn hurry(&mut self) {
        self.may_rest = false;
        self.watch();
    }

    fn rest(&mut self) {
        if let State::Watched(receiver) = std::mem::replace(&mut self.state, State::Ended)
            && let Ok(pipe) = receiver.into_nonblocking_fd()
        {
            self.state = State::Resting(pipe, Instant::now() + REST);
        }
    }

    fn watch(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Resting(pipe, _) => {
                Receiver::from_owned_fd_unchecked(pipe).map_or(State::Ended, State::Watched)
            }
            other => other,
        };
    }
}

/// Whether the pipe now holds [`SIZE`]. The system may have no more memory for pipes.
#[cfg(target_os = "linux")]
fn enlarge(pipe: &PipeReader) -> bool {
    rustix::pipe::fcntl_setpipe_size(pipe, SIZE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_pipe: &PipeReader) -> bool {
    false
}
