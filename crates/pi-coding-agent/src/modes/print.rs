//! Print mode: the text of the last answer on standard output, and nothing else there.

use std::process::ExitCode;

use pi_ai::{AssistantBlock, AssistantMessage, StopReason};

use super::{Audience, Ending, check_stored, complain, drive, say};
use crate::cli::input::Prompt;
use crate::error::AppError;
use crate::session_runtime::AgentSession;

/// Runs the prompts and shows the last answer. The exit code is 1 when that answer failed or was
/// cut, 128 plus the signal's number when a signal ended the run.
///
/// # Errors
/// A run could not start, or something could not be stored or written.
pub(crate) async fn run(
    session: &AgentSession,
    prompts: Vec<Prompt>,
) -> Result<ExitCode, AppError> {
    match drive(session, prompts, &FinalAnswer).await? {
        Ending::Settled(outcome) => {
            let answer = outcome.as_ref().and_then(|outcome| outcome.answer.as_deref());
            let code = answer.map_or(Ok(ExitCode::SUCCESS), show)?;
            if let Some(why) = outcome.as_ref().and_then(|outcome| outcome.unrecovered.as_ref()) {
                complain(&format!("Context overflow recovery failed: {why}"));
            }
            check_stored(outcome)?;
            Ok(code)
        }
        Ending::Stopped(stop) => {
            complain("Request was aborted");
            Ok(ExitCode::from(stop.exit_code()))
        }
    }
}

/// Nothing is shown before the end.
struct FinalAnswer;

impl Audience for FinalAnswer {}

fn show(answer: &AssistantMessage) -> Result<ExitCode, AppError> {
    match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            complain(answer.error_message.as_deref().unwrap_or("Request was aborted"));
            Ok(ExitCode::FAILURE)
        }
        StopReason::Length => {
            say(&text_of(answer))?;
            complain("Warning: The answer was cut at the model's output limit.");
            Ok(ExitCode::FAILURE)
        }
        StopReason::Pending | StopReason::Stop | StopReason::ToolUse | StopReason::Deferred => {
            say(&text_of(answer))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Each text block, followed by a newline.
fn text_of(answer: &AssistantMessage) -> String {
    answer
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Text(text) => Some(format!("{}\n", text.text)),
            AssistantBlock::Thinking(_) | AssistantBlock::ToolCall(_) => None,
        })
        .collect()
}
