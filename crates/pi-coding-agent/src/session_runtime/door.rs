//! The door to the models: every request gets its key, its headers and its address here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::StreamFn;
use pi_ai::auth::Secret;
use pi_ai::{AssistantStream, Context, Model, SimpleStreamOptions};

use crate::error::AppError;
use crate::models::{AuthError, ModelRegistry, RequestAuth};

/// Resolves keys at each request, since a command or another process may give a new one.
#[derive(Debug)]
pub(crate) struct ModelDoor {
    registry: Arc<ModelRegistry>,
    /// `--api-key` and the provider it is for; there it goes before every other source.
    api_key: Option<(String, Secret)>,
}

impl ModelDoor {
    pub(crate) fn new(registry: Arc<ModelRegistry>, api_key: Option<(String, Secret)>) -> Self {
        Self { registry, api_key }
    }

    pub(super) fn registry(&self) -> &Arc<ModelRegistry> {
        &self.registry
    }

    /// # Errors
    /// Requests to the model would have no key.
    pub(super) async fn check(&self, model: &Arc<Model>) -> Result<(), AppError> {
        match self.auth(model).await {
            Ok(_) => Ok(()),
            Err(text) => Err(AppError::config(text)),
        }
    }

    /// A key may come from a command that takes its time; an abort leaves it behind.
    async fn auth(&self, model: &Arc<Model>) -> Result<RequestAuth, String> {
        let (registry, wanted) = (Arc::clone(&self.registry), Arc::clone(model));
        let key = self.api_key.clone().filter(|(provider, _)| *provider == model.provider);
        let auth = tokio::task::spawn_blocking(move || -> Result<RequestAuth, AuthError> {
            registry.request_auth(&wanted, key.as_ref().map(|(_, key)| key))
        });
        match auth.await {
            Ok(auth) => auth.map_err(|error| error.to_string()),
            Err(crashed) => Err(format!("Looking up the key failed: {crashed}")),
        }
    }
}

impl StreamFn for ModelDoor {
    fn stream<'a>(
        &'a self,
        model: &'a Arc<Model>,
        context: Context,
        mut options: SimpleStreamOptions,
    ) -> BoxFuture<'a, AssistantStream> {
        Box::pin(async move {
            match self.auth(model).await {
                Ok(auth) => {
                    auth.apply(&mut options.base);
                    let protocols = self.registry.protocols();
                    protocols.stream_simple(&auth.addressed(model), context, options)
                }
                Err(text) => AssistantStream::failed(model, text),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pi_agent::AgentMessage;
    use pi_agent::agent::{Agent, AgentConfig};
    use pi_agent::env::ProcessGroups;
    use pi_ai::auth::{Credentials, Environment, KeyResolver};
    use pi_ai::{InputBlock, Protocols, StopReason};

    use super::*;
    use crate::models::{ModelsConfig, ShellCommands};

    #[tokio::test]
    async fn an_abort_does_not_wait_for_the_command_that_prints_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let (started, go, done) = (file("started"), file("go"), file("done"));
        let config = serde_json::json!({"providers": {"p": {
            "baseUrl": "http://h", "api": "a", "models": [{"id": "m"}],
            "apiKey": format!(
                "!cd '{}'; touch started; until [ -e go ]; do sleep 0.05; done; touch done; echo k",
                dir.path().display()
            ),
        }}});
        let config = ModelsConfig::parse(&dir.path().join("models.json"), &config.to_string());
        let credentials = Credentials::read(&dir.path().join("auth.json"));
        let environment: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
        let keys = KeyResolver::new(
            environment,
            credentials,
            Arc::new(ShellCommands::new(ProcessGroups::default())),
        );
        let registry = Arc::new(ModelRegistry::new(config, keys, Protocols::empty()));
        let model = registry.find("p", "m").unwrap();
        let agent = Agent::new(AgentConfig::new(model, Arc::new(ModelDoor::new(registry, None))));
        let run = agent.prompt(vec![AgentMessage::user(vec![InputBlock::text("Hi")], 0)]);
        let stop = async {
            while !started.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            agent.abort();
        };
        let (run, ()) = tokio::join!(run, stop);
        run.unwrap();
        assert!(!done.exists(), "the command had ended before the run did");
        // Lets the command end, which the test would else wait for.
        std::fs::write(go, "").unwrap();
        while !done.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let messages = agent.messages();
        let Some(AgentMessage::Assistant(answer)) = messages.last() else {
            panic!("no answer: {messages:?}")
        };
        assert_eq!(answer.stop_reason, StopReason::Aborted);
    }
}
