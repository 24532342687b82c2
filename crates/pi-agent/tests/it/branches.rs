//! What is summarised of a branch that is left.

use std::path::Path;
use std::sync::Arc;

use pi_agent::agent::AgentConfig;
use pi_agent::harness::{Harness, HarnessConfig, NavigateOptions};
use pi_agent::session::{Session, new_session_id};
use pi_ai::InputBlock;
use pi_ai::faux::{FauxProvider, FauxTurn};

#[tokio::test]
async fn a_prompt_gone_back_to_is_no_part_of_the_summary() {
    let model = FauxProvider::default();
    for text in ["one", "two", "SUMMARY"] {
        model.push(FauxTurn::from(text));
    }
    let agent = AgentConfig::new(Arc::new(FauxProvider::model()), Arc::new(model.protocols()));
    let session = Session::in_memory(Path::new("/w"), new_session_id()).expect("session");
    let harness = Harness::new(HarnessConfig::new(agent, session));
    for text in ["ALPHA", "BETA"] {
        harness.prompt(vec![InputBlock::text(text)]).await.expect("idle");
    }
    let beta = harness.with_session(|session| {
        let answer = session.leaf().expect("answer");
        answer.parent().expect("prompt").id().to_owned()
    });
    let options = NavigateOptions { summarize: true, ..NavigateOptions::default() };
    let navigation = harness.navigate(Some(&beta), options).await.expect("goes");
    assert_eq!(navigation.editor_text.as_deref(), Some("BETA"));
    assert!(navigation.summary.is_some());
    let asked = format!("{:?}", model.contexts().pop().expect("request").messages);
    assert!(asked.contains("[Assistant]: two"), "{asked}");
    assert!(!asked.contains("BETA"), "its text comes back: {asked}");
}
