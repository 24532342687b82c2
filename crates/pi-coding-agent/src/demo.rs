//! `faux/demo`: a scripted model that needs no key and no network.
//!
//! Its answers are fixed, and they say so. What they set in motion is real: the loop, the tools, the
//! session. It works in a scratch folder made for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_ai::faux::{FauxBlock, FauxProvider, FauxTurn, FauxUsage};
use pi_ai::{Context, InputBlock, Message, Modality, Model, ToolResultMessage};
use serde_json::json;

use crate::models::{ProviderKey, RegisteredProvider, Visibility};

/// Provider id of the scripted model.
const PROVIDER: &str = "faux";
const MODEL: &str = "demo";

/// Whether the command line names the demo: `--model faux/demo`, or the provider beside it, in any
/// case and with any thinking level.
pub(crate) fn is_asked_for(provider: Option<&str>, pattern: Option<&str>) -> bool {
    let Some(pattern) = pattern else { return false };
    let (named, id) = match provider {
        Some(provider) => (provider, pattern),
        None => pattern.split_once('/').unwrap_or_default(),
    };
    let id = id.split_once(':').map_or(id, |(id, _level)| id);
    named.eq_ignore_ascii_case(PROVIDER) && id.eq_ignore_ascii_case(MODEL)
}

/// The demo's model and the script it plays.
pub(crate) fn provider() -> RegisteredProvider {
    let script = FauxProvider::default();
    script.always(answer);
    RegisteredProvider {
        id: PROVIDER.to_owned(),
        name: "Scripted".to_owned(),
        models: vec![Arc::new(model())],
        protocol: Some(Arc::new(script)),
        key: ProviderKey::NotNeeded,
        visibility: Visibility::OnRequest,
    }
}

fn model() -> Model {
    Model {
        id: MODEL.to_owned(),
        name: "Demo (scripted)".to_owned(),
        provider: PROVIDER.to_owned(),
        reasoning: false,
        input: vec![Modality::Text],
        ..FauxProvider::model()
    }
}

/// Makes the folder the demo works in, below `parent`: a script with a mistake, and its test.
///
/// # Errors
/// The folder or a file cannot be written.
pub(crate) fn make_project(parent: &Path) -> io::Result<PathBuf> {
    let folder = tempfile::Builder::new().prefix("pi-demo-").tempdir_in(parent)?.keep();
    for (name, content) in
        [("sum.sh", include_str!("demo/sum.sh")), ("test.sh", include_str!("demo/test.sh"))]
    {
        std::fs::write(folder.join(name), content)?;
    }
    Ok(folder)
}

/// The next turn follows from how many tool results the prompt has led to.
fn answer(context: &Context) -> FauxTurn {
    let results = results_of_last_prompt(context);
    let prompts = context.messages.iter().filter(|m| matches!(m, Message::User(_))).count();
    let turn = match results.len() {
        _ if prompts > 1 => FauxTurn::text(
            "I am a scripted model and my script ends with the first message. \
             Choose a real model with --model, or start a new demo.",
        ),
        0 => look(),
        1..=2 => repair(),
        3 => check(),
        _ => report(&results),
    };
    turn.with_usage(FauxUsage { input: 1200, output: 80, ..FauxUsage::default() })
}

fn look() -> FauxTurn {
    FauxTurn::new([
        FauxBlock::text(
            "I am a scripted model: my answers were written beforehand, the tools are real. \
             I read the script and run its test.",
        ),
        FauxBlock::tool_call("demo_read", "read", json!({ "path": "sum.sh" })),
        FauxBlock::tool_call("demo_test", "bash", json!({ "command": "bash test.sh" })),
    ])
}

fn repair() -> FauxTurn {
    FauxTurn::new([
        FauxBlock::text("The loop starts after a `shift`, so the first number is lost."),
        FauxBlock::tool_call(
            "demo_edit",
            "edit",
            json!({ "path": "sum.sh", "edits": [{ "oldText": "shift\n", "newText": "" }] }),
        ),
    ])
}

fn check() -> FauxTurn {
    FauxTurn::tool_call("demo_check", "bash", json!({ "command": "bash test.sh" }))
}

fn report(results: &[&ToolResultMessage]) -> FauxTurn {
    let last = results.last();
    let output = last.map(|r| text_of(r)).unwrap_or_default();
    if last.is_some_and(|r| r.is_error) {
        return FauxTurn::text(format!("The test still fails:\n\n{output}"));
    }
    FauxTurn::text(format!(
        "Fixed: I removed the stray `shift` in sum.sh, and the test passes now:\n\n{}\n\n\
         The answers came from a script; reading, editing and testing really happened.",
        output.trim_end()
    ))
}

fn results_of_last_prompt(context: &Context) -> Vec<&ToolResultMessage> {
    let mut results: Vec<_> = context
        .messages
        .iter()
        .rev()
        .take_while(|message| !matches!(message, Message::User(_)))
        .filter_map(|message| match message {
            Message::ToolResult(result) => Some(result.as_ref()),
            Message::System(_) | Message::User(_) | Message::Assistant(_) => None,
        })
        .collect();
    results.reverse();
    results
}

fn text_of(result: &ToolResultMessage) -> String {
    result.content.iter().filter_map(InputBlock::as_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_known_by_all_its_names() {
        let cases = [
            (None, Some("faux/demo"), true),
            (None, Some("Faux/Demo:high"), true),
            (Some("faux"), Some("demo"), true),
            (Some("FAUX"), Some("demo:off"), true),
            (None, Some("demo"), false),
            (None, Some("other/demo"), false),
            (None, None, false),
        ];
        for (provider, pattern, expected) in cases {
            assert_eq!(is_asked_for(provider, pattern), expected, "{provider:?} {pattern:?}");
        }
    }
}
