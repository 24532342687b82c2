//! What a user says.

use pi_agent::harness::Harness;
use pi_agent::{AgentMessage, harness::HarnessError};
use pi_ai::{ImageContent, InputBlock};

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
