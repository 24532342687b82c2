//! Places where a caller may watch or change one request.

use std::fmt;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use serde_json::Value;

use crate::protocol::RequestBody;
use crate::types::Model;

mod chain;

pub use chain::RequestHookChain;

/// Called in the order headers, payload, response, stream events. A request sent again because it
/// failed gives one more response; a changed request runs through all of them.
///
/// Every method has a default that does nothing. Hooks must not fail: what they cannot do they
/// leave as it was.
pub trait RequestHooks: Send + Sync + fmt::Debug {
    /// The body is built. A returned value replaces it. Ask for the body's tree only if it is
    /// needed: that costs more than building the request did.
    fn on_payload<'a>(
        &'a self,
        _body: &'a RequestBody,
        _model: &'a Model,
    ) -> BoxFuture<'a, Option<Value>> {
        Box::pin(std::future::ready(None))
    }

    /// All headers are assembled; change them in place.
    fn on_headers<'a>(
        &'a self,
        _headers: &'a mut HeaderMap,
        _model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Status and headers arrived, the body has not been read.
    fn on_response<'a>(
        &'a self,
        _status: u16,
        _headers: &'a HeaderMap,
        _model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// One raw event of the wire, before it is decoded.
    fn on_stream_event(&self, _event: Option<&str>, _data: &str, _model: &Model) {}
}
