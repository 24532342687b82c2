//! How long texts are in UTF-16 units, as programs in JavaScript count them: what estimates of
//! tokens start from.
//!
//! Never: says how many units a token has.

use std::io;

use serde::Serialize;

use crate::types::{AssistantBlock, InputBlock, UserContent};

/// Units an image counts for: 1,200 tokens of four.
pub const IMAGE_UNITS: u64 = 4800;

/// Length of a text.
pub fn text_units(text: &str) -> u64 {
    units(text.as_bytes())
}

/// Length of the JSON text; what cannot be written as JSON counts as far as it can.
pub fn json_units(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // Counting itself cannot fail.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0
}

/// Length of what a user says.
pub fn content_units(content: &UserContent) -> u64 {
    match content {
        UserContent::Text(text) => text_units(text),
        UserContent::Blocks(blocks) => input_units(blocks),
    }
}

/// Length of text and image blocks.
pub fn input_units(blocks: &[InputBlock]) -> u64 {
    blocks.iter().map(|block| block.as_text().map_or(IMAGE_UNITS, text_units)).sum()
}

/// Length of a block of an answer: calls with their names and arguments.
pub fn answer_units(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text(text) => text_units(&text.text),
        AssistantBlock::Thinking(thinking) => text_units(&thinking.thinking),
        AssistantBlock::ToolCall(call) => text_units(&call.name) + json_units(&call.arguments),
    }
}

struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += units(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One for each UTF-8 sequence, and one more for each of four bytes.
fn units(utf8: &[u8]) -> u64 {
    let count = |byte: &u8| u64::from((byte & 0xC0) != 0x80) + u64::from(*byte >= 0xF0);
    utf8.iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_their_json_are_counted_as_javascript_does() {
        assert_eq!(text_units("aé漢😀"), 1 + 1 + 1 + 2);
        assert_eq!(json_units(&["é😀", "\n"]), r#"["é..","\n"]"#.chars().count() as u64);
    }
}
