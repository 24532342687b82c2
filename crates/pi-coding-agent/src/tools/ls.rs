//! The tool that lists a folder.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::env::{DirEntry, EnvErrorKind, ExecutionEnv, FileKind};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use super::listing::{Listing, Notice};
use super::{ToolContext, aborted, arguments, definition, refused};
use order::SortKey;

mod order;

/// Lists the names in a folder, folders marked.
#[derive(Debug)]
pub struct LsTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
}

/// Entries shown unless the model asks for more.
const DEFAULT_LIMIT: u64 = 500;

impl LsTool {
    pub fn new(context: Arc<ToolContext>) -> Self {
        let definition = definition(
            "ls",
            "List a directory: names in alphabetical order, hidden ones too, directories with a \
             trailing /. Stops after 500 entries or 50KB.",
            json!({
                "type": "object",
                "required": [],
                "properties": {
                    "path": {"type": "string", "description": "Directory; the working directory by default"},
                    "limit": {"type": "number", "description": "Most entries, 500 by default"},
                },
            }),
        );
        Self { context, definition }
    }
}

impl Tool for LsTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("List a directory")
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments::without_nulls(arguments, &["path", "limit"]))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let path = arguments::optional_text(&call.arguments, "path")?;
            let limit = arguments::limit(&call.arguments, "limit", DEFAULT_LIMIT)?;
            let work = async {
                let folder = self.context.locate(path.as_deref().unwrap_or(".")).await;
                list(&*self.context.env, &folder, limit).await
            };
            call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
        })
    }
}

async fn list(env: &dyn ExecutionEnv, folder: &Path, limit: u64) -> Result<ToolOutput, ToolError> {
    let entries = match env.list(folder).await {
        Ok(entries) => entries,
        Err(error) => {
            return Err(match error.kind {
                EnvErrorKind::NotFound => {
                    ToolError::new(format!("Path not found: {}", folder.display()))
                }
                EnvErrorKind::NotDirectory => {
                    ToolError::new(format!("Not a directory: {}", folder.display()))
                }
                _ => refused(&error),
            });
        }
    };
    let mut names: Vec<(SortKey, OsString, FileKind)> = entries
        .into_iter()
        .map(|DirEntry { name, kind }| {
            (SortKey::new(name.to_string_lossy().into_owned()), name, kind)
        })
        .collect();
    names.sort_unstable();
    let mut listing = Listing::default();
    let mut shown = 0;
    let mut has_more = false;
    for (key, name, kind) in names {
        let is_folder = match kind {
            FileKind::Directory => true,
            FileKind::Link => match env.stat(&folder.join(&name)).await {
                Ok(target) => target.kind == FileKind::Directory,
                // It points to nothing.
                Err(_) => continue,
            },
            FileKind::File | FileKind::Other => false,
        };
        if shown == limit {
            has_more = true;
            break;
        }
        let shown_name = key.into_name();
        listing.push(&if is_folder { shown_name + "/" } else { shown_name });
        shown += 1;
    }
    let limit = has_more.then(|| Notice::limit("entries", limit, "", "entryLimitReached"));
    Ok(listing.output("(empty directory)", limit, None))
}

#[cfg(test)]
mod tests;
