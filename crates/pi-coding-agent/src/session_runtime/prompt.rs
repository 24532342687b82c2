//! Giving a conversation what a user says.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::AgentMessage;
use pi_agent::harness::{Harness, HarnessError, Reservation, RunOutcome};
use pi_ai::{ImageContent, InputBlock};

use super::AgentSession;
use crate::error::{AppError, Context, ErrorKind, Warning};

/// A text as it was typed, which may call a skill or a prompt template, and images behind it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<ImageContent>,
}

impl<T: Into<String>> From<T> for Prompt {
    fn from(text: T) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }
}

impl Prompt {
    /// With what it calls put in its place.
    pub(super) async fn into_message(
        self,
        harness: &Harness,
    ) -> Result<AgentMessage, HarnessError> {
        let images = self.images.into_iter().map(InputBlock::Image).collect();
        harness.user_message(&self.text, images).await
    }
}

/// Why a conversation takes no prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReserved {
    #[error("Another prompt is on")]
    Busy,
    #[error("The conversation was stopped")]
    Stopped,
}

/// A prompt that was taken. It goes on while it is awaited; dropping it aborts it. What could not be
/// stored is in the outcome, beside the answer.
pub type PromptRun = BoxFuture<'static, Result<RunOutcome, AppError>>;

/// The right to the next prompt. Nothing else begins in the conversation as long as it is held.
#[derive(Debug)]
#[must_use = "nothing else can begin while this is held"]
pub struct Reserved {
    session: AgentSession,
    reservation: Reservation,
}

impl AgentSession {
    /// Sends a prompt and resolves when everything it set off is settled. Dropping the future
    /// aborts it.
    ///
    /// # Errors
    /// It was stopped, something else is on, or what the prompt calls cannot be read.
    pub async fn prompt(&self, prompt: impl Into<Prompt>) -> Result<RunOutcome, AppError> {
        self.reserve().await?.begin(prompt).await?.await
    }

    /// Takes the right to the next prompt, for whoever has something to do before it begins.
    ///
    /// # Errors
    /// It was stopped, or something else is on.
    pub async fn reserve(&self) -> Result<Reserved, NotReserved> {
        let reservation = self.inner.harness.reserve().await.map_err(|_busy| NotReserved::Busy)?;
        // Looked at behind it: who stops the conversation now aborts what is reserved.
        if self.is_stopped() {
            return Err(NotReserved::Stopped);
        }
        Ok(Reserved { session: self.clone(), reservation })
    }
}

impl Reserved {
    /// Whether there is a model to ask. An abort does not wait for it.
    ///
    /// # Errors
    /// There is no model, requests to it would have no key, or the conversation was aborted.
    pub async fn check_key(&self) -> Result<(), AppError> {
        tokio::select! {
            biased;
            () = self.reservation.aborted() => Err(AppError::user("Request was aborted")),
            checked = self.session.check_key() => checked,
        }
    }

    /// Takes the prompt; what it gives is to be awaited. Whoever has to say that it was accepted can
    /// say so in between.
    ///
    /// # Errors
    /// What it calls cannot be read. Nothing is sent then.
    pub async fn begin(self, prompt: impl Into<Prompt>) -> Result<PromptRun, AppError> {
        let inner = Arc::clone(&self.session.inner);
        let message = prompt.into().into_message(&inner.harness).await;
        let message = message.map_err(|error| AppError::user(error.to_string()))?;
        let run = self.reservation.begin(vec![message]);
        Ok(Box::pin(async move {
            let outcome = run.await;
            let found = inner.harness.take_diagnostics();
            inner.warnings.extend(found.iter().map(|found| Warning::new(found.to_string())));
            outcome.context(ErrorKind::Internal, || "The conversation cannot go on")
        }))
    }
}

impl From<NotReserved> for AppError {
    fn from(error: NotReserved) -> Self {
        Self::user(error.to_string())
    }
}
