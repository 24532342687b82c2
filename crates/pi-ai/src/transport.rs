//! Getting requests out and answers in: the only room that does network I/O.
//!
//! [`HttpTransport`] holds the one HTTP client; [`HttpProtocol`] drives a wire protocol over it.
//! Nothing here knows what a request or an answer means.

pub mod sse;

mod client;
mod driver;
mod failure;
mod headers;
mod provider_retry;
mod send;

pub use client::{HttpTransport, ProxyConfig, TransportConfig};
pub use driver::HttpProtocol;
#[cfg(test)]
pub(crate) use headers::settle;
