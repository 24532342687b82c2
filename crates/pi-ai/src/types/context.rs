//! What a model is asked.

use super::message::Message;
use super::tool::Tool;

/// What is sent to a model. The system prompt and the tools may also stand in `system` messages of
/// the transcript; both forms are folded together when the request is built.
#[derive(Debug, Clone, Default)]
pub struct Context {
    pub system_prompt: Option<String>,
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
}
