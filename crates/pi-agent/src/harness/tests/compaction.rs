//! Compaction on demand.

use super::*;
use crate::session::SessionContext;

fn context_of(bed: &Bed) -> SessionContext {
    bed.harness.with_session(Session::context)
}

fn failure(result: Result<CompactionResult, HarnessError>) -> String {
    result.expect_err("no compaction").to_string()
}

#[tokio::test]
async fn the_older_turns_become_a_summary_and_the_newest_stay() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([counted("SUMMARY", 120), "C.".into()]);
    let result = bed.compact().await.expect("compacts");
    assert_eq!(
        bed.told(),
        ["compaction_start manual", "compaction_end manual done retry=false"],
        "no run, and nothing to settle"
    );
    assert_eq!((result.summary.as_str(), &result.first_kept_entry_id), ("SUMMARY", &bed.id(6)));
    assert_eq!(result.usage.map(|usage| usage.total_tokens), Some(120));
    assert_eq!(bed.entries()[8..], ["compaction"]);
    assert_eq!(bed.requests()[2], "user");

    bed.prompt("Next").await;
    assert_eq!(bed.requests()[3], "system user user assistant user");
    assert!(bed.sent(3).contains("SUMMARY") && !bed.sent(3).contains("ALPHA"));
}

#[tokio::test]
async fn the_request_is_made_for_summaries() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_thinking_level(ThinkingLevel::High).await;
    bed.model_says(["SUMMARY"]);
    bed.harness.compact(Some("Look at the TABLES")).await.expect("compacts");
    let request = bed.model.requests().pop().expect("request");
    assert!(bed.sent(2).contains("Additional focus: Look at the TABLES"));
    assert!(bed.sent(2).contains("ALPHA") && !bed.sent(2).contains("BETA"));
    assert!(request.context.system_prompt.is_some() && request.context.tools.is_empty());
    assert_eq!(request.options.cache_retention, pi_ai::CacheRetention::None);
    assert_eq!(request.options.max_tokens, Some(16_384), "the model's own limit");
    assert_eq!(request.reasoning, ThinkingLevel::High);
}

#[tokio::test]
async fn a_split_turn_takes_two_requests_whose_counts_are_summed() {
    let mut plan = Plan::small();
    plan.compaction.keep_recent_tokens = 1;
    let bed = Bed::of(plan, []);
    bed.two_turns().await;
    bed.model_says([counted("HISTORY", 100), counted("PREFIX", 50)]);
    let result = bed.harness.compact(Some("TABLES")).await.expect("compacts");
    assert_eq!(result.summary, "HISTORY\n\n---\n\n**Turn Context (split turn):**\n\nPREFIX");
    assert_eq!(bed.lines()[8]["usage"]["totalTokens"], 150);
    assert!(bed.sent(3).contains("BETA") && bed.sent(3).contains("TABLES"));
}

#[tokio::test]
async fn a_second_one_goes_on_from_what_the_first_kept() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says(["FIRST", "C.", "SECOND"]);
    bed.compact().await.expect("compacts");
    bed.prompt(&long("GAMMA")).await;
    bed.compact().await.expect("compacts");
    let asked = bed.sent(4);
    assert!(asked.contains("<previous-summary>") && asked.contains("FIRST"));
    assert!(asked.contains("BETA") && !asked.contains("ALPHA") && !asked.contains("GAMMA"));
    assert_eq!(bed.lines()[11]["firstKeptEntryId"], bed.id(9));
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant"]);
}

#[tokio::test]
async fn what_cannot_be_compacted_is_told_as_a_failure() {
    let bed = Bed::small([]);
    assert_eq!(failure(bed.compact().await), "Nothing to compact (session too small)");
    bed.two_turns().await;
    bed.model_says(["SUMMARY", "C."]);
    bed.compact().await.expect("compacts");
    bed.told();
    assert_eq!(failure(bed.compact().await), "Already compacted");
    assert_eq!(
        bed.told(),
        [
            "compaction_start manual",
            "compaction_end manual Compaction failed: Already compacted retry=false"
        ]
    );
    bed.prompt("tiny").await;
    bed.told();
    assert_eq!(failure(bed.compact().await), "Nothing to compact (session too small)");
    assert_eq!(
        bed.told(),
        [
            "compaction_start manual",
            "compaction_end manual Compaction failed: Nothing to compact (session too small) retry=false"
        ]
    );
    assert!(!bed.harness.is_busy());
}

#[tokio::test]
async fn a_running_prompt_is_aborted_first_and_does_not_go_on() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([hanging(), "SUMMARY".into()]);
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("message_start assistant").await;
    let later = AgentMessage::user(vec![InputBlock::text("later")], 0);
    bed.harness.follow_up(later).await;
    bed.compact().await.expect("compacts");
    let outcome = run.await.expect("task").expect("prompt");
    assert!(outcome.aborted);
    let told = bed.told();
    assert_eq!(
        told[told.len() - 5..],
        [
            "turn_end assistant aborted",
            "agent_end user,assistant retry=false",
            "agent_settled aborted=true",
            "compaction_start manual",
            "compaction_end manual done retry=false"
        ]
    );
    assert_eq!(
        bed.harness.inner.agent.queued_messages().follow_up.len(),
        1,
        "and nothing else starts"
    );
    assert_eq!(bed.entries()[8..], ["user", "assistant", "compaction"]);
}

#[tokio::test]
async fn a_prompt_that_waits_for_a_retry_is_given_up_first() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_retry(RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() });
    bed.model_says([FauxTurn::error("529 overloaded_error"), "SUMMARY".into()]);
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("entry_appended").await;
    bed.compact().await.expect("compacts");
    assert!(run.await.expect("task").expect("prompt").aborted);
    let told = bed.told();
    assert_eq!(
        told[told.len() - 4..],
        [
            "auto_retry_end false 1",
            "agent_settled aborted=true",
            "compaction_start manual",
            "compaction_end manual done retry=false"
        ]
    );
}

#[tokio::test]
async fn an_abort_leaves_the_file_byte_for_byte_and_the_next_prompt_works() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([hanging(), "C.".into()]);
    let (before, context) = (bed.bytes(), bed.context());
    let compaction = bed.spawn_compact();
    bed.ear.wait_for("compaction_start").await;
    bed.harness.abort();
    assert_eq!(failure(compaction.await.expect("task")), "Compaction cancelled");
    assert_eq!(
        bed.told(),
        ["compaction_start manual", "compaction_end manual aborted retry=false"]
    );
    assert_eq!((bed.bytes(), bed.context()), (before, context));
    let outcome = bed.prompt("Next").await;
    assert_eq!((outcome.answer.expect("answer").text().as_str(), outcome.aborted), ("C.", false));
}

#[tokio::test]
async fn a_failing_summary_leaves_the_session_as_it_was() {
    let cut = FauxTurn { stop_reason: Some(StopReason::Length), ..FauxTurn::text("Half") };
    for (turn, error) in [
        (FauxTurn::error("401 no key"), "401 no key"),
        (cut, "The summary was cut off at the model's output limit"),
        (FauxTurn::text(""), "The model returned no summary text"),
    ] {
        let bed = Bed::small([]);
        bed.two_turns().await;
        bed.model_says([turn]);
        let (before, context) = (bed.bytes(), bed.context());
        assert_eq!(failure(bed.compact().await), error);
        let end = format!("compaction_end manual Compaction failed: {error} retry=false");
        assert_eq!(bed.told(), ["compaction_start manual".to_owned(), end]);
        assert_eq!((bed.bytes(), bed.context()), (before, context));
    }
}

#[tokio::test]
async fn an_abort_does_not_wait_for_the_key() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_hooks(Arc::new(NoKey));
    let compaction = bed.spawn_compact();
    bed.ear.wait_for("compaction_start").await;
    bed.harness.abort();
    let ended = tokio::time::timeout(PATIENCE, compaction).await.expect("ends").expect("task");
    assert_eq!(failure(ended), "Compaction cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_tried_again_is_told_about() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_retry(RetrySettings::default());
    bed.model_says([FauxTurn::error("529 overloaded_error"), "SUMMARY".into()]);
    bed.compact().await.expect("compacts");
    assert_eq!(
        bed.ear.events.lock().expect("lock")[1..4],
        [
            json!({
                "type": "summarization_retry_scheduled",
                "attempt": 1,
                "maxAttempts": 3,
                "delayMs": 2000,
                "errorMessage": "529 overloaded_error"
            }),
            json!({
                "type": "summarization_retry_attempt_start",
                "source": "compaction",
                "reason": "manual"
            }),
            json!({"type": "summarization_retry_finished"})
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_retried_summary_is_that_of_its_compaction() {
    let turns = [
        FauxTurn::text("A."),
        counted("B.", LIMIT + 1),
        FauxTurn::error("529 overloaded_error"),
        FauxTurn::text("SUMMARY"),
    ];
    let bed = Bed::small(turns);
    bed.prompt(&long("ALPHA")).await;
    bed.prompt(&long("BETA")).await;
    let told = bed.told();
    let from = told.iter().position(|line| line.starts_with("compaction_start")).expect("start");
    assert_eq!(
        told[from..],
        [
            "compaction_start threshold",
            "summarization_retry_scheduled 1 of 3 in 1",
            "summarization_retry_attempt_start compaction threshold",
            "summarization_retry_finished",
            "compaction_end threshold done retry=false",
            "agent_settled aborted=false"
        ]
    );
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_another_summary() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_retry(RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() });
    bed.model_says([FauxTurn::error("529 overloaded_error")]);
    let compaction = bed.spawn_compact();
    bed.ear.wait_for("summarization_retry_scheduled").await;
    bed.harness.abort();
    assert_eq!(failure(compaction.await.expect("task")), "Compaction cancelled");
    assert_eq!(
        bed.told(),
        [
            "compaction_start manual",
            "summarization_retry_scheduled 1 of 3 in 60000",
            "summarization_retry_finished",
            "compaction_end manual aborted retry=false"
        ]
    );
}

#[tokio::test]
async fn messages_queued_meanwhile_keep_their_kind_and_are_delivered_on_demand() {
    for with_prompt in [false, true] {
        let bed = Bed::small([]);
        bed.two_turns().await;
        bed.model_says([hanging(), "1".into(), "2".into()]);
        let compaction = bed.spawn_compact();
        bed.ear.wait_for("compaction_start").await;
        let message = |text: &str| AgentMessage::user(vec![InputBlock::text(text)], 0);
        bed.harness.follow_up(message("FOLLOW")).await;
        bed.harness.steer(message("STEER")).await;
        bed.harness.record_bash(bash("ls")).expect("held");
        bed.harness.abort();
        compaction.await.expect("task").expect_err("aborted");
        let queued = bed.harness.inner.agent.queued_messages();
        assert_eq!((queued.steering.len(), queued.follow_up.len()), (1, 1));
        assert_eq!(bed.entries()[8..], ["bashExecution"], "what was held is stored");

        if with_prompt {
            bed.prompt("GAMMA").await;
            assert!(bed.sent(3).contains("GAMMA"));
        } else {
            let outcome = bed.harness.run_queued().await.expect("idle").expect("something");
            assert_eq!(outcome.answer.expect("answer").text(), "2");
        }
        assert!(bed.sent(3).contains("STEER") && !bed.sent(3).contains("FOLLOW"));
        assert!(bed.sent(4).contains("FOLLOW"));
        assert_eq!(bed.model.remaining(), 0);
        assert!(bed.harness.run_queued().await.expect("idle").is_none());
    }
}

#[tokio::test]
async fn how_full_the_window_is_is_unknown_until_the_next_answer() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([counted("SUMMARY", 120), hanging(), counted("C.", 500)]);
    let usage = || serde_json::to_value(bed.harness.context_usage()).expect("JSON");
    assert!(usage()["tokens"].is_u64());
    bed.compact().await.expect("compacts");
    let unknown = json!({"tokens": null, "contextWindow": 100_000, "percent": null});
    assert_eq!(usage(), unknown);
    let run = bed.spawn_prompt("Next");
    bed.ear.wait_for("message_start assistant").await;
    bed.harness.abort();
    run.await.expect("task").expect("prompt");
    assert_eq!(usage(), unknown, "an aborted answer counts nothing");
    bed.prompt("Again").await;
    assert_eq!(usage(), json!({"tokens": 500, "contextWindow": 100_000, "percent": 0.5}));
}

#[tokio::test]
async fn prompt_and_tools_go_on_from_the_checkpoint_and_are_not_sent_again() {
    let tools: Vec<Arc<dyn Tool>> = vec![Gate::new("a"), Gate::new("b")];
    let bed = Bed::of(Plan { tools, ..Plan::small() }, []);
    bed.two_turns().await;
    bed.harness.set_active_tools(&["b"]);
    bed.model_says(["C.", "SUMMARY", "D."]);
    bed.prompt(&long("GAMMA")).await;
    let before = context_of(&bed).prompt;
    bed.compact().await.expect("compacts");
    let checkpoint = &bed.lines()[11]["systemMessage"];
    assert_eq!(checkpoint["role"], "system");
    assert_eq!(checkpoint["sections"], json!({"preamble": "Be brief.", "tools": "b"}));
    assert_eq!(checkpoint["toolsAdded"][0]["name"], "b");
    assert_eq!(checkpoint["toolsRemoved"], Value::Null);
    let after = context_of(&bed).prompt;
    assert_eq!((&after.sections, &after.tools), (&before.sections, &before.tools));

    bed.prompt("Next").await;
    assert_eq!(bed.entries()[12..], ["user", "assistant"], "no system message");
    assert_eq!(bed.requests()[4], "system user user assistant user");

    let bed = bed.reopened([FauxTurn::text("E.")]);
    assert_eq!(bed.harness.active_tools(), ["b"]);
    bed.prompt("Back").await;
    assert_eq!(bed.entries()[14..], ["user", "assistant"], "nor after a restart");
}

#[tokio::test]
async fn what_the_model_was_not_told_yet_is_told_behind_the_checkpoint() {
    let bed = Bed::of(Plan { tools: vec![Gate::new("a")], ..Plan::small() }, []);
    bed.two_turns().await;
    bed.harness.register_tool(Gate::new("b"), true);
    bed.model_says(["SUMMARY", "C."]);
    bed.compact().await.expect("compacts");
    bed.prompt("Next").await;
    assert_eq!(bed.entries()[8..], ["compaction", "system", "user", "assistant"]);
    assert_eq!(bed.lines()[9]["message"]["toolsAdded"][0]["name"], "b");
}

#[tokio::test]
async fn the_session_read_again_gives_the_same_context() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says(["SUMMARY", "C."]);
    bed.compact().await.expect("compacts");
    bed.prompt("Next").await;
    let (context, request) = (bed.context(), bed.sent(3));
    let bed = bed.reopened([FauxTurn::text("D.")]);
    assert_eq!(bed.context(), context);
    bed.prompt("Back").await;
    let beginning = request.strip_suffix(']').expect("a list");
    assert!(bed.sent(0).starts_with(beginning), "what was sent is sent again, byte for byte");
}

#[tokio::test]
async fn the_read_session_can_be_compacted_before_any_prompt() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    let bed = bed.reopened(["SUMMARY"].map(FauxTurn::text));
    bed.compact().await.expect("compacts");
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant"]);
}

/// Never has the key.
#[derive(Debug)]
struct NoKey;

impl crate::hooks::LoopHooks for NoKey {
    fn get_api_key<'a>(&'a self, _model: &'a Model) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::pending())
    }
}
