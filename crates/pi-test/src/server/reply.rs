//! One scripted answer and how it travels.

use std::time::Duration;

use serde_json::json;

use super::turn::Turn;

/// An answer. The plain forms come whole and at once; the builder methods make it late, slow,
/// split or broken.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    pub(super) ending: Ending,
    pub(super) delay: Duration,
    pub(super) pause: Duration,
    pub(super) piece: Option<usize>,
    pub(super) gzip: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    /// In the format the request asks for.
    Turn(Turn),
    /// Events framed already.
    Events(Vec<String>),
    Whole(Vec<u8>),
}

/// Events are pieces of the body when it is split by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// The connection closes after this many events, in the middle of the body.
    CutAfter(usize),
    /// The same with a reset instead of an orderly close.
    ResetAfter(usize),
    /// Nothing more comes after this many events, until the client leaves.
    SilentAfter(usize),
    CloseUnanswered,
    NeverAnswer,
}

impl Reply {
    /// An answer of the model.
    pub fn turn(turn: impl Into<Turn>) -> Self {
        Self::new(200, Body::Turn(turn.into()))
    }

    /// Server-sent events, each framed already (`data: …` and a blank line).
    pub fn events<S: Into<String>>(events: impl IntoIterator<Item = S>) -> Self {
        Self::new(200, Body::Events(events.into_iter().map(Into::into).collect()))
    }

    /// Any status with any body.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, Body::Whole(body.into()))
    }

    /// An error in the shape both wire formats use.
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": "test_error", "message": message}});
        Self::status(status, body.to_string()).header("content-type", "application/json")
    }

    /// Reads the request and closes the connection.
    pub fn close() -> Self {
        Self { ending: Ending::CloseUnanswered, ..Self::status(200, "") }
    }

    /// Reads the request and says nothing at all.
    pub fn never() -> Self {
        Self { ending: Ending::NeverAnswer, ..Self::status(200, "") }
    }

    fn new(status: u16, body: Body) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body,
            ending: Ending::Complete,
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            piece: None,
            gzip: false,
        }
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before the status line.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits between events.
    #[must_use]
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Sends the body in pieces of this many bytes, whatever they split; 0 counts as 1.
    #[must_use]
    pub fn split(mut self, bytes: usize) -> Self {
        self.piece = Some(bytes.max(1));
        self
    }

    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.ending = Ending::CutAfter(events);
        self
    }

    #[must_use]
    pub fn reset_after(mut self, events: usize) -> Self {
        self.ending = Ending::ResetAfter(events);
        self
    }

    #[must_use]
    pub fn silent_after(mut self, events: usize) -> Self {
        self.ending = Ending::SilentAfter(events);
        self
    }

    /// Sends the body as gzip.
    #[must_use]
    pub fn gzip(mut self) -> Self {
        self.gzip = true;
        self
    }
}

impl From<Turn> for Reply {
    fn from(turn: Turn) -> Self {
        Self::turn(turn)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::turn(text)
    }
}
