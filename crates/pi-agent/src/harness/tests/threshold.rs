//! Compaction that happens by itself because the context has come near the window's end.

use super::*;
use crate::compaction::CompactionOverride;
use crate::hooks::{LoopHooks, ToolOutputPatch};
use pi_ai::ToolCall;
use serde_json::Map;

const COMPACTED: [&str; 2] =
    ["compaction_start threshold", "compaction_end threshold done retry=false"];

fn compactions(told: &[String]) -> Vec<&str> {
    told.iter().map(String::as_str).filter(|line| line.starts_with("compaction")).collect()
}

/// A tool that answers at once.
fn open_gate(name: &str) -> Arc<Gate> {
    let gate = Gate::new(name);
    gate.open.notify_one();
    gate
}

#[tokio::test]
async fn the_limit_itself_is_not_too_much() {
    for (counted_tokens, is_compacted) in [(183_616, false), (183_617, true)] {
        let mut plan = Plan::small();
        plan.model.context_window = 200_000;
        let turns =
            [FauxTurn::text("A."), counted("B.", counted_tokens), FauxTurn::text("SUMMARY")];
        let bed = Bed::of(plan, turns);
        bed.prompt(&long("ALPHA")).await;
        bed.prompt(&long("BETA")).await;
        let wanted = if is_compacted { COMPACTED.as_slice() } else { &[] };
        assert_eq!(compactions(&bed.told()), wanted, "{counted_tokens}");
        assert_eq!(bed.entries().contains(&"compaction".to_owned()), is_compacted);
    }
}

#[tokio::test]
async fn after_a_run_it_comes_between_the_end_and_the_settling() {
    let turns = [FauxTurn::text("A."), counted("B.", LIMIT + 1), FauxTurn::text("SUMMARY")];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    bed.told();
    let outcome = bed.prompt(&long("BETA")).await;
    assert_eq!(outcome.answer.expect("answer").text(), "B.", "the answer stays");
    let told = bed.told();
    assert_eq!(
        told[told.len() - 4..],
        [
            "agent_end user,assistant retry=false",
            "compaction_start threshold",
            "compaction_end threshold done retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(bed.entries()[6..], ["user", "assistant", "compaction"]);
    let entry = &bed.lines()[8];
    assert_eq!(entry["firstKeptEntryId"], bed.id(6));
    assert_eq!((&entry["tokensBefore"], &entry["fromHook"]), (&json!(LIMIT + 1), &json!(false)));
    assert_eq!(entry["summary"], "SUMMARY");
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant"]);
}

#[tokio::test]
async fn the_event_tells_what_the_entry_holds_and_how_long_the_context_is_now() {
    let turns = [FauxTurn::text("A."), counted("B.", LIMIT + 1), counted("SUMMARY", 120)];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    let events = bed.ear.events.lock().expect("lock");
    let end = events.iter().find(|event| event["type"] == "compaction_end").expect("end");
    let (result, entry) = (&end["result"], &bed.lines()[8]);
    for field in ["summary", "firstKeptEntryId", "tokensBefore", "usage", "details"] {
        assert_eq!(result[field], entry[field], "{field}");
    }
    assert_eq!(result["usage"]["totalTokens"], 120);
    let after = crate::compaction::messages_tokens(&bed.harness.messages());
    assert_eq!(result["estimatedTokensAfter"], after);
}

#[tokio::test]
async fn after_an_aborted_answer_it_waits_for_the_next_prompt_and_adds_no_turn() {
    let turns = [
        FauxTurn::text("A."),
        with_count(hanging(), LIMIT + 1),
        FauxTurn::text("SUMMARY"),
        FauxTurn::text("C."),
    ];
    let mut plan = Plan::small();
    plan.model.context_window = 60_000;
    plan.compaction.reserve_tokens = 30_000;
    let bed = Bed::of(plan, turns);
    bed.prompt(&huge("ALPHA")).await;
    bed.told();
    let run = bed.spawn_prompt(&huge("BETA"));
    bed.ear.wait_for("message_start assistant").await;
    bed.harness.abort();
    run.await.expect("task").expect("prompt");
    let told = bed.told();
    assert_eq!(compactions(&told), [""; 0], "what was aborted ends at once");

    let outcome = bed.prompt("Next").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    assert_eq!(
        bed.told(),
        [
            "compaction_start threshold",
            "compaction_end threshold done retry=false",
            "agent_start",
            "turn_start",
            "message_start user",
            "message_end user",
            "message_start assistant pending",
            "message_end assistant stop",
            "turn_end assistant stop",
            "agent_end user,assistant retry=false",
            "agent_settled aborted=false"
        ]
    );
    let expected = ["user", "assistant", "compaction", "user", "assistant"];
    assert_eq!(bed.entries()[6..], expected);
}

#[tokio::test]
async fn a_session_resumed_with_a_smaller_model_is_compacted_before_the_prompt() {
    let mut plan = Plan::small();
    plan.model.context_window = 1_000_000;
    let bed = Bed::of(plan, [FauxTurn::text("A."), counted("B.", 200_000)]);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    assert_eq!(compactions(&bed.told()), [""; 0]);

    let bed = bed.reopened_as(Plan::small(), ["SUMMARY", "C."].map(FauxTurn::text));
    bed.prompt("Next").await;
    assert_eq!(bed.told()[..3], ["compaction_start threshold", COMPACTED[1], "agent_start"]);
    assert_eq!(bed.requests(), ["user", "system user user assistant user"]);
}

/// A history of several windows of the model it is resumed with.
async fn resumed_with_a_tiny_model(turns: impl IntoIterator<Item = FauxTurn>) -> Bed {
    let bed = Bed::small([]);
    for mark in ["ALPHA", "BETA", "GAMMA", "DELTA"] {
        bed.model_says([counted("A.", 20_000)]);
        bed.prompt(&format!("{mark} {}", "word ".repeat(600))).await;
    }
    let mut plan = bed.plan.clone();
    plan.model.context_window = 6000;
    bed.reopened_as(plan, turns)
}

#[tokio::test]
async fn a_history_longer_than_the_window_is_summarised_part_by_part() {
    let turns = ["SUM-1", "SUM-2", "SUM-3"].map(|text| counted(text, 50));
    let bed = resumed_with_a_tiny_model(turns.into_iter().chain(["B.".into()])).await;
    bed.prompt("Next").await;
    assert_eq!(compactions(&bed.told()), COMPACTED);
    for (request, mark) in ["ALPHA", "BETA", "GAMMA"].iter().enumerate() {
        assert!(bed.sent(request).contains(mark), "{mark}");
    }
    assert!(bed.sent(2).contains("SUM-2") && !bed.sent(2).contains("SUM-1"));
    assert!(bed.sent(3).contains("SUM-3") && bed.sent(3).contains("DELTA"));
    let lines = bed.lines();
    let entry = lines.iter().find(|line| line["type"] == "compaction").expect("compaction");
    assert_eq!(entry["usage"]["totalTokens"], 150);
}

#[tokio::test]
async fn a_part_that_fails_leaves_nothing_of_those_before_it() {
    let bed = resumed_with_a_tiny_model([counted("SUM-1", 50), FauxTurn::error("401 no")]).await;
    let before = bed.bytes();
    let failed = bed.compact().await.expect_err("no compaction");
    assert_eq!(failed.to_string(), "401 no");
    assert_eq!(bed.bytes(), before);

    bed.model_says([FauxTurn::text("SUM-1"), hanging()]);
    let told = bed.ear.clone();
    let asked = async {
        told.wait_for("compaction_start").await;
        while bed.model.remaining() > 0 {
            tokio::task::yield_now().await;
        }
        bed.harness.abort();
    };
    let (cancelled, ()) = tokio::join!(bed.compact(), asked);
    assert_eq!(cancelled.expect_err("cancelled").to_string(), "Compaction cancelled");
    assert_eq!(bed.bytes(), before);
}

#[tokio::test]
async fn between_turns_the_run_goes_on_with_the_shorter_context() {
    let turns = [
        FauxTurn::text("A."),
        with_count(call("a"), LIMIT + 1),
        FauxTurn::text("SUMMARY"),
        FauxTurn::text("Done."),
    ];
    let bed = Bed::of(Plan { tools: vec![open_gate("a")], ..Plan::small() }, turns);
    bed.prompt(&long("ALPHA")).await;
    bed.told();
    bed.prompt(&long("BETA")).await;
    let told = bed.told();
    let from = told.iter().position(|line| line == "turn_end assistant toolUse").expect("turn");
    assert_eq!(
        told[from..],
        [
            "turn_end assistant toolUse",
            "compaction_start threshold",
            "compaction_end threshold done retry=false",
            "turn_start",
            "message_start assistant pending",
            "message_end assistant stop",
            "turn_end assistant stop",
            "agent_end user,assistant,toolResult,assistant retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(
        bed.entries()[6..],
        ["user", "assistant", "toolResult", "compaction", "assistant"],
        "the entry comes right behind the result"
    );
    assert_eq!(bed.requests()[3], "system user user assistant toolResult");
    assert!(bed.sent(3).contains("BETA") && !bed.sent(3).contains("ALPHA"));
}

#[tokio::test]
async fn results_the_model_has_not_seen_yet_are_not_summarised() {
    let result = "RESULT ".repeat(300);
    let turns = [
        FauxTurn::text("A."),
        with_count(call("a"), LIMIT + 1),
        FauxTurn::text("HISTORY"),
        FauxTurn::text("PREFIX"),
        FauxTurn::text("Done."),
    ];
    let bed = Bed::of(Plan { tools: vec![Says::new("a", &result)], ..Plan::small() }, turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    assert!(bed.sent(2).contains("ALPHA") && !bed.sent(2).contains("RESULT"));
    assert!(bed.sent(3).contains("BETA") && !bed.sent(3).contains("RESULT"));
    assert_eq!(bed.requests()[4], "system user assistant toolResult");
    assert!(bed.sent(4).contains("RESULT"), "the result alone is more than what is kept");
}

#[tokio::test]
async fn a_batch_that_ends_the_run_is_compacted_behind_it() {
    for is_queued in [false, true] {
        let gate = Gate::new("a");
        let turns = [
            FauxTurn::text("A."),
            with_count(call("a"), LIMIT + 1),
            FauxTurn::text("SUMMARY"),
            FauxTurn::text("Next."),
        ];
        let bed = Bed::of(Plan { tools: vec![gate.clone()], ..Plan::small() }, turns);
        bed.harness.set_hooks(Arc::new(Terminating));
        bed.prompt(&long("ALPHA")).await;
        let run = bed.spawn_prompt(&long("BETA"));
        bed.ear.wait_for("tool_execution_start").await;
        if is_queued {
            let message = AgentMessage::user(vec![InputBlock::text("More")], 0);
            bed.harness.follow_up(message).await;
        }
        gate.open.notify_one();
        run.await.expect("task").expect("prompt");
        let told = bed.told();
        let end = told.iter().rposition(|line| line.starts_with("agent_end")).expect("end");
        let compaction = told.iter().position(|line| line == COMPACTED[0]).expect("compaction");
        assert_eq!(compaction < end, is_queued, "{told:?}");
    }
}

#[tokio::test]
async fn when_switched_off_nothing_happens_by_itself() {
    let turns = [FauxTurn::text("A."), counted("B.", LIMIT + 1), FauxTurn::text("SUMMARY")];
    let mut plan = Plan::small();
    plan.compaction.enabled = false;
    let bed = Bed::of(plan, turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    assert_eq!(compactions(&bed.told()), [""; 0]);
    bed.compact().await.expect("on demand it does");
}

#[tokio::test]
async fn a_model_may_have_sizes_of_its_own() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", 60_001),
        FauxTurn::text("HISTORY"),
        FauxTurn::text("PREFIX"),
    ];
    let bed = Bed::small(turns);
    let own = CompactionOverride { reserve_tokens: Some(40_000), keep_recent_tokens: Some(1) };
    bed.harness.set_compaction(CompactionPolicy {
        settings: CompactionSettings::default(),
        model_overrides: [("faux/faux-1".to_owned(), own)].into(),
    });
    bed.prompt(&long("ALPHA")).await;
    assert_eq!(compactions(&bed.told()), [""; 0]);
    bed.prompt(&long("BETA")).await;
    assert_eq!(compactions(&bed.told()), COMPACTED);
    assert_eq!(bed.lines()[8]["firstKeptEntryId"], bed.id(7), "the answer alone is enough to keep");
}

#[tokio::test]
async fn with_nothing_to_summarise_there_are_no_events_and_no_requests() {
    let bed = Bed::small([counted("A.", LIMIT + 1), counted("B.", LIMIT + 1)]);
    bed.prompt("short").await;
    bed.prompt("short too").await;
    assert_eq!(compactions(&bed.told()), [""; 0]);
    assert_eq!(bed.model.contexts().len(), 2);
}

#[tokio::test]
async fn a_count_from_before_the_compaction_does_not_start_another() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT + 1),
        FauxTurn::text("SUMMARY"),
        FauxTurn::error("401 no"),
        FauxTurn::text("C."),
    ];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    bed.prompt(&long("GAMMA")).await;
    bed.prompt(&long("DELTA")).await;
    assert_eq!(compactions(&bed.told()), COMPACTED);
    assert_eq!(bed.model.remaining(), 0);
}

#[tokio::test]
async fn repeated_errors_do_not_keep_it_from_happening() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT - 50),
        FauxTurn::error("401 no"),
        FauxTurn::text("SUMMARY"),
        FauxTurn::text("D."),
    ];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    bed.told();
    bed.prompt(&long("GAMMA")).await;
    let told = bed.told();
    assert_eq!(compactions(&told), COMPACTED, "the last count and what came after it are too much");
}

/// 20,000 tokens, by its length.
fn huge(mark: &str) -> String {
    format!("{mark} {}", "word ".repeat(16_000))
}

#[tokio::test]
async fn without_any_count_the_length_is_estimated() {
    let mut plan = Plan::small();
    plan.model.context_window = 60_000;
    plan.compaction.reserve_tokens = 30_000;
    let bed = Bed::of(plan, ["A.", "B.", "SUMMARY"].map(FauxTurn::text));
    bed.prompt(&huge("ALPHA")).await;
    assert_eq!(compactions(&bed.told()), [""; 0]);
    bed.prompt(&huge("BETA")).await;
    assert_eq!(compactions(&bed.told()), COMPACTED);
}

#[tokio::test]
async fn an_unknown_window_is_never_full() {
    let mut plan = Plan::small();
    plan.model.context_window = 0;
    let bed = Bed::of(plan, [counted("A.", 10_000_000), counted("B.", 10_000_000)]);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    assert_eq!(compactions(&bed.told()), [""; 0]);
}

#[tokio::test]
async fn when_it_fails_the_prompt_goes_on_with_the_long_context() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT + 1),
        FauxTurn::error("401 no summary"),
        FauxTurn::error("401 no summary"),
        counted("C.", 100),
    ];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    let outcome = bed.prompt(&long("BETA")).await;
    assert_eq!(stop_of(&outcome), StopReason::Stop);
    let failed = "compaction_end threshold Auto-compaction failed: 401 no summary retry=false";
    assert_eq!(compactions(&bed.told()), [COMPACTED[0], failed]);
    let outcome = bed.prompt("Next").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    assert_eq!(compactions(&bed.told()), [COMPACTED[0], failed], "tried again before the prompt");
    assert_eq!(bed.requests()[4], "system user assistant user assistant user");
}

#[tokio::test(start_paused = true)]
async fn what_was_queued_meanwhile_is_delivered_afterwards() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT + 1),
        FauxTurn { delay_ms: 5, ..FauxTurn::text("SUMMARY") },
        FauxTurn::text("S."),
        FauxTurn::text("F."),
    ];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    let run = bed.spawn_prompt(&long("BETA"));
    bed.ear.wait_for("compaction_start").await;
    let message = |text: &str| AgentMessage::user(vec![InputBlock::text(text)], 0);
    bed.harness.follow_up(message("FOLLOW")).await;
    bed.harness.steer(message("STEER")).await;
    let outcome = run.await.expect("task").expect("prompt");
    assert_eq!(outcome.answer.expect("answer").text(), "F.");
    let requests = bed.requests();
    assert_eq!(
        requests[3..],
        ["system user user assistant user", "system user user assistant user assistant user"]
    );
    assert!(bed.sent(3).contains("STEER") && !bed.sent(3).contains("FOLLOW"));
}

#[tokio::test]
async fn a_tool_may_switch_to_a_smaller_model_in_the_middle_of_a_run() {
    let mut plan = Plan::small();
    plan.model.context_window = 1_000_000;
    let gate = Gate::new("a");
    plan.tools = vec![gate.clone()];
    let turns = [
        FauxTurn::text("A."),
        with_count(call("a"), 200_000),
        FauxTurn::text("SUMMARY"),
        FauxTurn::text("Done."),
    ];
    let bed = Bed::of(plan, turns);
    bed.prompt(&long("ALPHA")).await;
    let run = bed.spawn_prompt(&long("BETA"));
    bed.ear.wait_for("tool_execution_start").await;
    bed.harness.set_model(Arc::new(Plan::small().model)).await;
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    assert_eq!(compactions(&bed.told()), COMPACTED, "although the prompt began with room");
    assert_eq!(bed.requests()[3], "system user user assistant toolResult");
}

/// Every result ends the run.
#[derive(Debug)]
struct Terminating;

impl LoopHooks for Terminating {
    fn after_tool_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _arguments: &'a Map<String, Value>,
        _output: &'a ToolOutput,
    ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
        let patch = ToolOutputPatch { terminate: Some(true), ..ToolOutputPatch::default() };
        Box::pin(std::future::ready(Ok(patch)))
    }
}

#[tokio::test]
async fn a_context_that_stays_too_long_is_compacted_again_only_when_it_has_grown() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT + 1),
        FauxTurn::text("SUMMARY"),
        counted("C.", LIMIT + 100),
        counted("D.", LIMIT + 200),
        counted("E.", LIMIT + LIMIT / 8 + 100),
        FauxTurn::text("SUMMARY 2"),
    ];
    let bed = Bed::small(turns);
    for mark in ["ALPHA", "BETA"] {
        bed.prompt(&long(mark)).await;
    }
    assert_eq!(compactions(&bed.told()), COMPACTED);
    for mark in ["GAMMA", "DELTA"] {
        bed.prompt(&long(mark)).await;
    }
    assert_eq!(compactions(&bed.told()), [""; 0], "prompt and summary alone are that long");
    bed.prompt(&long("EPSILON")).await;
    assert_eq!(compactions(&bed.told()), COMPACTED);
    assert_eq!(bed.model.remaining(), 0);
}
