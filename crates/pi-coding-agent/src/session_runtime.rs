//! One conversation with the coding agent, as every mode sees it.
//!
//! Owns: joining the product's parts (tools, prompt, keys, hooks) to a [`Harness`], changing them
//! while it runs, and stopping them. Never: reads arguments or settings files, prints, or knows
//! which mode it serves. [`crate::workspace::Workspace::open`] makes one.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pi_agent::agent::AgentConfig;
use pi_agent::compaction::{BranchSummarySettings, CompactionPolicy};
use pi_agent::env::{ExecutionEnv, ProcessGroups};
use pi_agent::harness::{ActiveTools, Harness, HarnessConfig, PromptBuilder, RetrySettings};
use pi_agent::queue::QueueMode;
use pi_agent::session::Session;
use pi_agent::{HookChain, LoopHooks};
use pi_ai::{Model, SimpleStreamOptions, ThinkingLevel};
use tokio_util::sync::CancellationToken;

use crate::resources::Library;
use crate::tools::{ToolContext, builtin_tools};
use crate::warnings::Warnings;

mod access;
mod door;
mod hooks;
mod prompt;
mod scope;
#[cfg(test)]
mod tests;
mod tool_session;
mod user_command;
mod user_interface;

pub use pi_agent::harness::{
    CompactionResult, ContextUsage, NavigateOptions, Navigation, RunOutcome, SessionHooks,
    SessionListener, SessionListenerId,
};

pub use prompt::{NotReserved, Prompt, PromptRun, Reserved};

pub(crate) use door::ModelDoor;
pub(crate) use scope::ModelScope;
pub use user_command::{BashListener, BashOptions, BashResult};
pub use user_interface::{Nobody, NotifyType, UiMessage, UserInterface, WidgetPlacement};

use hooks::ImageFilter;
use tool_session::LiveSession;
use user_command::UserCommands;

/// Everything a conversation is made of, resolved.
pub(crate) struct SessionParts {
    pub(crate) session: Session,
    pub(crate) model: Arc<Model>,
    pub(crate) thinking_level: ThinkingLevel,
    pub(crate) door: ModelDoor,
    pub(crate) scope: ModelScope,
    pub(crate) options: SimpleStreamOptions,
    pub(crate) prompt: Arc<dyn PromptBuilder>,
    pub(crate) library: Arc<Library>,
    pub(crate) env: Arc<dyn ExecutionEnv>,
    pub(crate) retry: RetrySettings,
    pub(crate) compaction: CompactionPolicy,
    pub(crate) branch_summary: BranchSummarySettings,
    pub(crate) steering_mode: QueueMode,
    pub(crate) follow_up_mode: QueueMode,
    pub(crate) tools: ToolParts,
    /// Where what is odd about the conversation is told.
    pub(crate) warnings: Warnings,
    /// Commands that print keys, of every conversation of the process.
    pub(crate) key_processes: ProcessGroups,
}

/// What the tools need beside the session.
pub(crate) struct ToolParts {
    /// Which are active, and in which order.
    pub(crate) active: ActiveTools,
    pub(crate) agent_dir: PathBuf,
    pub(crate) shell_path: Option<String>,
    pub(crate) shell_command_prefix: Option<String>,
    pub(crate) auto_resize_images: bool,
    pub(crate) block_images: bool,
}

/// A handle; clones share one conversation.
#[derive(Clone)]
pub struct AgentSession {
    inner: Arc<Inner>,
}

struct Inner {
    harness: Harness,
    door: Arc<ModelDoor>,
    scope: ModelScope,
    filter: Arc<ImageFilter>,
    context: Arc<ToolContext>,
    user_commands: UserCommands,
    library: Mutex<Arc<Library>>,
    user_interface: Mutex<Arc<dyn UserInterface>>,
    warnings: Warnings,
    key_processes: ProcessGroups,
    /// Cancelled for good by [`AgentSession::stop`].
    stopped: CancellationToken,
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSession").field("harness", &self.inner.harness).finish_non_exhaustive()
    }
}

impl AgentSession {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let SessionParts { session, tools, door, scope, .. } = parts;
        let live = Arc::new(LiveSession::new(&session, tools.auto_resize_images));
        let context = Arc::new(ToolContext {
            env: Arc::clone(&parts.env),
            agent_dir: tools.agent_dir,
            shell_path: tools.shell_path,
            shell_command_prefix: tools.shell_command_prefix,
            session: Arc::<LiveSession>::clone(&live),
        });
        let door = Arc::new(door);
        let filter = Arc::new(ImageFilter { block: tools.block_images });
        let agent = AgentConfig {
            thinking_level: parts.thinking_level,
            tools: builtin_tools(&context),
            options: parts.options,
            hooks: hooks_before(Vec::new(), &filter),
            steering_mode: parts.steering_mode,
            follow_up_mode: parts.follow_up_mode,
            ..AgentConfig::new(parts.model, Arc::<ModelDoor>::clone(&door))
        };
        let harness = Harness::new(HarnessConfig {
            active_tools: tools.active,
            prompt: parts.prompt,
            retry: parts.retry,
            compaction: parts.compaction,
            branch_summary: parts.branch_summary,
            resources: Some(parts.library.resources(parts.env)),
            ..HarnessConfig::new(agent, session)
        });
        live.attach(harness.downgrade());
        let stopped = CancellationToken::new();
        Self {
            inner: Arc::new(Inner {
                harness,
                door,
                scope,
                filter,
                context,
                user_commands: UserCommands::new(&stopped),
                library: Mutex::new(parts.library),
                user_interface: Mutex::new(Arc::new(Nobody)),
                warnings: parts.warnings,
                key_processes: parts.key_processes,
                stopped,
            }),
        }
    }

    /// What is odd about the conversation: entries that cannot be read, lines others left unfinished.
    pub fn warnings(&self) -> &Warnings {
        &self.inner.warnings
    }

    /// Aborts the prompt that is on; the next one may begin at once after [`Self::wait_for_idle`].
    /// Queued messages stay, and so do the user's commands ([`Self::abort_bash`]).
    pub fn abort(&self) {
        self.inner.harness.abort();
    }

    /// Aborts what is on, the user's commands too, and says to those who send prompts that no further
    /// one is wanted.
    pub fn stop(&self) {
        self.inner.stopped.cancel();
        self.abort();
    }

    pub fn is_stopped(&self) -> bool {
        self.inner.stopped.is_cancelled()
    }

    /// Kills every process that tools of any conversation of the workspace have started and every
    /// command that prints a key, at once, and lets no other one start. For a process that is about
    /// to end.
    pub fn kill_processes(&self) {
        self.inner.context.env.kill_all();
        self.inner.key_processes.kill_all();
    }

    pub fn subscribe(&self, listener: Arc<dyn SessionListener>) -> SessionListenerId {
        self.inner.harness.subscribe(listener)
    }

    pub fn unsubscribe(&self, id: SessionListenerId) {
        self.inner.harness.unsubscribe(id);
    }
}

/// The product's own come last: what others add to the context is filtered too.
fn hooks_before(mut others: Vec<Arc<dyn LoopHooks>>, filter: &Arc<ImageFilter>) -> Arc<HookChain> {
    others.push(Arc::<ImageFilter>::clone(filter));
    Arc::new(others.into_iter().collect())
}
