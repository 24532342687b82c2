use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_agent::session::EntryKind;
use pi_agent::{AgentMessage, QueuedMessages};
use pi_ai::faux::FauxTurn;
use pi_ai::{ImageContent, InputBlock, StopReason};

use super::*;
use crate::workspace::tests::{Bed, model};
use crate::workspace::{ModelFlags, SessionFlags};

async fn open(bed: &Bed, flags: &ModelFlags) -> AgentSession {
    let workspace = bed.workspace("project");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    workspace.open(session, flags).await.unwrap()
}

async fn opened(bed: &Bed) -> AgentSession {
    open(bed, &model("faux/faux-1")).await
}

/// The texts of the user, in order.
fn asked(agent: &AgentSession) -> Vec<String> {
    let text = |message: &AgentMessage| match message {
        AgentMessage::User(user) => Some(user.content.to_text()),
        _ => None,
    };
    agent.messages().iter().filter_map(text).collect()
}

#[tokio::test]
async fn queued_messages_wait_for_a_prompt_and_follow_it() {
    let bed = Bed::new();
    for turn in ["One.", "Two.", "Three."] {
        bed.scripted.push(turn);
    }
    let agent = opened(&bed).await;
    agent.follow_up("later").await.unwrap();
    agent.steer("now").await.unwrap();
    let queued = agent.queued_messages();
    assert_eq!((queued.steering.len(), queued.follow_up.len()), (1, 1));
    agent.prompt("first").await.unwrap();
    assert_eq!(asked(&agent), ["first", "now", "later"]);
}

#[tokio::test]
async fn cleared_messages_come_back() {
    let bed = Bed::new();
    let agent = opened(&bed).await;
    agent.steer("a").await.unwrap();
    agent.follow_up("b").await.unwrap();
    let cleared = agent.clear_queues().await;
    assert_eq!((cleared.steering.len(), cleared.follow_up.len()), (1, 1));
    assert_eq!(agent.queued_messages(), QueuedMessages::default());
}

#[tokio::test]
async fn an_aborted_conversation_goes_on_and_a_stopped_one_says_so() {
    let bed = Bed::new();
    bed.scripted.push(FauxTurn::tool_call(
        "c",
        "bash",
        serde_json::json!({"command": "/bin/sleep 60"}),
    ));
    bed.scripted.push("Again.");
    let agent = opened(&bed).await;
    let running = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt("Sleep").await }
    });
    while agent.messages().last().is_none_or(|message| message.role() != "assistant") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(agent.is_busy());
    agent.abort();
    agent.wait_for_idle().await;
    assert!(!agent.is_busy() && !agent.is_stopped());
    let outcome = running.await.unwrap().unwrap();
    assert_eq!(outcome.answer.unwrap().stop_reason, StopReason::Aborted);
    let outcome = agent.prompt("Go on").await.unwrap();
    assert_eq!(outcome.answer.unwrap().text(), "Again.");
    agent.stop();
    assert!(agent.is_stopped());
}

#[tokio::test]
async fn a_retry_can_be_given_up() {
    let bed = Bed::new();
    bed.write(".pi/agent/settings.json", r#"{"retry": {"baseDelayMs": 60000}}"#);
    bed.scripted.push(FauxTurn::error("529 overloaded_error"));
    let agent = opened(&bed).await;
    let outcome = tokio::select! {
        outcome = agent.prompt("Hi") => outcome,
        () = async {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                agent.abort_retry();
            }
        } => unreachable!("it ends with the prompt"),
    };
    assert_eq!(outcome.unwrap().answer.unwrap().stop_reason, StopReason::Error);
    assert_eq!(bed.scripted.requests().len(), 1);
}

#[tokio::test]
async fn a_new_model_is_used_recorded_and_brings_its_level() {
    let bed = Bed::new();
    bed.scripted.push("Done.");
    let agent = opened(&bed).await;
    assert_eq!(agent.set_thinking_level(ThinkingLevel::High).await, ThinkingLevel::High);
    agent.set_model(agent.models().find("faux", "plain").unwrap()).await.unwrap();
    assert_eq!(agent.model().id, "plain");
    assert_eq!(agent.thinking_level(), ThinkingLevel::Off);
    agent.prompt("Hi").await.unwrap();
    assert_eq!(bed.scripted.requests()[0].model.id, "plain");
    let recorded = agent.with_session(Session::last_model);
    assert_eq!(recorded, Some(("faux".to_owned(), "plain".to_owned())));
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_not_taken() {
    let bed = Bed::new();
    let agent = opened(&bed).await;
    let keyless = agent.models().find("keyless", "k").unwrap();
    let error = agent.set_model(keyless).await.unwrap_err();
    assert!(error.message.starts_with("No API key found for keyless."), "{error}");
    let unspoken = Model { api: "unspoken".to_owned(), ..Model::clone(&agent.model()) };
    let error = agent.set_model(Arc::new(unspoken)).await.unwrap_err();
    assert!(error.message.contains("speaks unspoken"), "{error}");
    assert_eq!(agent.model().id, "faux-1");
}

#[tokio::test]
async fn the_scope_is_that_of_the_flags_else_of_the_settings_else_empty() {
    let ids = async |agent: &AgentSession| {
        let scope = agent.scope().await;
        scope.iter().map(|scoped| scoped.model.id.clone()).collect::<Vec<_>>()
    };
    let bed = Bed::new();
    assert_eq!(ids(&opened(&bed).await).await, [""; 0]);
    bed.write(".pi/agent/settings.json", r#"{"enabledModels": ["faux/plain", "odd"]}"#);
    assert_eq!(ids(&opened(&bed).await).await, ["plain"]);
    assert_eq!(ids(&open(&bed, &ModelFlags::default()).await).await, ["plain"]);
    let scope = Some(vec!["faux/*".to_owned()]);
    assert_eq!(
        ids(&open(&bed, &ModelFlags { scope, ..model("plain") }).await).await,
        ["faux-1", "plain"]
    );
}

#[tokio::test]
async fn a_scope_found_late_still_warns() {
    let bed = Bed::new();
    bed.write(".pi/agent/settings.json", r#"{"enabledModels": ["odd"]}"#);
    let workspace = bed.workspace("project");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    let agent = workspace.open(session, &model("faux/plain")).await.unwrap();
    assert_eq!(workspace.warnings().take(), []);
    agent.scope().await;
    let warnings = workspace.warnings().take();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[tokio::test]
async fn active_tools_are_what_the_model_is_told_of() {
    let bed = Bed::new();
    bed.scripted.push("Done.");
    let agent = opened(&bed).await;
    assert_eq!(agent.active_tools(), ["read", "bash", "edit", "write"]);
    agent.set_active_tools(&["write", "nobody's", "read"]);
    assert_eq!(agent.active_tools(), ["read", "write"]);
    assert_eq!(agent.tools().len(), 7);
    agent.prompt("Hi").await.unwrap();
    let context = bed.scripted.contexts().remove(0);
    let told = serde_json::to_string(&context.messages[0]).unwrap();
    assert!(told.contains("- write: ") && !told.contains("- bash: "), "{told}");
}

#[tokio::test]
async fn the_name_is_kept_in_the_session() {
    let bed = Bed::new();
    let agent = opened(&bed).await;
    assert_eq!(agent.name(), None);
    agent.set_name(" Mine ").await.unwrap();
    assert_eq!(agent.name().as_deref(), Some("Mine"));
    let named = |session: &Session| session.entries().any(|e| *e.kind() == EntryKind::SessionInfo);
    assert!(agent.with_session(named));
}

/// Puts a message with an image before what is sent.
#[derive(Debug)]
struct AddImage;

impl LoopHooks for AddImage {
    fn transform_context<'a>(
        &'a self,
        mut messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        let image = ImageContent { data: "AA==".into(), mime_type: "image/png".into() };
        messages.push(AgentMessage::user(vec![InputBlock::Image(image)], 0));
        Box::pin(std::future::ready(messages))
    }
}

#[tokio::test]
async fn hooks_of_others_do_not_remove_the_image_filter_nor_pass_it() {
    let bed = Bed::new();
    bed.write(".pi/agent/settings.json", r#"{"images": {"blockImages": true}}"#);
    bed.scripted.push("Done.");
    let agent = opened(&bed).await;
    agent.set_hooks(vec![Arc::new(AddImage)]);
    agent.prompt("Hi").await.unwrap();
    let context = bed.scripted.contexts().remove(0);
    let sent = serde_json::to_string(&context.messages).unwrap();
    assert!(sent.contains("Image reading is disabled.") && !sent.contains("AA=="), "{sent}");
}
