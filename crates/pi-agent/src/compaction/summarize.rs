//! The summary of a compaction: its requests, and how their answers are put together.

use pi_ai::Usage;
use serde_json::Value;

use super::file_ops::{FileOperations, without_lists};
use super::prepare::Preparation;
use super::request::{Reply, Summarizer, SummaryError};
use super::{conversation, prompts};

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
/// other: small servers answer one at a time. `instructions` say what to look at most.
///
/// # Errors
/// It was cancelled, or the model gave no whole summary.
pub async fn summarize(
    preparation: &Preparation,
    instructions: Option<&str>,
    summarizer: &Summarizer,
) -> Result<Summary, SummaryError> {
    let mut usage = Usage::default();
    let mut text = history(preparation, instructions, summarizer, &mut usage).await?;
    if preparation.is_split_turn {
        let prompt = turn_prefix_prompt(preparation, instructions);
        let Reply { text: prefix, usage: spent } = summarizer.ask(&prompt).await?;
        usage += &spent;
        text = format!("{text}\n\n---\n\n**Turn Context (split turn):**\n\n{prefix}");
    }
    Ok(Summary::new(text, usage, &preparation.file_operations))
}

impl Summary {
    pub(super) fn new(mut text: String, usage: Usage, operations: &FileOperations) -> Self {
        let lists = operations.lists();
        lists.append_to(&mut text);
        Self { text, usage: Some(usage), details: serde_json::to_value(lists).ok() }
    }
}

/// What happened before the turn that is split, or before the cut.
async fn history(
    preparation: &Preparation,
    instructions: Option<&str>,
    summarizer: &Summarizer,
    usage: &mut Usage,
) -> Result<String, SummaryError> {
    let previous = preparation.previous_summary.as_deref();
    if preparation.messages_to_summarize.is_empty() {
        return Ok(previous.map_or("No prior history.", without_lists).to_owned());
    }
    let Reply { text, usage: spent } =
        summarizer.ask(&history_prompt(preparation, instructions)).await?;
    *usage += &spent;
    Ok(text)
}

fn history_prompt(preparation: &Preparation, instructions: Option<&str>) -> String {
    let text = conversation::to_text(&preparation.messages_to_summarize);
    let (earlier, instruction) = match &preparation.previous_summary {
        Some(previous) => {
            let earlier = format!("<previous-summary>\n{previous}\n</previous-summary>\n\n");
            (earlier, prompts::update())
        }
        None => (String::new(), prompts::initial()),
    };
    let instruction = prompts::with_focus(instruction, instructions);
    format!("<conversation>\n{text}\n</conversation>\n\n{earlier}{instruction}")
}

fn turn_prefix_prompt(preparation: &Preparation, instructions: Option<&str>) -> String {
    let text = conversation::to_text(&preparation.turn_prefix_messages);
    let instruction = prompts::with_focus(prompts::turn_prefix(), instructions);
    format!("# Conversation\n\n{text}\n\n# Instructions\n\n{instruction}")
}
