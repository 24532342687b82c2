use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_ai::faux::FauxTurn;
use pi_ai::{
    AssistantEvent, AssistantMessage, AssistantStream, Context, EventSource, Model,
    SimpleStreamOptions,
};
use serde_json::json;

use super::{Bed, FnTool, On, calls, user};
use crate::agent::AgentError;
use crate::agent_loop::StreamFn;
use crate::event::AgentEvent;
use crate::message::AgentMessage;

/// Says `Start`, then nothing for ever, whatever is cancelled.
#[derive(Debug)]
pub(super) struct SilentStream;

/// Says `Start`, then is over without an end.
#[derive(Debug)]
pub(super) struct CutStream;

struct Source {
    message: AssistantMessage,
    started: bool,
    silent: bool,
}

impl EventSource for Source {
    fn pop(&mut self) -> Option<AssistantEvent> {
        (!std::mem::replace(&mut self.started, true)).then_some(AssistantEvent::Start)
    }

    fn advance(&mut self) -> BoxFuture<'_, bool> {
        match self.silent {
            true => std::future::pending().boxed(),
            false => std::future::ready(false).boxed(),
        }
    }

    fn partial(&self) -> &AssistantMessage {
        &self.message
    }
}

fn source(model: &Model, silent: bool) -> AssistantStream {
    let message = AssistantMessage::pending(model, 0);
    AssistantStream::new(Source { message, started: false, silent })
}

impl StreamFn for SilentStream {
    fn stream<'a>(
        &'a self,
        model: &'a Arc<Model>,
        _: Context,
        _: SimpleStreamOptions,
    ) -> BoxFuture<'a, AssistantStream> {
        std::future::ready(source(model, true)).boxed()
    }
}

impl StreamFn for CutStream {
    fn stream<'a>(
        &'a self,
        model: &'a Arc<Model>,
        _: Context,
        _: SimpleStreamOptions,
    ) -> BoxFuture<'a, AssistantStream> {
        std::future::ready(source(model, false)).boxed()
    }
}

#[tokio::test]
async fn a_second_prompt_is_refused_and_names_the_ways_to_queue() {
    let bed = Bed::new([FauxTurn { hang: true, ..FauxTurn::text("Hello.") }]);
    let run = tokio::spawn(bed.agent.prompt(vec![user("One")]));
    while !bed.agent.is_streaming() {
        tokio::task::yield_now().await;
    }
    let error = bed.agent.prompt(vec![user("Two")]).await.unwrap_err();
    assert_eq!(error, AgentError::Busy);
    assert!(error.to_string().contains("steer") && error.to_string().contains("followUp"));
    assert_eq!(bed.agent.continue_run().await, Err(AgentError::Busy));
    assert_eq!(bed.agent.reset().await, Err(AgentError::Busy));
    bed.agent.abort();
    run.await.unwrap().unwrap();
    assert!(!bed.agent.messages().contains(&user("Two")));
}

#[tokio::test]
async fn reset_forgets_transcript_queues_and_error() {
    let bed = Bed::new([FauxTurn::error("503: busy")]);
    bed.prompt("Hi").await;
    bed.agent.steer(user("S")).await;
    bed.log.take();
    bed.agent.reset().await.unwrap();
    assert!(bed.agent.messages().is_empty());
    assert!(!bed.agent.has_queued_messages());
    assert_eq!(bed.agent.error_message(), None);
    assert_eq!(bed.log.take(), ["queue [] []"]);
}

#[tokio::test]
async fn listeners_are_awaited_one_after_the_other_in_their_order() {
    let bed = Bed::new([FauxTurn::text("Hello."), FauxTurn::text("Again.")]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let add = |name: &'static str| {
        let told = Arc::clone(&told);
        bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
            let told = Arc::clone(&told);
            let fits =
                matches!(event, AgentEvent::MessageEnd { message } if message.role() == "user");
            async move {
                if fits {
                    told.lock().unwrap().push(format!("{name} begins"));
                    tokio::task::yield_now().await;
                    told.lock().unwrap().push(format!("{name} ends"));
                }
            }
            .boxed()
        })))
    };
    let first = add("first");
    add("second");
    bed.prompt("Hi").await;
    let wanted = ["first begins", "first ends", "second begins", "second ends"];
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), wanted);
    bed.agent.unsubscribe(first);
    bed.prompt("Hi").await;
    assert_eq!(*told.lock().unwrap(), ["second begins", "second ends"]);
}

#[tokio::test]
async fn a_message_is_in_the_transcript_when_its_end_is_told() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    let agent = bed.agent.clone();
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        if let AgentEvent::MessageEnd { message } = event {
            assert_eq!(agent.messages().last(), Some(message));
        }
        std::future::ready(()).boxed()
    })));
    bed.prompt("Hi").await;
    assert_eq!(bed.roles(), ["user", "assistant"]);
}

#[tokio::test]
async fn the_agent_is_idle_only_when_listeners_have_dealt_with_the_end() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    let agent = bed.agent.clone();
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        let agent = agent.clone();
        let is_end = matches!(event, AgentEvent::AgentEnd { .. });
        async move {
            if is_end {
                tokio::task::yield_now().await;
                agent.append_message(user("written last"));
            }
        }
        .boxed()
    })));
    let run = tokio::spawn(bed.agent.prompt(vec![user("Hi")]));
    while !bed.agent.is_streaming() {
        tokio::task::yield_now().await;
    }
    bed.agent.wait_for_idle().await;
    assert_eq!(bed.agent.messages().last(), Some(&user("written last")));
    run.await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_are_pending_until_each_has_settled() {
    let bed = Bed::with_tools(
        [calls(&[("c1", "echo", json!({})), ("c2", "nothing", json!({}))]), "Done.".into()],
        [FnTool::echo("echo")],
    );
    let agent = bed.agent.clone();
    let pending = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&pending);
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        if matches!(
            event,
            AgentEvent::ToolExecutionStart { .. } | AgentEvent::ToolExecutionEnd { .. }
        ) {
            let ids: Vec<_> = agent.pending_tool_calls().into_iter().collect();
            seen.lock().unwrap().push(ids.join(" "));
        }
        std::future::ready(()).boxed()
    })));
    bed.prompt("Go").await;
    assert_eq!(*pending.lock().unwrap(), ["c1", "c1 c2", "c1", ""]);
}

#[tokio::test]
async fn changes_made_during_a_run_count_from_its_next_request() {
    let bed = Bed::new([calls(&[("c1", "switch", json!({}))]), "Done.".into()]);
    let agent = bed.agent.clone();
    let switch = FnTool::new("switch", move |_, _| {
        let other = Model { id: "faux-2".to_owned(), ..pi_ai::faux::FauxProvider::model() };
        agent.set_model(Arc::new(other));
        agent.set_thinking_level(pi_ai::ThinkingLevel::Max);
        async { Ok(crate::tool::ToolOutput::default()) }
    });
    bed.agent.set_tools(super::boxed([switch]));
    bed.prompt("Go").await;
    let requests = bed.faux.requests();
    assert_eq!(requests[0].model.id, "faux-1");
    assert_eq!(requests[1].model.id, "faux-2");
    assert_eq!(requests[1].reasoning, pi_ai::ThinkingLevel::Max);
}

#[tokio::test]
async fn a_transcript_handed_out_does_not_change_under_its_reader() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    bed.agent.set_messages(vec![user("before")]);
    let before: Arc<Vec<AgentMessage>> = bed.agent.messages();
    bed.prompt("Hi").await;
    assert_eq!(before.len(), 1);
    assert_eq!(bed.agent.messages().len(), 3);
}

#[tokio::test]
async fn a_listener_that_panics_ends_the_run_but_not_the_agent() {
    let bed = Bed::new([FauxTurn::text("Hello."), FauxTurn::text("Again.")]);
    let broken = bed.agent.subscribe(Arc::new(On(|event: &AgentEvent| {
        assert!(!matches!(event, AgentEvent::TurnEnd { .. }), "listener bug");
        std::future::ready(()).boxed()
    })));
    bed.prompt("Hi").await;
    bed.agent.unsubscribe(broken);
    bed.prompt("Hi").await;
    assert_eq!(bed.answer().text(), "Again.");
}
