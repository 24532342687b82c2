//! One prompt from its start until it is settled: the run, retries, a context made shorter, what
//! was queued meanwhile.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, StopReason};
use tokio_util::sync::CancellationToken;

use super::compact::{CompactionFailure, Job};
use super::operation::{Kind, Operation, Scope, Tokens};
use super::state::Progress;
use super::verdict::Verdict;
use super::{HarnessError, Inner};
use crate::agent::AgentError;
use crate::compaction::CompactionReason;
use crate::event::SessionEvent;
use crate::message::{AgentMessage, missing_results};
use crate::session::{EntryBody, SessionError};

/// How a prompt ended.
#[derive(Debug, Clone)]
pub struct RunOutcome {
    /// The last answer, a failed one included.
    pub answer: Option<Arc<AssistantMessage>>,
    pub aborted: bool,
    /// Why something is not on disk. It is kept, and written before whatever comes next.
    pub unstored: Option<Arc<SessionError>>,
    /// Why a context that was too long for the model could not be made shorter.
    pub unrecovered: Option<String>,
}

/// A prompt that was taken. It goes on while it is awaited; dropping it cancels it, with every tool
/// call answered on disk.
#[must_use = "a prompt goes on only while it is awaited"]
pub struct Run(BoxFuture<'static, Result<RunOutcome, HarnessError>>);

impl Future for Run {
    type Output = Result<RunOutcome, HarnessError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

/// The right to the next prompt, for whoever has to prepare it first. Nothing else can begin as
/// long as it is held; dropping it gives it back.
#[must_use = "nothing else can begin while this is held"]
pub struct Reservation(Scope);

impl Reservation {
    /// # Errors
    /// Something else is on.
    pub(super) async fn take(inner: Arc<Inner>) -> Result<Self, HarnessError> {
        let scope = Scope::begin(inner, Kind::Prompt).await?;
        scope.inner.state().progress = Progress::default();
        Ok(Self(scope))
    }

    /// Resolves when what is reserved was aborted before it has begun.
    pub async fn aborted(&self) {
        self.0.tokens.cancel.cancelled().await;
    }

    /// Sends messages that belong together; none: what is queued, or else what came last again.
    pub fn begin(self, messages: Vec<AgentMessage>) -> Run {
        Run(Box::pin(run(self.0, messages)))
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").finish_non_exhaustive()
    }
}

async fn run(mut scope: Scope, messages: Vec<AgentMessage>) -> Result<RunOutcome, HarnessError> {
    let (inner, tokens) = (Arc::clone(&scope.inner), scope.tokens.clone());
    inner.bring_up_to_date();
    inner.flush_held();
    inner.compact_if_needed(&inner.agent.model(), &tokens.cancel).await;
    inner.record_model();
    inner.record_thinking_level();
    if !messages.is_empty() {
        let prompts = inner.system_patch().into_iter().chain(messages).collect();
        inner.drive(inner.agent.prompt(prompts), &tokens).await?;
    } else if inner.agent.has_queued_messages() {
        inner.drive(inner.agent.run_queued(inner.system_patch()), &tokens).await?;
    } else {
        inner.drive(inner.agent.continue_with(inner.system_patch()), &tokens).await?;
    }
    loop {
        match inner.next(&tokens).await {
            // The agent asks again whatever came last.
            Next::Again => inner.drive(inner.agent.prompt(inner.system_patch()), &tokens).await?,
            Next::Queued => {
                let queued = inner.drive(inner.agent.run_queued(inner.system_patch()), &tokens);
                match queued.await {
                    // Somebody has cleared the queues meanwhile.
                    Err(HarnessError::Agent(AgentError::AnswerLast)) => break,
                    ended => ended?,
                }
            }
            Next::Nothing => {
                inner.ask_before_settle().await;
                if !inner.has_queued(&tokens) {
                    break;
                }
            }
        }
    }
    inner.flush_held();
    let Progress { last_answer, unrecovered, .. } = std::mem::take(&mut inner.state().progress);
    let answer = last_answer.map(|answer| answer.message);
    let aborted = tokens.cancel.is_cancelled()
        || answer.as_ref().is_some_and(|answer| answer.stop_reason == StopReason::Aborted);
    scope.settle();
    inner.tell(SessionEvent::AgentSettled { aborted }).await;
    let unstored = inner.state().storage_error.clone();
    Ok(RunOutcome { answer, aborted, unstored, unrecovered })
}

/// What follows a run of the agent within the same prompt.
enum Next {
    /// The request that failed is sent again.
    Again,
    /// Queued messages are delivered.
    Queued,
    Nothing,
}

impl Inner {
    /// Runs the agent, handing on an abort whenever it comes.
    async fn drive(
        &self,
        run: impl Future<Output = Result<(), AgentError>>,
        tokens: &Tokens,
    ) -> Result<(), HarnessError> {
        let mut run = pin!(run);
        let ended = tokio::select! {
            // The run hears of an abort before it can do anything more.
            biased;
            () = tokens.cancel.cancelled() => {
                self.agent.abort();
                run.await
            }
            ended = &mut run => ended,
        };
        Ok(ended?)
    }

    /// Does what the run that ended asks for.
    async fn next(&self, tokens: &Tokens) -> Next {
        let verdict = std::mem::take(&mut self.state().progress.verdict);
        match verdict {
            Verdict::Retry { delay_ms, max_attempts, error } => {
                let attempt = self.state().progress.attempt;
                let start = SessionEvent::AutoRetryStart {
                    attempt,
                    max_attempts,
                    delay_ms,
                    error_message: error,
                };
                // Whoever hears of the wait may give it up at once.
                let given_up = self.begin_wait();
                self.tell(start).await;
                self.omit_last_answer().await;
                if let Err(error) = self.store_kept() {
                    self.end_retry(Some(error.to_string())).await;
                    return Next::Nothing;
                }
                let waited = self.wait(Duration::from_millis(delay_ms), tokens, &given_up).await;
                return if waited { Next::Again } else { Next::Nothing };
            }
            Verdict::Overflow { retry } => {
                let recovered = self.recover(retry, tokens).await;
                if retry {
                    return if recovered { Next::Again } else { Next::Nothing };
                }
            }
            Verdict::CutShort => {
                if self.can_be_compacted() && self.recover(true, tokens).await {
                    return Next::Again;
                }
            }
            // What was aborted is looked at before the next prompt.
            Verdict::Final => {
                self.compact_if_needed(&self.agent.model(), &tokens.cancel).await;
            }
        }
        if self.has_queued(tokens) { Next::Queued } else { Next::Nothing }
    }

    async fn ask_before_settle(&self) {
        let answer = self.state().progress.last_answer.clone();
        for hooks in self.session_hooks().iter() {
            hooks.before_settle(answer.as_ref().map(|answer| answer.message.as_ref())).await;
        }
    }

    fn has_queued(&self, tokens: &Tokens) -> bool {
        let went_well = self.state().progress.last_answer.as_ref().is_some_and(|answer| {
            !matches!(answer.message.stop_reason, StopReason::Error | StopReason::Aborted)
        });
        went_well && !tokens.cancel.is_cancelled() && self.agent.has_queued_messages()
    }

    /// Makes a context shorter that was too long; `true` when the request is to be sent again.
    async fn recover(&self, retry: bool, tokens: &Tokens) -> bool {
        self.state().progress.has_recovered = true;
        if retry {
            self.omit_last_answer().await;
        }
        let model = self.agent.model();
        let job = Job {
            reason: CompactionReason::Overflow,
            instructions: None,
            will_retry: retry,
            model: &model,
            cancel: &tokens.cancel,
        };
        match self.compact(&job).await {
            Ok(_) => retry && !tokens.cancel.is_cancelled(),
            Err(failure) => {
                if retry && !matches!(failure, CompactionFailure::NotCompactable(_)) {
                    self.state().progress.unrecovered = Some(failure.to_string());
                }
                false
            }
        }
    }

    /// `false` when the wait was given up.
    async fn wait(&self, delay: Duration, tokens: &Tokens, given_up: &CancellationToken) -> bool {
        let waited = tokio::select! {
            biased;
            () = tokens.cancel.cancelled() => false,
            () = given_up.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        };
        self.enter(Operation::Turn);
        if !waited {
            self.end_retry(Some("Retry cancelled".to_owned())).await;
        }
        waited
    }

    /// Takes a failed answer out of the context, with the results of its calls. It stays in the
    /// file, followed by an edit that says so.
    async fn omit_last_answer(&self) {
        let Some(failed) = self.state().progress.last_answer.clone() else { return };
        let mut messages = self.agent.messages().as_ref().clone();
        let place = messages.iter().rposition(|message| {
            matches!(message, AgentMessage::Assistant(m) if Arc::ptr_eq(m, &failed.message))
        });
        if let Some(place) = place {
            let later = messages.split_off(place).into_iter().skip(1);
            let is_own = |id: &str| failed.message.tool_calls().any(|call| call.id == id);
            messages.extend(later.filter(|message| {
                !matches!(message, AgentMessage::ToolResult(m) if is_own(&m.tool_call_id))
            }));
            self.agent.set_messages(messages);
        }
        let Some(target_id) = failed.entry_id else { return };
        let edit = self.store_or_keep(EntryBody::ContextEdit { target_id, replacement: None });
        if let Some(edit) = edit {
            self.tell(SessionEvent::EntryAppended { entry: edit.as_ref().clone() }).await;
        }
    }

    /// Gives every open tool call of the last answer a result.
    pub(super) fn answer_open_calls(&self) {
        for result in missing_results(&self.agent.messages()) {
            let message = AgentMessage::ToolResult(Arc::new(result));
            self.agent.append_message(message.clone());
            self.store_or_keep(EntryBody::Message { message });
        }
    }
}
