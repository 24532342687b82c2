//! What is left when the leaf moves, and its summary.

use super::requests::Bed;
use super::*;
use crate::session::SessionError;

fn left(session: &Session, target: Option<&str>) -> BranchPreparation {
    prepare_branch(session, target, 0).expect("prepared")
}

/// e0 user, e1 answer, then two branches: e2 user, e3 answer; e4 user, e5 answer (the leaf).
fn forked() -> Session {
    session(&[
        says("root"),
        answers("r"),
        says("left"),
        answers("l"),
        below("e1", says("right")),
        answers("r2"),
    ])
}

#[test]
fn entries_from_the_leaf_up_to_the_common_ancestor_are_left() {
    let session = forked();
    // Target, ancestor, entries.
    let cases = [
        (Some("e3"), Some("e1"), vec!["e4", "e5"]),
        (Some("e1"), Some("e1"), vec!["e4", "e5"]),
        (Some("e4"), Some("e4"), vec!["e5"]),
        (Some("e5"), Some("e5"), vec![]),
        (Some("e0"), Some("e0"), vec!["e1", "e4", "e5"]),
        (None, None, vec!["e0", "e1", "e4", "e5"]),
    ];
    for (target, ancestor, entries) in cases {
        let left = left(&session, target);
        assert_eq!(left.common_ancestor_id.as_deref(), ancestor, "{target:?}");
        assert_eq!(left.entry_ids, entries, "{target:?}");
        let ids: Vec<_> = places(&left.messages).iter().map(|at| format!("e{at}")).collect();
        assert_eq!(ids, entries, "{target:?}");
        assert_eq!(left.target_id.as_deref(), target);
        assert_eq!(left.old_leaf_id.as_deref(), Some("e5"));
    }
}

#[test]
fn to_a_descendant_nothing_is_left() {
    let mut session = forked();
    session.set_leaf(Some("e1")).expect("leaf");
    let left = left(&session, Some("e5"));
    assert_eq!(left.common_ancestor_id.as_deref(), Some("e1"));
    assert!(left.entry_ids.is_empty() && left.messages.is_empty());
}

#[test]
fn from_before_every_entry_nothing_is_left() {
    let mut session = forked();
    session.set_leaf(None).expect("leaf");
    let left = left(&session, Some("e5"));
    assert_eq!((left.old_leaf_id, left.common_ancestor_id), (None, None));
    assert!(left.entry_ids.is_empty());
}

#[test]
fn another_root_has_no_ancestor_in_common() {
    let session = session(&[says("a"), below("nowhere", says("b")), answers("c")]);
    let left = left(&session, Some("e0"));
    assert_eq!(left.common_ancestor_id, None);
    assert_eq!(left.entry_ids, ["e1", "e2"]);
}

#[test]
fn a_target_that_is_not_there_is_an_error() {
    let error = prepare_branch(&forked(), Some("zz"), 0).expect_err("no such entry");
    assert!(matches!(error, SessionError::NoSuchEntry { id } if id == "zz"));
}

#[test]
fn messages_are_taken_with_edits_and_without_results_and_prompts() {
    let session = session(&[
        says("root"),
        system("rules"),
        says("kept"),
        failed(""),
        omit("e3"),
        failed("part"),
        call("c1"),
        result("c1", 5),
        bash("ls", "out", false),
        bash("hidden", "out", true),
        custom("noted"),
        branch_summary("elsewhere"),
        compaction("COMPACTED", "e8"),
        label(),
        answers("OLD WORDS"),
        edit("e14", json!({"content": "NEW WORDS"})),
        says("omitted"),
        omit("e16"),
    ]);
    let left = left(&session, Some("e0"));
    assert_eq!(places(&left.messages), [2, 5, 6, 8, 10, 11, 12, 14]);
    let text = conversation::to_text(&left.messages);
    assert!(text.contains("COMPACTED") && text.contains("NEW WORDS"));
    assert!(!text.contains("OLD WORDS") && !text.contains("[Tool result]"));
    assert_eq!(left.entry_ids.len(), 17);
}

#[test]
fn the_newest_messages_that_fit_are_taken() {
    let session = session(&[says("root"), user(100), answer(10), user(20), answer(30)]);
    for (budget, expected) in [
        (0, vec![1, 2, 3, 4]),
        (160, vec![1, 2, 3, 4]),
        (159, vec![2, 3, 4]),
        (50, vec![3, 4]),
        (49, vec![4]),
        (29, vec![]),
    ] {
        let left = prepare_branch(&session, Some("e0"), budget).expect("prepared");
        assert_eq!(places(&left.messages), expected, "{budget}");
        assert_eq!(left.entry_ids.len(), 4, "{budget}");
    }
}

#[test]
fn files_are_those_of_calls_and_of_branch_summaries_of_our_own_making() {
    let mut by_extension = branch_summary("x");
    by_extension["fromHook"] = json!(true);
    by_extension["details"] = json!({"readFiles": ["theirs.txt"]});
    let entries = [
        call("before.txt"),
        call("a.txt"),
        result("a.txt", 1),
        calls("w", "write", json!({"path": "w.txt"})),
        branch_summary("x"),
        by_extension,
    ];
    let lists = left(&session(&entries), Some("e0")).file_operations.lists();
    assert_eq!(lists.read_files, ["a.txt", "branch.txt"]);
    assert_eq!(lists.modified_files, ["changed.txt", "w.txt"]);
}

#[tokio::test]
async fn a_branch_is_summarised_in_one_request_below_a_preamble_of_two_lines() {
    let session = session(&[says("root"), says("kept"), call("a.txt"), result("a.txt", 900)]);
    let bed = Bed::new(["SUM"]);
    let preparation = left(&session, Some("e0"));
    let summary = summarize_branch(&preparation, SummaryInstructions::Usual, &bed.summarizer);
    let summary = summary.await.expect("summary");
    let [prompt] = &bed.prompts()[..] else { panic!("one request") };
    assert!(prompt.starts_with(
        "<conversation>\n[User]: kept\n\n\
         [Assistant tool calls]: read(path=\"a.txt\")\n</conversation>\n\n"
    ));
    assert!(prompt.contains("## Goal") && prompt.contains("## Next Steps"));
    assert!(!prompt.contains("## Critical Context"));
    let (preamble, rest) = summary.text.split_once("\n\n").expect("preamble");
    assert_eq!(preamble.lines().count(), 2);
    assert_eq!(rest, "SUM\n\n<read-files>\na.txt\n</read-files>");
    assert_eq!(summary.details, Some(json!({"readFiles": ["a.txt"], "modifiedFiles": []})));
    assert!(summary.usage.is_some());
}

#[tokio::test]
async fn instructions_add_a_focus_or_stand_in_place_of_the_usual_ones() {
    let session = session(&[says("root"), says("kept")]);
    let preparation = left(&session, Some("e0"));
    let bed = Bed::new(["SUM", "SUM", "SUM"]);
    for instructions in [
        SummaryInstructions::Focus("the numbers"),
        SummaryInstructions::Focus(" "),
        SummaryInstructions::Replace("In one word."),
    ] {
        summarize_branch(&preparation, instructions, &bed.summarizer).await.expect("summary");
    }
    let prompts = bed.prompts();
    assert!(prompts[0].contains("## Goal"));
    assert!(prompts[0].ends_with("\n\nAdditional focus: the numbers"));
    assert!(!prompts[1].contains("Additional focus"));
    assert!(prompts[2].ends_with("</conversation>\n\nIn one word."));
}

#[tokio::test]
async fn part_of_a_branchs_summary_is_none() {
    let turn = pi_ai::faux::FauxTurn {
        stop_reason: Some(pi_ai::StopReason::Length),
        ..pi_ai::faux::FauxTurn::text("part")
    };
    let bed = Bed::new([turn]);
    let preparation = left(&session(&[says("root"), says("kept")]), Some("e0"));
    let summary = summarize_branch(&preparation, SummaryInstructions::Usual, &bed.summarizer);
    assert!(matches!(summary.await, Err(SummaryError::Failed(_))));
}
