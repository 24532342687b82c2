//! The tool that creates or overwrites a file.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{EnvError, EnvErrorKind};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::json;

use super::mutation_queue::MutationQueue;
use super::{ToolContext, aborted, arguments, definition, path, refused};

/// Creates or overwrites a file, bytes as given.
#[derive(Debug)]
pub struct WriteTool {
    context: Arc<ToolContext>,
    queue: MutationQueue,
    definition: pi_ai::Tool,
    guidelines: Vec<String>,
}

impl WriteTool {
    /// `queue` is shared with every other tool that changes files.
    pub fn new(context: Arc<ToolContext>, queue: MutationQueue) -> Self {
        let definition = definition(
            "write",
            "Create a file or replace all of its content. Missing parent folders are created.",
            json!({
                "type": "object",
                "required": ["path", "content"],
                "properties": {
                    "path": {"type": "string", "description": "File path, relative or absolute"},
                    "content": {"type": "string", "description": "The whole new content"},
                },
            }),
        );
        let guidelines = vec!["Use write for new files and full rewrites only.".to_owned()];
        Self { context, queue, definition, guidelines }
    }
}

impl Tool for WriteTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Create or overwrite a file")
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let given = arguments::text(&call.arguments, "path");
        let content = arguments::text(&call.arguments, "content");
        // The place in the queue is taken here, so that it follows the order of the calls.
        let prepared = given.and_then(|given| {
            let path = self.context.resolve(&given);
            let turn = self.queue.join(&path);
            Ok((given, content?, path, turn))
        });
        Box::pin(async move {
            let (given, content, path, mut turn) = prepared?;
            let env = Arc::clone(&self.context.env);
            let prepare = async {
                turn.wait().await;
                let target = path::locate(&*env, &path).await;
                if let Some(parent) = target.parent() {
                    env.make_dirs(parent).await?;
                }
                Ok(target)
            };
            let ready = call.cancel.run_until_cancelled(prepare).await.ok_or_else(aborted)?;
            let target = ready.map_err(|error: EnvError| refused(&error))?;
            if call.cancel.is_cancelled() {
                return Err(aborted());
            }
            let named = given.clone();
            let write = async move {
                let written = env.replace(&target, content.into_bytes(), None).await;
                written.map_err(|error| match error.kind {
                    EnvErrorKind::NotRegularFile => ToolError::new(format!(
                        "Not a regular file: {named}. Use bash to write to it."
                    )),
                    _ => refused(&error),
                })
            };
            turn.finish(&call.cancel, write).await?;
            Ok(ToolOutput::text(format!("Successfully wrote to {given}")))
        })
    }
}

#[cfg(test)]
mod tests;
