//! The `anthropic-messages` protocol: Anthropic's Messages API and the many hosts that copy it.
//!
//! Builds requests and decodes answers; never does I/O. The only state is which sessions may not
//! use strict tools any more.

use std::sync::Arc;

use crate::event::MessageBuilder;
use crate::protocol::{Decoder, HttpRequest, HttpWire};
use crate::types::Context;
use crate::types::{Model, SimpleStreamOptions, StreamOptions};

mod compat;
mod content;
mod decode;
mod error_text;
mod headers;
mod options;
mod request;
mod strict_memory;
mod thinking;
mod tools;

#[cfg(test)]
mod tests;

pub use options::{Options, ThinkingDisplay, ToolChoice};

use strict_memory::StrictMemory;

/// Name models carry in `api`.
pub const API: &str = "anthropic-messages";

/// The wire of `anthropic-messages`. One value serves every model and session.
#[derive(Debug, Default)]
pub struct AnthropicMessages {
    strict: StrictMemory,
}

impl AnthropicMessages {
    pub fn new() -> Self {
        Self::default()
    }
}

impl HttpWire for AnthropicMessages {
    fn simple_options(
        &self,
        model: &Model,
        context: &Context,
        options: SimpleStreamOptions,
    ) -> StreamOptions {
        options::simple_options(model, context, options)
    }

    fn request(
        &self,
        model: &Model,
        context: &Context,
        options: &StreamOptions,
    ) -> Result<HttpRequest, String> {
        request::build(model, context, options, &self.strict)
    }

    fn decoder(
        &self,
        model: &Arc<Model>,
        _context: &Context,
        options: &StreamOptions,
    ) -> Box<dyn Decoder> {
        Box::new(decode::AnthropicDecoder::new(Arc::clone(model), options))
    }

    fn error_text(&self, _model: &Model, status: u16, body: &str) -> String {
        error_text::error_text(status, body)
    }

    fn fallback(
        &self,
        _model: &Model,
        options: &StreamOptions,
        request: &HttpRequest,
        status: u16,
        body: &str,
    ) -> Option<HttpRequest> {
        if !strict_memory::is_strict_limit(status, body) {
            return None;
        }
        self.strict.loosen(request, options.session_id.as_deref())
    }
}

impl Decoder for decode::AnthropicDecoder {
    fn event(&mut self, name: Option<&str>, data: &str, out: &mut MessageBuilder) {
        self.take(name, data, out);
    }

    fn end(&mut self, out: &mut MessageBuilder) {
        self.body_ended(out);
    }
}
