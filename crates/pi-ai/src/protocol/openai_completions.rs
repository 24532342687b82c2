//! OpenAI Chat Completions, as dozens of hosts speak it.
//!
//! Hosts differ in what they take and how they say things; every difference is a switch of
//! `compat`, detected or declared by the model. Builders and decoders never ask who the provider is.

use std::sync::Arc;

use crate::protocol::{Decoder, HttpRequest, HttpWire};
use crate::thinking::asked_level;
use crate::types::Context;
use crate::types::{Model, ProtocolOptions, SimpleStreamOptions, StreamOptions, ThinkingLevel};

mod answer;
mod cache;
mod chunk;
mod compat;
mod decode;
mod errors;
mod ids;
mod messages;
mod options;
mod reasoning_details;
mod request;
mod thinking;
mod tools;
mod usage;

#[cfg(test)]
mod tests;

pub use options::{Options, ToolChoice};

/// Name models carry in `api`.
pub const API: &str = "openai-completions";

/// The protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiCompletions;

impl HttpWire for OpenAiCompletions {
    fn simple_options(
        &self,
        model: &Model,
        context: &Context,
        options: SimpleStreamOptions,
    ) -> StreamOptions {
        let mut stream = options.base;
        let limit = crate::max_tokens::output_limit(model, context, stream.max_tokens);
        stream.max_tokens = Some(limit);
        let effort = asked_level(model, options.reasoning);
        let own = Options {
            reasoning_effort: (effort != ThinkingLevel::Off).then_some(effort),
            tool_choice: options.tool_choice.map(ToolChoice::from),
            thinking_budgets: options.thinking_budgets,
        };
        stream.protocol.extend(ProtocolOptions::from(own));
        stream
    }

    fn request(
        &self,
        model: &Model,
        context: &Context,
        options: &StreamOptions,
    ) -> Result<HttpRequest, String> {
        request::build(model, context, options)
    }

    fn decoder(
        &self,
        model: &Arc<Model>,
        context: &Context,
        _options: &StreamOptions,
    ) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(Arc::clone(model), context))
    }

    fn error_text(&self, _model: &Model, status: u16, body: &str) -> String {
        errors::http_error(status, body)
    }
}
