//! Server-sent events, byte-fed: any split of the body gives the same events.
//!
//! Follows the WHATWG rules (LF, CRLF and CR line ends, one leading BOM, comments, several `data:`
//! lines), and bends two of them for real servers: an unterminated last event still counts, and
//! bytes that are no UTF-8 become U+FFFD as JavaScript's decoder does.

use std::borrow::Cow;

/// Largest line or event taken, in bytes. Nothing a model sends comes near it; without a bound a
/// broken server could fill the memory.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// An event grew past [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a server-sent event is larger than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLarge;

/// The parser's state between chunks.
#[derive(Debug, Default)]
pub struct SseParser {
    /// A line that has no end yet.
    line: Vec<u8>,
    /// The last chunk ended in CR: an LF at the head of the next belongs to it.
    after_cr: bool,
    past_bom: bool,
    name: Option<String>,
    data: String,
    has_data: bool,
}

impl SseParser {
    pub fn new() -> Self {
        Self::default()
    }

    /// Feeds bytes; `on_event` gets the name and the data of each event they complete.
    ///
    /// # Errors
    /// An event is too large; the parser must not be used further.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(Option<&str>, &str),
    ) -> Result<(), EventTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (head, tail) = bytes.split_at(end);
            let is_cr = tail.first() == Some(&b'\r');
            let mut rest = tail.get(1..).unwrap_or_default();
            if is_cr {
                match rest.first() {
                    Some(b'\n') => rest = rest.get(1..).unwrap_or_default(),
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            bytes = rest;
            if self.line.is_empty() {
                self.line_end(head, &mut on_event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(head);
                self.line_end(&line, &mut on_event)?;
                line.clear();
                self.line = line;
            }
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() > MAX_EVENT_BYTES { Err(EventTooLarge) } else { Ok(()) }
    }

    /// The body ended: an event without its closing blank line is still delivered.
    pub fn finish(&mut self, mut on_event: impl FnMut(Option<&str>, &str)) {
        let line = std::mem::take(&mut self.line);
        // Too large is impossible here: `push` has just checked the same bytes.
        if self.line_end(&line, &mut on_event).is_ok() {
            self.dispatch(&mut on_event);
        }
    }

    fn line_end(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(Option<&str>, &str),
    ) -> Result<(), EventTooLarge> {
        let line = if self.past_bom {
            line
        } else {
            self.past_bom = true;
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        };
        if line.is_empty() {
            self.dispatch(on_event);
            return Ok(());
        }
        // Nearly every line is good, and checking is much faster than repairing.
        let text = match std::str::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        let (field, value) = split_field(&text);
        match field {
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
                if self.data.len() > MAX_EVENT_BYTES {
                    return Err(EventTooLarge);
                }
            }
            "event" => self.name = Some(value.to_owned()),
            // Comments, `id`, `retry` and unknown fields mean nothing to a one-shot answer.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(Option<&str>, &str)) {
        if self.has_data {
            on_event(self.name.as_deref(), &self.data);
        }
        self.name = None;
        self.data.clear();
        self.has_data = false;
    }
}

fn split_field(line: &str) -> (&str, &str) {
    match line.split_once(':') {
        Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
        None => (line, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Event = (Option<String>, String);
    /// Name, body, expected events.
    type Case<'a> = (&'a str, &'a [u8], &'a [(Option<&'a str>, &'a str)]);

    fn parse(chunks: &[&[u8]]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut parser = SseParser::new();
        for chunk in chunks {
            parser
                .push(chunk, |name, data| events.push((name.map(str::to_owned), data.to_owned())))
                .unwrap();
        }
        parser.finish(|name, data| events.push((name.map(str::to_owned), data.to_owned())));
        events
    }

    #[test]
    fn framing_variants_give_the_same_events() {
        let cases: [Case<'_>; 10] = [
            ("lf", b"data: a\n\ndata: b\n\n", &[(None, "a"), (None, "b")]),
            ("crlf", b"event: x\r\ndata: a\r\n\r\n", &[(Some("x"), "a")]),
            ("cr", b"data: a\r\rdata: b\r\r", &[(None, "a"), (None, "b")]),
            ("several data lines", b"data: a\ndata: b\n\n", &[(None, "a\nb")]),
            ("comment", b": ping\n\ndata:a\n\n", &[(None, "a")]),
            ("no space", b"data:a\n\n", &[(None, "a")]),
            ("bom", b"\xEF\xBB\xBFdata: a\n\n", &[(None, "a")]),
            ("unterminated last event", b"data: a\n\ndata: b", &[(None, "a"), (None, "b")]),
            ("name does not leak", b"event: x\n\ndata: a\n\n", &[(None, "a")]),
            ("broken utf-8", b"data: \xFFa\n\n", &[(None, "\u{FFFD}a")]),
        ];
        for (case, body, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(n, d)| (n.map(str::to_owned), (*d).to_owned())).collect();
            assert_eq!(parse(&[body]), expected, "{case}, whole");
            for split in 0..=body.len() {
                assert_eq!(parse(&[&body[..split], &body[split..]]), expected, "{case} at {split}");
            }
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            assert_eq!(parse(&bytes), expected, "{case}, byte by byte");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut parser = SseParser::new();
        let chunk = vec![b'x'; MAX_EVENT_BYTES / 2 + 1];
        assert_eq!(parser.push(&chunk, |_, _| {}), Ok(()));
        assert_eq!(parser.push(&chunk, |_, _| {}), Err(EventTooLarge));
    }
}
