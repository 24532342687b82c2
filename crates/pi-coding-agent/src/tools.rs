//! The built-in tools: files and commands for the model.
//!
//! Owns: what each tool is called, takes, does and answers. Never: decides which tools are on,
//! reads settings or the environment (both are handed in), or draws anything.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::env::{EnvError, ExecutionEnv};
use pi_agent::{Tool, ToolError};
use pi_ai::{ConstrainedSampling, ImageResize, Strictness};
use serde_json::Value;
use tokio::task::JoinError;

mod arguments;
pub mod bash;
pub mod edit;
pub mod encoding;
#[cfg(test)]
mod environment_tests;
#[cfg(test)]
mod fault_tests;
pub mod find;
pub mod grep;
pub mod image;
mod listing;
pub mod ls;
pub mod mutation_queue;
pub mod output;
pub mod path;
pub mod plain_text;
pub mod read;
mod search_call;
pub mod shell;
pub(crate) mod shell_command;
#[cfg(test)]
mod testing;
pub mod truncate;
pub mod utf8;
pub mod write;

use mutation_queue::MutationQueue;

/// Names of the built-in tools, in the order the model sees them.
pub const BUILTIN_TOOLS: [&str; 7] = ["read", "bash", "edit", "write", "grep", "find", "ls"];

/// Every built-in tool, in the order the model sees them. They share one queue for file changes.
pub fn builtin_tools(context: &Arc<ToolContext>) -> Vec<Arc<dyn Tool>> {
    let queue = MutationQueue::new(Arc::clone(&context.env));
    vec![
        Arc::new(read::ReadTool::new(Arc::clone(context))),
        Arc::new(bash::BashTool::new(Arc::clone(context))),
        Arc::new(edit::EditTool::new(Arc::clone(context), queue.clone())),
        Arc::new(write::WriteTool::new(Arc::clone(context), queue)),
        Arc::new(grep::GrepTool::new(Arc::clone(context))),
        Arc::new(find::FindTool::new(Arc::clone(context))),
        Arc::new(ls::LsTool::new(Arc::clone(context))),
    ]
}

/// What the tools know of the world. Fixed for the life of a session, but for `session`.
#[derive(Debug)]
pub struct ToolContext {
    /// Where the files are and commands run; relative paths start at its working directory, full
    /// outputs go to its temporary files.
    pub env: Arc<dyn ExecutionEnv>,
    /// Its `bin` comes first on the `PATH` of commands.
    pub agent_dir: PathBuf,
    /// Setting `shellPath`; relative to the working directory, `~` allowed.
    pub shell_path: Option<String>,
    /// Setting `shellCommandPrefix`: a line put before every command.
    pub shell_command_prefix: Option<String>,
    /// What changes while the session runs.
    pub session: Arc<dyn ToolSession>,
}

impl ToolContext {
    /// The absolute path a model wrote.
    pub fn resolve(&self, path: &str) -> PathBuf {
        path::resolve(path, self.env.cwd(), self.env.home())
    }

    /// The file it means by it.
    pub async fn locate(&self, path: &str) -> PathBuf {
        path::locate(&*self.env, &self.resolve(path)).await
    }
}

/// The session as tools see it, asked at each call.
pub trait ToolSession: Send + Sync + fmt::Debug {
    /// What commands may know of the session.
    fn variables(&self) -> SessionVariables;

    /// The model that will read the results.
    fn model(&self) -> ToolModel;

    /// Setting `images.autoResize`.
    fn auto_resize_images(&self) -> bool {
        true
    }
}

/// No session and no model: for tools that are used on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoSession;

impl ToolSession for NoSession {
    fn variables(&self) -> SessionVariables {
        SessionVariables::default()
    }

    fn model(&self) -> ToolModel {
        ToolModel::default()
    }
}

/// Values of `PI_SESSION_ID`, `PI_SESSION_FILE`, `PI_PROVIDER`, `PI_MODEL` and
/// `PI_REASONING_LEVEL`; what is `None` is not set at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionVariables {
    pub session_id: Option<String>,
    /// Absent for a session that is not kept.
    pub session_file: Option<PathBuf>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub reasoning_level: Option<String>,
}

/// What matters of a model to the tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolModel {
    pub id: String,
    pub sees_images: bool,
    /// Its own image size, where it has one.
    pub image_resize: Option<ImageResize>,
}

fn definition(name: &str, description: &str, parameters: Value) -> pi_ai::Tool {
    pi_ai::Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        constrained_sampling: Some(ConstrainedSampling::JsonSchema { strict: Strictness::Prefer }),
    }
}

fn aborted() -> ToolError {
    ToolError::new("Operation aborted")
}

fn refused(error: &EnvError) -> ToolError {
    ToolError::new(error.to_string())
}

/// Runs `work`, which computes for long, off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|broken| Err(crashed(&broken)))
}

fn crashed(broken: &JoinError) -> ToolError {
    ToolError::new(format!("The tool failed: {broken}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tools_come_in_the_order_the_model_sees() {
        let bed = testing::Bed::new();
        let tools = builtin_tools(&bed.context());
        let names: Vec<&str> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
        assert_eq!(names, BUILTIN_TOOLS);
    }

    #[test]
    fn definitions_are_short_and_plain() {
        let bed = testing::Bed::new();
        let mut sizes = Vec::new();
        for tool in builtin_tools(&bed.context()) {
            let definition = serde_json::to_value(tool.definition()).unwrap();
            assert_eq!(
                definition["constrainedSampling"],
                json!({"type": "json_schema", "strict": "prefer"})
            );
            let keys: Vec<&String> = definition["parameters"].as_object().unwrap().keys().collect();
            assert_eq!(keys, ["type", "required", "properties"]);
            let sent = json!({
                "name": definition["name"],
                "description": definition["description"],
                "input_schema": definition["parameters"],
            });
            sizes.push(sent.to_string().len());
        }
        let (usual, others) = sizes.split_at(crate::tool_selection::DEFAULT_TOOLS.len());
        assert!(
            usual.iter().sum::<usize>() <= 2300 && others.iter().sum::<usize>() <= 2300,
            "{sizes:?}"
        );
    }

    #[test]
    fn every_tool_is_listed_in_the_prompt() {
        let bed = testing::Bed::new();
        for tool in builtin_tools(&bed.context()) {
            let snippet = tool.prompt_snippet().unwrap();
            assert!(!snippet.contains('\n') && snippet.len() < 60);
        }
    }
}
