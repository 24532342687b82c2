//! What a scripted model says, before it is put into a wire format.

use serde_json::Value;

/// One answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub blocks: Vec<Block>,
    pub tokens: Tokens,
    /// `None`: `ToolUse` with a tool block, else `End`.
    pub stop: Option<Stop>,
    /// Characters in one delta.
    pub delta_chars: usize,
}

impl Turn {
    pub fn new(blocks: impl IntoIterator<Item = Block>) -> Self {
        let tokens = Tokens { input: 100, output: 20, ..Tokens::default() };
        Self { blocks: blocks.into_iter().collect(), tokens, stop: None, delta_chars: 12 }
    }

    /// A turn that calls one tool.
    pub fn tool(id: &str, name: &str, arguments: Value) -> Self {
        Self::new([Block::tool(id, name, arguments)])
    }

    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    #[must_use]
    pub fn stop(mut self, stop: Stop) -> Self {
        self.stop = Some(stop);
        self
    }

    pub(super) fn ending(&self) -> Stop {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::Tool { .. }));
        self.stop.unwrap_or(if calls { Stop::ToolUse } else { Stop::End })
    }

    pub(super) fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .char_indices()
                .nth(self.delta_chars.max(1))
                .map_or(rest.len(), |(index, _)| index);
            let (piece, tail) = rest.split_at(end);
            pieces.push(piece);
            rest = tail;
        }
        pieces
    }
}

impl From<&str> for Turn {
    fn from(text: &str) -> Self {
        Self::new([Block::text(text)])
    }
}

/// One content block.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    /// Anthropic only; other formats leave it out.
    Redacted(String),
    Tool {
        id: String,
        name: String,
        /// JSON text, or what should be some.
        arguments: String,
    },
}

impl Block {
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// Thinking with some signature.
    pub fn thinking(text: &str) -> Self {
        Self::Thinking { text: text.to_owned(), signature: "c2lnbmF0dXJl".to_owned() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads best with json! at the call")]
    pub fn tool(id: &str, name: &str, arguments: Value) -> Self {
        let arguments = arguments.to_string();
        Self::Tool { id: id.to_owned(), name: name.to_owned(), arguments }
    }
}

/// Token counts; `input` excludes cached ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    End,
    ToolUse,
    Length,
    Refusal,
    /// The stream ends without naming a reason.
    Missing,
}
