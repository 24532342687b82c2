//! The one door that opens a stream: protocols by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Protocol;
use crate::stream::AssistantStream;
use crate::types::{Context, Model, SimpleStreamOptions, StreamOptions};

/// Protocols by the name models carry in `api`. The built-in ones are registered the same way as
/// an embedder's own.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    by_api: BTreeMap<String, Arc<dyn Protocol>>,
}

impl Protocols {
    /// No protocol at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a protocol, replacing one of the same name.
    pub fn register(&mut self, api: impl Into<String>, protocol: Arc<dyn Protocol>) {
        self.by_api.insert(api.into(), protocol);
    }

    pub fn get(&self, api: &str) -> Option<&Arc<dyn Protocol>> {
        self.by_api.get(api)
    }

    /// Streams an answer with options in the protocol's own words.
    pub fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        match self.get(&model.api) {
            Some(protocol) => protocol.stream(Arc::clone(model), context, options),
            None => AssistantStream::failed(model, unknown_api(model)),
        }
    }

    /// Streams an answer with unified options.
    pub fn stream_simple(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream {
        match self.get(&model.api) {
            Some(protocol) => protocol.stream_simple(Arc::clone(model), context, options),
            None => AssistantStream::failed(model, unknown_api(model)),
        }
    }
}

fn unknown_api(model: &Model) -> String {
    format!(
        "Protocol {:?} of model {}/{} is not supported by this build of pi",
        model.api, model.provider, model.id
    )
}
