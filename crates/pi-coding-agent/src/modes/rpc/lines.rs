//! Lines of standard input.

use std::io::{self, BufRead, Read};

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;

/// Longest line in bytes. A prompt with a dozen images fits.
pub(super) const MAX_LINE: usize = 64 * 1024 * 1024;

/// Lines that may wait; the writer of more has to. Each may be a long one.
const WAITING: usize = 2;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// It was longer than [`MAX_LINE`], and was passed over.
    TooLong,
}

/// The lines of an input.
#[derive(Debug)]
pub(super) struct Lines {
    /// Closed at the end of the input; an error is the last thing in it.
    pub(super) queue: Receiver<io::Result<Line>>,
    /// Cancelled at the end of the input, also while lines wait.
    pub(super) ended: CancellationToken,
}

/// Reads on a thread of its own: reading from a terminal or a pipe cannot be given up.
pub(super) fn read(input: impl Read + Send + 'static) -> Lines {
    let (sender, queue) = mpsc::channel(WAITING);
    let ended = CancellationToken::new();
    let guard = ended.clone().drop_guard();
    std::thread::spawn(move || {
        send_lines(io::BufReader::with_capacity(64 * 1024, input), &sender);
        drop(guard);
    });
    Lines { queue, ended }
}

fn send_lines(mut input: impl BufRead, sender: &Sender<io::Result<Line>>) {
    while let Some(line) = next_line(&mut input, MAX_LINE).transpose() {
        let is_over = line.is_err();
        if sender.blocking_send(line).is_err() || is_over {
            return;
        }
    }
}

/// The next line; a last one without an end counts. Only a line feed ends a line: JSON may hold any
/// other separator.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let within = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(within).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Some(Line::Text(line)));
    }
    if line.len() <= limit {
        return Ok(Some(Line::Text(line)));
    }
    drop(line);
    input.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_feed_ends_a_line_and_long_ones_are_passed_over() {
        let mut input = "a\rb\u{2028}c\n\n12345\n123456\nlast".as_bytes();
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input, 8).unwrap() {
            lines.push(match line {
                Line::Text(text) => String::from_utf8(text).unwrap(),
                Line::TooLong => "too long".to_owned(),
            });
        }
        assert_eq!(lines, ["a\rb\u{2028}c", "", "12345", "123456", "last"]);
        let mut input = "123456789\nx\n123456789".as_bytes();
        let mut next = || next_line(&mut input, 8).unwrap();
        assert_eq!(next(), Some(Line::TooLong));
        assert_eq!(next(), Some(Line::Text(b"x".to_vec())));
        assert_eq!((next(), next()), (Some(Line::TooLong), None));
    }
}
