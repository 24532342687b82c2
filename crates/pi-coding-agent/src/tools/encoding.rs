//! Text as files store it: UTF-8, and UTF-16 that says so in its first two bytes.
//!
//! Owns: telling the two apart, decoding a stream cut anywhere, and the way there and back for a
//! whole file. Never: guesses without a byte order mark.

use std::borrow::Cow;

/// How a file's text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Or anything else; what is no UTF-8 is replaced when it is shown.
    Utf8,
    /// With a byte order mark.
    Utf16(ByteOrder),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    Little,
    Big,
}

/// Of UTF-16, in bytes.
const MARK: usize = 2;

impl Encoding {
    /// By the first bytes of a file; four are enough.
    pub fn of(start: &[u8]) -> Self {
        match start {
            // The mark of UTF-32. As UTF-16 it would be a text that begins with NUL.
            [0xff, 0xfe, 0, 0, ..] => Self::Utf8,
            [0xff, 0xfe, ..] => Self::Utf16(ByteOrder::Little),
            [0xfe, 0xff, ..] => Self::Utf16(ByteOrder::Big),
            _ => Self::Utf8,
        }
    }
}

/// Decodes a file that comes in pieces. A byte order mark of UTF-16 is no part of the text; one of
/// UTF-8 is.
#[derive(Debug)]
pub struct Decoder {
    encoding: Encoding,
    /// The start of a character whose end has not come yet.
    cut: Vec<u8>,
    /// Bytes of the mark still to be left out.
    mark: usize,
    /// What a piece of UTF-16 decodes to; kept for its room.
    decoded: String,
}

impl Decoder {
    pub fn new(encoding: Encoding) -> Self {
        let mark = if encoding == Encoding::Utf8 { 0 } else { MARK };
        Self { encoding, cut: Vec::new(), mark, decoded: String::new() }
    }

    /// Decodes the next piece; `take` gets UTF-8, in one part or many, never part of a character.
    pub fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        match self.encoding {
            Encoding::Utf8 => self.feed_utf8(bytes, take),
            Encoding::Utf16(order) => {
                let (mark, text) = bytes.split_at(self.mark.min(bytes.len()));
                self.mark -= mark.len();
                self.feed_utf16(order, text, take);
            }
        }
    }

    /// Nothing follows.
    pub fn finish(&mut self, take: &mut dyn FnMut(&[u8])) {
        if !std::mem::take(&mut self.cut).is_empty() {
            take(REPLACEMENT);
        }
    }

    fn feed_utf8(&mut self, mut bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        if !self.cut.is_empty() {
            let before = self.cut.len();
            // No character has more than four bytes.
            self.cut.extend(bytes.iter().take(3));
            let done = pass_utf8(&self.cut, take);
            if done == 0 {
                return;
            }
            bytes = bytes.get(done - before..).unwrap_or_default();
            self.cut.clear();
        }
        let done = pass_utf8(bytes, take);
        self.cut.extend_from_slice(bytes.get(done..).unwrap_or_default());
    }

    fn feed_utf16(&mut self, order: ByteOrder, bytes: &[u8], take: &mut dyn FnMut(&[u8])) {
        self.cut.extend_from_slice(bytes);
        let (mut pairs, _) = self.cut.as_chunks::<2>();
        if let Some((last, others)) = pairs.split_last()
            && (0xd800..0xdc00).contains(&unit(*last, order))
        {
            pairs = others;
        }
        self.decoded.clear();
        let characters = char::decode_utf16(pairs.iter().map(|pair| unit(*pair, order)));
        self.decoded.extend(characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
        let done = 2 * pairs.len();
        self.cut.drain(..done);
        take(self.decoded.as_bytes());
    }
}

/// U+FFFD.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// Passes on all but a character cut off at the end, bad bytes replaced; gives the number of bytes
/// dealt with.
fn pass_utf8(bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> usize {
    if bytes.is_ascii() {
        take(bytes);
        return bytes.len();
    }
    let mut done = 0;
    for chunk in bytes.utf8_chunks() {
        take(chunk.valid().as_bytes());
        done += chunk.valid().len();
        let bad = chunk.invalid();
        let is_last = done + bad.len() == bytes.len();
        let is_cut = std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
        if is_last && is_cut {
            break;
        }
        if !bad.is_empty() {
            take(REPLACEMENT);
            done += bad.len();
        }
    }
    done
}

fn unit(pair: [u8; 2], order: ByteOrder) -> u16 {
    match order {
        ByteOrder::Little => u16::from_le_bytes(pair),
        ByteOrder::Big => u16::from_be_bytes(pair),
    }
}

/// A whole file as UTF-8, a byte order mark included: what is UTF-8 already, or no text at all, as
/// it is. `None` if it claims to be UTF-16 and is not, so that there is no way back.
pub fn to_utf8(file: &[u8], encoding: Encoding) -> Option<Cow<'_, [u8]>> {
    let Encoding::Utf16(order) = encoding else {
        return Some(Cow::Borrowed(file));
    };
    let (pairs, []) = file.as_chunks::<2>() else {
        return None;
    };
    let mut text = String::with_capacity(file.len());
    for character in char::decode_utf16(pairs.iter().map(|pair| unit(*pair, order))) {
        text.push(character.ok()?);
    }
    Some(Cow::Owned(text.into_bytes()))
}

/// The way back from [`to_utf8`].
pub fn from_utf8(text: Vec<u8>, encoding: Encoding) -> Vec<u8> {
    let Encoding::Utf16(order) = encoding else {
        return text;
    };
    let mut file = Vec::with_capacity(text.len() * 2);
    for unit in String::from_utf8_lossy(&text).encode_utf16() {
        file.extend_from_slice(&match order {
            ByteOrder::Little => unit.to_le_bytes(),
            ByteOrder::Big => unit.to_be_bytes(),
        });
    }
    file
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    const LITTLE: Encoding = Encoding::Utf16(ByteOrder::Little);
    const BIG: Encoding = Encoding::Utf16(ByteOrder::Big);

    /// A file in UTF-16 with its mark.
    pub(in crate::tools) fn utf16(text: &str, order: ByteOrder) -> Vec<u8> {
        from_utf8(format!("\u{feff}{text}").into_bytes(), Encoding::Utf16(order))
    }

    fn decoded(file: &[u8], piece: usize) -> String {
        let mut decoder = Decoder::new(Encoding::of(file));
        let mut out = Vec::new();
        for piece in file.chunks(piece.max(1)) {
            decoder.feed(piece, &mut |text| {
                assert!(std::str::from_utf8(text).is_ok());
                out.extend_from_slice(text);
            });
        }
        decoder.finish(&mut |text| out.extend_from_slice(text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_a_byte_order_mark_makes_utf16() {
        let cases: &[(&[u8], Encoding)] = &[
            (b"\xff\xfea\0", LITTLE),
            (b"\xff\xfe", LITTLE),
            (b"\xfe\xff\0a", BIG),
            (b"\xff\xfe\0\0a\0\0\0", Encoding::Utf8),
            (b"\xef\xbb\xbfa", Encoding::Utf8),
            (b"a\0b\0", Encoding::Utf8),
            (b"\xff", Encoding::Utf8),
            (b"", Encoding::Utf8),
        ];
        for (start, want) in cases {
            assert_eq!(Encoding::of(start), *want, "{start:?}");
        }
    }

    #[test]
    fn bad_bytes_are_replaced_wherever_the_stream_is_cut() {
        let cases: &[(&[u8], &str)] = &[
            (b"a\xe2\x82", "a\u{fffd}"),
            (b"\xf0\x9f\xe2\x82\xacb", "\u{fffd}\u{20ac}b"),
            (b"\xc3(\xf0\x9f\x98\x80\x80", "\u{fffd}(\u{1f600}\u{fffd}"),
            (b"\xff\xfea\0b", "a\u{fffd}"),
            (b"\xff\xfe\x3d\xd8", "\u{fffd}"),
            (b"\xff\xfe\x3d\xd8a\0", "\u{fffd}a"),
            (b"\xff\xfe\0\xdea\0", "\u{fffd}a"),
        ];
        for (file, want) in cases {
            for piece in 1..=file.len() {
                assert_eq!(decoded(file, piece), *want, "{file:?} by {piece}");
            }
        }
    }

    #[test]
    fn what_is_no_utf16_has_no_way_back() {
        assert_eq!(to_utf8(b"\xff\xfea", LITTLE), None);
        assert_eq!(to_utf8(b"\xff\xfe\0\xd8a\0", LITTLE), None);
        assert_eq!(to_utf8(b"\xff\xffa", Encoding::Utf8).as_deref(), Some(&b"\xff\xffa"[..]));
    }

    proptest! {
        #[test]
        fn streams_decode_like_whole_texts(bytes in proptest::collection::vec(any::<u8>(), 0..40), piece in 1_usize..9) {
            let file = [b"x", &bytes[..]].concat();
            prop_assert_eq!(decoded(&file, piece), String::from_utf8_lossy(&file));
        }

        #[test]
        fn utf16_goes_there_and_back(text in ".{0,30}", piece in 1_usize..9, big in any::<bool>()) {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let file = utf16(&text, order);
            prop_assume!(!text.starts_with('\0'));
            prop_assert_eq!(decoded(&file, piece), &*text);
            let whole = to_utf8(&file, Encoding::Utf16(order)).unwrap();
            let marked = format!("\u{feff}{text}");
            prop_assert_eq!(&*whole, marked.as_bytes());
            prop_assert_eq!(from_utf8(whole.into_owned(), Encoding::Utf16(order)), file);
        }
    }
}
