//! One conversation with the coding agent, as every mode sees it.
//!
//! Owns: joining the product's parts (tools, prompt, keys, hooks) to a [`Harness`], and stopping
//! them. Never: reads arguments or settings files, prints, or knows which mode it serves.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::agent::AgentConfig;
use pi_agent::agent_loop::StreamFn;
use pi_agent::harness::{
    Harness, HarnessConfig, PromptBuilder, RetrySettings, SessionListener, SessionListenerId,
};
use pi_agent::queue::QueueMode;
use pi_agent::session::Session;
use pi_ai::{InputBlock, Model, SimpleStreamOptions, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use crate::error::{AppError, Context, ErrorKind};
use crate::tools::shell::ProcessGroups;
use crate::tools::{ToolContext, builtin_tools};

mod door;
mod hooks;
mod tool_session;

pub(crate) use door::ModelDoor;
pub(crate) use pi_agent::harness::RunOutcome;

use hooks::ImageFilter;
use tool_session::LiveSession;

/// Everything a conversation is made of, resolved.
pub(crate) struct SessionParts {
    pub(crate) session: Session,
    pub(crate) model: Arc<Model>,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) door: Arc<dyn StreamFn>,
    pub(crate) options: SimpleStreamOptions,
    pub(crate) prompt: Arc<dyn PromptBuilder>,
    pub(crate) retry: RetrySettings,
    pub(crate) steering_mode: QueueMode,
    pub(crate) follow_up_mode: QueueMode,
    pub(crate) tools: ToolParts,
}

/// What the tools need beside the session.
pub(crate) struct ToolParts {
    /// Names of the active ones, in order.
    pub(crate) active: Vec<String>,
    pub(crate) home: PathBuf,
    pub(crate) agent_dir: PathBuf,
    pub(crate) temp_dir: PathBuf,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) shell_path: Option<String>,
    pub(crate) shell_command_prefix: Option<String>,
    pub(crate) auto_resize_images: bool,
    pub(crate) block_images: bool,
}

/// A handle; clones share one conversation.
#[derive(Clone)]
pub(crate) struct AgentSession {
    harness: Harness,
    processes: ProcessGroups,
    /// Cancelled for good by [`Self::stop`].
    stopped: CancellationToken,
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSession").field("harness", &self.harness).finish_non_exhaustive()
    }
}

impl AgentSession {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let SessionParts { session, tools, .. } = parts;
        let live = Arc::new(LiveSession::new(&session, tools.auto_resize_images));
        let processes = ProcessGroups::default();
        let context = Arc::new(ToolContext {
            cwd: session.cwd().to_path_buf(),
            home: Some(tools.home),
            environment: tools.environment,
            agent_dir: tools.agent_dir,
            temp_dir: tools.temp_dir,
            shell_path: tools.shell_path,
            shell_command_prefix: tools.shell_command_prefix,
            processes: processes.clone(),
            session: Arc::<LiveSession>::clone(&live),
        });
        let available = builtin_tools(&context);
        let active = tools.active.iter().filter_map(|name| {
            available.iter().find(|tool| tool.definition().name == *name).cloned()
        });
        let agent = AgentConfig {
            thinking_level: parts.thinking_level,
            tools: active.collect(),
            options: parts.options,
            hooks: Arc::new(ImageFilter { block: tools.block_images }),
            steering_mode: parts.steering_mode,
            follow_up_mode: parts.follow_up_mode,
            ..AgentConfig::new(parts.model, parts.door)
        };
        let harness = Harness::new(HarnessConfig {
            agent,
            session,
            prompt: parts.prompt,
            retry: parts.retry,
        });
        live.attach(harness.agent().downgrade());
        Self { harness, processes, stopped: CancellationToken::new() }
    }

    /// Names the session.
    ///
    /// # Errors
    /// The name could not be stored.
    pub(crate) async fn set_name(&self, name: &str) -> Result<(), AppError> {
        self.harness.set_name(name).await.context(ErrorKind::Internal, || "Cannot store the name")
    }

    /// Sends a prompt and resolves when everything it set off is settled.
    ///
    /// # Errors
    /// Another prompt is on. What could not be stored is in the outcome, beside the answer.
    pub(crate) async fn prompt(&self, blocks: Vec<InputBlock>) -> Result<RunOutcome, AppError> {
        self.harness
            .prompt(blocks)
            .await
            .context(ErrorKind::Internal, || "The conversation cannot go on")
    }

    /// Aborts what is on, and lets no further prompt begin.
    pub(crate) fn stop(&self) {
        self.stopped.cancel();
        self.harness.abort();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_cancelled()
    }

    /// Kills every process the tools have started, at once.
    pub(crate) fn kill_processes(&self) {
        self.processes.kill_all();
    }

    pub(crate) fn subscribe(&self, listener: Arc<dyn SessionListener>) -> SessionListenerId {
        self.harness.subscribe(listener)
    }

    pub(crate) fn unsubscribe(&self, id: SessionListenerId) {
        self.harness.unsubscribe(id);
    }
}
