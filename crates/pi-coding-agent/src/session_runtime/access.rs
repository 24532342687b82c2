//! Reading and changing a conversation. What is changed while a prompt is on counts from the next
//! request.

use std::sync::Arc;

use pi_agent::session::Session;
use pi_agent::{AgentMessage, LoopHooks, QueuedMessages, Tool};
use pi_ai::{InputBlock, Model, ThinkingLevel};

use super::{AgentSession, hooks_before, named};
use crate::error::{AppError, Context, ErrorKind};
use crate::models::{ModelRegistry, ScopedModel};

/// Messages beside the prompt that is on.
impl AgentSession {
    /// Queues a user message for after the current turn. While idle it waits for the next prompt.
    pub async fn steer(&self, blocks: Vec<InputBlock>) {
        self.inner.harness.steer(AgentMessage::user(blocks, pi_ai::now_ms())).await;
    }

    /// Queues a user message for when the run would end.
    pub async fn follow_up(&self, blocks: Vec<InputBlock>) {
        self.inner.harness.follow_up(AgentMessage::user(blocks, pi_ai::now_ms())).await;
    }

    pub fn queued_messages(&self) -> QueuedMessages {
        self.inner.harness.agent().queued_messages()
    }

    /// Empties both queues and gives back what was in them.
    pub async fn clear_queues(&self) -> QueuedMessages {
        self.inner.harness.clear_queues().await
    }

    /// Whether a prompt is on.
    pub fn is_busy(&self) -> bool {
        self.inner.harness.is_busy()
    }

    /// Waits until no prompt is on and every listener has heard so.
    pub async fn wait_for_idle(&self) {
        self.inner.harness.wait_for_idle().await;
    }

    /// Gives up waiting for the next attempt; the failed answer is then final.
    pub fn abort_retry(&self) {
        self.inner.harness.abort_retry();
    }
}

/// The model.
impl AgentSession {
    pub fn model(&self) -> Arc<Model> {
        self.inner.harness.agent().model()
    }

    /// Where models are looked up; see [`crate::models::resolve_reference`] for what people type.
    pub fn models(&self) -> &Arc<ModelRegistry> {
        self.inner.door.registry()
    }

    /// Switches the model and records it; the thinking level follows if the model lacks it.
    ///
    /// # Errors
    /// This build does not speak the model's protocol, or there is no key for it. The model is as
    /// it was.
    pub async fn set_model(&self, model: Arc<Model>) -> Result<(), AppError> {
        if !self.models().speaks(&model) {
            return Err(AppError::user(format!(
                "Model \"{}/{}\" speaks {}, which this build of pi does not.",
                model.provider, model.id, model.api
            )));
        }
        self.inner.door.check(&model).await?;
        self.inner.harness.set_model(model).await;
        Ok(())
    }

    pub fn thinking_level(&self) -> ThinkingLevel {
        self.inner.harness.agent().thinking_level()
    }

    /// Sets the thinking level, or the nearest one the model has, and gives what it became.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> ThinkingLevel {
        self.inner.harness.set_thinking_level(level).await
    }

    /// The models to cycle through, as the command line or the settings chose them; none: every
    /// available one.
    pub async fn scope(&self) -> &[ScopedModel] {
        self.inner.scope.models(self.models()).await
    }
}

/// Tools and hooks.
impl AgentSession {
    /// Every tool there is, active or not.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.inner.tools
    }

    /// Names of the active tools, in the order the model sees them.
    pub fn active_tools(&self) -> Vec<String> {
        let tools = self.inner.harness.agent().tools();
        tools.iter().map(|tool| tool.definition().name.clone()).collect()
    }

    /// Makes the tools of these names the active ones; tools that stay keep their place. Names
    /// nobody has are left out.
    pub fn set_active_tools(&self, names: &[impl AsRef<str>]) {
        self.inner.harness.set_tools(named(&self.inner.tools, names));
    }

    /// Replaces the hooks that were set here before; counts from the next prompt. pi's own stay,
    /// behind them.
    pub fn set_hooks(&self, hooks: Vec<Arc<dyn LoopHooks>>) {
        self.inner.harness.set_hooks(hooks_before(hooks, &self.inner.filter));
    }
}

/// What is kept.
impl AgentSession {
    /// The conversation as the model is told it; a message that is still arriving is not in it.
    pub fn messages(&self) -> Arc<Vec<AgentMessage>> {
        self.inner.harness.agent().messages()
    }

    /// Looks at the session. Messages are stored under the same lock: keep it short, and call
    /// nothing of the conversation inside.
    pub fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        self.inner.harness.with_session(|session| look(session))
    }

    pub fn name(&self) -> Option<String> {
        self.with_session(Session::name)
    }

    /// Names the session; a name of blanks clears it.
    ///
    /// # Errors
    /// The name could not be stored.
    pub async fn set_name(&self, name: &str) -> Result<(), AppError> {
        let stored = self.inner.harness.set_name(name).await;
        stored.context(ErrorKind::Internal, || "Cannot store the name")
    }
}
