//! Going elsewhere in the tree.

use super::hooks::{Decider, heard};
use super::*;
use crate::session::entry::Replacement;

fn summarize() -> NavigateOptions {
    NavigateOptions { summarize: true, ..NavigateOptions::default() }
}

fn labelled(label: &str) -> NavigateOptions {
    NavigateOptions { label: Some(label.to_owned()), ..NavigateOptions::default() }
}

impl Bed {
    async fn go(&self, target: &str, options: NavigateOptions) -> Navigation {
        self.try_to_go(Some(target), options).await.expect("navigates")
    }

    async fn try_to_go(
        &self,
        target: Option<&str>,
        options: NavigateOptions,
    ) -> Result<Navigation, HarnessError> {
        let navigation = self.harness.navigate(target, options);
        tokio::time::timeout(PATIENCE, navigation).await.expect("in time")
    }

    /// What everybody can see of where the conversation is.
    fn place(&self) -> (String, Vec<Value>, Vec<u8>) {
        (self.leaf(), self.context(), self.bytes())
    }
}

/// Lines of a bed of two turns: 4 `ALPHA`, 5 its answer, 6 `BETA`, 7 its answer.
async fn two_turns() -> Bed {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed
}

#[tokio::test]
async fn to_a_user_message_means_before_it_with_its_text_to_send_again() {
    let bed = two_turns().await;
    let before = bed.bytes();
    let navigation = bed.go(&bed.id(6), NavigateOptions::default()).await;
    assert_eq!(navigation.editor_text, Some(long("BETA")));
    assert!(navigation.summary.is_none());
    assert_eq!(bed.leaf(), bed.id(5));
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    assert_eq!(bed.bytes(), before, "nothing is written");
    assert_eq!(bed.told(), [""; 0], "and nothing told");

    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(bed.requests()[2], "system user assistant user");
    assert_eq!(bed.lines()[8]["parentId"], bed.id(5));
}

#[tokio::test]
async fn to_any_other_entry_means_right_behind_it() {
    let bed = two_turns().await;
    let before = bed.bytes();
    let custom = EntryBody::Custom { custom_type: "x".to_owned(), data: None };
    bed.harness.append(custom).await.expect("append");
    for line in [5, 2, 8, 3] {
        let navigation = bed.go(&bed.id(line), NavigateOptions::default()).await;
        assert_eq!((navigation.editor_text, bed.leaf()), (None, bed.id(line)), "line {line}");
    }
    assert_eq!(bed.bytes()[..before.len()], before);
}

#[tokio::test]
async fn the_first_message_and_nothing_at_all_lead_before_everything() {
    let bed = two_turns().await;
    bed.try_to_go(None, NavigateOptions::default()).await.expect("navigates");
    assert_eq!(bed.leaf(), "");
    assert_eq!(bed.harness.state().conversation.leaf_id, None);
    assert!(bed.harness.messages().is_empty());
    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(
        bed.entries()[8..],
        ["model_change", "thinking_level_change", "system", "user", "assistant"],
        "a new beginning, with all it takes"
    );
    assert_eq!(bed.lines()[8]["parentId"], Value::Null);
    assert_eq!(bed.requests()[2], "system user");

    let first = Bed::small(["A."].map(FauxTurn::text));
    first.prompt("ALPHA").await;
    let navigation = first.go(&first.id(4), NavigateOptions::default()).await;
    assert_eq!(navigation.editor_text.as_deref(), Some("ALPHA"));
    assert_eq!(first.leaf(), first.id(3), "the prompt stands before the first message");
}

#[tokio::test]
async fn to_where_one_is_nothing_happens() {
    let log = Arc::default();
    let bed = two_turns().await;
    bed.harness.set_session_hooks(vec![Arc::new(Decider::new("a", &log))]);
    let before = bed.place();
    bed.go(&bed.leaf(), summarize()).await;
    assert_eq!(bed.place(), before);
    assert_eq!((heard(&log), bed.model.contexts().len()), (vec![], 2));
}

#[tokio::test]
async fn to_where_nothing_is_one_does_not_get() {
    let bed = two_turns().await;
    let before = bed.place();
    let error = bed.try_to_go(Some("zzz"), summarize()).await.expect_err("no such entry");
    assert_eq!(error.to_string(), "Entry zzz not found");
    assert_eq!(bed.place(), before);
    assert!(!bed.harness.is_busy());
}

#[tokio::test]
async fn the_branch_that_is_left_is_summarised_where_one_goes() {
    let bed = two_turns().await;
    let old_leaf = bed.leaf();
    bed.model_says([counted("SUMMARY", 120)]);
    let options =
        NavigateOptions { instructions: Some("Look at TABLES".to_owned()), ..summarize() };
    let navigation = bed.go(&bed.id(6), options).await;
    assert_eq!(navigation.editor_text, Some(long("BETA")));
    let summary = navigation.summary.expect("summary");
    let entry = bed.lines().pop().expect("entry");
    assert_eq!(bed.entries()[8..], ["branch_summary"]);
    assert_eq!((text(&entry["id"]), bed.leaf()), (summary.id.as_str(), summary.id.clone()));
    assert_eq!(entry["parentId"], bed.id(5));
    assert_eq!(entry["fromId"], old_leaf);
    assert_eq!(entry["fromHook"], false);
    assert_eq!(entry["usage"]["totalTokens"], 120);
    assert!(text(&entry["summary"]).ends_with("\n\nSUMMARY"));
    assert!(bed.sent(2).contains("<conversation>\\n[Assistant]: B.\\n</conversation>"));
    assert!(!bed.sent(2).contains("BETA"), "its text came back");
    assert!(bed.sent(2).contains("Additional focus: Look at TABLES"));
    assert_eq!(bed.told(), [""; 0]);

    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(bed.requests()[3], "system user assistant user user");
    assert!(bed.sent(3).contains("SUMMARY") && !bed.sent(3).contains("BETA"));
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

#[tokio::test]
async fn instructions_may_stand_alone() {
    let bed = two_turns().await;
    bed.model_says(["SUMMARY"]);
    let options = NavigateOptions {
        instructions: Some("Only TABLES".to_owned()),
        replace_instructions: true,
        ..summarize()
    };
    bed.go(&bed.id(5), options).await;
    assert!(bed.sent(2).contains("</conversation>\\n\\nOnly TABLES\""), "{}", bed.sent(2));
}

#[tokio::test]
async fn from_before_everything_a_summary_comes_from_the_root() {
    let log = Arc::default();
    let bed = two_turns().await;
    bed.try_to_go(None, NavigateOptions::default()).await.expect("navigates");
    let mut hook = Decider::new("a", &log);
    hook.navigate =
        NavigateDecision::Use { summary: "MINE".to_owned(), usage: None, details: None };
    bed.harness.set_session_hooks(vec![Arc::new(hook)]);
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    let entry = bed.lines().pop().expect("entry");
    assert_eq!((&entry["fromId"], &entry["summary"]), (&json!("root"), &json!("MINE")));
}

#[tokio::test]
async fn a_label_marks_the_summary_or_else_the_entry_gone_to() {
    let bed = two_turns().await;
    bed.model_says(["SUMMARY"]);
    let navigation =
        bed.go(&bed.id(5), NavigateOptions { summarize: true, ..labelled("one") }).await;
    let summary = navigation.summary.expect("summary");
    let label = bed.lines().pop().expect("label");
    assert_eq!(bed.entries()[8..], ["branch_summary", "label"]);
    assert_eq!((text(&label["targetId"]), text(&label["label"])), (summary.id.as_str(), "one"));
    assert_eq!((text(&label["parentId"]), bed.leaf()), (summary.id.as_str(), bed.id(9)));

    bed.go(&bed.id(6), labelled("  two\nlines ")).await;
    let label = bed.lines().pop().expect("label");
    assert_eq!(label["targetId"], bed.id(6), "the message, not its parent");
    assert_eq!(label["parentId"], bed.id(5), "below the new leaf");
    assert_eq!((text(&label["label"]), bed.leaf()), ("two lines", bed.id(10)));

    bed.go(&bed.leaf(), labelled("here")).await;
    assert_eq!(bed.lines().pop().expect("label")["targetId"], bed.id(10), "also without a move");
    bed.go(&bed.id(6), labelled(" ")).await;
    assert_eq!(bed.lines().pop().expect("label")["label"], Value::Null, "blanks take it away");
    let marks = bed.harness.with_session(|session| session.labels().len());
    assert_eq!(marks, 2);
}

#[tokio::test]
async fn where_nothing_is_left_behind_there_is_no_summary() {
    let bed = two_turns().await;
    let leaf = bed.leaf();
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    let navigation = bed.go(&leaf, summarize()).await;
    assert!(navigation.summary.is_none(), "down the same branch");

    bed.harness.set_name("Named").await.expect("stored");
    let navigation = bed.go(&leaf, summarize()).await;
    assert!(navigation.summary.is_none(), "only bookkeeping is left");
    assert_eq!(bed.entries()[8..], ["session_info"]);
    assert_eq!(bed.model.contexts().len(), 2);
}

#[tokio::test]
async fn a_summary_that_is_not_to_be_had_keeps_the_leaf_where_it_is() {
    let bed = two_turns().await;
    let before = bed.place();
    bed.model_says([FauxTurn::error("401 no key")]);
    let error = bed.try_to_go(Some(&bed.id(5)), summarize()).await.expect_err("no summary");
    assert_eq!(error.to_string(), "401 no key");
    assert_eq!(bed.place(), before);

    let asked = bed.model_hangs();
    let (harness, target) = (bed.harness.clone(), bed.id(5));
    let going = tokio::spawn(async move { harness.navigate(Some(&target), summarize()).await });
    asked.notified().await;
    bed.harness.abort();
    let error = going.await.expect("task").expect_err("aborted");
    assert_eq!(error.to_string(), "Navigation cancelled");
    assert_eq!(bed.place(), before);
    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(bed.requests()[4], "system user assistant user assistant user");
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_branch_that_is_tried_again_is_told_about() {
    let bed = two_turns().await;
    bed.model_says([FauxTurn::error("529 overloaded_error"), "SUMMARY".into()]);
    bed.go(&bed.id(5), summarize()).await;
    let events = bed.ear.events.lock().expect("lock");
    assert_eq!(
        events[1],
        json!({"type": "summarization_retry_attempt_start", "source": "branchSummary"})
    );
    assert_eq!((events.len(), &events[2]["type"]), (3, &json!("summarization_retry_finished")));
}

#[tokio::test]
async fn a_hook_may_cancel_change_or_stand_in() {
    let log = Arc::default();
    let decides = |navigate: NavigateDecision| -> Arc<dyn SessionHooks> {
        Arc::new(Decider { navigate, ..Decider::new("a", &log) })
    };
    let bed = two_turns().await;
    let before = bed.place();
    bed.harness.set_session_hooks(vec![decides(NavigateDecision::Cancel)]);
    let error = bed.try_to_go(Some(&bed.id(5)), summarize()).await.expect_err("cancelled");
    assert_eq!(error.to_string(), "Navigation cancelled");
    assert_eq!(bed.place(), before);
    assert_eq!(heard(&log), ["a: before leaving 2, look at nothing"]);

    let changed = NavigateOptions { instructions: Some("TABLES".to_owned()), ..labelled("mark") };
    let changed = NavigateOptions { summarize: true, ..changed };
    bed.harness.set_session_hooks(vec![
        decides(NavigateDecision::Change(changed)),
        decides(NavigateDecision::Proceed),
    ]);
    bed.model_says(["SUMMARY"]);
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    assert_eq!(
        heard(&log),
        [
            "a: before leaving 2, look at nothing",
            "a: before leaving 2, look at TABLES",
            "a: moved true, summary Some(false), hook false",
            "a: moved true, summary Some(false), hook false"
        ],
        "the label is the leaf"
    );
    assert_eq!(bed.entries()[8..], ["branch_summary", "label"]);

    let summary = NavigateDecision::Use {
        summary: "MINE".to_owned(),
        usage: None,
        details: Some(json!({"x": 1})),
    };
    bed.harness.set_session_hooks(vec![decides(summary), decides(NavigateDecision::Cancel)]);
    let navigation = bed.go(&bed.id(7), NavigateOptions::default()).await;
    assert_eq!(navigation.summary.map(|entry| entry.id.clone()), Some(bed.leaf()));
    let entry = bed.lines().pop().expect("entry");
    assert_eq!((&entry["summary"], &entry["fromHook"]), (&json!("MINE"), &json!(true)));
    assert_eq!(entry["details"], json!({"x": 1}));
    assert_eq!(bed.model.contexts().len(), 3, "nobody else is asked");
    assert_eq!(heard(&log).len(), 3, "one decides, both hear of it");
}

#[tokio::test]
async fn model_and_level_stay_as_they_are_and_are_recorded_with_the_next_prompt() {
    let bed = two_turns().await;
    let other = Model { id: "faux-2".to_owned(), ..bed.plan.model.clone() };
    bed.harness.set_model(Arc::new(other)).await;
    bed.harness.set_thinking_level(ThinkingLevel::High).await;
    let lines = bed.lines().len();
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    let conversation = bed.harness.state().conversation;
    assert_eq!(conversation.model.id, "faux-2");
    assert_eq!(conversation.thinking_level, ThinkingLevel::High);
    assert_eq!(bed.lines().len(), lines, "not before");

    bed.model_says(["C.", "D."]);
    bed.prompt("GAMMA").await;
    assert_eq!(
        bed.entries()[lines..],
        ["model_change", "thinking_level_change", "user", "assistant"]
    );
    assert_eq!(bed.lines()[lines]["modelId"], "faux-2");
    bed.prompt("DELTA").await;
    assert_eq!(bed.entries()[lines + 4..], ["user", "assistant"], "once");
}

#[tokio::test]
async fn tools_stay_as_they_are_and_the_branch_is_told_of_them() {
    let tools: Vec<Arc<dyn Tool>> = vec![Gate::new("a"), Gate::new("b")];
    let bed = Bed::of(Plan { tools, ..Plan::small() }, []);
    bed.two_turns().await;
    bed.harness.set_active_tools(&["b"]);
    bed.model_says(["C.", "D."]);
    bed.prompt("GAMMA").await;
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    assert_eq!(bed.harness.active_tools(), ["b"]);
    bed.prompt("DELTA").await;
    assert_eq!(bed.requests()[3], "system user assistant system user");
}

#[tokio::test]
async fn before_a_compaction_the_full_history_is_back() {
    let bed = two_turns().await;
    let full = bed.context();
    bed.model_says(["SUMMARY", "C.", "D."]);
    let leaf = bed.leaf();
    bed.compact().await.expect("compacts");
    bed.prompt("GAMMA").await;
    bed.go(&leaf, NavigateOptions::default()).await;
    assert_eq!(bed.context(), full);
    assert!(bed.harness.context_usage().tokens.is_some());
    bed.prompt("DELTA").await;
    assert_eq!(bed.requests()[4], "system user assistant user assistant user");

    bed.go(&bed.id(10), NavigateOptions::default()).await;
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn edits_of_the_context_count_on_their_branch() {
    let bed = two_turns().await;
    let (answer, leaf) = (bed.id(5), bed.leaf());
    let replacement = Some(Replacement { content: json!("EDITED") });
    let edit = EntryBody::ContextEdit { target_id: answer, replacement };
    bed.harness.append(edit).await.expect("append");
    let edited = bed.leaf();
    let omit = EntryBody::ContextEdit { target_id: bed.id(6), replacement: None };
    bed.harness.append(omit).await.expect("append");

    bed.model_says(["SUMMARY", "C.", "D."]);
    bed.go(&bed.id(4), summarize()).await;
    assert!(bed.sent(2).contains("EDITED") && !bed.sent(2).contains("BETA"), "{}", bed.sent(2));

    bed.go(&edited, NavigateOptions::default()).await;
    bed.prompt("GAMMA").await;
    assert_eq!(bed.requests()[3], "system user assistant user assistant user");
    assert!(bed.sent(3).contains("EDITED"));
    bed.go(&leaf, NavigateOptions::default()).await;
    bed.prompt("DELTA").await;
    assert!(!bed.sent(4).contains("EDITED"), "before the edit all is as it was");
}

#[tokio::test]
async fn going_reads_nothing_from_the_disk() {
    let bed = two_turns().await;
    let (path, before) = (bed.path(), bed.bytes());
    fs::remove_file(&path).expect("remove");
    let (alpha, beta) = bed.harness.with_session(|session| {
        let ids: Vec<_> = session.entries().map(|entry| entry.id().to_owned()).collect();
        (ids[4].clone(), ids[6].clone())
    });
    bed.go(&alpha, NavigateOptions::default()).await;
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "user", "assistant"]);
    bed.go(&beta, NavigateOptions::default()).await;
    assert!(!path.exists());
    bed.model_says(["C."]);
    let outcome = bed.prompt("GAMMA").await;
    assert!(outcome.unstored.is_none());
    assert_eq!(bed.bytes()[..before.len()], before, "what was there is there again");
}

#[tokio::test]
async fn queued_messages_wait_until_they_are_asked_for() {
    let bed = two_turns().await;
    let message = AgentMessage::user(vec![InputBlock::text("QUEUED")], 0);
    bed.harness.follow_up(message).await;
    bed.go(&bed.id(5), NavigateOptions::default()).await;
    assert_eq!(bed.model.contexts().len(), 2);
    bed.model_says(["C."]);
    bed.harness.run_queued().await.expect("idle").expect("something");
    assert_eq!(bed.requests()[2], "system user assistant user");
}

#[tokio::test(start_paused = true)]
async fn what_comes_while_the_branch_is_summarised_is_stored_where_one_went() {
    let bed = two_turns().await;
    let asked = Arc::new(Notify::new());
    let notice = Arc::clone(&asked);
    bed.model.push_with(move |_| {
        notice.notify_one();
        FauxTurn { delay_ms: 1, ..FauxTurn::text("SUMMARY") }
    });
    let (harness, target) = (bed.harness.clone(), bed.id(5));
    let going = tokio::spawn(async move { harness.navigate(Some(&target), summarize()).await });
    asked.notified().await;
    bed.harness.record_bash(bash("ls")).expect("held");
    going.await.expect("task").expect("navigates");
    assert_eq!(bed.entries()[8..], ["branch_summary", "bashExecution"]);
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}
