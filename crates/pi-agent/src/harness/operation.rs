//! What a harness is doing, and that it does one thing at a time.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{HarnessError, Inner};
use crate::compaction::CompactionReason;

/// What a harness is doing. Prompts, compactions on demand and navigations exclude one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "operation", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Operation {
    #[default]
    Idle,
    /// A prompt: the model answers, or its tools run.
    Turn,
    /// A prompt waits before a failed answer is tried again.
    RetryWait,
    /// The conversation is made shorter: on demand, or as part of a prompt.
    Compaction { reason: CompactionReason },
    /// The leaf is moved, perhaps after a summary of the branch that is left.
    Navigation,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "nothing",
            Self::Turn => "a prompt",
            Self::RetryWait => "a prompt that waits before it is tried again",
            Self::Compaction { .. } => "a compaction",
            Self::Navigation => "a navigation",
        })
    }
}

/// The operation that is on.
#[derive(Debug)]
pub(super) struct Ongoing {
    pub(super) operation: Operation,
    pub(super) tokens: Tokens,
    /// Ends the wait for a retry that is on.
    wait: Option<CancellationToken>,
    kind: Kind,
    /// Only the last listeners are still being told.
    is_settling: bool,
}

/// What was begun; parts of a prompt do not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prompt,
    Compaction,
    Navigation,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    /// Ends everything the operation does.
    pub(super) cancel: CancellationToken,
}

/// Keeps the harness to one operation as long as it lives; tidies up after one whose future was
/// dropped.
pub(super) struct Scope {
    pub(super) inner: Arc<Inner>,
    pub(super) tokens: Tokens,
    kind: Kind,
    is_settled: bool,
}

impl Scope {
    /// # Errors
    /// Something else is on.
    pub(super) async fn begin(inner: Arc<Inner>, kind: Kind) -> Result<Self, HarnessError> {
        loop {
            let mut busy = inner.busy.subscribe();
            {
                let mut state = inner.state();
                match &state.ongoing {
                    None => {
                        let tokens = Tokens::default();
                        let operation = match kind {
                            Kind::Prompt => Operation::Turn,
                            Kind::Compaction => {
                                Operation::Compaction { reason: CompactionReason::Manual }
                            }
                            Kind::Navigation => Operation::Navigation,
                        };
                        state.ongoing = Some(Ongoing {
                            operation,
                            tokens: tokens.clone(),
                            wait: None,
                            kind,
                            is_settling: false,
                        });
                        inner.busy.send_replace(true);
                        drop(state);
                        return Ok(Self { inner, tokens, kind, is_settled: false });
                    }
                    Some(ongoing) if !ongoing.is_settling => {
                        return Err(match kind {
                            Kind::Prompt => HarnessError::Busy,
                            Kind::Compaction | Kind::Navigation => {
                                HarnessError::Occupied(ongoing.operation)
                            }
                        });
                    }
                    // Who has heard `agent_settled` may go on at once.
                    Some(_) => {}
                }
            }
            // The sender lives in `inner`: the wait cannot fail.
            drop(busy.wait_for(|busy| !busy).await);
        }
    }

    /// The operation is over but for the last event.
    pub(super) fn settle(&mut self) {
        self.is_settled = true;
        if let Some(ongoing) = &mut self.inner.state().ongoing {
            ongoing.is_settling = true;
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if !self.is_settled && self.kind == Kind::Prompt {
            self.inner.answer_open_calls();
        }
        loop {
            self.inner.flush_held();
            let mut state = self.inner.state();
            // What came in between is not left for the next operation.
            if state.held.is_empty() {
                state.ongoing = None;
                self.inner.busy.send_replace(false);
                return;
            }
        }
    }
}

impl Inner {
    /// Says that a retry is waited for; the token ends that.
    pub(super) fn begin_wait(&self) -> CancellationToken {
        let token = CancellationToken::new();
        if let Some(ongoing) = &mut self.state().ongoing {
            ongoing.operation = Operation::RetryWait;
            ongoing.wait = Some(token.clone());
        }
        token
    }

    pub(super) fn end_wait(&self) {
        if let Some(wait) = self.state().ongoing.as_mut().and_then(|ongoing| ongoing.wait.take()) {
            wait.cancel();
        }
    }

    /// Says what part of an operation is on from now.
    pub(super) fn enter(&self, operation: Operation) {
        if let Some(ongoing) = &mut self.state().ongoing {
            ongoing.operation = operation;
            ongoing.wait = None;
        }
    }

    /// Nothing, too, where only the last listeners are still being told.
    pub(super) fn operation(&self) -> Operation {
        let state = self.state();
        let ongoing = state.ongoing.as_ref().filter(|ongoing| !ongoing.is_settling);
        ongoing.map(|ongoing| ongoing.operation).unwrap_or_default()
    }

    /// Cancelled when what is on is.
    pub(super) fn cancellation(&self) -> CancellationToken {
        let state = self.state();
        state.ongoing.as_ref().map(|ongoing| ongoing.tokens.cancel.clone()).unwrap_or_default()
    }

    /// Cancels a prompt that is on; `false` when something else is.
    pub(super) fn abort_prompt(&self) -> bool {
        match &self.state().ongoing {
            Some(ongoing) if ongoing.kind == Kind::Prompt => {
                ongoing.tokens.cancel.cancel();
                true
            }
            Some(_) => false,
            None => true,
        }
    }
}
