use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxProvider, FauxTurn};
use pi_ai::{
    AssistantMessage, InputBlock, Model, StopReason, ThinkingLevel, ToolCall, ToolResultMessage,
};
use serde_json::{Map, Value, json};

use super::{Bed, FnTool, calls, lines, user};
use crate::hooks::{LoopHooks, ToolDecision, ToolOutputPatch, TurnChange};
use crate::message::AgentMessage;
use crate::tool::ToolOutput;

fn call() -> FauxTurn {
    calls(&[("c1", "echo", json!({"n": 1}))])
}

fn done() -> FauxTurn {
    "Done.".into()
}

#[derive(Debug)]
struct OnlyLast;

impl LoopHooks for OnlyLast {
    fn transform_context<'a>(
        &'a self,
        mut messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        let last = messages.split_off(messages.len().saturating_sub(1));
        async move { last }.boxed()
    }
}

#[tokio::test]
async fn transform_context_replaces_what_is_sent_but_not_the_transcript() {
    let bed = Bed::with_hooks([done(), done()], [], OnlyLast);
    bed.prompt("One").await;
    bed.prompt("Two").await;
    let sizes: Vec<_> = bed.faux.contexts().iter().map(|c| c.messages.len()).collect();
    assert_eq!(sizes, [1, 1]);
    assert_eq!(bed.agent.messages().len(), 4);
}

#[derive(Debug)]
enum Before {
    Change,
    Block(Option<&'static str>),
    Fail,
    Crash,
}

impl LoopHooks for Before {
    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        mut arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolDecision, String>> {
        async move {
            match self {
                Self::Change => {
                    arguments.insert("n".to_owned(), json!("not validated again"));
                    Ok(ToolDecision::Run(arguments))
                }
                Self::Block(reason) => {
                    Ok(ToolDecision::Block { reason: reason.map(str::to_owned), terminate: false })
                }
                Self::Fail => Err(format!("no {} today", call.name)),
                Self::Crash => panic!("hook bug"),
            }
        }
        .boxed()
    }
}

#[tokio::test]
async fn before_tool_call_changes_arguments_or_blocks() {
    let cases = [
        (Before::Change, "{\"n\":\"not validated again\"}", false),
        (Before::Block(Some("not allowed")), "not allowed", true),
        (Before::Block(None), "Tool execution was blocked", true),
        (Before::Fail, "no echo today", true),
        (Before::Crash, "Tool crashed: hook bug", true),
    ];
    for (hook, text, is_error) in cases {
        let bed = Bed::with_hooks([call(), done()], [FnTool::echo("echo")], hook);
        bed.prompt("Go").await;
        assert_eq!(bed.results(), [(text.to_owned(), is_error)]);
        assert_eq!(bed.result_messages()[0].duration_ms.is_none(), is_error);
        assert_eq!(bed.faux.remaining(), 0, "the run goes on");
    }
}

#[derive(Debug)]
struct After(Result<ToolOutputPatch, String>);

impl LoopHooks for After {
    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        arguments: &'a Map<String, Value>,
        output: &'a ToolOutput,
    ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
        assert_eq!(call.id, "c1");
        assert_eq!(arguments.get("n"), Some(&json!(1)));
        assert!(!output.is_error);
        std::future::ready(self.0.clone()).boxed()
    }
}

#[tokio::test]
async fn after_tool_call_replaces_single_fields() {
    let tool = || {
        FnTool::new("echo", |_, _| async {
            Ok(ToolOutput {
                details: Some(json!({"a": 1, "b": 2})),
                structured_content: Some(json!("old")),
                ..ToolOutput::text("old")
            })
        })
    };
    let old = json!({"a": 1, "b": 2});
    let cases = [
        (ToolOutputPatch::default(), "old", &old, Some("old"), false),
        (
            ToolOutputPatch { content: Some(vec![InputBlock::text("new")]), ..Default::default() },
            "new",
            &old,
            None,
            false,
        ),
        (
            ToolOutputPatch {
                content: Some(vec![InputBlock::text("new")]),
                structured_content: Some(json!("new")),
                ..Default::default()
            },
            "new",
            &old,
            Some("new"),
            false,
        ),
        (
            ToolOutputPatch { details: Some(json!({"c": 3})), ..Default::default() },
            "old",
            &json!({"c": 3}),
            Some("old"),
            false,
        ),
        (
            ToolOutputPatch { is_error: Some(true), ..Default::default() },
            "old",
            &old,
            Some("old"),
            true,
        ),
    ];
    for (patch, text, details, structured, is_error) in cases {
        let bed = Bed::with_hooks([call(), done()], [tool()], After(Ok(patch)));
        bed.prompt("Go").await;
        assert_eq!(bed.results(), [(text.to_owned(), is_error)]);
        assert_eq!(bed.result_messages()[0].details.as_ref(), Some(details));
        let told = bed.log.events().into_iter().find_map(|event| match event {
            crate::AgentEvent::ToolExecutionEnd { result, .. } => Some(result),
            _ => None,
        });
        assert_eq!(told.unwrap().structured_content, structured.map(|text| json!(text)));
    }
}

#[tokio::test]
async fn after_tool_call_may_end_the_run_or_fail_the_call() {
    let patch = ToolOutputPatch { terminate: Some(true), ..Default::default() };
    let bed = Bed::with_hooks([call(), done()], [FnTool::echo("echo")], After(Ok(patch)));
    bed.prompt("Go").await;
    assert_eq!(bed.faux.remaining(), 1);

    let bed =
        Bed::with_hooks([call(), done()], [FnTool::echo("echo")], After(Err("no".to_owned())));
    bed.prompt("Go").await;
    assert_eq!(bed.results(), [("no".to_owned(), true)]);
    assert_eq!(bed.faux.remaining(), 0);
}

#[derive(Debug)]
struct StopAfterTurn;

impl LoopHooks for StopAfterTurn {
    fn should_stop_after_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, bool> {
        let calls = message.tool_calls().count();
        std::future::ready(calls == 1 && results.len() == 1).boxed()
    }
}

#[tokio::test]
async fn should_stop_after_turn_ends_the_run_and_leaves_the_queue() {
    let bed = Bed::with_hooks([call(), done()], [FnTool::echo("echo")], StopAfterTurn);
    bed.agent.follow_up(user("F")).await;
    let told = bed.prompt("Go").await;
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant, toolResult]");
    assert_eq!(bed.faux.remaining(), 1);
    assert!(bed.agent.has_queued_messages());
}

#[derive(Debug)]
struct NextTurn(Mutex<Option<TurnChange>>);

impl LoopHooks for NextTurn {
    fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
        std::future::ready(self.0.lock().unwrap().take().unwrap_or_default()).boxed()
    }
}

#[tokio::test]
async fn prepare_next_turn_changes_model_level_context_and_adds_messages() {
    let change = TurnChange {
        model: Some(Arc::new(Model { id: "faux-2".to_owned(), ..FauxProvider::model() })),
        thinking_level: Some(ThinkingLevel::Low),
        context: Some(vec![user("Summary")]),
        messages: vec![user("Added")],
    };
    let hooks = NextTurn(Mutex::new(Some(change)));
    let bed = Bed::with_hooks([call(), done()], [FnTool::echo("echo")], hooks);
    let told = bed.prompt("Go").await;
    let wanted = "turn_end toolUse [c1]
        turn_start
        start user Added
        end user Added
        start assistant pending";
    assert_eq!(told.get(10..15).unwrap(), lines(wanted));
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant, toolResult, user, assistant]");
    let second = bed.faux.requests().remove(1);
    assert_eq!((second.model.id.as_str(), second.reasoning), ("faux-2", ThinkingLevel::Low));
    assert_eq!(second.context.messages.len(), 2);
    assert_eq!(bed.answer().model, "faux-2");
    assert_eq!(bed.agent.model().id, "faux-2");
    assert_eq!(bed.agent.messages().first(), Some(&user("Summary")));
}

#[derive(Debug)]
struct ClearingTurn(std::sync::OnceLock<crate::agent::Agent>);

impl LoopHooks for ClearingTurn {
    fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
        async {
            self.0.get().unwrap().clear_queues().await;
            TurnChange { messages: vec![user("Kept")], ..TurnChange::default() }
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_queue_cleared_while_the_next_turn_is_prepared_ends_the_run() {
    let hooks = Arc::new(ClearingTurn(std::sync::OnceLock::new()));
    let bed = Bed::with([done()], |config| config.hooks = Arc::clone(&hooks) as Arc<dyn LoopHooks>);
    hooks.0.set(bed.agent.clone()).unwrap();
    bed.agent.follow_up(user("F")).await;
    let told = bed.prompt("Go").await;
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant, user]");
    assert_eq!(bed.agent.messages().last(), Some(&user("Kept")));
}

#[derive(Debug)]
struct Key;

impl LoopHooks for Key {
    fn get_api_key<'a>(&'a self, model: &'a Model) -> BoxFuture<'a, Option<String>> {
        std::future::ready(Some(format!("key of {}", model.id))).boxed()
    }
}

#[tokio::test]
async fn get_api_key_is_asked_before_each_request() {
    let bed = Bed::with_hooks([call(), done()], [FnTool::echo("echo")], Key);
    bed.prompt("Go").await;
    let keys: Vec<_> =
        bed.faux.requests().into_iter().map(|r| r.options.api_key.unwrap()).collect();
    assert_eq!(keys, ["key of faux-1", "key of faux-1"]);
}

#[derive(Debug)]
struct Crash;

impl LoopHooks for Crash {
    fn transform_context<'a>(&'a self, _: Vec<AgentMessage>) -> BoxFuture<'a, Vec<AgentMessage>> {
        async { panic!("hook bug") }.boxed()
    }
}

#[tokio::test]
async fn a_hook_that_panics_ends_the_run_with_an_error_answer() {
    let bed = Bed::with_hooks([done()], [], Crash);
    let told = bed.prompt("Go").await;
    let wanted = "agent_start
        turn_start
        start user Go
        end user Go
        start assistant error
        end assistant error
        turn_end error []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!((bed.answer().stop_reason, bed.answer().text()), (StopReason::Error, String::new()));
    bed.agent.set_hooks(Arc::new(crate::hooks::NoHooks));
    bed.prompt("Again").await;
    assert_eq!(bed.answer().text(), "Done.");
}
