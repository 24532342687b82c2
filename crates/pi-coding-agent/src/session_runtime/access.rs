//! Reading and changing a conversation. What is changed while a prompt is on counts from the next
//! request.

use std::sync::{Arc, PoisonError};

use pi_agent::harness::{HarnessError, Operation, PromptBuilder, RetrySettings};
use pi_agent::session::Session;
use pi_agent::{AgentMessage, LoopHooks, QueueMode, QueuedMessages, Tool};
use pi_ai::{Model, RequestHookChain, RequestHooks, ThinkingLevel};

use super::{
    AgentSession, CompactionResult, ContextUsage, NavigateOptions, Navigation, Prompt, RunOutcome,
    SessionHooks, hooks_before,
};
use crate::error::{AppError, Context, ErrorKind};
use crate::models::{ModelError, ModelRegistry, ScopedModel};
use crate::resources::Library;

/// Messages beside the prompt that is on.
impl AgentSession {
    /// Queues a user message for after the current turn. While idle it waits for the next prompt.
    ///
    /// # Errors
    /// What it calls cannot be read; nothing is queued.
    pub async fn steer(&self, prompt: impl Into<Prompt>) -> Result<(), AppError> {
        let message = self.message(prompt.into()).await?;
        self.inner.harness.steer(message).await;
        Ok(())
    }

    /// Queues a user message for when the run would end.
    ///
    /// # Errors
    /// What it calls cannot be read; nothing is queued.
    pub async fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<(), AppError> {
        let message = self.message(prompt.into()).await?;
        self.inner.harness.follow_up(message).await;
        Ok(())
    }

    async fn message(&self, prompt: Prompt) -> Result<AgentMessage, AppError> {
        prompt.into_message(&self.inner.harness).await.map_err(|error| told(&error))
    }

    /// Delivers what was queued while no prompt was on, and resolves when that is settled. Nothing
    /// queued, or something else on: nothing is done.
    ///
    /// # Errors
    /// The conversation cannot go on.
    pub async fn run_queued(&self) -> Result<Option<RunOutcome>, AppError> {
        if self.is_stopped() {
            return Ok(None);
        }
        match self.inner.harness.run_queued().await {
            Err(HarnessError::Busy | HarnessError::Occupied(_)) => Ok(None),
            outcome => outcome.context(ErrorKind::Internal, || "The conversation cannot go on"),
        }
    }

    pub fn queued_messages(&self) -> QueuedMessages {
        self.inner.harness.queued_messages()
    }

    /// Empties both queues and gives back what was in them.
    pub async fn clear_queues(&self) -> QueuedMessages {
        self.inner.harness.clear_queues().await
    }

    pub fn steering_mode(&self) -> QueueMode {
        self.inner.harness.steering_mode()
    }

    pub fn set_steering_mode(&self, mode: QueueMode) {
        self.inner.harness.set_steering_mode(mode);
    }

    pub fn follow_up_mode(&self) -> QueueMode {
        self.inner.harness.follow_up_mode()
    }

    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        self.inner.harness.set_follow_up_mode(mode);
    }

    /// Whether failed answers are tried again by themselves.
    pub fn set_auto_retry(&self, is_enabled: bool) {
        let retry = RetrySettings { enabled: is_enabled, ..self.inner.harness.retry() };
        self.inner.harness.set_retry(retry);
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
        self.inner.harness.model()
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

    /// Whether there is a model, and requests to it would have a key.
    ///
    /// # Errors
    /// They would not; the text says what to do.
    pub async fn check_key(&self) -> Result<(), AppError> {
        let model = self.model();
        if model.is_unknown() {
            return Err(AppError::config(ModelError::no_model().to_string()));
        }
        self.inner.door.check(&model).await
    }

    pub fn thinking_level(&self) -> ThinkingLevel {
        self.inner.harness.thinking_level()
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

/// Tools.
impl AgentSession {
    /// Every tool there is, active or not.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.inner.harness.tools()
    }

    /// Names of the active tools, in the order the model sees them.
    pub fn active_tools(&self) -> Vec<String> {
        self.inner.harness.active_tools()
    }

    /// Makes the tools of these names the active ones; tools that stay keep their place. Names
    /// nobody has are left out.
    pub fn set_active_tools(&self, names: &[impl AsRef<str>]) {
        self.inner.harness.set_active_tools(names);
    }

    /// Adds a tool, or puts it in the place of the one of its name.
    pub fn register_tool(&self, tool: Arc<dyn Tool>, is_active: bool) {
        self.inner.harness.register_tool(tool, is_active);
    }
}

/// Skills and prompt templates.
impl AgentSession {
    /// Those that texts may call.
    pub fn library(&self) -> Arc<Library> {
        Arc::clone(&self.inner.library.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts others in their place; the model is told with the next request.
    pub(crate) fn set_library(&self, library: Arc<Library>, prompt: Arc<dyn PromptBuilder>) {
        let env = Arc::clone(&self.inner.context.env);
        self.inner.harness.set_resources(Some(library.resources(env)));
        self.inner.harness.set_prompt(prompt);
        *self.inner.library.lock().unwrap_or_else(PoisonError::into_inner) = library;
    }
}

/// Hooks. Each call replaces what was set by the one before; pi's own stay, behind the others.
impl AgentSession {
    /// Hooks of the loop; counts from the next prompt.
    pub fn set_hooks(&self, hooks: Vec<Arc<dyn LoopHooks>>) {
        self.inner.harness.set_hooks(hooks_before(hooks, &self.inner.filter));
    }

    /// Hooks of requests; counts from the next one.
    pub fn set_request_hooks(&self, hooks: Vec<Arc<dyn RequestHooks>>) {
        let chain: RequestHookChain = hooks.into_iter().collect();
        self.inner.harness.set_request_hooks(Some(Arc::new(chain)));
    }

    /// Hooks of compactions and navigations.
    pub fn set_session_hooks(&self, hooks: Vec<Arc<dyn SessionHooks>>) {
        self.inner.harness.set_session_hooks(hooks);
    }
}

/// The length of the conversation, and its tree.
impl AgentSession {
    /// Summarises the older part of the conversation. A prompt that is on is aborted first and does
    /// not go on. `instructions` say what the summary should look at.
    ///
    /// # Errors
    /// There is nothing to summarise, no summary could be had, or something else is on. The session
    /// is as it was.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<CompactionResult, AppError> {
        self.inner.harness.compact(instructions).await.map_err(|error| told(&error))
    }

    /// Whether compaction happens by itself.
    pub fn auto_compaction(&self) -> bool {
        self.inner.harness.compaction().settings.enabled
    }

    pub fn set_auto_compaction(&self, is_enabled: bool) {
        let mut policy = self.inner.harness.compaction();
        policy.settings.enabled = is_enabled;
        self.inner.harness.set_compaction(policy);
    }

    /// How full the model's window is; unknown from a compaction to the next answer.
    pub fn context_usage(&self) -> ContextUsage {
        self.inner.harness.context_usage()
    }

    /// What is going on.
    pub fn operation(&self) -> Operation {
        self.inner.harness.operation()
    }

    /// Goes to an entry of the tree, or before all of them; see
    /// [`pi_agent::harness::Harness::navigate`].
    ///
    /// # Errors
    /// There is no such entry, it was cancelled, no summary could be had, or something else is on.
    /// The leaf is where it was.
    pub async fn navigate(
        &self,
        target: Option<&str>,
        options: NavigateOptions,
    ) -> Result<Navigation, AppError> {
        self.inner.harness.navigate(target, options).await.map_err(|error| told(&error))
    }
}

/// What is kept.
impl AgentSession {
    /// The conversation as the model is told it; a message that is still arriving is not in it.
    pub fn messages(&self) -> Arc<Vec<AgentMessage>> {
        self.inner.harness.messages()
    }

    /// How many messages the model is told.
    pub fn message_count(&self) -> usize {
        self.inner.harness.message_count()
    }

    /// Adds the messages the model is told to a text, as a JSON array.
    pub fn add_messages_json(&self, json: &mut String) {
        self.inner.harness.add_messages_json(json);
    }

    /// Looks at the session. Messages are stored under the same lock: keep it short, and call
    /// nothing of the conversation inside.
    pub fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        self.inner.harness.with_session(|session| look(session))
    }

    pub fn name(&self) -> Option<String> {
        self.with_session(Session::name)
    }

    /// Marks an entry, or takes its mark away: `None`, or a label of blanks.
    ///
    /// # Errors
    /// There is no such entry, or the label could not be stored.
    pub fn set_label(&self, entry_id: &str, label: Option<&str>) -> Result<(), AppError> {
        self.inner.harness.set_label(entry_id, label).map_err(|error| told(&error))
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

fn told(error: &HarnessError) -> AppError {
    AppError::user(error.to_string())
}
