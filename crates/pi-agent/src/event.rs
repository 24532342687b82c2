//! What a run tells its listeners.

use std::sync::Arc;

use pi_ai::{AssistantEvent, AssistantMessage, ToolResultMessage, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::compaction::{CompactionReason, CompactionResult};
use crate::message::AgentMessage;
use crate::session::Entry;
use crate::tool::ToolOutput;

/// Events of one run of the loop, in the order of the specification: `agent_start`, then per turn
/// `turn_start`, messages, tool executions, `turn_end`, and `agent_end` last.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    AgentStart,
    TurnStart,
    MessageStart {
        message: AgentMessage,
    },
    MessageUpdate {
        /// Of the answer so far; all zero until the provider reports it.
        usage: Usage,
        assistant_message_event: AssistantEvent,
    },
    MessageEnd {
        message: AgentMessage,
    },
    ToolExecutionStart {
        tool_call_id: String,
        tool_name: String,
        args: Map<String, Value>,
    },
    ToolExecutionUpdate {
        tool_call_id: String,
        tool_name: String,
        args: Map<String, Value>,
        partial_result: ToolOutput,
    },
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
        /// Absent when the tool never ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    TurnEnd {
        #[serde(serialize_with = "as_assistant")]
        message: Arc<AssistantMessage>,
        #[serde(serialize_with = "as_tool_results")]
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// Everything the run added, system and user messages included.
    AgentEnd {
        messages: Vec<AgentMessage>,
    },
}

/// Events of a session: those of its runs, and what happens around them.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionEvent {
    AgentEnd {
        messages: Vec<AgentMessage>,
        will_retry: bool,
    },
    AgentSettled {
        aborted: bool,
    },
    QueueUpdate {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    CompactionStart {
        reason: CompactionReason,
    },
    CompactionEnd {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult>,
        aborted: bool,
        /// The failed answer is tried again with the shorter context.
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    SummarizationRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: String,
    },
    SummarizationRetryAttemptStart {
        #[serde(flatten)]
        source: SummarySource,
    },
    SummarizationRetryFinished,
    EntryAppended {
        entry: Entry,
    },
    ThinkingLevelChanged {
        level: pi_ai::ThinkingLevel,
    },
    SessionInfoChanged {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Any event of a run but `agent_end`, which is told as [`Self::AgentEnd`].
    #[serde(untagged)]
    Agent(AgentEvent),
}

/// What a summary is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "source", rename_all = "camelCase")]
pub enum SummarySource {
    Compaction { reason: CompactionReason },
    BranchSummary,
}

fn as_assistant<S: serde::Serializer>(
    message: &Arc<AssistantMessage>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    AgentMessage::Assistant(Arc::clone(message)).serialize(serializer)
}

fn as_tool_results<S: serde::Serializer>(
    results: &[Arc<ToolResultMessage>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(results.iter().map(|r| AgentMessage::ToolResult(Arc::clone(r))))
}
