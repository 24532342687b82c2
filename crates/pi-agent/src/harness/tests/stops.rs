//! Aborts, queues around them, and futures that are dropped.

use super::*;

/// Every tool call on disk has its result on disk. Those of answers that failed are never run.
pub(super) fn assert_answered(bed: &Bed) {
    let lines = bed.lines();
    let of = |role: &str| lines.iter().filter(|l| l["message"]["role"] == role).collect::<Vec<_>>();
    let answered: Vec<_> = of("toolResult").iter().map(|l| &l["message"]["toolCallId"]).collect();
    let failed =
        |answer: &&Value| ["error", "aborted"].contains(&text(&answer["message"]["stopReason"]));
    for answer in of("assistant").into_iter().filter(|answer| !failed(answer)) {
        for block in answer["message"]["content"].as_array().expect("content") {
            if block["type"] == "toolCall" {
                assert!(answered.contains(&&block["id"]), "{block}");
            }
        }
    }
}

#[tokio::test]
async fn an_abort_while_streaming_keeps_what_came_and_the_queue() {
    let bed = Bed::new([hanging(), FauxTurn::text("Fine."), FauxTurn::text("Late.")]);
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("message_start assistant").await;
    bed.harness.follow_up(AgentMessage::user(vec![InputBlock::text("later")], 0)).await;
    bed.harness.abort();
    let outcome = run.await.expect("task").expect("prompt");
    assert_eq!((stop_of(&outcome), outcome.aborted), (StopReason::Aborted, true));
    let told = bed.told();
    assert_eq!(
        told[told.len() - 4..],
        [
            "message_end assistant aborted",
            "turn_end assistant aborted",
            "agent_end system,user,assistant retry=false",
            "agent_settled aborted=true"
        ]
    );
    assert_eq!(bed.entries()[4..], ["user", "assistant"]);
    assert_eq!(bed.harness.inner.agent.queued_messages().follow_up.len(), 1);

    bed.prompt("Again").await;
    assert!(!bed.harness.inner.agent.has_queued_messages());
    assert_eq!(bed.requests().len(), 3);
}

#[tokio::test]
async fn an_abort_while_a_tool_runs_leaves_its_result_and_an_empty_answer() {
    let gate = Gate::new("a");
    let bed = Bed::with_tools([call("a")], vec![gate]);
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("tool_execution_start").await;
    bed.harness.abort();
    run.await.expect("task").expect("prompt");
    assert_eq!(bed.entries()[4..], ["user", "assistant", "toolResult", "assistant"]);
    let told = bed.told();
    assert_eq!(
        told[told.len() - 6..],
        [
            "turn_start",
            "message_start assistant aborted",
            "message_end assistant aborted",
            "turn_end assistant aborted",
            "agent_end system,user,assistant,toolResult,assistant retry=false",
            "agent_settled aborted=true"
        ]
    );
    assert_answered(&bed);
}

#[tokio::test]
async fn a_dropped_prompt_leaves_the_harness_idle_and_every_call_answered() {
    let gate = Gate::new("a");
    let turns = [
        FauxTurn::new([
            FauxBlock::tool_call("c1", "a", json!({})),
            FauxBlock::tool_call("c2", "a", json!({})),
        ]),
        FauxTurn::text("Fine."),
    ];
    let bed = Bed::with_tools(turns, vec![gate]);
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("tool_execution_start").await;
    bed.harness.record_bash(bash("ls")).expect("held");
    run.abort();
    assert!(run.await.is_err());
    bed.harness.wait_for_idle().await;
    assert_eq!(
        bed.entries()[4..],
        ["user", "assistant", "toolResult", "toolResult", "bashExecution"]
    );
    assert_answered(&bed);
    bed.prompt("Again").await;
    assert_eq!(bed.requests()[1], "system user assistant toolResult toolResult user user");
}

/// Some servers say `stop` although they call tools.
#[tokio::test]
async fn a_dropped_prompt_answers_the_calls_whatever_the_stop_reason_was() {
    let turn = FauxTurn { stop_reason: Some(StopReason::Stop), ..call("a") };
    let bed = Bed::with_tools([turn], vec![Gate::new("a")]);
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("tool_execution_start").await;
    run.abort();
    assert!(run.await.is_err());
    assert_eq!(bed.entries()[4..], ["user", "assistant", "toolResult"]);
    assert_answered(&bed);
}

/// Whenever the prompt is dropped, the file is whole and the next prompt works.
#[tokio::test]
async fn dropping_the_prompt_at_any_point_leaves_a_whole_file() {
    for points in 0..40 {
        let gate = Gate::new("a");
        gate.open.notify_one();
        let turns = [call("a"), FauxTurn::error("529 overloaded_error"), FauxTurn::text("Fine.")];
        let bed = Bed::with_tools(turns, vec![gate]);
        {
            let prompt = bed.harness.prompt(vec![InputBlock::text("Go")]);
            let mut prompt = std::pin::pin!(prompt);
            for _ in 0..points {
                let step = tokio::time::timeout(Duration::from_micros(200), &mut prompt);
                if step.await.is_ok() {
                    break;
                }
            }
        }
        assert!(!bed.harness.is_busy());
        assert_answered(&bed);
        bed.model.push("Next.");
        bed.model.push("Next.");
        bed.model.push("Next.");
        bed.prompt("Again").await;
        assert_answered(&bed);
    }
}

#[tokio::test]
async fn queued_messages_are_told_and_delivered_in_one_run() {
    let gate = Gate::new("a");
    let turns = [call("a"), FauxTurn::text("1"), FauxTurn::text("2")];
    let bed = Bed::with_tools(turns, vec![gate.clone()]);
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("tool_execution_start").await;
    let message = |text: &str| AgentMessage::user(vec![InputBlock::text(text)], 0);
    bed.harness.steer(message("S")).await;
    bed.harness.follow_up(message("F")).await;
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    let told = bed.told();
    let updates: Vec<_> = told.iter().filter(|line| line.starts_with("queue_update")).collect();
    assert_eq!(
        updates,
        [
            r#"queue_update ["S"] []"#,
            r#"queue_update ["S"] ["F"]"#,
            r#"queue_update [] ["F"]"#,
            "queue_update [] []"
        ]
    );
    let delivered = told.iter().position(|line| line == r#"queue_update [] ["F"]"#).expect("S");
    assert_eq!(
        told[delivered - 1..delivered + 3],
        ["turn_start", r#"queue_update [] ["F"]"#, "message_start user", "message_end user"]
    );
    assert_eq!(told.iter().filter(|line| *line == "agent_start").count(), 1);
}

#[tokio::test]
async fn a_message_steered_while_idle_follows_the_next_prompt() {
    let bed = Bed::new([FauxTurn::text("1")]);
    bed.harness.steer(AgentMessage::user(vec![InputBlock::text("S")], 0)).await;
    bed.prompt("Go").await;
    assert_eq!(bed.requests(), ["system user user"]);
    assert_eq!(bed.lines()[5]["message"]["content"][0]["text"], "S");
}

#[tokio::test]
async fn what_is_queued_is_delivered_before_the_model_is_asked_again() {
    for steer in [false, true] {
        let bed = Bed::new([]);
        bed.two_turns().await;
        bed.harness.record_bash(bash("ls")).expect("stored");
        let message = AgentMessage::user(vec![InputBlock::text("QUEUED")], 0);
        if steer {
            bed.harness.steer(message).await;
        } else {
            bed.harness.follow_up(message).await;
        }
        bed.model_says(["C."]);
        let outcome = bed.harness.run_queued().await.expect("idle").expect("something");
        assert_eq!(outcome.answer.expect("answer").text(), "C.");
        assert!(bed.sent(2).contains("QUEUED"), "steer: {steer}");
        assert_eq!(bed.model.contexts().len(), 3);
    }
}

#[tokio::test]
async fn steered_messages_are_delivered_one_at_a_time_behind_an_answer_too() {
    let bed = Bed::new(["1", "2", "3"].map(FauxTurn::text));
    bed.prompt("Go").await;
    for text in ["S1", "S2"] {
        bed.harness.steer(AgentMessage::user(vec![InputBlock::text(text)], 0)).await;
    }
    bed.harness.run_queued().await.expect("idle").expect("something");
    assert!(bed.sent(1).contains("S1") && !bed.sent(1).contains("S2"));
    assert!(bed.sent(2).contains("S2"));
}
