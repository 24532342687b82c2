use super::*;

const OVERLOADED: &str = "529 overloaded_error";

#[tokio::test]
async fn a_passing_error_is_tried_again_without_the_failed_answer() {
    let bed = Bed::new([FauxTurn::error(OVERLOADED), FauxTurn::text("Fine.")]);
    let outcome = bed.prompt("Try").await;
    assert_eq!(stop_of(&outcome), StopReason::Stop);
    assert_eq!(
        bed.told()[6..],
        [
            "message_start assistant error",
            "message_end assistant error",
            "turn_end assistant error",
            "agent_end system,user,assistant retry=true",
            "auto_retry_start 1 of 3 in 1",
            "entry_appended context_edit",
            "agent_start",
            "turn_start",
            "message_start assistant pending",
            "message_end assistant stop",
            "auto_retry_end true 1",
            "turn_end assistant stop",
            "agent_end assistant retry=false",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(bed.entries()[4..], ["user", "assistant", "context_edit", "assistant"]);
    let lines = bed.lines();
    assert_eq!((&lines[6]["targetId"], &lines[6]["replacement"]), (&lines[5]["id"], &Value::Null));
    assert_eq!(bed.requests(), ["system user", "system user"]);

    let bed = bed.reopened([FauxTurn::text("Next.")]);
    bed.prompt("More").await;
    assert_eq!(bed.requests(), ["system user assistant user"], "nor after a restart");
}

#[tokio::test]
async fn when_the_attempts_are_used_up_the_last_error_is_final_and_stays() {
    let bed = Bed::new(std::iter::repeat_n(FauxTurn::error(OVERLOADED), 4));
    let outcome = bed.prompt("Try").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    let told = bed.told();
    let waits: Vec<_> = told.iter().filter(|line| line.starts_with("auto_retry_start")).collect();
    assert_eq!(
        waits,
        [
            "auto_retry_start 1 of 3 in 1",
            "auto_retry_start 2 of 3 in 2",
            "auto_retry_start 3 of 3 in 4"
        ]
    );
    assert_eq!(
        told[told.len() - 3..],
        [
            "agent_end assistant retry=false",
            "auto_retry_end false 3",
            "agent_settled aborted=false"
        ]
    );
    assert_eq!(bed.entries().last().map(String::as_str), Some("assistant"));
}

#[tokio::test]
async fn the_count_begins_anew_after_a_good_answer() {
    let gate = Gate::new("a");
    gate.open.notify_one();
    let turns = [
        FauxTurn::error(OVERLOADED),
        call("a"),
        FauxTurn::error(OVERLOADED),
        FauxTurn::text("Fine."),
    ];
    let bed = Bed::with_tools(turns, vec![gate]);
    bed.prompt("Try").await;
    let told = bed.told();
    let retries: Vec<_> = told.iter().filter(|line| line.starts_with("auto_retry")).collect();
    assert_eq!(
        retries,
        [
            "auto_retry_start 1 of 3 in 1",
            "auto_retry_end true 1",
            "auto_retry_start 1 of 3 in 1",
            "auto_retry_end true 1"
        ]
    );
}

#[tokio::test]
async fn errors_that_do_not_pass_are_final_at_once() {
    for error in ["401 bad key", "429 insufficient_quota"] {
        let bed = Bed::new([FauxTurn::error(error)]);
        let outcome = bed.prompt("Try").await;
        assert_eq!(stop_of(&outcome), StopReason::Error, "{error}");
        let told = bed.told();
        assert_eq!(
            told[told.len() - 2..],
            ["agent_end system,user,assistant retry=false", "agent_settled aborted=false"]
        );
        assert_eq!(bed.entries()[4..], ["user", "assistant"], "{error}");
    }
}

#[tokio::test]
async fn without_retries_there_are_no_retry_events() {
    let settings = RetrySettings::default();
    for retry in
        [RetrySettings { enabled: false, ..settings }, RetrySettings { max_retries: 0, ..settings }]
    {
        let bed = Bed::new([FauxTurn::error(OVERLOADED)]);
        bed.harness.set_retry(retry);
        bed.prompt("Try").await;
        assert!(!bed.told().iter().any(|line| line.starts_with("auto_retry")));
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_not_tried_again_and_its_error_is_the_outcome() {
    let bed = Bed::new([FauxTurn::error("prompt is too long: 213462 tokens > 200000 maximum")]);
    let outcome = bed.prompt("Try").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
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

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_wait() {
    let slow = FauxTurn { retry_after_ms: Some(30), ..FauxTurn::error(OVERLOADED) };
    let for_ever = FauxTurn { retry_after_ms: Some(3_600_000), ..FauxTurn::error(OVERLOADED) };
    let bed = Bed::new([slow, for_ever, FauxTurn::text("Fine.")]);
    bed.harness.set_retry(RetrySettings {
        base_delay_ms: 1,
        max_agent_delay_ms: 50,
        ..RetrySettings::default()
    });
    let began = tokio::time::Instant::now();
    bed.prompt("Try").await;
    assert!(began.elapsed() >= Duration::from_millis(80));
    let told = bed.told();
    let waits: Vec<_> = told.iter().filter(|line| line.starts_with("auto_retry_start")).collect();
    assert_eq!(waits, ["auto_retry_start 1 of 3 in 30", "auto_retry_start 2 of 3 in 50"]);
}

#[tokio::test]
async fn the_wait_can_be_given_up() {
    for (whole, aborted) in [(false, false), (true, true)] {
        let bed = Bed::new([FauxTurn::error(OVERLOADED)]);
        let retry = RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() };
        bed.harness.set_retry(retry);
        let run = bed.spawn_prompt("Try");
        bed.ear.wait_for("entry_appended").await;
        if whole {
            bed.harness.abort();
        } else {
            bed.harness.abort_retry();
        }
        let outcome = run.await.expect("task").expect("prompt");
        assert_eq!((stop_of(&outcome), outcome.aborted), (StopReason::Error, aborted));
        let told = bed.told();
        assert_eq!(
            told[told.len() - 2..],
            ["auto_retry_end false 1".to_owned(), format!("agent_settled aborted={aborted}")]
        );
    }
}

#[tokio::test]
async fn giving_up_is_told_with_its_own_words() {
    let bed = Bed::new([FauxTurn::error(OVERLOADED)]);
    let retry = RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() };
    bed.harness.set_retry(retry);
    let run = bed.spawn_prompt("Try");
    bed.ear.wait_for("auto_retry_start").await;
    bed.harness.abort();
    run.await.expect("task").expect("prompt");
    let events = bed.ear.events.lock().expect("lock");
    let end = events.iter().find(|event| event["type"] == "auto_retry_end").expect("end");
    assert_eq!(end["finalError"], "Retry cancelled");
}

/// Gives up every wait it hears of.
struct GivesUp(WeakHarness);

impl SessionListener for GivesUp {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let (SessionEvent::AutoRetryStart { .. }, Some(harness)) = (event, self.0.upgrade()) {
            harness.abort_retry();
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn who_hears_of_a_wait_can_give_it_up_at_once() {
    let bed = Bed::new([FauxTurn::error("529 overloaded")]);
    bed.harness.set_retry(RetrySettings { base_delay_ms: 3_600_000, ..RetrySettings::default() });
    bed.harness.subscribe(Arc::new(GivesUp(bed.harness.downgrade())));
    let outcome = bed.prompt("Hello").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert_eq!(bed.requests().len(), 1);
}
