//! Conversations longer than the summarising model's window.

use std::time::Duration;

use pi_ai::Model;
use pi_ai::faux::{FauxProvider, FauxTurn, FauxUsage};
use proptest::prelude::*;

use super::requests::Bed;
use super::*;
use crate::compaction::conversation::paragraphs;
use crate::compaction::parts::Parts;
use pi_ai::utf16::text_units;

/// Tokens of the summarising model's window. A quarter of it is for the request, of which the
/// instructions take a quarter.
const WINDOW: u64 = 10_000;

/// Two paragraphs of so many UTF-16 units fit into a request, three do not.
const UNITS: usize = 3000;

/// A model of the small window, unless it is to be another.
fn small<T: Into<FauxTurn>>(turns: impl IntoIterator<Item = T>) -> Bed {
    Bed::new(turns).with_model(Model { context_window: WINDOW, ..FauxProvider::model() })
}

/// The mark, and as much more as makes a paragraph of [`UNITS`].
fn padded(mark: &str) -> String {
    format!("{mark} {}", "x".repeat(UNITS - "[Assistant]: ".len() - mark.len() - 1))
}

fn turn(number: usize) -> [Value; 2] {
    [says(&padded(&format!("Q{number}"))), answers(&padded(&format!("A{number}")))]
}

/// So many long turns, and one that is kept.
fn history(turns: usize) -> Vec<Value> {
    (0..turns).flat_map(turn).chain([user(80), answer(30)]).collect()
}

fn prepared(entries: &[Value]) -> Preparation {
    prepare(&session(entries), &keeping(100)).expect("prepared")
}

/// Marks of the messages in a prompt, in its order.
fn marks(prompt: &str) -> Vec<&str> {
    let words = prompt.split_whitespace();
    words
        .filter(|word| {
            let number = word.strip_prefix(['Q', 'A']);
            number.is_some_and(|number| number.parse::<usize>().is_ok())
        })
        .collect()
}

fn earlier(summary: &str) -> String {
    format!("\n</conversation>\n\n<previous-summary>\n{summary}\n</previous-summary>\n\n")
}

#[tokio::test]
async fn each_part_brings_the_summary_of_those_before_it_up_to_date() {
    let bed = small(["SUM-1", "SUM-2", "SUM-3"]);
    let summary = summarize(&prepared(&history(3)), Some("the numbers"), &bed.summarizer).await;
    assert_eq!(summary.expect("summary").text, "SUM-3");

    let prompts = bed.prompts();
    let marks: Vec<_> = prompts.iter().map(|prompt| marks(prompt)).collect();
    assert_eq!(marks, [["Q0", "A0"], ["Q1", "A1"], ["Q2", "A2"]]);
    assert!(!prompts[0].contains("previous-summary"));
    assert!(prompts[1].contains(&earlier("SUM-1")) && prompts[2].contains(&earlier("SUM-2")));
    for prompt in &prompts {
        assert!(prompt.starts_with("<conversation>\n[User]: Q"));
        assert!(prompt.contains("## Critical Context"));
        assert!(prompt.ends_with("\n\nAdditional focus: the numbers"));
    }
    for request in bed.model.requests() {
        let taken = pi_ai::max_tokens::estimate(&request.context);
        assert!(taken <= WINDOW / 4, "{taken}");
        assert!(request.options.max_tokens.expect("limit") >= 2048);
    }
}

#[tokio::test]
async fn the_first_part_brings_an_earlier_compaction_up_to_date() {
    let old = "OLD\n\n<read-files>\nold.txt\n</read-files>";
    let entries: Vec<_> = [user(9), compaction(old, "e1")].into_iter().chain(history(2)).collect();
    let bed = small(["SUM-1", "SUM-2"]);
    let summary = summarize(&prepared(&entries), None, &bed.summarizer).await.expect("summary");
    assert!(summary.text.starts_with("SUM-2\n\n<read-files>\nold.txt\n</read-files>"));
    let prompts = bed.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(prompts[0].contains(&earlier(old)));
    assert!(prompts[1].contains(&earlier("SUM-1")) && !prompts[1].contains("OLD"));
}

#[tokio::test]
async fn a_turns_beginning_is_summarised_in_parts_after_the_history() {
    let mut entries: Vec<_> = turn(0).into();
    entries.extend(turn(1));
    entries.extend([
        says(&padded("Q2")),
        answers(&padded("A2")),
        answers(&padded("A3")),
        answer(100),
    ]);
    let bed = small(["SUM-1", "SUM-2", "PRE-1", "PRE-2"]);
    let summary = summarize(&prepared(&entries), Some("the numbers"), &bed.summarizer).await;
    assert_eq!(
        summary.expect("summary").text,
        "SUM-2\n\n---\n\n**Turn Context (split turn):**\n\nPRE-2"
    );
    let prompts = bed.prompts();
    let marks: Vec<_> = prompts.iter().map(|prompt| marks(prompt)).collect();
    assert_eq!(marks, [vec!["Q0", "A0"], vec!["Q1", "A1"], vec!["Q2", "A2"], vec!["A3"]]);
    assert!(!prompts[2].contains("previous-summary"));
    assert!(prompts[3].starts_with("# Conversation\n\n[Assistant]: A3"));
    assert!(
        prompts[3]
            .contains("\n\n<previous-summary>\nPRE-1\n</previous-summary>\n\n# Instructions\n\n")
    );
    for prompt in &prompts[2..] {
        for heading in
            ["## Original Request", "## Progress So Far", "## Context Needed to Continue"]
        {
            assert!(prompt.contains(heading), "{heading}");
        }
        assert!(prompt.ends_with("\n\nAdditional focus: the numbers"));
    }
}

#[tokio::test]
async fn what_fits_and_what_goes_into_an_unknown_window_is_one_request() {
    let preparation = prepared(&history(3));
    let mut asked = Vec::new();
    for context_window in [0, 200_000] {
        let model = Model { context_window, ..FauxProvider::model() };
        let bed = Bed::new(["SUM"]).with_model(model);
        summarize(&preparation, None, &bed.summarizer).await.expect("summary");
        asked.push(bed.prompts());
    }
    assert_eq!(asked[0].len(), 1);
    assert_eq!(marks(&asked[0][0]), ["Q0", "A0", "Q1", "A1", "Q2", "A2"]);
    assert_eq!(asked[0], asked[1]);
}

#[tokio::test]
async fn a_message_longer_than_a_part_is_cut_with_a_notice() {
    let entries =
        [says("before"), answers(&"y".repeat(30_000)), says("after"), user(80), answer(30)];
    let bed = small(["SUM-1", "SUM-2", "SUM-3"]);
    summarize(&prepared(&entries), None, &bed.summarizer).await.expect("summary");
    let prompts = bed.prompts();
    assert!(prompts[0].starts_with("<conversation>\n[User]: before\n</conversation>"));
    let (shown, rest) = prompts[1].split_once("\n\n[").expect("notice");
    let shown = shown.strip_prefix("<conversation>\n[Assistant]: ").expect("answer").len();
    let notice = format!("{} more characters not shown]", 30_000 - shown);
    assert!(rest.starts_with(&notice) && shown > 2 * UNITS, "{shown} {rest}");
    assert!(prompts[2].starts_with("<conversation>\n[User]: after\n</conversation>"));
}

#[tokio::test]
async fn an_earlier_summary_that_fills_the_window_leaves_room_for_a_part_all_the_same() {
    let entries = [user(9), compaction(&tokens(20_000), "e1")];
    let entries: Vec<_> = entries.into_iter().chain(history(2)).collect();
    let bed = small(["SUM-1", "SUM-2", "SUM-3"]);
    summarize(&prepared(&entries), None, &bed.summarizer).await.expect("summary");
    let prompts = bed.prompts();
    let marks: Vec<_> = prompts.iter().map(|prompt| marks(prompt)).collect();
    assert_eq!(marks, [vec!["Q0"], vec!["A0", "Q1"], vec!["A1"]]);
}

#[tokio::test]
async fn what_all_parts_cost_is_summed() {
    let spent = FauxUsage { input: 7, output: 3, ..FauxUsage::default() };
    let bed = small((0..3).map(|_| FauxTurn::text("SUM").with_usage(spent)));
    let summary = summarize(&prepared(&history(3)), None, &bed.summarizer).await.expect("summary");
    let usage = summary.usage.expect("usage");
    assert_eq!((usage.input, usage.output, usage.total_tokens), (21, 9, 30));
}

#[tokio::test(start_paused = true)]
async fn a_passing_failure_repeats_its_own_part_only() {
    let turns = ["SUM-1".into(), FauxTurn::error("503: busy"), "SUM-2".into(), "SUM-3".into()];
    let bed = small(turns);
    let summary = summarize(&prepared(&history(3)), None, &bed.summarizer).await.expect("summary");
    assert_eq!(summary.text, "SUM-3");
    let prompts = bed.prompts();
    assert_eq!(prompts.len(), 4);
    assert_eq!(prompts[1], prompts[2]);
}

#[tokio::test]
async fn a_failure_of_any_part_is_that_of_the_summary() {
    let bed = small(["SUM-1".into(), FauxTurn::error("401: no"), "SUM-3".into()]);
    let failed = summarize(&prepared(&history(3)), None, &bed.summarizer).await;
    assert_eq!(failed, Err(SummaryError::Failed("401: no".to_owned())));
    assert_eq!(bed.prompts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn cancelling_any_part_ends_all() {
    let hanging = FauxTurn { hang: true, ..FauxTurn::text("part") };
    let bed = small(["SUM-1".into(), hanging, "SUM-3".into()]);
    let cancel = bed.summarizer.cancel.clone();
    let preparation = prepared(&history(3));
    let later = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (summary, ()) = tokio::join!(summarize(&preparation, None, &bed.summarizer), later);
    assert_eq!(summary, Err(SummaryError::Cancelled));
    assert_eq!(bed.prompts().len(), 2);
}

proptest! {
    #[test]
    fn every_paragraph_is_in_one_part_in_order(
        texts in prop::collection::vec("[aé漢😀\n]{0,60}", 0..20),
        rooms in prop::collection::vec(60_u64..300, 1..5),
    ) {
        let mut parts = Parts::new(texts.clone());
        let mut joined = Vec::new();
        for room in rooms.iter().cycle() {
            let part = parts.take(*room);
            let is_whole = text_units(&part) <= *room;
            prop_assert!(is_whole || part.ends_with(" more characters not shown]"), "{part}");
            joined.push(part);
            if parts.is_empty() {
                break;
            }
        }
        let fits = texts.iter().all(|text| text_units(text) <= 60);
        if fits {
            prop_assert_eq!(joined.join("\n\n"), texts.join("\n\n"));
        }
        prop_assert!(joined.len() <= texts.len().max(1));
    }

    #[test]
    fn every_message_reaches_the_model_once_in_order(
        sizes in prop::collection::vec(0_usize..4000, 1..12),
    ) {
        let mark = |(at, size): (usize, &usize)| says(&format!("Q{at} {}", "x".repeat(*size)));
        let entries: Vec<_> =
            sizes.iter().enumerate().map(mark).chain([user(80), answer(30)]).collect();
        let preparation = prepare(&session(&entries), &keeping(1)).expect("prepared");
        let bed = small(["SUM"; 16]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(summarize(&preparation, None, &bed.summarizer)).expect("summary");

        let prompts = bed.prompts();
        let told: Vec<_> = prompts.iter().flat_map(|prompt| marks(prompt)).collect();
        let all: Vec<_> = (0..sizes.len()).map(|at| format!("Q{at}")).collect();
        prop_assert_eq!(told, all);
        for paragraph in paragraphs(&preparation.messages_to_summarize) {
            let holders = prompts.iter().filter(|prompt| prompt.contains(&paragraph));
            prop_assert_eq!(holders.count(), 1);
        }
    }
}
