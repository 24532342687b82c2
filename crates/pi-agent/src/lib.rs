//! An agent: a model in a loop with tools, a conversation that is a tree on disk, and the harness
//! that keeps the two together.
//!
//! Owns: the loop, its hooks and queues, tool batches, the session file, directories of sessions, retry,
//! the door to files and processes. Never: knows which tools exist, reads settings or the
//! environment, prints, or talks HTTP.

pub mod agent;
pub mod agent_loop;
pub mod compaction;
pub mod env;
pub mod event;
mod file_identity;
pub mod harness;
pub mod hooks;
pub mod lock;
pub mod message;
pub mod queue;
pub mod resources;
pub mod retry;
pub mod session;
pub mod session_dir;
pub mod tool;

pub use agent::{Agent, AgentConfig, AgentError, AgentListener, ListenerId};
pub use agent_loop::StreamFn;
pub use env::{EnvError, ExecutionEnv, LocalEnv};
pub use event::{AgentEvent, SessionEvent};
pub use harness::{Harness, HarnessConfig, HarnessError};
pub use hooks::{HookChain, LoopHooks};
pub use lock::{FileLock, LockError};
pub use message::{AgentMessage, convert_to_llm};
pub use queue::{QueueMode, QueuedMessages};
pub use session::{Session, SessionError};
pub use session_dir::SessionDir;
pub use tool::{ExecutionMode, Tool, ToolCallInput, ToolError, ToolOutput};

/// The manual's page on embedding, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
