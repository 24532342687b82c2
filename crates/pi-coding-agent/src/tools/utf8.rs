//! UTF-8 that comes in pieces.

use std::borrow::Cow;

/// Decodes a stream cut anywhere; what is no UTF-8 becomes U+FFFD. A byte order mark at the very start
/// is left out.
#[derive(Debug, Default)]
pub struct Utf8Decoder {
    /// The start of a character whose end has not come yet.
    cut: Vec<u8>,
    has_begun: bool,
}

impl Utf8Decoder {
    /// The text of the next bytes. A character cut in two comes with its end.
    pub fn decode<'a>(&mut self, chunk: &'a [u8]) -> Cow<'a, str> {
        let text = self.decode_all(chunk);
        if self.has_begun || text.is_empty() {
            return text;
        }
        self.has_begun = true;
        match text {
            Cow::Borrowed(text) => without_mark(text).into(),
            Cow::Owned(text) => without_mark(&text).to_owned().into(),
        }
    }

    /// What is left when nothing follows.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.cut).is_empty() { "" } else { "\u{fffd}" }
    }

    fn decode_all<'a>(&mut self, chunk: &'a [u8]) -> Cow<'a, str> {
        if self.cut.is_empty() {
            return match std::str::from_utf8(chunk) {
                Ok(text) => text.into(),
                Err(_) => self.replace_invalid(chunk).into(),
            };
        }
        let mut bytes = std::mem::take(&mut self.cut);
        bytes.extend_from_slice(chunk);
        match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(invalid) => self.replace_invalid(invalid.as_bytes()).into(),
        }
    }

    fn replace_invalid(&mut self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let incomplete = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if incomplete {
                self.cut = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> String {
        let mut decoder = Utf8Decoder::default();
        let mut text: String = chunks.iter().map(|chunk| decoder.decode(chunk)).collect();
        text.push_str(decoder.finish());
        text
    }

    #[test]
    fn bad_bytes_are_replaced_as_everywhere() {
        let cases: [&[u8]; 8] = [
            b"plain",
            "a\u{20ac}\u{1f600}".as_bytes(),
            b"a\xff\xfeb",
            b"\xe2\x82(",
            b"\xe2\x82",
            b"\xed\xa0\x80",
            b"\xf0\x9f\x98\xf0\x9f\x98\x80",
            b"\xc3\xc3\xa9\x80",
        ];
        for bytes in cases {
            assert_eq!(decode(&[bytes]), String::from_utf8_lossy(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_text_at_the_very_start() {
        let cases: [(&[&[u8]], &str); 5] = [
            (&[b"\xef\xbb\xbfa"], "a"),
            (&[b"", b"\xef", b"\xbb", b"\xbf", b"\xef\xbb\xbf"], "\u{feff}"),
            (&[b"\xef\xbb\xbf", b"\xef\xbb\xbfa"], "\u{feff}a"),
            (&[b"a\xef\xbb\xbf"], "a\u{feff}"),
            (&[b"\xef\xbb"], "\u{fffd}"),
        ];
        for (chunks, want) in cases {
            assert_eq!(decode(chunks), want, "{chunks:?}");
        }
    }

    #[test]
    fn it_does_not_matter_where_the_bytes_are_cut() {
        let bytes = b"a\xc3\xa9\xe2\x82\xac\xff\xf0\x9f\x98\x80\xe2(\xed\xa0\x80\xf0\x9f";
        let whole = decode(&[bytes]);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let cut = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(decode(&cut), whole, "{first} {second}");
            }
        }
    }
}
