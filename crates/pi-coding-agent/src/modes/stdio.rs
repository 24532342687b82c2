//! Standard input and output as they are, without a buffer in between.
//!
//! Owns: waiting where somebody has made them non-blocking, as a parent in Node does to its pipes:
//! another process may set that for all who share the stream.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

#[derive(Debug, Clone, Copy)]
pub(super) struct StandardInput;

#[derive(Debug, Clone, Copy)]
pub(super) struct StandardOutput;

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
