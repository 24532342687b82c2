//! One thing at a time: what is on, what it excludes, and what is left when it is stopped.

use tokio::task::JoinHandle;

use super::*;
use crate::compaction::CompactionReason;

/// Where an operation can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Answer,
    Tool,
    RetryWait,
    CompactionBeforePrompt,
    CompactionBetweenTurns,
    CompactionAfterRun,
    CompactionOfOverflow,
    CompactionOnDemand,
    Navigation,
}

use Phase::{
    Answer, CompactionAfterRun, CompactionBeforePrompt, CompactionBetweenTurns,
    CompactionOfOverflow, CompactionOnDemand, RetryWait,
};

const PHASES: [Phase; 9] = [
    Answer,
    Phase::Tool,
    RetryWait,
    CompactionBeforePrompt,
    CompactionBetweenTurns,
    CompactionAfterRun,
    CompactionOfOverflow,
    CompactionOnDemand,
    Phase::Navigation,
];

impl Phase {
    fn is_prompt(self) -> bool {
        !matches!(self, CompactionOnDemand | Self::Navigation)
    }

    fn operation(self) -> Operation {
        let compaction = |reason| Operation::Compaction { reason };
        match self {
            Answer | Self::Tool => Operation::Turn,
            RetryWait => Operation::RetryWait,
            CompactionBeforePrompt | CompactionBetweenTurns | CompactionAfterRun => {
                compaction(CompactionReason::Threshold)
            }
            CompactionOfOverflow => compaction(CompactionReason::Overflow),
            CompactionOnDemand => compaction(CompactionReason::Manual),
            Self::Navigation => Operation::Navigation,
        }
    }
}

type Operating = JoinHandle<Result<Option<RunOutcome>, HarnessError>>;

/// A bed of two turns, and something that has come to `phase` and stays there.
async fn bed_in(phase: Phase) -> (Bed, Operating) {
    let gate = Gate::new("a");
    let bed = Bed::of(Plan { tools: vec![gate.clone()], ..Plan::small() }, []);
    bed.two_turns().await;
    match phase {
        Answer | CompactionOnDemand | Phase::Navigation => {}
        Phase::Tool => bed.model_says([call("a")]),
        RetryWait => {
            let retry = RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() };
            bed.harness.set_retry(retry);
            bed.model_says([FauxTurn::error("529 overloaded_error")]);
        }
        CompactionBeforePrompt => {
            let policy = bed.harness.compaction();
            let settings = CompactionSettings { enabled: false, ..policy.settings };
            bed.harness.set_compaction(CompactionPolicy { settings, ..policy.clone() });
            bed.model_says([counted("C.", LIMIT + 1)]);
            bed.prompt(&long("MORE")).await;
            bed.harness.set_compaction(policy);
        }
        CompactionBetweenTurns => {
            gate.open.notify_one();
            bed.model_says([with_count(call("a"), LIMIT + 1)]);
        }
        CompactionAfterRun => bed.model_says([counted("C.", LIMIT + 1)]),
        CompactionOfOverflow => bed.model_says([FauxTurn::error("prompt is too long")]),
    }
    bed.told();
    let hangs = !matches!(phase, Phase::Tool | RetryWait);
    let asked = hangs.then(|| bed.model_hangs());
    let (harness, first) = (bed.harness.clone(), bed.id(5));
    let operating = tokio::spawn(async move {
        match phase {
            CompactionOnDemand => harness.compact(None).await.map(|_| None),
            Phase::Navigation => {
                let options = NavigateOptions { summarize: true, ..NavigateOptions::default() };
                harness.navigate(Some(&first), options).await.map(|_| None)
            }
            _ => harness.prompt(vec![InputBlock::text(long("GAMMA"))]).await.map(Some),
        }
    });
    let there = async {
        match asked {
            Some(asked) => asked.notified().await,
            None if phase == RetryWait => bed.ear.wait_for("entry_appended").await,
            None => bed.ear.wait_for("tool_execution_start").await,
        }
    };
    tokio::time::timeout(PATIENCE, there).await.expect("gets there");
    (bed, operating)
}

/// Memory and file say the same, and the conversation can go on.
async fn assert_usable(bed: Bed, when: &str) {
    assert_eq!(bed.harness.operation(), Operation::Idle, "{when}");
    assert!(!bed.harness.is_busy(), "{when}");
    stops::assert_answered(&bed);
    let context = bed.context();
    bed.model_answers();
    bed.harness.set_retry(RetrySettings { enabled: false, ..RetrySettings::default() });
    let outcome = bed.prompt("Again").await;
    assert_eq!(stop_of(&outcome), StopReason::Stop, "{when}");
    assert!(outcome.unstored.is_none() && !outcome.aborted, "{when}");
    let after = bed.context();
    if !after.iter().any(|message| message["role"] == "compactionSummary") {
        assert_eq!(after[..context.len()], context, "{when}");
    }
    assert_eq!(bed.reopened([]).context(), after, "{when}");
}

#[tokio::test]
async fn what_is_on_can_be_asked_at_any_time() {
    for phase in PHASES {
        let (bed, operating) = bed_in(phase).await;
        assert_eq!(bed.harness.operation(), phase.operation(), "{phase:?}");
        assert_eq!(bed.harness.state().operation, phase.operation(), "{phase:?}");
        assert!(bed.harness.is_busy(), "{phase:?}");
        operating.abort();
    }
}

#[tokio::test]
async fn operations_have_names_for_other_programs() {
    let name = |operation: Operation| serde_json::to_value(operation).expect("JSON");
    let overflow = Operation::Compaction { reason: CompactionReason::Overflow };
    for (operation, wanted) in [
        (Operation::Idle, json!({"operation": "idle"})),
        (Operation::Turn, json!({"operation": "turn"})),
        (Operation::RetryWait, json!({"operation": "retry_wait"})),
        (overflow, json!({"operation": "compaction", "reason": "overflow"})),
        (Operation::Navigation, json!({"operation": "navigation"})),
    ] {
        assert_eq!(name(operation), wanted);
    }
    let told = HarnessError::Occupied(overflow).to_string();
    assert_eq!(told, "Another operation is on: a compaction");
}

#[tokio::test]
async fn the_state_is_data() {
    let bed = Bed::of(Plan { tools: vec![Gate::new("a")], ..Plan::small() }, []);
    let state = bed.harness.state();
    assert_eq!(state.operation, Operation::Idle);
    assert_eq!(state.conversation.active_tools, ["a"]);
    bed.harness.set_thinking_level(ThinkingLevel::High).await;
    bed.model_says([counted("A.", 25_000)]);
    bed.prompt("Hello").await;
    let conversation = bed.harness.state().conversation;
    assert_eq!(conversation.leaf_id, Some(bed.leaf()));
    assert_eq!(conversation.leaf_id, Some(bed.id(bed.lines().len() - 1)));
    assert_eq!(conversation.model.id, "faux-1");
    assert_eq!(conversation.thinking_level, ThinkingLevel::High);
    assert_eq!(
        serde_json::to_value(conversation.context_usage).expect("JSON"),
        json!({"tokens": 25_000, "contextWindow": 100_000, "percent": 25.0})
    );
}

#[tokio::test]
async fn what_is_on_excludes_everything_else_but_a_compaction_that_ends_a_prompt() {
    for phase in PHASES {
        let (bed, operating) = bed_in(phase).await;
        let harness = &bed.harness;
        let message = AgentMessage::user(vec![InputBlock::text("x")], 0);
        harness.follow_up(message.clone()).await;
        let before = bed.bytes();
        let is_busy = |error: HarnessError| matches!(error, HarnessError::Busy);
        assert!(is_busy(harness.prompt(vec![]).await.expect_err("busy")), "{phase:?}");
        assert!(is_busy(harness.begin(vec![message]).await.expect_err("busy")), "{phase:?}");
        assert!(is_busy(harness.run_queued().await.expect_err("busy")), "{phase:?}");
        let navigation = harness.navigate(None, NavigateOptions::default()).await;
        let is_occupied = |error: HarnessError| matches!(error, HarnessError::Occupied(on) if on == phase.operation());
        assert!(is_occupied(navigation.expect_err("occupied")), "{phase:?}");
        if !phase.is_prompt() {
            assert!(is_occupied(bed.compact().await.expect_err("occupied")), "{phase:?}");
        }
        assert_eq!(harness.operation(), phase.operation(), "{phase:?}: it goes on");
        assert_eq!(bed.bytes(), before, "{phase:?}");

        harness.clear_queues().await;
        bed.model_answers();
        if phase.is_prompt() {
            drop(bed.compact().await);
            let outcome = operating.await.expect("task").expect("prompt").expect("outcome");
            assert!(outcome.aborted, "{phase:?}");
        } else {
            operating.abort();
            assert!(operating.await.is_err());
        }
        assert_usable(bed, &format!("{phase:?}")).await;
    }
}

#[tokio::test]
async fn an_abort_ends_whatever_is_on() {
    for phase in PHASES {
        let (bed, operating) = bed_in(phase).await;
        let requests = bed.model.contexts().len();
        bed.harness.abort();
        let ended = tokio::time::timeout(PATIENCE, operating).await.expect("ends").expect("task");
        match (phase, ended) {
            (CompactionOnDemand, Err(error)) => {
                assert_eq!(error.to_string(), "Compaction cancelled");
            }
            (Phase::Navigation, Err(error)) => {
                assert_eq!(error.to_string(), "Navigation cancelled");
            }
            (_, Ok(Some(outcome))) => {
                assert!(outcome.aborted, "{phase:?}");
                let told = bed.told();
                assert_eq!(told.last().expect("event"), "agent_settled aborted=true", "{phase:?}");
            }
            (_, other) => panic!("{phase:?}: {other:?}"),
        }
        assert_eq!(bed.model.contexts().len(), requests, "{phase:?}: nothing more is asked");
        assert_usable(bed, &format!("{phase:?}")).await;
    }
}

#[tokio::test]
async fn a_prompt_aborted_before_it_ran_is_kept_with_an_aborted_answer() {
    let (bed, operating) = bed_in(CompactionBeforePrompt).await;
    let lines = bed.lines().len();
    bed.harness.abort();
    let outcome = operating.await.expect("task").expect("prompt").expect("outcome");
    assert_eq!(stop_of(&outcome), StopReason::Aborted);
    assert_eq!(bed.entries()[lines..], ["user", "assistant"]);
}

#[tokio::test]
async fn dropping_whatever_is_on_leaves_the_harness_idle_and_the_file_whole() {
    for phase in PHASES {
        let (bed, operating) = bed_in(phase).await;
        operating.abort();
        assert!(operating.await.expect_err("dropped").is_cancelled());
        assert_usable(bed, &format!("{phase:?}")).await;
    }
}

#[tokio::test]
async fn a_prompt_is_taken_before_it_is_awaited() {
    let bed = Bed::new(["1", "2"].map(FauxTurn::text));
    let message = |text: &str| vec![AgentMessage::user(vec![InputBlock::text(text)], 0)];
    let run = bed.harness.begin(message("one")).await.expect("idle");
    assert_eq!(bed.harness.operation(), Operation::Turn);
    assert!(matches!(bed.harness.begin(message("no")).await, Err(HarnessError::Busy)));
    assert_eq!(bed.told(), [""; 0], "nothing has happened yet");
    let outcome = run.await.expect("prompt");
    assert_eq!(outcome.answer.expect("answer").text(), "1");

    drop(bed.harness.begin(message("never")).await.expect("idle"));
    assert!(!bed.harness.is_busy());
    bed.prompt("two").await;
    assert_eq!(bed.requests()[1], "system user assistant user");
}

#[tokio::test]
async fn several_messages_can_be_one_prompt() {
    let bed = Bed::new([FauxTurn::text("1")]);
    let custom = json!({"role": "custom", "customType": "x", "content": "note", "display": true});
    let custom: AgentMessage = serde_json::from_value(custom).expect("message");
    let user = AgentMessage::user(vec![InputBlock::text("Go")], 0);
    bed.harness.begin(vec![user, custom]).await.expect("idle").await.expect("prompt");
    assert_eq!(bed.requests(), ["system user user"]);
    assert_eq!(bed.entries()[4..], ["user", "custom_message", "assistant"]);
}

#[tokio::test]
async fn who_hears_that_a_prompt_is_settled_may_do_anything_at_once() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_answers();
    for next in ["prompt", "compact", "navigate"] {
        let slow = Arc::new(Slow { event: "agent_settled", open: Notify::new() });
        let id = bed.harness.subscribe(Arc::clone(&slow) as Arc<dyn SessionListener>);
        let first = bed.spawn_prompt(&long("GAMMA"));
        bed.ear.wait_for("agent_settled").await;
        let harness = bed.harness.clone();
        let second = tokio::spawn(async move {
            match next {
                "prompt" => harness.prompt(vec![InputBlock::text("Go")]).await.map(drop),
                "compact" => harness.compact(None).await.map(drop),
                _ => harness.navigate(None, NavigateOptions::default()).await.map(drop),
            }
        });
        tokio::task::yield_now().await;
        assert!(!second.is_finished(), "{next} waits until all have heard");
        bed.harness.unsubscribe(id);
        slow.open.notify_one();
        let outcome = first.await.expect("task").expect("prompt");
        assert!(!outcome.aborted, "{next}");
        second.await.expect("task").expect(next);
        bed.told();
    }
}

#[tokio::test]
async fn what_listeners_queue_at_the_end_of_a_run_belongs_to_the_same_prompt() {
    for (event, is_delivered) in [
        ("agent_end", true),
        ("compaction_start", true),
        ("compaction_end", true),
        ("agent_settled", false),
    ] {
        let bed = Bed::small([]);
        bed.two_turns().await;
        bed.model_says([counted("C.", LIMIT + 1), "SUMMARY".into(), "D.".into()]);
        let queues =
            Queues { event, harness: bed.harness.clone(), is_over: AtomicBool::new(false) };
        let id = bed.harness.subscribe(Arc::new(queues));
        let outcome = bed.prompt("GAMMA").await;
        let wanted = if is_delivered { "D." } else { "C." };
        assert_eq!(outcome.answer.expect("answer").text(), wanted, "{event}");
        let waits = bed.harness.inner.agent.has_queued_messages();
        assert_eq!(waits, !is_delivered, "{event}");
        bed.harness.unsubscribe(id);
    }
}

#[tokio::test]
async fn a_slow_listener_holds_up_everything_behind_it_and_changes_nothing() {
    let bed = Bed::new([FauxTurn::text("1")]);
    let slow = Arc::new(Slow { event: "message_end", open: Notify::new() });
    let late = Arc::new(Ear::default());
    bed.harness.subscribe(Arc::clone(&slow) as Arc<dyn SessionListener>);
    bed.harness.subscribe(Arc::clone(&late) as Arc<dyn SessionListener>);
    let run = bed.spawn_prompt("Go");
    for role in ["system", "user", "assistant"] {
        bed.ear.wait_for(&format!("message_end {role}")).await;
        tokio::task::yield_now().await;
        assert!(!late.has(&format!("message_end {role}")) && !run.is_finished());
        slow.open.notify_one();
    }
    run.await.expect("task").expect("prompt");
    let events = |ear: &Ear| ear.events.lock().expect("lock").clone();
    assert_eq!(events(&late), events(&bed.ear));
}

/// What has happened is written down, also when who hears of it first never comes to an end.
#[tokio::test]
async fn a_prompt_dropped_while_a_message_is_announced_keeps_it() {
    for role in ["system", "user", "assistant", "toolResult"] {
        let tools: Vec<Arc<dyn Tool>> = vec![Says::new("a", "done")];
        let bed = Bed::with_tools([call("a"), FauxTurn::text("1")], tools);
        let hangs = Arc::new(HangsBefore { role, is_over: AtomicBool::new(false) });
        bed.harness.subscribe(Arc::clone(&hangs) as Arc<dyn SessionListener>);
        let run = bed.spawn_prompt("Go");
        bed.ear.wait_for(&format!("message_start {role}")).await;
        tokio::task::yield_now().await;
        hangs.is_over.store(true, Ordering::SeqCst);
        run.abort();
        assert!(run.await.expect_err("dropped").is_cancelled());
        assert_usable(bed, role).await;
    }
}

#[tokio::test]
async fn a_listener_that_panics_breaks_what_is_on_and_nothing_else() {
    for (event, is_told) in [
        ("agent_start", true),
        ("message_start user", true),
        ("message_end user", true),
        ("message_start assistant", true),
        ("message_end assistant", true),
        ("tool_execution_start", true),
        ("tool_execution_end", true),
        ("message_end toolResult", true),
        ("turn_end", true),
        ("agent_end", true),
        ("compaction_start", false),
        ("compaction_end", false),
        ("agent_settled", false),
    ] {
        for before in [false, true] {
            let when = format!("{event}, before: {before}");
            let tools: Vec<Arc<dyn Tool>> = vec![Says::new("a", "done")];
            let bed = Bed::of(Plan { tools, ..Plan::small() }, []);
            bed.two_turns().await;
            bed.model_says([call("a"), counted("C.", LIMIT + 1), "SUMMARY".into()]);
            let panics = Panics { event, before, is_over: AtomicBool::new(false) };
            bed.harness.subscribe(Arc::new(panics));
            let ended = bed.spawn_prompt("Go").await;
            // A run tells of it as of a failed answer; around a run it goes to who awaits it.
            assert_eq!(ended.is_ok(), is_told, "{when}");
            assert_usable(bed, &when).await;
        }
    }
}

#[tokio::test]
async fn what_the_model_would_be_told_is_not_appended_as_an_entry() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.model_says(["SUMMARY"]);
    bed.compact().await.expect("compacts");
    let options = NavigateOptions { summarize: true, ..NavigateOptions::default() };
    bed.model_says(["SUMMARY"]);
    bed.harness.navigate(Some(&bed.id(5)), options).await.expect("navigates");
    let bodies: Vec<_> = bed.harness.with_session(|session| {
        let parsed = session.entries().map(|entry| entry.parse().expect("entry"));
        parsed.map(|entry| (entry.kind.clone(), entry.body.clone())).collect()
    });
    let before = bed.bytes();
    for kind in ["message", "compaction", "branch_summary"] {
        let body = bodies.iter().find(|(k, _)| k.as_str() == kind).expect(kind).1.clone();
        let error = bed.harness.append(body).await.expect_err(kind).to_string();
        let wanted = "are not appended; they are made by what they record";
        assert_eq!(error, format!("Entries of type {kind} {wanted}"));
    }
    assert_eq!(bed.bytes(), before);
}

#[tokio::test(start_paused = true)]
async fn giving_up_a_wait_gives_up_no_later_one() {
    let failed = FauxTurn { delay_ms: 5, ..FauxTurn::error("529 overloaded_error") };
    let bed = Bed::new([failed, "1".into()]);
    bed.harness.abort_retry();
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("message_end user").await;
    bed.harness.abort_retry();
    let outcome = run.await.expect("task").expect("prompt");
    assert_eq!(stop_of(&outcome), StopReason::Stop, "there was nothing to give up yet");
}

#[tokio::test]
async fn what_is_queued_comes_with_the_prompt_as_it_is_now() {
    let bed = Bed::new(["1", "2"].map(FauxTurn::text));
    let message = || AgentMessage::user(vec![InputBlock::text("S")], 0);
    bed.harness.steer(message()).await;
    bed.harness.run_queued().await.expect("idle").expect("something");
    assert_eq!(bed.requests(), ["system user"]);
    bed.harness.register_tool(Gate::new("a"), true);
    bed.harness.follow_up(message()).await;
    bed.harness.run_queued().await.expect("idle").expect("something");
    assert_eq!(bed.requests()[1], "system user assistant system user");
}

#[tokio::test(start_paused = true)]
async fn what_is_tried_again_comes_with_the_prompt_as_it_is_now() {
    let bed = Bed::new([FauxTurn::error("529 overloaded_error"), FauxTurn::text("1")]);
    bed.harness.set_retry(RetrySettings::default());
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("auto_retry_start").await;
    bed.harness.register_tool(Gate::new("a"), true);
    run.await.expect("task").expect("prompt");
    assert_eq!(bed.requests()[1], "system user system");
}

/// Holds up one kind of event until it is let go.
struct Slow {
    event: &'static str,
    open: Notify,
}

impl SessionListener for Slow {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let event = serde_json::to_value(event).expect("JSON");
        Box::pin(async move {
            if event["type"] == self.event {
                self.open.notified().await;
            }
        })
    }
}

/// Queues one message at one event.
struct Queues {
    event: &'static str,
    harness: Harness,
    is_over: AtomicBool,
}

impl SessionListener for Queues {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let event = serde_json::to_value(event).expect("JSON");
        Box::pin(async move {
            if event["type"] == self.event && !self.is_over.swap(true, Ordering::SeqCst) {
                let message = AgentMessage::user(vec![InputBlock::text("QUEUED")], 0);
                self.harness.follow_up(message).await;
            }
        })
    }
}

/// Never gets done with the announcement of messages of one role.
struct HangsBefore {
    role: &'static str,
    is_over: AtomicBool,
}

impl SessionListener for HangsBefore {
    fn before_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let line = outline(&serde_json::to_value(event).expect("JSON"));
        Box::pin(async move {
            if line.starts_with(&format!("message_end {}", self.role))
                && !self.is_over.load(Ordering::SeqCst)
            {
                std::future::pending::<()>().await;
            }
        })
    }

    fn on_event<'a>(&'a self, _event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Panics once, at one event.
struct Panics {
    event: &'static str,
    before: bool,
    is_over: AtomicBool,
}

impl Panics {
    fn hear(&self, event: &SessionEvent) {
        let line = outline(&serde_json::to_value(event).expect("JSON"));
        if line.starts_with(self.event) && !self.is_over.swap(true, Ordering::SeqCst) {
            // Not a panic of the test's own: no hook prints it.
            std::panic::resume_unwind(Box::new("listener"));
        }
    }
}

impl SessionListener for Panics {
    fn before_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if self.before {
            self.hear(event);
        }
        Box::pin(std::future::ready(()))
    }

    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if !self.before {
            self.hear(event);
        }
        Box::pin(std::future::ready(()))
    }
}
