//! What only the library does so far: compacting on demand and moving in the tree.

use std::path::Path;
use std::sync::Arc;

use pi_agent::Session;
use pi_agent::agent::AgentConfig;
use pi_agent::compaction::{CompactionPolicy, CompactionSettings};
use pi_agent::harness::{Harness, HarnessConfig};
use pi_ai::faux::{FauxProvider, FauxTurn};
use pi_ai::{Context, Message};
use serde_json::Value;

/// A conversation of a session file, with a scripted model and the settings of the other tests.
pub(super) fn harness(file: &Path, answers: &[&str]) -> (Harness, FauxProvider) {
    let (session, diagnostics) = Session::open(file, Path::new("/")).unwrap();
    assert_eq!(diagnostics, []);
    let model = FauxProvider::default();
    for answer in answers {
        model.push(FauxTurn::from(*answer));
    }
    let agent = AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
    let mut config = HarnessConfig::new(agent, session);
    config.compaction = CompactionPolicy {
        settings: CompactionSettings {
            enabled: true,
            reserve_tokens: 8000,
            keep_recent_tokens: 300,
        },
        ..CompactionPolicy::default()
    };
    (Harness::new(config), model)
}

pub(super) struct Compacted {
    /// The entry it left.
    pub(super) entry: Value,
    /// See [`material`].
    pub(super) material: Vec<String>,
}

/// Compacts a session file on demand.
pub(super) async fn compacted_by_us(file: &Path) -> Compacted {
    let (harness, model) = harness(file, &["SUMMARY", "SUMMARY"]);
    harness.compact(None).await.unwrap();
    let entry = harness.with_session(|session| session.leaf().unwrap().json().into_owned());
    Compacted { entry: serde_json::from_str(&entry).unwrap(), material: materials(&model) }
}

/// The [`material`] of all requests of a scripted model.
pub(super) fn materials(model: &FauxProvider) -> Vec<String> {
    let texts: Vec<String> = model.contexts().iter().map(user_text).collect();
    texts.iter().flat_map(|text| quoted(text)).collect()
}

fn user_text(context: &Context) -> String {
    match context.messages.as_slice() {
        [Message::User(user)] => user.content.to_text(),
        messages => panic!("{messages:?}"),
    }
}

/// What a request for a summary has to be made of, without the instructions around it: the
/// conversation, and the summary before.
pub(super) fn material(body: &Value) -> Vec<String> {
    quoted(&crate::bed::last_text(body, "user"))
}

fn quoted(text: &str) -> Vec<String> {
    let between = |(start, end): (&str, &str)| {
        let (inside, _) = text.split_once(start)?.1.split_once(end)?;
        Some(format!("{start} {}", inside.trim()))
    };
    let parts = [
        ("<conversation>", "</conversation>"),
        ("<previous-summary>", "</previous-summary>"),
        // Of the beginning of a turn.
        ("# Conversation", "# Instructions"),
    ];
    let found: Vec<String> = parts.into_iter().filter_map(between).collect();
    assert!(!found.is_empty(), "{text}");
    found
}
