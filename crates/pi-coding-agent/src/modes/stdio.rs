//! Standard input and output as they are, without a buffer in between.
//!
//! Owns: waiting where somebody has made them non-blocking, as a parent in Node does to its pipes:
//! another process may set that for all who share the stream.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

#[derive(Debug, Clone, Copy)]
pub(super) struct StandardInput;

#[derive(Debug, Clone, Copy)]
pub(super) struct StandardOutput;

impl StandardOutput {
    /// Writes as much as can be written without waiting, where that can be known: to a pipe all or
    /// nothing of up to 4,096 bytes (`PIPE_BUF`), to a socket what fits. What fails is for the next
    /// write to tell.
    pub(super) fn write_now(bytes: &[u8]) -> usize {
        static KIND: OnceLock<Option<FileType>> = OnceLock::new();
        let output = rustix::stdio::stdout();
        let kind = KIND
            .get_or_init(|| fstat(output).map(|stat| FileType::from_raw_mode(stat.st_mode)).ok());
        match kind {
            Some(FileType::Socket) => {
                send(output, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).unwrap_or_default()
            }
            Some(FileType::Fifo) => {
                let mut ready = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
                let has_room = poll(&mut ready, Some(&Timespec::default())).is_ok_and(|n| n > 0)
                    && ready.iter().all(|fd| fd.revents() == PollFlags::OUT);
                if !has_room {
                    return 0;
                }
                rustix::io::write(output, bytes).unwrap_or_default()
            }
            _ => 0,
        }
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let input = rustix::stdio::stdin();
        waiting(input, PollFlags::IN, || rustix::io::read(input, &mut *buffer))
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let output = rustix::stdio::stdout();
        waiting(output, PollFlags::OUT, || rustix::io::write(output, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tries until the stream is ready.
fn waiting(
    stream: BorrowedFd<'_>,
    flags: PollFlags,
    mut attempt: impl FnMut() -> Result<usize, Errno>,
) -> io::Result<usize> {
    loop {
        match attempt() {
            Err(Errno::AGAIN) => match poll(&mut [PollFd::from_borrowed_fd(stream, flags)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            },
            Err(Errno::INTR) => {}
            outcome => return Ok(outcome?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    #[test]
    fn a_stream_that_does_not_block_is_waited_for() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let sent: Vec<u8> = (0..1_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let written = sent.clone();
        let write = std::thread::spawn(move || {
            let mut rest = written.as_slice();
            while !rest.is_empty() {
                let output = writer.as_fd();
                let count =
                    waiting(output, PollFlags::OUT, || rustix::io::write(output, rest)).unwrap();
                rest = &rest[count..];
            }
        });
        let mut read = Vec::new();
        let mut buffer = [0; 1000];
        let input = reader.as_fd();
        loop {
            let count =
                waiting(input, PollFlags::IN, || rustix::io::read(input, &mut buffer)).unwrap();
            if count == 0 {
                break;
            }
            read.extend_from_slice(&buffer[..count]);
        }
        write.join().unwrap();
        assert!(read == sent);
    }
}
