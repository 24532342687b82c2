//! What the calls of the search tools have in common: where they look, and that they end.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::env::{BlockingFiles, EnvError, EnvErrorKind, ExecutionEnv, blocking_files};
use pi_agent::{ToolCallInput, ToolError, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::{ToolContext, aborted, arguments, blocking, refused};
use crate::search::{self, RuleKind, Tree};

/// A place to search, for a thread that may block.
pub(super) struct SearchCall {
    env: Arc<dyn ExecutionEnv>,
    pub files: Arc<dyn BlockingFiles>,
    /// A file or a folder, absolute.
    pub root: PathBuf,
    /// Most results wanted.
    pub limit: u64,
    pub cancel: CancellationToken,
}

impl SearchCall {
    pub(super) fn tree(&self, kind: RuleKind) -> Tree {
        let (files, root) = (Arc::clone(&self.files), self.root.clone());
        search::tree(&self.env, files, root, kind, self.cancel.clone())
    }

    /// Why the root cannot be searched.
    pub(super) fn refused(&self, error: &EnvError) -> ToolError {
        let root = self.root.display();
        match error.kind {
            EnvErrorKind::NotFound => ToolError::new(format!("Path not found: {root}")),
            EnvErrorKind::NotDirectory => ToolError::new(format!("Not a directory: {root}")),
            _ => refused(error),
        }
    }
}

/// Runs a search on a thread that may block. Whoever stops waiting leaves nothing behind that goes
/// on searching.
pub(super) async fn run(
    context: &ToolContext,
    call: &ToolCallInput<'_>,
    default_limit: u64,
    work: impl FnOnce(SearchCall) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let path = arguments::optional_text(&call.arguments, "path")?;
    let limit = arguments::limit(&call.arguments, "limit", default_limit)?;
    let root = context.locate(path.as_deref().unwrap_or("."));
    let root = call.cancel.run_until_cancelled(root).await.ok_or_else(aborted)?;
    let cancel = call.cancel.child_token();
    let search = SearchCall {
        env: Arc::clone(&context.env),
        files: blocking_files(&context.env),
        root,
        limit,
        cancel: cancel.clone(),
    };
    let _end = cancel.drop_guard();
    let work = blocking(move || work(search));
    call.cancel.run_until_cancelled(work).await.unwrap_or_else(|| Err(aborted()))
}
