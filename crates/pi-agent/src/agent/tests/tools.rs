use std::sync::{Arc, Mutex};

use pi_ai::faux::{FauxBlock, FauxTurn};
use pi_ai::{StopReason, Usage};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::{Bed, FnTool, boxed, calls, lines};
use crate::event::AgentEvent;
use crate::tool::{ExecutionMode, Tool, ToolCallInput, ToolError, ToolOutput};

fn done() -> FauxTurn {
    "Done.".into()
}

#[tokio::test]
async fn one_tool_is_told_in_order() {
    let bed = Bed::with_tools(
        [calls(&[("c1", "echo", json!({"s": "a"}))]), done()],
        [FnTool::echo("echo")],
    );
    let told = bed.prompt("Go").await;
    let wanted = "agent_start
        turn_start
        start user Go
        end user Go
        start assistant pending
        end assistant toolUse
        tool c1
        tool c1 done
        start result c1
        end result c1
        turn_end toolUse [c1]
        turn_start
        start assistant pending
        end assistant stop
        turn_end stop []
        agent_end [user, assistant, toolResult, assistant]";
    assert_eq!(told, lines(wanted));
}

/// A tool whose calls end in the order of their `n`, whatever order they start in.
fn ordered() -> FnTool {
    let gates: Arc<[Semaphore]> =
        [Semaphore::new(1), Semaphore::new(0), Semaphore::new(0), Semaphore::new(0)].into();
    FnTool::new("ordered", move |_, call| {
        let gates = Arc::clone(&gates);
        async move {
            let turn = usize::try_from(call.arguments["n"].as_u64().unwrap()).unwrap();
            gates[turn].acquire().await.unwrap().forget();
            gates[turn + 1].add_permits(1);
            Ok(ToolOutput::text(turn.to_string()))
        }
    })
}

#[tokio::test]
async fn parallel_calls_end_as_they_finish_and_are_recorded_in_call_order() {
    let turn = calls(&[
        ("c1", "ordered", json!({"n": 2})),
        ("c2", "ordered", json!({"n": 0})),
        ("c3", "ordered", json!({"n": 1})),
    ]);
    let bed = Bed::with_tools([turn, done()], [ordered()]);
    let told = bed.prompt("Go").await;
    let wanted = "tool c1
        tool c2
        tool c3
        tool c2 done
        tool c3 done
        tool c1 done
        start result c1
        end result c1
        start result c2
        end result c2
        start result c3
        end result c3
        turn_end toolUse [c1, c2, c3]";
    assert_eq!(told.get(6..19).unwrap(), lines(wanted));
}

fn sequential_lines() -> Vec<String> {
    let wanted = "tool c1
        tool c1 done
        start result c1
        end result c1
        tool c2
        tool c2 done
        start result c2
        end result c2
        turn_end toolUse [c1, c2]";
    lines(wanted)
}

#[tokio::test]
async fn one_sequential_tool_makes_its_batch_sequential() {
    let turn = calls(&[("c1", "ordered", json!({"n": 0})), ("c2", "last", json!({}))]);
    let bed = Bed::with_tools([turn, done()], [ordered(), FnTool::echo("last").sequential()]);
    let told = bed.prompt("Go").await;
    assert_eq!(told.get(6..15).unwrap(), sequential_lines());
}

#[tokio::test]
async fn the_setting_makes_every_batch_sequential() {
    let turn = calls(&[("c1", "echo", json!({})), ("c2", "echo", json!({}))]);
    let bed = Bed::with([turn, done()], |config| {
        config.tools = boxed([FnTool::echo("echo")]);
        config.tool_execution = ExecutionMode::Sequential;
    });
    let told = bed.prompt("Go").await;
    assert_eq!(told.get(6..15).unwrap(), sequential_lines());
}

#[tokio::test]
async fn a_call_that_cannot_run_ends_before_the_next_is_prepared() {
    let turn = calls(&[
        ("c1", "echo", json!({})),
        ("c2", "teleport", json!({"where": "moon"})),
        ("c3", "echo", json!({"n": "x"})),
        ("c4", "echo", json!({})),
    ]);
    let bed = Bed::with_tools([turn, done()], [FnTool::echo("echo")]);
    let told = bed.prompt("Go").await;
    let wanted = "tool c1
        tool c2
        tool c2 failed
        tool c3
        tool c3 failed
        tool c4";
    assert_eq!(told.get(6..12).unwrap(), lines(wanted));
    assert_eq!(
        bed.results(),
        [
            ("{}".to_owned(), false),
            ("Tool teleport not found".to_owned(), true),
            (
                "Validation failed for tool \"echo\":\n  - n: expected number, got string\n\n\
                 Received arguments:\n{\n  \"n\": \"x\"\n}"
                    .to_owned(),
                true
            ),
            ("{}".to_owned(), false),
        ]
    );
    let failed = &bed.result_messages()[1];
    assert_eq!((failed.duration_ms, failed.details.clone()), (None, Some(json!({}))));
    assert!(bed.result_messages()[0].duration_ms.is_some());
}

#[tokio::test]
async fn argument_text_that_is_no_object_is_an_error_result() {
    let turn = FauxTurn::new([FauxBlock::ToolCall {
        id: "c1".to_owned(),
        name: "echo".to_owned(),
        arguments: Map::new(),
        argument_text: Some("{\"s\": \"a\", \"n\": ".to_owned()),
    }]);
    let bed = Bed::with_tools([turn, done()], [FnTool::echo("echo")]);
    bed.prompt("Go").await;
    let (text, is_error) = bed.results().remove(0);
    assert!(is_error);
    assert!(text.starts_with("Invalid arguments for tool \"echo\": "), "{text}");
}

#[tokio::test]
async fn events_show_the_arguments_as_sent_and_the_tool_gets_them_coerced() {
    let bed = Bed::with_tools(
        [calls(&[("c1", "echo", json!({"n": "2", "s": null}))]), done()],
        [FnTool::echo("echo")],
    );
    bed.prompt("Go").await;
    let sent = bed.log.events().into_iter().find_map(|event| match event {
        AgentEvent::ToolExecutionStart { args, .. } => Some(Value::Object(args)),
        _ => None,
    });
    assert_eq!(sent, Some(json!({"n": "2", "s": null})));
    assert_eq!(bed.results(), [("{\"n\":2}".to_owned(), false)]);
}

#[tokio::test]
async fn a_failing_tool_gives_its_text_with_empty_details() {
    let tool = FnTool::new("fail", |_, _| async { Err(ToolError::new("ENOENT: no such file")) });
    let bed = Bed::with_tools([calls(&[("c1", "fail", json!({}))]), done()], [tool]);
    bed.prompt("Go").await;
    let result = bed.result_messages().remove(0);
    assert_eq!(bed.results(), [("ENOENT: no such file".to_owned(), true)]);
    assert_eq!(result.details, Some(json!({})));
    assert!(result.duration_ms.is_some());
}

#[tokio::test]
async fn an_error_result_keeps_its_details_and_a_result_without_has_no_key() {
    let bad = FnTool::new("bad", |_, _| async {
        Ok(ToolOutput {
            details: Some(json!({"code": 3})),
            is_error: true,
            usage: Some(Usage { input: 7, ..Usage::default() }),
            structured_content: Some(json!("kept from the session")),
            ..ToolOutput::text("exit 3")
        })
    });
    let turn = calls(&[("c1", "bad", json!({})), ("c2", "echo", json!({}))]);
    let bed = Bed::with_tools([turn, done()], [bad, FnTool::echo("echo")]);
    bed.prompt("Go").await;
    let results = bed.result_messages();
    assert!(results[0].is_error);
    assert_eq!(results[0].details, Some(json!({"code": 3})));
    assert_eq!(results[0].usage.as_ref().unwrap().input, 7);
    assert!(serde_json::to_value(&*results[1]).unwrap().get("details").is_none());
    let told = bed.log.events().into_iter().find_map(|event| match event {
        AgentEvent::ToolExecutionEnd { result, .. } => Some(result),
        _ => None,
    });
    assert_eq!(told.unwrap().structured_content, Some(json!("kept from the session")));
}

#[tokio::test]
async fn a_tool_that_panics_fails_alone() {
    let crash = FnTool::new("crash", |_, _| async { panic!("index out of bounds") });
    let turn = calls(&[("c1", "crash", json!({})), ("c2", "echo", json!({}))]);
    let bed = Bed::with_tools([turn, done()], [crash, FnTool::echo("echo")]);
    bed.prompt("Go").await;
    assert_eq!(
        bed.results(),
        [("Tool crashed: index out of bounds".to_owned(), true), ("{}".to_owned(), false)]
    );
    assert_eq!(bed.answer().stop_reason, StopReason::Stop);
}

#[tokio::test]
async fn progress_is_told_while_a_tool_runs_and_ignored_afterwards() {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = FnTool::new("slow", move |_, call| {
        (call.on_update)(ToolOutput::text("one"));
        (call.on_update)(ToolOutput::text("two"));
        *keep.lock().unwrap() = Some(Arc::clone(&call.on_update));
        async { Ok(ToolOutput::text("end")) }
    });
    let late = FnTool::new("late", move |_, _| {
        if let Some(update) = kept.lock().unwrap().take() {
            update(ToolOutput::text("too late"));
        }
        async { Ok(ToolOutput::default()) }
    });
    let turn = calls(&[("c1", "slow", json!({})), ("c2", "late", json!({}))]);
    let bed = Bed::with_tools([turn, done()], [slow_first(tool), late]);
    let told = bed.prompt("Go").await;
    let wanted = "tool c1
        tool c1 says one
        tool c1 says two
        tool c1 done
        start result c1
        end result c1
        tool c2
        tool c2 done";
    assert_eq!(told.get(6..14).unwrap(), lines(wanted));
}

#[tokio::test]
async fn updates_nobody_has_time_for_are_left_out_and_the_result_is_not() {
    let tool = FnTool::new("chatty", |_, call| async move {
        for n in 0..10_000 {
            (call.on_update)(ToolOutput::text(n.to_string()));
        }
        Ok(ToolOutput::text("end"))
    });
    let bed = Bed::with_tools([calls(&[("c1", "chatty", json!({}))]), done()], [tool]);
    let told = bed.prompt("Go").await;
    let updates = told.iter().filter(|line| line.starts_with("tool c1 says")).count();
    assert!((1..1000).contains(&updates), "{updates}");
    assert!(told.contains(&"tool c1 done".to_owned()));
}

/// Makes sure the tool has settled before the next one starts.
fn slow_first(tool: FnTool) -> FnTool {
    tool.sequential()
}

fn ending(terminate: Option<bool>) -> FnTool {
    FnTool::new("ending", move |_, _| async move {
        Ok(ToolOutput { terminate, ..ToolOutput::text("bye") })
    })
}

#[tokio::test]
async fn a_batch_in_which_all_results_terminate_ends_the_run() {
    let turn = calls(&[("c1", "ending", json!({})), ("c2", "ending", json!({}))]);
    let bed = Bed::with_tools([turn, done()], [ending(Some(true))]);
    let told = bed.prompt("Go").await;
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant, toolResult, toolResult]");
    assert_eq!(bed.faux.remaining(), 1);
}

#[tokio::test]
async fn one_result_that_does_not_terminate_goes_on() {
    for other in [
        FnTool::echo("other"),
        FnTool::new("other", |_, _| async { Err(ToolError::new("failed")) }),
    ] {
        let turn = calls(&[("c1", "ending", json!({})), ("c2", "other", json!({}))]);
        let bed = Bed::with_tools([turn, done()], [ending(Some(true)), other]);
        bed.prompt("Go").await;
        assert_eq!(bed.faux.remaining(), 0);
    }
}

#[tokio::test]
async fn calls_of_an_answer_cut_by_its_length_fail_and_the_run_goes_on() {
    let turn = FauxTurn {
        stop_reason: Some(StopReason::Length),
        ..calls(&[("c1", "echo", json!({})), ("c2", "echo", json!({}))])
    };
    let bed = Bed::with_tools([turn, done()], [FnTool::echo("echo")]);
    let told = bed.prompt("Go").await;
    let wanted = "end assistant length
        tool c1
        tool c1 failed
        start result c1
        end result c1
        tool c2
        tool c2 failed
        start result c2
        end result c2
        turn_end length [c1, c2]
        turn_start";
    assert_eq!(told.get(5..16).unwrap(), lines(wanted));
    assert!(bed.results().iter().all(|(text, failed)| *failed && text.contains("echo")));
    assert_eq!(bed.result_messages()[0].duration_ms, None);
}

#[tokio::test]
async fn a_length_stop_without_calls_ends_the_run() {
    let turn = FauxTurn { stop_reason: Some(StopReason::Length), ..FauxTurn::text("Half a") };
    let bed = Bed::new([turn]);
    assert_eq!(bed.prompt("Go").await.last().unwrap(), "agent_end [user, assistant]");
}

#[derive(Debug)]
struct Shim {
    definition: pi_ai::Tool,
}

impl Tool for Shim {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prepare_arguments(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        if let Some(old) = arguments.remove("old") {
            arguments.insert("new".to_owned(), old);
            return Ok(arguments);
        }
        match arguments.contains_key("crash") {
            true => panic!("no such shape"),
            false => Err(ToolError::new("neither old nor new")),
        }
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> futures_util::future::BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = Value::Object(call.arguments).to_string();
        Box::pin(async { Ok(ToolOutput::text(text)) })
    }
}

#[tokio::test]
async fn older_argument_shapes_are_prepared_before_they_are_validated() {
    let definition = pi_ai::Tool {
        name: "shim".to_owned(),
        description: String::new(),
        parameters: json!({
            "type": "object", "properties": {"new": {"type": "number"}}, "required": ["new"],
        }),
        constrained_sampling: None,
    };
    let turn = calls(&[
        ("c1", "shim", json!({"old": "1"})),
        ("c2", "shim", json!({})),
        ("c3", "shim", json!({"crash": 1})),
    ]);
    let bed =
        Bed::with([turn, done()], |config| config.tools = vec![Arc::new(Shim { definition })]);
    bed.prompt("Go").await;
    assert_eq!(
        bed.results(),
        [
            ("{\"new\":1}".to_owned(), false),
            ("neither old nor new".to_owned(), true),
            ("Tool crashed: no such shape".to_owned(), true),
        ]
    );
}
