use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxBlock, FauxTurn};
use pi_ai::{Model, StopReason};
use serde_json::json;

use super::state::SilentStream;
use super::{At, Bed, FnTool, On, calls, lines, user};
use crate::agent::ListenerId;
use crate::event::AgentEvent;
use crate::hooks::LoopHooks;
use crate::message::AgentMessage;
use crate::tool::{ToolError, ToolOutput};

/// Aborts as soon as an event fits.
fn abort_when(bed: &Bed, fits: impl Fn(&AgentEvent) -> bool + Send + Sync + 'static) -> ListenerId {
    let agent = bed.agent.clone();
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        if fits(event) {
            agent.abort();
        }
        std::future::ready(()).boxed()
    })))
}

fn is_tool_start(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::ToolExecutionStart { .. })
}

#[tokio::test]
async fn aborting_an_answer_keeps_its_text_and_ends_the_run() {
    let turn = FauxTurn { hang: true, ..FauxTurn::text("PART-ONE PART-TWO") };
    let bed = Bed::new([turn, "Went on.".into()]);
    let aborter = abort_when(&bed, |event| {
        matches!(event, AgentEvent::MessageUpdate { assistant_message_event, .. }
            if matches!(assistant_message_event, pi_ai::AssistantEvent::TextEnd { .. }))
    });
    let told = bed.prompt("Talk").await;
    let wanted = "agent_start
        turn_start
        start user Talk
        end user Talk
        start assistant pending
        end assistant aborted
        turn_end aborted []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!(bed.answer().text(), "PART-ONE PART-TWO");
    assert!(bed.answer().error_message.is_some());
    bed.agent.unsubscribe(aborter);
    bed.prompt("Go on").await;
    assert_eq!(bed.answer().stop_reason, StopReason::Stop);
}

#[tokio::test]
async fn aborting_a_tool_records_its_result_and_an_empty_aborted_answer_without_a_request() {
    let turn = calls(&[("c1", "sleep", json!({})), ("c2", "sleep", json!({}))]);
    let bed = Bed::with_tools([turn, "Went on.".into()], [FnTool::endless("sleep")]);
    let agent = bed.agent.clone();
    let bed_log = Arc::clone(&bed.log);
    let started = tokio::spawn(async move {
        while bed_log.lines.lock().unwrap().iter().filter(|l| l.starts_with("tool")).count() < 2 {
            tokio::task::yield_now().await;
        }
        // Both tools are under way before the abort.
        tokio::task::yield_now().await;
        agent.abort();
    });
    let told = bed.prompt("Run").await;
    started.await.unwrap();
    let wanted = "end assistant toolUse
        tool c1
        tool c2
        tool c1 failed
        tool c2 failed
        start result c1
        end result c1
        start result c2
        end result c2
        turn_end toolUse [c1, c2]
        turn_start
        start assistant aborted
        end assistant aborted
        turn_end aborted []
        agent_end [user, assistant, toolResult, toolResult, assistant]";
    assert_eq!(told.get(5..).unwrap(), lines(wanted));
    assert_eq!(bed.faux.requests().len(), 1);
    assert_eq!(
        bed.results(),
        [("Command aborted".to_owned(), true), ("Command aborted".to_owned(), true)]
    );
    let answer = bed.answer();
    assert!(answer.content.is_empty());
    assert_eq!(answer.error_message.as_deref(), Some("This operation was aborted"));
    assert_eq!(answer.usage, pi_ai::Usage::default());
    bed.prompt("Go on").await;
    assert_eq!(bed.answer().text(), "Went on.");
}

#[tokio::test]
async fn calls_that_had_not_begun_are_answered_too() {
    let turn =
        calls(&[("c1", "stop", json!({})), ("c2", "echo", json!({})), ("c3", "echo", json!({}))]);
    let bed = Bed::new([turn]);
    let agent = bed.agent.clone();
    let stop = FnTool::new("stop", move |_, _| {
        agent.abort();
        async { Ok(ToolOutput::text("stopped")) }
    });
    bed.agent.set_tools(super::boxed([stop.sequential(), FnTool::echo("echo")]));
    bed.prompt("Go").await;
    let aborted = ("Operation aborted".to_owned(), true);
    assert_eq!(bed.results(), [("stopped".to_owned(), false), aborted.clone(), aborted]);
    assert_eq!(bed.result_messages()[1].duration_ms, None);
}

#[tokio::test]
async fn what_was_to_steer_an_aborted_batch_is_delivered_and_follow_ups_keep_waiting() {
    let bed = Bed::with_tools([calls(&[("c1", "sleep", json!({}))])], [FnTool::endless("sleep")]);
    let agent = bed.agent.clone();
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        let agent = agent.clone();
        let fits = is_tool_start(event);
        async move {
            if fits {
                agent.steer(user("S")).await;
                agent.follow_up(user("F")).await;
                agent.abort();
            }
        }
        .boxed()
    })));
    let told = bed.prompt("Go").await;
    let wanted = "turn_end toolUse [c1]
        turn_start
        queue [] [F]
        start user S
        end user S
        start assistant aborted
        end assistant aborted
        turn_end aborted []
        agent_end [user, assistant, toolResult, user, assistant]";
    assert_eq!(told.get(told.len() - 9..).unwrap(), lines(wanted));
    assert_eq!(bed.agent.queued_messages().follow_up, [user("F")]);
}

#[tokio::test]
async fn an_abort_during_the_last_turn_leaves_the_queue_alone() {
    let bed = Bed::new([FauxTurn::text("Hello."), FauxTurn::text("never")]);
    let agent = bed.agent.clone();
    bed.agent.subscribe(Arc::new(On(move |event: &AgentEvent| {
        let agent = agent.clone();
        let fits = matches!(event, AgentEvent::TurnEnd { .. });
        async move {
            if fits {
                agent.steer(user("S")).await;
                agent.abort();
            }
        }
        .boxed()
    })));
    let told = bed.prompt("Hi").await;
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant]");
    assert_eq!(bed.agent.queued_messages().steering, [user("S")]);
    assert_eq!(bed.faux.remaining(), 1);
}

#[tokio::test]
async fn an_abort_before_the_request_sends_none() {
    let bed = Bed::new([FauxTurn::text("never")]);
    abort_when(&bed, |event| matches!(event, AgentEvent::TurnStart));
    let told = bed.prompt("Hi").await;
    let wanted = "agent_start
        turn_start
        start user Hi
        end user Hi
        start assistant aborted
        end assistant aborted
        turn_end aborted []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!(bed.faux.requests().len(), 0);
}

#[derive(Debug)]
struct SlowKey;

impl LoopHooks for SlowKey {
    fn get_api_key<'a>(&'a self, _: &'a Model) -> BoxFuture<'a, Option<String>> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn an_abort_while_the_key_is_looked_up_is_an_abort_and_no_error() {
    let bed = Bed::with_hooks([FauxTurn::text("never")], [], SlowKey);
    let run = tokio::spawn(bed.agent.prompt(vec![user("Hi")]));
    while bed.agent.messages().is_empty() {
        tokio::task::yield_now().await;
    }
    bed.agent.abort();
    run.await.unwrap().unwrap();
    assert_eq!(bed.answer().stop_reason, StopReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ignores_the_abort_is_cut() {
    let bed = Bed::with([], |config| config.stream = Arc::new(SilentStream));
    let run = tokio::spawn(bed.agent.prompt(vec![user("Hi")]));
    tokio::task::yield_now().await;
    bed.agent.abort();
    run.await.unwrap().unwrap();
    assert_eq!(bed.answer().stop_reason, StopReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_the_abort_is_given_up() {
    let deaf = FnTool::new("deaf", |_, _| std::future::pending::<Result<ToolOutput, ToolError>>());
    let bed = Bed::with_tools([calls(&[("c1", "deaf", json!({}))])], [deaf]);
    let run = tokio::spawn(bed.agent.prompt(vec![user("Hi")]));
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    bed.agent.abort();
    run.await.unwrap().unwrap();
    assert_eq!(bed.results(), [("Operation aborted".to_owned(), true)]);
}

/// Text, two calls, a failing call, a steered turn, a last answer.
fn eventful(index: usize) -> Bed {
    let first = FauxTurn::new([
        FauxBlock::thinking("Two things at once"),
        FauxBlock::text("Starting"),
        FauxBlock::tool_call("c1", "echo", json!({"n": 1})),
        FauxBlock::tool_call("c2", "nothing", json!({})),
        FauxBlock::tool_call("c3", "slow", json!({})),
    ]);
    let second = calls(&[("c4", "last", json!({})), ("c5", "echo", json!({}))]);
    let turns = [first, second, "Nearly.".into(), "Done.".into()];
    let slow = FnTool::new("slow", |_, call| async move {
        (call.on_update)(ToolOutput::text("working"));
        tokio::task::yield_now().await;
        if call.cancel.is_cancelled() {
            return Err(ToolError::new("Command aborted"));
        }
        Ok(ToolOutput::text("slept"))
    });
    let tools = [FnTool::echo("echo"), slow, FnTool::echo("last").sequential()];
    let bed = Bed::with_tools(turns, tools);
    let agent = bed.agent.clone();
    bed.agent.subscribe(At::new(index, move || agent.abort()));
    bed
}

/// Every call of an answer that was not cut has exactly one result, behind it.
fn assert_every_call_is_answered(messages: &[AgentMessage]) {
    for (index, message) in messages.iter().enumerate() {
        let AgentMessage::Assistant(answer) = message else { continue };
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            continue;
        }
        let called: Vec<_> = answer.tool_calls().map(|call| call.id.clone()).collect();
        let answered: Vec<_> = messages[index + 1..]
            .iter()
            .map_while(|message| match message {
                AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(called, answered);
    }
}

#[tokio::test]
async fn aborting_at_any_event_leaves_every_call_answered_and_the_agent_idle() {
    let whole = eventful(usize::MAX);
    whole.agent.steer(user("S")).await;
    whole.agent.follow_up(user("F")).await;
    whole.prompt("Go").await;
    let events = whole.log.events().len();
    assert!(events > 60, "{events}");
    for index in 0..events {
        let bed = eventful(index);
        bed.agent.follow_up(user("F")).await;
        let told = bed.prompt("Go").await;
        assert!(told.last().unwrap().starts_with("agent_end"), "event {index}");
        assert_every_call_is_answered(&bed.agent.messages());
        assert!(bed.agent.pending_tool_calls().is_empty());
        assert_eq!(bed.agent.cancellation().map(|_| ()), None);
        bed.faux.push("Back.");
        bed.agent.clear_queues().await;
        bed.prompt("Again").await;
    }
}

#[tokio::test]
async fn dropping_the_run_at_any_point_leaves_the_agent_idle_and_usable() {
    let mut finished = false;
    for polls in 0..200 {
        let bed = eventful(usize::MAX);
        // Every event becomes a point at which the run can be dropped.
        let pausing = bed.agent.subscribe(Arc::new(On(|_: &AgentEvent| {
            async { tokio::task::yield_now().await }.boxed()
        })));
        bed.agent.steer(user("S")).await;
        {
            let mut run = std::pin::pin!(bed.agent.prompt(vec![user("Go")]));
            for _ in 0..polls {
                // Other tasks run between two polls, as they would under a real caller.
                if (&mut run).now_or_never().is_some() {
                    finished = true;
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        assert!(!bed.agent.is_streaming());
        assert!(bed.agent.pending_tool_calls().is_empty());
        assert_eq!(bed.agent.streaming_message(), None);
        bed.agent.wait_for_idle().await;
        let delivered = bed.agent.messages().contains(&user("S"));
        let waiting = bed.agent.queued_messages().steering == [user("S")];
        assert!(delivered != waiting, "the message is neither lost nor doubled");
        bed.agent.unsubscribe(pausing);
        bed.agent.prompt(vec![user("Again")]).await.unwrap();
        if finished {
            return;
        }
    }
    panic!("the run never came to its end");
}

#[tokio::test]
async fn dropping_the_run_cancels_its_tools_and_its_request() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let sender = std::sync::Mutex::new(Some(sender));
    let tool = FnTool::new("hold", move |_, _| {
        // Dropped with the tool's future.
        let held = sender.lock().unwrap().take();
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let bed = Bed::with_tools([calls(&[("c1", "hold", json!({}))])], [tool]);
    let run = tokio::spawn(bed.agent.prompt(vec![user("Go")]));
    while bed.agent.pending_tool_calls().is_empty() {
        tokio::task::yield_now().await;
    }
    let cancel = bed.agent.cancellation().unwrap();
    run.abort();
    drop(run.await);
    assert!(cancel.is_cancelled());
    assert!(receiver.await.is_err(), "the tool's future was dropped");
    assert!(!bed.agent.is_streaming());
}
