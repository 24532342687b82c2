//! Getting requests out and answers in: the only room that does network I/O.

pub mod sse;
