//! Getting requests out and answers in: the only room that does network I/O.

pub mod sse;

/// Error text of an answer the caller cancelled.
pub const ABORTED: &str = "Request aborted";
