//! Print mode: the text of the last answer on standard output, and nothing else there.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pi_agent::compaction::CompactionReason;
use pi_agent::{AgentEvent, AgentMessage, SessionEvent};
use pi_ai::{AssistantBlock, AssistantMessage, StopReason};

use super::{Audience, Ending, check_stored, complain, drive, say};
use crate::error::AppError;
use crate::session_runtime::{AgentSession, Prompt, SessionListener};

/// Runs the prompts and shows the last answer. The exit code is 1 when that answer failed or was
/// cut, 128 plus the signal's number when a signal ended the run.
///
/// # Errors
/// A run could not start, or something could not be stored or written.
pub(crate) async fn run(
    session: &AgentSession,
    prompts: Vec<Prompt>,
) -> Result<ExitCode, AppError> {
    let audience = Arc::new(FinalAnswer::of(prompts.len()));
    let subscription = session.subscribe(Arc::<FinalAnswer>::clone(&audience));
    let ending = drive(session, prompts, &*audience).await;
    session.unsubscribe(subscription);
    match ending? {
        Ending::Settled(outcome) => {
            let answer = outcome.as_ref().and_then(|outcome| outcome.answer.as_deref());
            // What was given up because it could not be stored has that for a reason.
            let is_given_up = |answer: &AssistantMessage| {
                answer.stop_reason == StopReason::Aborted
                    && outcome.as_ref().is_some_and(|outcome| outcome.unstored.is_some())
            };
            let code = match answer {
                Some(answer) if !audience.is_shown() && !is_given_up(answer) => show(answer)?,
                _ => ExitCode::SUCCESS,
            };
            check_stored(outcome)?;
            Ok(code)
        }
        Ending::Stopped(stop) => {
            complain("Request was aborted");
            Ok(ExitCode::from(stop.exit_code()))
        }
    }
}

/// Nothing is shown before the end, but for the last answer when only a compaction is still to
/// come: nobody should wait for that.
struct FinalAnswer {
    state: Mutex<Waiting>,
}

struct Waiting {
    /// Prompts that are not settled.
    prompts: usize,
    /// Of the prompt that is on.
    answer: Option<Arc<AssistantMessage>>,
    is_shown: bool,
}

impl FinalAnswer {
    fn of(prompts: usize) -> Self {
        Self { state: Mutex::new(Waiting { prompts, answer: None, is_shown: false }) }
    }

    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_shown(&self) -> bool {
        self.state().is_shown
    }
}

impl Audience for FinalAnswer {}

impl SessionListener for FinalAnswer {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let mut state = self.state();
        match event {
            SessionEvent::Agent(AgentEvent::MessageEnd {
                message: AgentMessage::Assistant(answer),
            }) => {
                state.answer = Some(Arc::clone(answer));
                state.is_shown = false;
            }
            SessionEvent::AgentSettled { .. } => {
                state.prompts = state.prompts.saturating_sub(1);
                state.answer = None;
            }
            SessionEvent::CompactionStart { reason: CompactionReason::Threshold }
                if state.prompts == 1 =>
            {
                let answer = state.answer.take_if(|answer| answer.stop_reason == StopReason::Stop);
                // What cannot be written now cannot be written at the end either, and is told then.
                state.is_shown = answer.is_some_and(|answer| say(&text_of(&answer)).is_ok());
            }
            SessionEvent::CompactionEnd { error_message: Some(error), .. } => complain(error),
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }
}

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
