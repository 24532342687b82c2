//! Terminal output as plain text.
//!
//! Owns: leaving out what a terminal acts on in place of showing it. Never: cuts or wraps. Pure; fed
//! in pieces cut anywhere, it gives the same text.

/// Leaves out escape sequences, control characters but for tab and newline, and the marks of
/// interlinear annotations, which have no width that programs agree on.
///
/// A sequence that is broken off takes no text with it: a letter that cannot be a part of it, or a
/// line end, is text again, and so is the inside of one that has no end at all.
#[derive(Debug, Default)]
pub struct PlainText {
    state: State,
    /// What is inside a sequence that needs an end, in case there is none.
    held: String,
    /// Bytes inside, held or not.
    inside: usize,
}

/// Bytes inside a sequence; with more it is an image, and no text behind a beginning without end.
const MOST_HELD: usize = 64 * 1024;

/// Where in a sequence of ECMA-48 it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC, or after what may stand between it and the final character.
    Escape,
    /// After `ESC [`: up to a final character `@` to `~`.
    Control,
    /// After `ESC ]`, `ESC X`, `ESC ^` or `ESC _`: up to BEL or ST, which stand in the same line.
    Line,
    /// After an ESC in a line, which with a backslash is ST.
    LineEscape,
    /// After `ESC P`: up to BEL, ST or another sequence. Images have many lines.
    Data,
}

impl PlainText {
    /// What is to be seen of the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len());
        let mut rest = piece;
        while !rest.is_empty() {
            if self.state == State::Text {
                let (shown, special) = rest.split_at(length_of_text(rest.as_bytes()));
                text.push_str(shown);
                rest = special;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.step(character, &mut text);
                rest = characters.as_str();
            }
        }
        text
    }

    /// What is to be seen after all, as nothing follows.
    pub fn finish(&mut self) -> String {
        std::mem::take(self).held
    }

    fn step(&mut self, character: char, text: &mut String) {
        let was = self.state;
        self.state = was.next(character);
        match was {
            State::Line | State::Data if self.state == was => return self.hold(character),
            State::Line if self.state == State::LineEscape => return,
            State::Line if character == '\n' => text.push_str(&self.held),
            State::LineEscape if character != '\\' => text.push_str(&self.held),
            _ => {}
        }
        self.held.clear();
        self.inside = 0;
        if self.state == State::Text && !was.ends_with(character) && !is_special(character) {
            text.push(character);
        }
    }

    fn hold(&mut self, character: char) {
        self.inside += character.len_utf8();
        if self.inside > MOST_HELD {
            self.held.clear();
        } else if !is_special(character) {
            self.held.push(character);
        }
    }
}

impl State {
    fn next(self, character: char) -> Self {
        match (self, character) {
            (Self::Line, '\u{1b}') => Self::LineEscape,
            (_, '\u{1b}') => Self::Escape,
            // CAN and SUB break off what was begun, ST ends it.
            (_, '\u{18}' | '\u{1a}' | '\u{9c}') => Self::Text,
            (Self::Line | Self::Data, '\u{7}') | (Self::Line, '\n') => Self::Text,
            (Self::Line | Self::Data, _) => self,
            (Self::Escape | Self::LineEscape, '[') | (_, '\u{9b}') => Self::Control,
            (Self::Escape | Self::LineEscape, ']' | 'X' | '^' | '_')
            | (_, '\u{98}' | '\u{9d}'..='\u{9f}') => Self::Line,
            (Self::Escape | Self::LineEscape, 'P') | (_, '\u{90}') => Self::Data,
            (Self::Escape | Self::LineEscape, ' '..='/') => Self::Escape,
            (Self::Control, ' '..='?') => Self::Control,
            // A terminal acts on these even within a sequence, which then goes on.
            (Self::Escape | Self::LineEscape, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}') => {
                Self::Escape
            }
            (Self::Control, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}') => Self::Control,
            _ => Self::Text,
        }
    }

    /// Whether a character ends it as its last one.
    fn ends_with(self, character: char) -> bool {
        match self {
            Self::Escape | Self::LineEscape => matches!(character, '0'..='~'),
            Self::Control => matches!(character, '@'..='~'),
            Self::Text | Self::Line | Self::Data => false,
        }
    }
}

fn is_special(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{fff9}'..='\u{fffb}' => true,
        _ => character.is_control(),
    }
}

/// How many bytes there are before the first that may be special.
fn length_of_text(bytes: &[u8]) -> usize {
    // Without a branch for each byte a block is looked at as a whole.
    let is_text = |block: &&[u8; 64]| {
        !block.iter().fold(false, |special, byte| special | may_begin_special(*byte))
    };
    let (blocks, _) = bytes.as_chunks();
    let text = blocks.iter().take_while(is_text).count() * 64;
    let rest = bytes.iter().skip(text).take_while(|byte| !may_begin_special(**byte));
    text + rest.count()
}

/// Whether a special character can begin with this byte of UTF-8.
fn may_begin_special(byte: u8) -> bool {
    matches!(byte, 0..=0x8 | 0xb..=0x1f | 0x7f | 0xc2 | 0xef)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pieces: &[&str]) -> String {
        let mut plain = PlainText::default();
        let mut text: String = pieces.iter().map(|piece| plain.push(piece)).collect();
        text.push_str(&plain.finish());
        text
    }

    const CASES: &[(&str, &str)] = &[
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{1b}[31mred \u{1b}[0ma\rb", "red ab"),
        ("50%\r100%\r\n", "50%100%\n"),
        ("a\u{7}b\u{8}c\0d\u{b}e\u{c}f\u{7f}g", "abcdefg"),
        // Marks of a shell, reports of a mouse and of a device.
        ("\u{1b}]133;A\u{7}$ ls\u{1b}]133;C;\u{1b}\\out", "$ lsout"),
        ("\u{1b}[<35;59;1Mx", "x"),
        ("\u{1b}[>0;276;0cx", "x"),
        ("\u{1b}[?2004hx\u{1b}[!px\u{1b}[2 qx\u{1b}[38:2::1:2:3mx", "xxxx"),
        // The keypad, with text behind.
        ("\u{1b}=one\u{1b}>two", "onetwo"),
        ("\u{1b}7a\u{1b}8b\u{1b}cd\u{1b}Me", "abde"),
        ("\u{1b}(Ba\u{1b})0b\u{1b}#8c\u{1b} Fd\u{1b}%Ge", "abcde"),
        // Links and titles.
        ("\u{1b}]8;;http://h/\u{1b}\\link\u{1b}]8;;\u{1b}\\ end", "link end"),
        ("\u{1b}]8;id=1;http://h/\u{7}link\u{1b}]8;;\u{7}", "link"),
        ("\u{1b}]0;t\u{ef}tle\u{7}x", "x"),
        // Data: an image, a multiplexer's passthrough, and the other kinds.
        ("a\u{1b}Pq#0;2;0\n-~~\u{1b}\\b", "ab"),
        ("a\u{1b}Ptmux;\u{1b}\u{1b}]52;c;eA==\u{7}\u{1b}\\b", "ab"),
        ("\u{1b}_Gf=32;AAAA\u{1b}\\a\u{1b}^p\u{1b}\\b\u{1b}Xs\u{1b}\\c", "abc"),
        // The same in single characters.
        ("\u{9b}31mred\u{9d}0;t\u{9c}a\u{90}d\u{9c}b\u{85}c\u{9c}d", "redabcd"),
        // Begun and broken off.
        ("a\u{1b}", "a"),
        ("a\u{1b}[31", "a"),
        ("a\u{1b}[31\nb", "a\nb"),
        ("a\u{1b}[3\u{e9}b", "a\u{e9}b"),
        ("a\u{1b}\u{1b}[31mb", "ab"),
        ("a\u{1b}[3\u{1b}[4mb", "ab"),
        ("a\u{1b}[31\u{18}b\u{1b}]0;t\u{1a}c", "abc"),
        ("a\u{1b}[3\r1mb", "ab"),
        ("a\u{1b}\nb\u{1b}\tc", "a\nb\tc"),
        // Without an end.
        ("a\u{1b}]no\u{7f} end\nnext\u{7}", "ano end\nnext"),
        ("a\u{1b}]no end\u{1b}[0m next", "ano end next"),
        ("a\u{1b}]no end\u{1b}]0;title\u{7} next", "ano end next"),
        ("a\u{1b}_no\tend", "ano\tend"),
        ("a\u{1b}]no end\u{1b}", "ano end"),
        ("a\u{1b}Pno end\nnext", "ano end\nnext"),
        ("a\u{1b}Pno end\u{1b}[0mb", "ab"),
        // What has no width, and what only looks so.
        ("\u{fff9}a\u{fffa}b\u{fffb}", "ab"),
        ("\u{fffd}\u{200e}e\u{301}\u{200d}\u{feff}", "\u{fffd}\u{200e}e\u{301}\u{200d}\u{feff}"),
    ];

    #[test]
    fn only_what_is_to_be_seen_stays() {
        for (output, want) in CASES {
            assert_eq!(plain(&[output]), *want, "{output:?}");
        }
    }

    #[test]
    fn every_special_character_is_looked_at() {
        for character in ('\0'..=char::MAX).filter(|character| is_special(*character)) {
            let text = character.to_string();
            assert!(may_begin_special(text.as_bytes()[0]), "{character:?}");
        }
    }

    #[test]
    fn it_does_not_matter_where_the_output_is_cut() {
        for (output, want) in CASES {
            for (cut, _) in output.char_indices() {
                let (first, second) = output.split_at(cut);
                assert_eq!(plain(&[first, second]), *want, "{first:?} {second:?}");
            }
            let characters: Vec<String> = output.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            assert_eq!(plain(&characters), *want, "{output:?}");
        }
    }

    #[test]
    fn an_image_without_end_is_neither_kept_nor_shown() {
        let mut plain = PlainText::default();
        let image = "A".repeat(10_000);
        assert_eq!(plain.push("a\u{1b}]1337;File=:"), "a");
        for _ in 0..100 {
            assert_eq!(plain.push(&image), "");
            assert!(plain.held.len() <= MOST_HELD);
        }
        assert_eq!(plain.push("\nnext\u{1b}]0;x"), "\nnext");
        assert_eq!(plain.finish(), "0;x");
        assert_eq!(plain.push("new"), "new");
    }
}
