//! The door to the models: every request gets its key, its headers and its address here.

use std::sync::Arc;

use pi_agent::StreamFn;
use pi_ai::auth::Secret;
use pi_ai::{AssistantStream, Context, Model, SimpleStreamOptions};

use crate::models::ModelRegistry;

/// Resolves keys at each request, since a command or another process may give a new one.
#[derive(Debug)]
pub(crate) struct ModelDoor {
    registry: ModelRegistry,
    /// `--api-key`; goes before every other source.
    api_key: Option<Secret>,
}

impl ModelDoor {
    pub(crate) fn new(registry: ModelRegistry, api_key: Option<Secret>) -> Self {
        Self { registry, api_key }
    }
}

impl StreamFn for ModelDoor {
    fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        mut options: SimpleStreamOptions,
    ) -> AssistantStream {
        // A key may come from a command, which must not hold up other work of this thread.
        let auth = tokio::task::block_in_place(|| {
            self.registry.request_auth(model, self.api_key.as_ref())
        });
        match auth {
            Ok(auth) => {
                auth.apply(&mut options.base);
                self.registry.protocols().stream_simple(&auth.addressed(model), context, options)
            }
            Err(error) => AssistantStream::failed(model, error.to_string()),
        }
    }
}
