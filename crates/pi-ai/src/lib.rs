//! Any language model, one stream of events.
//!
//! Owns: the unified data model, the wire protocols, the HTTP transport, the model catalogue, keys
//! and error classification. Never: reads the environment or a terminal, runs tools, or knows that
//! the caller is a coding agent.

pub mod auth;
pub mod catalog;
pub mod cost;
pub mod event;
pub mod faux;
pub mod handoff;
pub mod hooks;
pub mod max_tokens;
pub mod overflow;
pub mod partial_json;
pub mod protocol;
pub mod providers;
pub mod retry;
mod rows;
pub mod stream;
pub mod thinking;
pub mod transport;
pub mod types;

pub use event::{AssistantEvent, MessageBuilder};
pub use hooks::RequestHooks;
pub use protocol::Protocol;
pub use stream::{AssistantStream, Context, EventSource, Protocols};
pub use types::*;

/// Unix time in milliseconds.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
