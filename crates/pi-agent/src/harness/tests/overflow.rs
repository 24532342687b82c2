//! Contexts that turn out to be too long for the model.

use super::*;
use crate::hooks::LoopHooks;
use pi_ai::ToolResultMessage;

const TOO_LONG: &str = "400 prompt is too long: 213462 tokens > 200000 maximum";

/// An answer that was cut off, with nine tenths of the window full, although the model could have
/// said more.
fn cut_short(answer: &str) -> FauxTurn {
    cut(answer, 90_000)
}

fn cut(answer: &str, tokens: u64) -> FauxTurn {
    FauxTurn { stop_reason: Some(StopReason::Length), ..counted(answer, tokens) }
}

fn overflows(told: &[String]) -> usize {
    told.iter().filter(|line| *line == "compaction_start overflow").count()
}

#[tokio::test]
async fn the_failed_answer_is_taken_out_the_context_made_shorter_and_the_request_sent_again() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG), "SUMMARY".into(), "C.".into()]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.as_ref().expect("answer").text(), "C.");
    assert_eq!((outcome.aborted, outcome.unrecovered), (false, None));
    assert_eq!(
        bed.told(),
        [
            "agent_start",
            "turn_start",
            "message_start user",
            "message_end user",
            "message_start assistant error",
            "message_end assistant error",
            "turn_end assistant error",
            "agent_end user,assistant retry=false",
            "entry_appended context_edit",
            "compaction_start overflow",
            "compaction_end overflow done retry=true",
            "agent_start",
            "turn_start",
            "message_start assistant pending",
            "message_end assistant stop",
            "turn_end assistant stop",
            "agent_end assistant retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(
        bed.entries()[8..],
        ["user", "assistant", "context_edit", "compaction", "assistant"],
        "no new user message"
    );
    let lines = bed.lines();
    assert_eq!(lines[10]["targetId"], lines[9]["id"]);
    assert_eq!(lines[11]["firstKeptEntryId"], lines[6]["id"]);
    assert_eq!(bed.requests()[4], "system user user assistant user");
    assert!(bed.sent(4).contains("GAMMA") && !bed.sent(4).contains("ALPHA"));
}

#[tokio::test]
async fn a_second_overflow_of_the_same_prompt_is_its_error() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    let failed = || FauxTurn::error(TOO_LONG);
    bed.model_says([failed(), "SUMMARY".into(), failed()]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert_eq!(outcome.answer.expect("answer").error_message.as_deref(), Some(TOO_LONG));
    assert_eq!(outcome.unrecovered, None, "the error says it all");
    let told = bed.told();
    assert_eq!(overflows(&told), 1);
    assert_eq!(
        told[told.len() - 2..],
        ["agent_end assistant retry=false", "agent_settled aborted=false"]
    );
    assert_eq!(bed.model.remaining(), 0);

    bed.model_says([failed(), "SUMMARY 2".into(), "D.".into()]);
    bed.prompt(&long("DELTA")).await;
    assert_eq!(overflows(&bed.told()), 1, "the next prompt has a try of its own");
}

#[tokio::test]
async fn a_retry_of_its_own_does_not_use_up_the_recovery() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([
        FauxTurn::error("529 overloaded_error"),
        FauxTurn::error(TOO_LONG),
        "SUMMARY".into(),
        FauxTurn::error("529 overloaded_error"),
        "C.".into(),
    ]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    let told = bed.told();
    let of_interest =
        told.iter().filter(|l| l.starts_with("auto_retry") || l.starts_with("compaction"));
    assert_eq!(
        of_interest.collect::<Vec<_>>(),
        [
            "auto_retry_start 1 of 3 in 1",
            "auto_retry_end false 1",
            "compaction_start overflow",
            "compaction_end overflow done retry=true",
            "auto_retry_start 1 of 3 in 1",
            "auto_retry_end true 1"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_error_of_another_model_says_nothing_of_the_one_at_hand() {
    let gate = Gate::new("a");
    let bed = Bed::of(Plan { tools: vec![gate], ..Plan::small() }, []);
    bed.two_turns().await;
    bed.model_says([FauxTurn { delay_ms: 1, ..FauxTurn::error(TOO_LONG) }]);
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("message_end user").await;
    let other = Model { id: "faux-2".to_owned(), ..bed.plan.model.clone() };
    bed.harness.set_model(Arc::new(other)).await;
    let outcome = run.await.expect("task").expect("prompt");
    assert_eq!(stop_of(&outcome), StopReason::Error);
    let told = bed.told();
    assert_eq!(overflows(&told), 0);
    assert!(!told.iter().any(|line| line.starts_with("entry_appended")), "{told:?}");
}

#[tokio::test]
async fn a_good_answer_to_more_than_the_window_is_kept_and_not_asked_for_again() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([counted("C.", 100_000 + 11), "SUMMARY".into()]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    let told = bed.told();
    assert_eq!(
        told[told.len() - 4..],
        [
            "agent_end user,assistant retry=false",
            "compaction_start overflow",
            "compaction_end overflow done retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(bed.entries()[8..], ["user", "assistant", "compaction"], "no edit");
    assert_eq!(bed.model.remaining(), 0);
}

#[tokio::test]
async fn an_answer_cut_before_its_own_limit_is_asked_for_again_with_a_shorter_context() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([cut_short("Half an"), "SUMMARY".into(), "C.".into()]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    let told = bed.told();
    assert!(told.contains(&"compaction_end overflow done retry=true".to_owned()), "{told:?}");
    assert_eq!(
        bed.entries()[8..],
        ["user", "assistant", "context_edit", "compaction", "assistant"]
    );
    assert!(!bed.sent(4).contains("Half an"));
}

#[tokio::test]
async fn an_answer_that_reached_its_own_limit_stands() {
    for limit in [None, Some(10)] {
        let mut plan = Plan::small();
        plan.model.max_tokens = if limit.is_some() { 16_384 } else { 10 };
        let bed = Bed::of(plan, []);
        bed.two_turns().await;
        let mut options = bed.harness.inner.agent.options();
        options.base.max_tokens = limit;
        bed.harness.inner.agent.set_options(options);
        bed.model_says([cut_short("Half an"), "SUMMARY".into()]);
        let outcome = bed.prompt("GAMMA").await;
        assert_eq!(stop_of(&outcome), StopReason::Length);
        assert_eq!(overflows(&bed.told()), 0, "{limit:?}");
    }
}

#[tokio::test]
async fn when_there_is_no_summary_the_error_stays_and_nothing_is_sent_again() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG), FauxTurn::error("401 no key")]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert_eq!(outcome.unrecovered.as_deref(), Some("401 no key"));
    let told = bed.told();
    assert_eq!(
        told[told.len() - 4..],
        [
            "entry_appended context_edit",
            "compaction_start overflow",
            "compaction_end overflow Context overflow recovery failed: 401 no key retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(bed.entries()[8..], ["user", "assistant", "context_edit"], "the edit stays");

    let bed = bed.reopened([FauxTurn::text("D.")]);
    bed.prompt("Next").await;
    assert_eq!(bed.requests(), ["system user assistant user assistant user user"]);
}

#[tokio::test]
async fn an_abort_of_the_recovery_ends_the_prompt() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG), hanging()]);
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("compaction_start").await;
    bed.harness.abort();
    let outcome = run.await.expect("task").expect("prompt");
    assert!(outcome.aborted);
    let told = bed.told();
    assert_eq!(
        told[told.len() - 2..],
        ["compaction_end overflow aborted retry=false", "agent_settled aborted=true"]
    );
    assert_eq!(bed.entries()[8..], ["user", "assistant", "context_edit"]);
}

#[tokio::test]
async fn a_first_prompt_that_is_too_long_leaves_nothing_to_summarise() {
    let bed = Bed::small([FauxTurn::error(TOO_LONG)]);
    let outcome = bed.prompt("ALPHA").await;
    assert_eq!((stop_of(&outcome), outcome.unrecovered), (StopReason::Error, None));
    let told = bed.told();
    assert_eq!(
        told[told.len() - 3..],
        [
            "agent_end system,user,assistant retry=false",
            "entry_appended context_edit",
            "agent_settled aborted=false"
        ]
    );
}

/// Other than the original on purpose: it has the model answer a summary of the prompt.
#[tokio::test]
async fn a_prompt_longer_than_what_is_kept_is_sent_again_word_for_word() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG), "SUMMARY".into(), "C.".into()]);
    let prompt = format!("{0}{0}", long("GAMMA"));
    let outcome = bed.prompt(&prompt).await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    assert!(bed.sent(3).contains("BETA") && !bed.sent(3).contains("GAMMA"));
    assert_eq!(bed.requests()[4], "system user user");
    assert!(bed.sent(4).contains("SUMMARY") && bed.sent(4).contains(&prompt));
}

#[tokio::test]
async fn a_first_prompt_longer_than_what_is_kept_is_an_error_and_stays() {
    let bed = Bed::small([FauxTurn::error(TOO_LONG)]);
    let outcome = bed.prompt(&long("ALPHA")).await;
    assert_eq!((stop_of(&outcome), &outcome.unrecovered), (StopReason::Error, &None));
    assert_eq!(outcome.answer.expect("answer").error_message.as_deref(), Some(TOO_LONG));
    assert_eq!(overflows(&bed.told()), 0);

    bed.model_says(["B."]);
    bed.prompt("BETA").await;
    assert!(bed.sent(1).contains(&long("ALPHA")));
}

#[tokio::test]
async fn when_compaction_is_switched_off_the_error_is_final_and_stays_in_the_context() {
    let mut plan = Plan::small();
    plan.compaction.enabled = false;
    let bed = Bed::of(plan, []);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG)]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert_eq!(bed.entries()[8..], ["user", "assistant"]);
    assert!(!bed.told().iter().any(|line| line.starts_with("compaction")));
}

#[tokio::test]
async fn in_the_middle_of_a_run_the_results_of_its_tools_stay() {
    let gate = Gate::new("a");
    gate.open.notify_one();
    let bed = Bed::of(Plan { tools: vec![gate], ..Plan::small() }, []);
    bed.two_turns().await;
    bed.model_says([call("a"), FauxTurn::error(TOO_LONG), "SUMMARY".into(), "C.".into()]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    assert_eq!(bed.requests()[5], "system user user assistant user assistant toolResult");
}

#[tokio::test]
async fn queued_messages_wait_until_the_request_has_been_sent_again() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says([FauxTurn::error(TOO_LONG), "SUMMARY".into(), "C.".into(), "F.".into()]);
    let message = AgentMessage::user(vec![InputBlock::text("FOLLOW")], 0);
    bed.harness.follow_up(message).await;
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "F.");
    assert!(!bed.sent(4).contains("FOLLOW") && bed.sent(5).contains("FOLLOW"));
}

/// A cut answer's calls are answered with a refusal. When the run is ended there, answer and
/// refusals leave the context together or stay together.
#[tokio::test]
async fn a_cut_tool_call_is_never_parted_from_its_result() {
    let cases: [(Option<FauxTurn>, &str); 3] = [
        (Some("SUMMARY".into()), "system user user assistant user assistant user"),
        (Some(FauxTurn::error("401 no key")), "system user assistant user assistant user user"),
        (None, "system user assistant toolResult user"),
    ];
    for (summary, wanted) in cases {
        let bed = Bed::of(Plan { tools: vec![Gate::new("a")], ..Plan::small() }, []);
        bed.harness.set_hooks(Arc::new(StopsAtResults));
        if summary.is_some() {
            bed.two_turns().await;
        }
        bed.model_says([FauxTurn { blocks: call("a").blocks, ..cut_short("") }]);
        bed.model_says(summary);
        bed.model_says(["C."]);
        bed.prompt("GAMMA").await;
        bed.model_says(["D."]);
        bed.prompt("DELTA").await;
        assert!(bed.requests().contains(&wanted.to_owned()), "{wanted}: {:?}", bed.requests());
        let context = bed.context();
        assert_eq!(bed.reopened([]).context(), context, "{wanted}");
    }
}

#[tokio::test]
async fn a_cut_answer_stays_where_the_window_was_not_full_or_nothing_can_be_summarised() {
    for (has_history, tokens) in [(true, 80_000), (false, 90_000)] {
        let bed = Bed::small([]);
        if has_history {
            bed.two_turns().await;
        }
        bed.model_says([cut("Half an", tokens), "C.".into()]);
        let outcome = bed.prompt("GAMMA").await;
        assert_eq!((stop_of(&outcome), outcome.unrecovered), (StopReason::Length, None));
        let told = bed.told();
        assert_eq!(overflows(&told), 0, "{tokens}");
        assert!(!told.iter().any(|line| line.starts_with("entry_appended")), "{tokens}");
        bed.prompt("DELTA").await;
        let request = bed.model.contexts().len() - 1;
        assert!(bed.sent(request).contains("Half an"), "{tokens}");
    }
}

#[derive(Debug)]
struct StopsAtResults;

impl LoopHooks for StopsAtResults {
    fn should_stop_after_turn<'a>(
        &'a self,
        _message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(!results.is_empty()))
    }
}
