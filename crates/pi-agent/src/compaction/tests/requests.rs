//! Summary requests: what they carry, and what becomes of bad answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_ai::faux::{FauxProvider, FauxTurn, FauxUsage};
use pi_ai::{
    CacheRetention, Message, Model, SimpleStreamOptions, SimpleToolChoice, StopReason,
    ThinkingLevel, UserContent,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::retry::RetrySettings;

/// A summarising model, and what was told of its attempts.
pub(super) struct Bed {
    pub(super) model: FauxProvider,
    pub(super) summarizer: Summarizer,
    heard: Arc<Ear>,
}

#[derive(Default)]
struct Ear(Mutex<Vec<SummaryRetry>>);

impl SummaryListener for Ear {
    fn on_retry(&self, retry: SummaryRetry) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.0.lock().expect("lock").push(retry) })
    }
}

impl Bed {
    pub(super) fn new<T: Into<FauxTurn>>(turns: impl IntoIterator<Item = T>) -> Self {
        let model = FauxProvider::new(turns.into_iter().collect());
        let heard = Arc::new(Ear::default());
        let summarizer = Summarizer {
            stream: Arc::new(model.protocols()),
            model: Arc::new(FauxProvider::model()),
            thinking_level: ThinkingLevel::Medium,
            options: SimpleStreamOptions::default(),
            retry: RetrySettings { base_delay_ms: 1000, ..RetrySettings::default() },
            cancel: CancellationToken::new(),
            listener: Arc::clone(&heard) as Arc<dyn SummaryListener>,
        };
        Self { model, summarizer, heard }
    }

    pub(super) fn with_model(mut self, model: Model) -> Self {
        self.summarizer.model = Arc::new(model);
        self
    }

    async fn summarize(&self) -> Result<Summary, SummaryError> {
        summarize(&whole_turns(), None, &self.summarizer).await
    }

    /// The text of the one message of each request.
    pub(super) fn prompts(&self) -> Vec<String> {
        let text = |context: &pi_ai::Context| match context.messages.as_slice() {
            [Message::User(message)] => match &message.content {
                UserContent::Blocks(blocks) => blocks[0].as_text().expect("text").to_owned(),
                UserContent::Text(text) => text.clone(),
            },
            other => panic!("not one user message: {other:?}"),
        };
        self.model.contexts().iter().map(text).collect()
    }

    fn heard(&self) -> Vec<SummaryRetry> {
        self.heard.0.lock().expect("lock").clone()
    }
}

fn whole_turns() -> Preparation {
    let entries = [says("first"), answers("one"), user(80), answer(30)];
    prepare(&session(&entries), &keeping(100)).expect("prepared")
}

fn stopped(text: &str, stop_reason: StopReason) -> FauxTurn {
    FauxTurn { stop_reason: Some(stop_reason), ..FauxTurn::text(text) }
}

#[tokio::test]
async fn a_request_is_one_message_without_tools_or_caching() {
    let mut bed = Bed::new(["## Goal"]);
    let options = &mut bed.summarizer.options;
    options.tool_choice = Some(SimpleToolChoice::None);
    options.base.session_id = Some("s1".to_owned());
    options.base.api_key = Some("k".to_owned());
    options.base.cache_retention = CacheRetention::Long;
    options.base.max_tokens = Some(5);
    bed.summarize().await.expect("summary");

    let requests = bed.model.requests();
    let [request] = requests.as_slice() else { panic!("one request") };
    let system = request.context.system_prompt.as_deref().expect("system prompt");
    assert!(system.contains("summar"));
    assert!(request.context.tools.is_empty());
    assert_eq!(bed.prompts().len(), 1);
    assert_eq!(request.options.cache_retention, CacheRetention::None);
    assert_eq!(request.options.session_id.as_deref(), Some("s1"));
    assert_eq!(request.options.api_key.as_deref(), Some("k"));
    assert_eq!(request.options.max_tokens, Some(16_384));
    assert_eq!(request.reasoning, ThinkingLevel::Medium);
}

#[tokio::test]
async fn the_output_limit_is_the_models_own_unless_the_window_is_too_small() {
    let with =
        |context_window, max_tokens| Model { context_window, max_tokens, ..FauxProvider::model() };
    for (model, expected) in [
        (with(200_000, 64_000), Some(64_000)),
        (with(0, 64_000), Some(64_000)),
        (with(200_000, 0), None),
    ] {
        let bed = Bed::new(["sum"]).with_model(model);
        bed.summarize().await.expect("summary");
        assert_eq!(bed.model.requests()[0].options.max_tokens, expected);
    }
    let bed = Bed::new(["sum"]).with_model(with(6000, 8192));
    bed.summarize().await.expect("summary");
    let limit = bed.model.requests()[0].options.max_tokens.expect("limit");
    assert!((1024..6000 - 857).contains(&limit), "{limit}");
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_to() {
    let bed = Bed::new(["sum"]).with_model(Model { reasoning: false, ..FauxProvider::model() });
    bed.summarize().await.expect("summary");
    assert_eq!(bed.model.requests()[0].reasoning, ThinkingLevel::Off);
}

#[tokio::test]
async fn part_of_a_summary_or_none_is_a_failure() {
    for (turn, expected) in [
        (
            stopped("## Goal\npart", StopReason::Length),
            "The summary was cut off at the model's output limit",
        ),
        (FauxTurn::text(" \n"), "The model returned no summary text"),
        (FauxTurn::tool_call("c", "read", json!({})), "The model returned no summary text"),
        (FauxTurn::error("401: bad key"), "401: bad key"),
        (FauxTurn::error("429: insufficient_quota"), "429: insufficient_quota"),
        (FauxTurn::error("529: prompt is too long"), "529: prompt is too long"),
        (stopped("part", StopReason::Aborted), "Unknown error"),
    ] {
        let bed = Bed::new([turn]);
        let error = bed.summarize().await.expect_err(expected);
        assert_eq!(error, SummaryError::Failed(expected.to_owned()));
        assert_eq!(error.to_string(), expected);
        assert_eq!(bed.heard(), [], "{expected}");
        assert_eq!(bed.prompts().len(), 1, "{expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn passing_failures_are_tried_again_and_told_of() {
    let slow_down = FauxTurn { retry_after_ms: Some(5000), ..FauxTurn::error("429: slow down") };
    let bed = Bed::new([FauxTurn::error("terminated"), slow_down, "sum".into()]);
    let began = tokio::time::Instant::now();
    assert_eq!(bed.summarize().await.expect("summary").text, "sum");
    assert_eq!(began.elapsed(), Duration::from_secs(6));
    let scheduled = |attempt, delay_ms, error: &str| SummaryRetry::Scheduled {
        attempt,
        max_attempts: 3,
        delay_ms,
        error_message: error.to_owned(),
    };
    assert_eq!(
        bed.heard(),
        [
            scheduled(1, 1000, "terminated"),
            SummaryRetry::AttemptStart,
            scheduled(2, 5000, "429: slow down"),
            SummaryRetry::AttemptStart,
            SummaryRetry::Finished,
        ]
    );
    assert_eq!(bed.prompts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn attempts_end_with_the_last_error_and_may_be_switched_off() {
    let bed = Bed::new((0..9).map(|_| FauxTurn::error("503: busy")));
    let failed = SummaryError::Failed("503: busy".to_owned());
    assert_eq!(bed.summarize().await.expect_err("fails"), failed);
    assert_eq!(bed.prompts().len(), 4);
    assert_eq!(bed.heard().last(), Some(&SummaryRetry::Finished));

    let mut bed = Bed::new([FauxTurn::error("503: busy")]);
    bed.summarizer.retry.enabled = false;
    assert_eq!(bed.summarize().await.expect_err("fails"), failed);
    assert_eq!(bed.heard(), []);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_request_and_a_wait() {
    let hanging = FauxTurn { hang: true, ..FauxTurn::text("part") };
    for turn in [hanging, FauxTurn::error("terminated")] {
        let bed = Bed::new([turn]);
        let cancel = bed.summarizer.cancel.clone();
        let later = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cancel.cancel();
        };
        let (summary, ()) = tokio::join!(bed.summarize(), later);
        assert_eq!(summary.expect_err("cancelled"), SummaryError::Cancelled);
        assert!(bed.heard().is_empty() || bed.heard().last() == Some(&SummaryRetry::Finished));
    }
}

#[tokio::test]
async fn nothing_is_asked_once_cancelled() {
    let bed = Bed::new(["sum"]);
    bed.summarizer.cancel.cancel();
    assert_eq!(bed.summarize().await.expect_err("cancelled"), SummaryError::Cancelled);
    assert!(bed.prompts().is_empty());
}

#[tokio::test]
async fn what_was_spent_is_summed() {
    let spent = FauxUsage { input: 7, output: 3, ..FauxUsage::default() };
    let turn = || FauxTurn::text("sum").with_usage(spent);
    let bed = Bed::new([turn(), turn()]);
    let entries = [user(50), answer(50), user(10), answer(100)];
    let split = prepare(&session(&entries), &keeping(100)).expect("prepared");
    let summary = summarize(&split, None, &bed.summarizer).await.expect("summary");
    let usage = summary.usage.expect("usage");
    assert_eq!((usage.input, usage.output, usage.total_tokens), (14, 6, 20));
}
