//! The summary of a compaction: its requests, and how their answers are put together.

use pi_ai::Usage;
use serde_json::Value;

use super::file_ops::{FileOperations, without_lists};
use super::parts::Parts;
use super::prepare::Preparation;
use super::request::{Reply, Summarizer, SummaryError};
use super::{conversation, prompts};
use crate::message::AgentMessage;

/// A finished summary, as its entry holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// With the lists of files below it.
    pub text: String,
    /// Of all requests together.
    pub usage: Option<Usage>,
    /// The lists of files, see [`super::FileLists`].
    pub details: Option<Value>,
}

/// Has a prepared compaction's summary written. A split turn takes two requests, one after the
/// other: small servers answer one at a time. What does not fit into the model's window is
/// summarised part by part, each request bringing the summary so far up to date. `instructions` say
/// what to look at most.
///
/// # Errors
/// It was cancelled, or the model gave no whole summary.
pub async fn summarize(
    preparation: &Preparation,
    instructions: Option<&str>,
    summarizer: &Summarizer,
) -> Result<Summary, SummaryError> {
    let reserve_tokens = preparation.settings.reserve_tokens;
    let mut writer = Writer { summarizer, instructions, reserve_tokens, usage: Usage::default() };
    let history = &preparation.messages_to_summarize;
    let previous = preparation.previous_summary.as_deref();
    let mut text = if history.is_empty() {
        previous.map_or("No prior history.", without_lists).to_owned()
    } else {
        writer.write(Subject::History, history, previous).await?
    };
    if preparation.is_split_turn {
        let prefix = &preparation.turn_prefix_messages;
        let prefix = writer.write(Subject::TurnPrefix, prefix, None).await?;
        text = format!("{text}\n\n---\n\n**Turn Context (split turn):**\n\n{prefix}");
    }
    Ok(Summary::new(text, writer.usage, &preparation.file_operations))
}

impl Summary {
    pub(super) fn new(mut text: String, usage: Usage, operations: &FileOperations) -> Self {
        let lists = operations.lists();
        lists.append_to(&mut text);
        Self { text, usage: Some(usage), details: serde_json::to_value(lists).ok() }
    }
}

/// Writes summaries, and counts what they cost.
struct Writer<'a> {
    summarizer: &'a Summarizer,
    instructions: Option<&'a str>,
    /// Room in the window that a request leaves for its answer.
    reserve_tokens: u64,
    usage: Usage,
}

impl Writer<'_> {
    /// Asks about the messages in as many requests as it takes.
    async fn write(
        &mut self,
        subject: Subject,
        messages: &[AgentMessage],
        previous: Option<&str>,
    ) -> Result<String, SummaryError> {
        let mut parts = Parts::new(conversation::paragraphs(messages));
        let mut earlier = previous.map(ToOwned::to_owned);
        loop {
            let prompt_of =
                |text: &str| subject.prompt(text, earlier.as_deref(), self.instructions);
            let room = self.summarizer.room_beside(&prompt_of(""), self.reserve_tokens);
            let prompt = prompt_of(&parts.take(room));
            let Reply { text, usage } = self.summarizer.ask(&prompt).await?;
            self.usage += &usage;
            if parts.is_empty() {
                return Ok(text);
            }
            earlier = Some(text);
        }
    }
}

/// What a summary is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// What happened before the turn that is split, or before the cut.
    History,
    /// The beginning of the turn that is split.
    TurnPrefix,
}

impl Subject {
    /// Asks about the conversation `text`, and what the `earlier` summary says of what came before.
    fn prompt(self, text: &str, earlier: Option<&str>, focus: Option<&str>) -> String {
        let instruction = match (self, earlier) {
            (Self::History, None) => prompts::initial(),
            (Self::History, Some(_)) => prompts::update(),
            (Self::TurnPrefix, None) => prompts::turn_prefix(),
            (Self::TurnPrefix, Some(_)) => prompts::turn_prefix_update(),
        };
        let instruction = prompts::with_focus(instruction, focus);
        let earlier = earlier.map_or_else(String::new, |earlier| {
            format!("<previous-summary>\n{earlier}\n</previous-summary>\n\n")
        });
        match self {
            Self::History => {
                format!("<conversation>\n{text}\n</conversation>\n\n{earlier}{instruction}")
            }
            Self::TurnPrefix => {
                format!("# Conversation\n\n{text}\n\n{earlier}# Instructions\n\n{instruction}")
            }
        }
    }
}
