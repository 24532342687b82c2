//! Whatever is begun, stopped and dropped, in whatever order: memory and file say the same.

use proptest::prelude::*;
use tokio::task::JoinHandle;

use super::*;

/// What somebody does with a harness.
#[derive(Debug, Clone)]
enum Step {
    Prompt,
    RunQueued,
    Compact,
    /// To the entry at this share of the list.
    Navigate {
        at: u8,
        summarize: bool,
        label: bool,
    },
    Steer,
    FollowUp,
    ClearQueues,
    Bash,
    Edit {
        at: u8,
    },
    Tools {
        count: u8,
    },
    Level(bool),
    Abort,
    Drop,
    LetRun {
        polls: u8,
    },
}

/// How the model answers.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Text,
    Long,
    OverTheLimit,
    Call,
    LastCall,
    Cut,
    CutCall,
    Passing,
    Final,
    TooLong,
    Hang,
}

impl Answer {
    fn turn(self, number: usize) -> FauxTurn {
        let call = || FauxBlock::tool_call(format!("call_{number}"), "a", json!({}));
        let length = Some(StopReason::Length);
        match self {
            Self::Text => counted("Short.", 200),
            Self::Long => FauxTurn::text(long("Long.")),
            Self::OverTheLimit => counted("Much.", LIMIT + 1),
            Self::Call => FauxTurn::new([call()]),
            Self::LastCall => with_count(FauxTurn::new([FauxBlock::text("x"), call()]), LIMIT + 1),
            Self::Cut => FauxTurn { stop_reason: length, ..counted("Half", 500) },
            Self::CutCall => FauxTurn { stop_reason: length, ..FauxTurn::new([call()]) },
            Self::Passing => FauxTurn::error("529 overloaded_error"),
            Self::Final => FauxTurn::error("401 no key"),
            Self::TooLong => FauxTurn::error("prompt is too long"),
            Self::Hang => hanging(),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let navigate = (any::<u8>(), any::<bool>(), any::<bool>())
        .prop_map(|(at, summarize, label)| Step::Navigate { at, summarize, label });
    prop_oneof![
        4 => Just(Step::Prompt),
        1 => Just(Step::RunQueued),
        2 => Just(Step::Compact),
        2 => navigate,
        1 => Just(Step::Steer),
        1 => Just(Step::FollowUp),
        1 => Just(Step::ClearQueues),
        1 => Just(Step::Bash),
        1 => any::<u8>().prop_map(|at| Step::Edit { at }),
        1 => (0..3_u8).prop_map(|count| Step::Tools { count }),
        1 => any::<bool>().prop_map(Step::Level),
        1 => Just(Step::Abort),
        1 => Just(Step::Drop),
        6 => (0..40_u8).prop_map(|polls| Step::LetRun { polls }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => Just(Answer::Text),
        2 => Just(Answer::Long),
        2 => Just(Answer::OverTheLimit),
        2 => Just(Answer::Call),
        1 => Just(Answer::LastCall),
        1 => Just(Answer::Cut),
        1 => Just(Answer::CutCall),
        1 => Just(Answer::Passing),
        1 => Just(Answer::Final),
        1 => Just(Answer::TooLong),
        1 => Just(Answer::Hang),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_file_say_the_same_whatever_happens(
        steps in prop::collection::vec(step(), 1..24),
        answers in prop::collection::vec(answer(), 4..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("runtime");
        runtime.block_on(play(steps, answers));
    }
}

async fn play(steps: Vec<Step>, answers: Vec<Answer>) {
    let tools: Vec<Arc<dyn Tool>> = vec![Says::new("a", &long("Result.")), Says::new("b", "")];
    let bed = Bed::of(Plan { tools, ..Plan::small() }, []);
    for (number, answer) in answers.into_iter().enumerate() {
        bed.model.push(answer.turn(number));
    }
    bed.harness.subscribe(Arc::new(Yields));
    // An edit of the context counts from the next prompt.
    let has_edits = steps.iter().any(|step| matches!(step, Step::Edit { .. }));
    let mut tasks = Vec::new();
    for step in steps {
        take(&bed, step, &mut tasks).await;
    }
    bed.harness.abort();
    for task in tasks {
        // A prompt that waited for the one before to settle may have begun only now.
        let ended = async {
            while !task.is_finished() {
                bed.harness.abort();
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("ends");
        if let Err(error) = task.await {
            assert!(error.is_cancelled(), "{error}");
        }
    }
    assert_eq!(bed.harness.operation(), Operation::Idle);
    stops::assert_answered(&bed);
    let context = bed.harness.with_session(|session| session.context().messages);
    if !has_edits {
        let context: Vec<_> = context.iter().map(without_times).collect();
        assert_eq!(bed.context(), context);
    }
    bed.model_answers();
    while bed.model.remaining() > 1 {
        let model = bed.harness.inner.agent.model();
        drop(bed.model.protocols().stream(
            &model,
            pi_ai::Context::default(),
            pi_ai::StreamOptions::default(),
        ));
    }
    bed.harness.clear_queues().await;
    let outcome = bed.prompt("The last one").await;
    assert_eq!(stop_of(&outcome), StopReason::Stop);
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

/// Lets others run at every event.
struct Yields;

impl SessionListener for Yields {
    fn before_event<'a>(&'a self, _event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(tokio::task::yield_now())
    }

    fn on_event<'a>(&'a self, _event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(tokio::task::yield_now())
    }
}

async fn take(bed: &Bed, step: Step, tasks: &mut Vec<JoinHandle<()>>) {
    let harness = bed.harness.clone();
    let message = |text: &str| AgentMessage::user(vec![InputBlock::text(text)], 0);
    let entry = |at: u8| {
        bed.harness.with_session(|session| {
            let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
            let index = usize::from(at) * ids.len() / 256;
            ids.get(index).cloned()
        })
    };
    match step {
        Step::Prompt => tasks.push(tokio::spawn(async move {
            drop(harness.prompt(vec![InputBlock::text(long("Prompt"))]).await);
        })),
        Step::RunQueued => tasks.push(tokio::spawn(async move {
            drop(harness.run_queued().await);
        })),
        Step::Compact => tasks.push(tokio::spawn(async move {
            drop(harness.compact(None).await);
        })),
        Step::Navigate { at, summarize, label } => {
            let target = entry(at);
            let label = label.then(|| "mark".to_owned());
            let options = NavigateOptions { summarize, label, ..NavigateOptions::default() };
            tasks.push(tokio::spawn(async move {
                drop(harness.navigate(target.as_deref(), options).await);
            }));
        }
        Step::Steer => harness.steer(message("Steer")).await,
        Step::FollowUp => harness.follow_up(message("Follow")).await,
        Step::ClearQueues => drop(harness.clear_queues().await),
        Step::Bash => harness.record_bash(bash("ls")).expect("stored"),
        Step::Edit { at } => {
            let Some(target_id) = entry(at) else { return };
            let edit = EntryBody::ContextEdit { target_id, replacement: None };
            harness.append(edit).await.expect("stored");
        }
        Step::Tools { count } => {
            let names = ["a", "b"];
            harness.set_active_tools(&names[..usize::from(count)]);
        }
        Step::Level(high) => {
            let level = if high { ThinkingLevel::High } else { ThinkingLevel::Off };
            harness.set_thinking_level(level).await;
        }
        Step::Abort => harness.abort(),
        Step::Drop => {
            if let Some(task) = tasks.last() {
                task.abort();
            }
        }
        Step::LetRun { polls } => {
            for _ in 0..polls {
                tokio::task::yield_now().await;
            }
        }
    }
}
