//! Terminal output as plain text.
//!
//! Owns: leaving out what a terminal acts on in place of showing it. Never: cuts or wraps. Pure; fed
//! in pieces cut anywhere, it gives the same text.

/// Leaves out escape sequences, control characters but for tab and newline, and the marks of
/// interlinear annotations, which have no width that programs agree on.
///
/// A sequence that is broken off takes no text with it: a line end ends it, a letter that cannot be
/// a part of it is text.
#[derive(Debug, Default)]
pub struct PlainText {
    state: State,
}

/// Within which sequence of ECMA-48 it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC, or after what may stand between it and the final character.
    Escape,
    /// After `ESC [`: up to a final character `@` to `~`.
    Control,
    /// After `ESC ]`: up to BEL, ST, or the end of the line.
    Command,
    /// After `ESC P`, `ESC X`, `ESC ^` or `ESC _`: up to BEL or ST. Images span lines.
    Data,
}

impl PlainText {
    /// What is to be seen of the next piece.
    pub fn push(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len());
        let mut rest = piece;
        while !rest.is_empty() {
            if self.state == State::Text {
                let end = rest.find(is_special).unwrap_or(rest.len());
                let (shown, special) = rest.split_at(end);
                text.push_str(shown);
                rest = special;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.state = self.next(character, &mut text);
                rest = characters.as_str();
            }
        }
        text
    }

    /// The state after a character; puts it into `text` if it is to be seen.
    fn next(&self, character: char, text: &mut String) -> State {
        match (self.state, character) {
            (_, '\u{1b}') => State::Escape,
            // CAN and SUB break off what was begun, ST ends it.
            (_, '\u{18}' | '\u{1a}' | '\u{9c}') => State::Text,
            (State::Data, '\u{7}') => State::Text,
            (State::Data, _) => State::Data,
            (State::Command, '\u{7}') => State::Text,
            (State::Command, '\n') => shown(character, text),
            (State::Command, _) => State::Command,
            (State::Escape, '[') => State::Control,
            (State::Escape, ']') => State::Command,
            (State::Escape, 'P' | 'X' | '^' | '_') => State::Data,
            (State::Escape, ' '..='/') => State::Escape,
            (State::Escape, '0'..='~') => State::Text,
            (State::Control, ' '..='?') => State::Control,
            (State::Control, '@'..='~') => State::Text,
            (_, '\u{9b}') => State::Control,
            (_, '\u{9d}') => State::Command,
            (_, '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}') => State::Data,
            // A terminal acts on these even within a sequence, which then goes on.
            (state, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}') => state,
            (_, character) if is_special(character) => State::Text,
            (_, character) => shown(character, text),
        }
    }
}

fn shown(character: char, text: &mut String) -> State {
    text.push(character);
    State::Text
}

fn is_special(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        '\u{fff9}'..='\u{fffb}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pieces: &[&str]) -> String {
        let mut plain = PlainText::default();
        pieces.iter().map(|piece| plain.push(piece)).collect()
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
        ("\u{1b}[?2004hx\u{1b}[!px\u{1b}[2 qx", "xxx"),
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
        ("a\u{1b}]0;never ended\nnext", "a\nnext"),
        ("a\u{1b}Pnever ended\u{1b}[0mb", "ab"),
        ("a\u{1b}\nb", "a\nb"),
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
}
