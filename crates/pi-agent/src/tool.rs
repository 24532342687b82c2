//! What a tool is. How batches of calls are run is in [`batch`]; how arguments are made to fit the
//! schema in [`validate`].

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::{InputBlock, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub mod batch;
pub mod validate;

/// Something the model can call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// What the model is told: name, description, parameter schema.
    fn definition(&self) -> &pi_ai::Tool;

    /// One line for the prompt's list of tools; without it the tool is not listed there.
    fn prompt_snippet(&self) -> Option<&str> {
        None
    }

    /// Rules for the prompt while the tool is active.
    fn prompt_guidelines(&self) -> &[String] {
        &[]
    }

    /// One sequential tool makes its whole batch sequential.
    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Parallel
    }

    /// Brings older or sloppy argument shapes into the schema's, before validation.
    ///
    /// # Errors
    /// The text becomes the call's error result.
    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments)
    }

    /// Runs the call. On cancellation it must end soon, leaving no process behind.
    ///
    /// # Errors
    /// The text becomes the call's error result.
    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// One call, validated.
pub struct ToolCallInput<'a> {
    pub id: &'a str,
    pub arguments: Map<String, Value>,
    pub cancel: CancellationToken,
    /// Tells of progress: the whole result so far, each time. Some are left out when listeners are
    /// slow; ignored once the call has settled.
    pub on_update: Arc<dyn Fn(ToolOutput) + Send + Sync>,
}

impl fmt::Debug for ToolCallInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallInput")
            .field("id", &self.id)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

/// What a call gave, or has given so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    pub content: Vec<InputBlock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The result for programs; told in events, not stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Tokens the tool itself spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// An error result that keeps its details.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Ends the run after the batch, if every result of the batch says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
}

impl ToolOutput {
    /// A result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![InputBlock::text(text)], ..Self::default() }
    }
}

/// A failed call. The text is what the model reads, so it says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Whether calls of one batch may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Parallel,
    Sequential,
}
