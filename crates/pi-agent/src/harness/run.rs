//! One prompt from its start until it is settled: the run, retries, what was queued meanwhile.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pi_ai::{AssistantMessage, StopReason, ToolResultMessage};

use super::state::RunTokens;
use super::verdict::Verdict;
use super::{HarnessError, Inner};
use crate::agent::AgentError;
use crate::event::SessionEvent;
use crate::message::AgentMessage;
use crate::session::{EntryBody, SessionError};

/// How a prompt ended.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The last answer, a failed one included.
    pub answer: Option<Arc<AssistantMessage>>,
    pub aborted: bool,
    /// Why something is not on disk. It is kept, and written before whatever comes next.
    pub unstored: Option<Arc<SessionError>>,
}

pub(super) async fn prompt(
    inner: Arc<Inner>,
    messages: Vec<AgentMessage>,
) -> Result<RunOutcome, HarnessError> {
    let mut scope = Scope::begin(inner).await?;
    let (inner, tokens) = (Arc::clone(&scope.inner), scope.tokens.clone());
    inner.flush_held();
    inner.record_model();
    inner.record_thinking_level();
    let prompts = inner.system_patch().into_iter().chain(messages).collect();
    inner.drive(inner.agent.prompt(prompts), &tokens).await?;
    while inner.has_more(&tokens).await {
        inner.drive(inner.agent.continue_run(), &tokens).await?;
    }
    inner.flush_held();
    let answer = inner.state().last_answer.take().map(|answer| answer.message);
    let aborted = tokens.cancel.is_cancelled()
        || answer.as_ref().is_some_and(|answer| answer.stop_reason == StopReason::Aborted);
    scope.settle();
    inner.tell(SessionEvent::AgentSettled { aborted }).await;
    let unstored = inner.state().storage_error.clone();
    Ok(RunOutcome { answer, aborted, unstored })
}

impl Inner {
    /// Runs the agent, handing on an abort whenever it comes.
    async fn drive(
        &self,
        run: impl Future<Output = Result<(), AgentError>>,
        tokens: &RunTokens,
    ) -> Result<(), HarnessError> {
        let mut run = pin!(run);
        let ended = tokio::select! {
            biased;
            ended = &mut run => ended,
            () = tokens.cancel.cancelled() => {
                self.agent.abort();
                run.await
            }
        };
        Ok(ended?)
    }

    /// Does what the run that ended asks for; `true` when there is to be another.
    async fn has_more(&self, tokens: &RunTokens) -> bool {
        let verdict = std::mem::replace(&mut self.state().verdict, Verdict::Final);
        match verdict {
            Verdict::Retry { delay_ms, max_attempts, error } => {
                let attempt = self.state().attempt;
                let start = SessionEvent::AutoRetryStart {
                    attempt,
                    max_attempts,
                    delay_ms,
                    error_message: error,
                };
                self.tell(start).await;
                self.omit_last_answer().await;
                self.wait(Duration::from_millis(delay_ms), tokens).await
            }
            Verdict::Overflow => {
                self.omit_last_answer().await;
                false
            }
            Verdict::Final => {
                let went_well = self.state().last_answer.as_ref().is_some_and(|answer| {
                    !matches!(answer.message.stop_reason, StopReason::Error | StopReason::Aborted)
                });
                went_well && !tokens.cancel.is_cancelled() && self.agent.has_queued_messages()
            }
        }
    }

    /// `false` when the wait was given up.
    async fn wait(&self, delay: Duration, tokens: &RunTokens) -> bool {
        let waited = tokio::select! {
            biased;
            () = tokens.cancel.cancelled() => false,
            () = tokens.wait.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        };
        if !waited {
            self.end_retry(Some("Retry cancelled".to_owned())).await;
        }
        waited
    }

    /// Takes a failed answer out of the context. It stays in the file, followed by an edit that
    /// says so.
    async fn omit_last_answer(&self) {
        let Some(failed) = self.state().last_answer.clone() else { return };
        let mut messages = self.agent.messages().as_ref().clone();
        let place = messages.iter().rposition(|message| {
            matches!(message, AgentMessage::Assistant(m) if Arc::ptr_eq(m, &failed.message))
        });
        if let Some(place) = place {
            messages.remove(place);
            self.agent.set_messages(messages);
        }
        let Some(target_id) = failed.entry_id else { return };
        let edit = self.store_or_keep(EntryBody::ContextEdit { target_id, replacement: None });
        if let Some(edit) = edit {
            self.tell(SessionEvent::EntryAppended { entry: edit.as_ref().clone() }).await;
        }
    }

    /// Gives every open tool call of the last answer a result.
    fn answer_open_calls(&self) {
        let messages = self.agent.messages();
        let mut answered = BTreeSet::new();
        for message in messages.iter().rev() {
            match message {
                AgentMessage::ToolResult(result) => {
                    answered.insert(result.tool_call_id.as_str());
                }
                // Calls of such an answer are never run.
                AgentMessage::Assistant(answer)
                    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
                {
                    return;
                }
                AgentMessage::Assistant(answer) => {
                    for call in answer.tool_calls().filter(|c| !answered.contains(c.id.as_str())) {
                        let message = AgentMessage::ToolResult(Arc::new(
                            ToolResultMessage::missing(call, pi_ai::now_ms()),
                        ));
                        self.agent.append_message(message.clone());
                        self.store_or_keep(EntryBody::Message { message });
                    }
                    return;
                }
                AgentMessage::User(_) => return,
                _ => {}
            }
        }
    }
}

/// Keeps the harness busy as long as it lives; tidies up after a prompt whose future was dropped.
struct Scope {
    inner: Arc<Inner>,
    tokens: RunTokens,
    is_settled: bool,
}

impl Scope {
    async fn begin(inner: Arc<Inner>) -> Result<Self, HarnessError> {
        loop {
            let mut busy = inner.busy.subscribe();
            {
                let mut state = inner.state();
                match &state.run {
                    None => {
                        let tokens = RunTokens::default();
                        state.run = Some(tokens.clone());
                        state.attempt = 0;
                        state.verdict = Verdict::Final;
                        state.last_answer = None;
                        drop(state);
                        inner.busy.send_replace(true);
                        return Ok(Self { inner, tokens, is_settled: false });
                    }
                    Some(run) if !run.is_settling => return Err(HarnessError::Busy),
                    // Who has heard `agent_settled` may go on at once.
                    Some(_) => {}
                }
            }
            // The sender lives in `inner`: the wait cannot fail.
            drop(busy.wait_for(|busy| !busy).await);
        }
    }

    fn settle(&mut self) {
        self.is_settled = true;
        if let Some(run) = &mut self.inner.state().run {
            run.is_settling = true;
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if !self.is_settled {
            self.inner.answer_open_calls();
            self.inner.flush_held();
        }
        self.inner.state().run = None;
        self.inner.busy.send_replace(false);
    }
}
