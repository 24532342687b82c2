//! The door to the models: every request gets its key, its headers and its address here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::StreamFn;
use pi_ai::auth::Secret;
use pi_ai::{
    AssistantEvent, AssistantMessage, AssistantStream, Context, EventSource, Model,
    SimpleStreamOptions,
};
use tokio::task::JoinHandle;

use crate::models::{AuthError, ModelRegistry, RequestAuth};

/// Resolves keys at each request, since a command or another process may give a new one.
#[derive(Debug)]
pub(crate) struct ModelDoor {
    registry: Arc<ModelRegistry>,
    /// `--api-key`; goes before every other source.
    api_key: Option<Secret>,
}

impl ModelDoor {
    pub(crate) fn new(registry: ModelRegistry, api_key: Option<Secret>) -> Self {
        Self { registry: Arc::new(registry), api_key }
    }
}

impl StreamFn for ModelDoor {
    fn stream(
        &self,
        model: &Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream {
        let registry = Arc::clone(&self.registry);
        let key = self.api_key.clone();
        let of_model = Arc::clone(model);
        // A key may come from a command, which must hold up neither signals nor an abort.
        let auth =
            tokio::task::spawn_blocking(move || registry.request_auth(&of_model, key.as_ref()));
        AssistantStream::new(Opening {
            pending: AssistantMessage::pending(model, pi_ai::now_ms()),
            registry: Arc::clone(&self.registry),
            request: Some(Request { model: Arc::clone(model), context, options, auth }),
            stream: None,
            event: None,
        })
    }
}

/// A stream that begins once its key is there.
struct Opening {
    pending: AssistantMessage,
    registry: Arc<ModelRegistry>,
    request: Option<Request>,
    stream: Option<AssistantStream>,
    event: Option<AssistantEvent>,
}

struct Request {
    model: Arc<Model>,
    context: Context,
    options: SimpleStreamOptions,
    auth: JoinHandle<Result<RequestAuth, AuthError>>,
}

impl Opening {
    async fn open(&mut self) {
        let Some(request) = &mut self.request else { return };
        let auth = tokio::select! {
            auth = &mut request.auth => Some(auth),
            () = request.options.base.cancel.cancelled() => None,
        };
        let Some(Request { model, context, mut options, .. }) = self.request.take() else { return };
        let protocols = self.registry.protocols();
        self.stream = Some(match auth {
            Some(Ok(Ok(auth))) => {
                auth.apply(&mut options.base);
                protocols.stream_simple(&auth.addressed(&model), context, options)
            }
            Some(Ok(Err(error))) => AssistantStream::failed(&model, error.to_string()),
            Some(Err(error)) => AssistantStream::failed(&model, error.to_string()),
            // It sends nothing any more and tells of the abort in its own way.
            None => protocols.stream_simple(&model, context, options),
        });
    }
}

impl EventSource for Opening {
    fn pop(&mut self) -> Option<AssistantEvent> {
        self.event.take()
    }

    fn advance(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            self.open().await;
            if let Some(stream) = &mut self.stream {
                self.event = stream.next().await;
            }
            self.event.is_some()
        })
    }

    fn partial(&self) -> &AssistantMessage {
        self.stream.as_ref().map_or(&self.pending, AssistantStream::partial)
    }
}
