//! Sessions that cannot be written for a while.

use std::io;

use super::*;
use crate::session::{Changes, FileStorage, Header, SessionStorage};

/// A file on a disk that can be broken and repaired.
#[derive(Debug)]
struct Disk {
    file: FileStorage,
    is_broken: Arc<AtomicBool>,
    /// The next line breaks it: all of it is kept but its end.
    breaks_at_line_end: Arc<AtomicBool>,
}

impl Disk {
    fn check(&self) -> io::Result<()> {
        match self.is_broken.load(Ordering::SeqCst) {
            true => Err(io::Error::other("broken")),
            false => Ok(()),
        }
    }
}

impl SessionStorage for Disk {
    fn path(&self) -> Option<&Path> {
        self.file.path()
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.check()?;
        self.file.read()
    }

    fn changes(&mut self) -> io::Result<Changes> {
        self.check()?;
        self.file.changes()
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.check()?;
        if self.breaks_at_line_end.load(Ordering::SeqCst) {
            set(&self.is_broken, true);
            self.file.append(lines.trim_end())?;
            self.check()?;
        }
        self.file.append(lines)
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        self.check()?;
        self.file.replace(text)
    }
}

/// A bed whose disk is broken while the flag is set.
fn bed_on_disk(plan: Plan) -> (Bed, Arc<AtomicBool>) {
    let (bed, is_broken, _) = bed_on_breaking_disk(plan);
    (bed, is_broken)
}

/// The same, with a flag that makes the next line break it.
fn bed_on_breaking_disk(plan: Plan) -> (Bed, Arc<AtomicBool>, Arc<AtomicBool>) {
    let dir = tempfile::tempdir().expect("temp dir");
    let header = Header::new(Path::new("/w"), new_session_id(), None);
    let (is_broken, breaks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let disk = Disk {
        file: FileStorage::new(dir.path().join("s.jsonl")),
        is_broken: Arc::clone(&is_broken),
        breaks_at_line_end: Arc::clone(&breaks),
    };
    let session = Session::with_storage(header, Box::new(disk)).expect("session");
    (Bed::on(session, dir, plan, []), is_broken, breaks)
}

fn set(is_broken: &AtomicBool, to: bool) {
    is_broken.store(to, Ordering::SeqCst);
}

#[tokio::test]
async fn an_entry_that_reached_a_broken_disk_all_the_same_is_there_once() {
    let (bed, is_broken, breaks) = bed_on_breaking_disk(Plan::small());
    bed.two_turns().await;
    set(&breaks, true);
    bed.model_says(["C."]);
    assert!(bed.prompt("GAMMA").await.unstored.is_some());
    set(&breaks, false);
    let there = fs::read_to_string(bed.path()).expect("read");
    assert!(there.contains("GAMMA") && !there.ends_with('\n'));
    set(&is_broken, false);
    bed.model_says(["D."]);
    assert!(bed.prompt("DELTA").await.unstored.is_none());
    assert_eq!(bed.entries()[8..], ["user", "assistant", "user", "assistant"]);
    for at in 8..12 {
        assert_eq!(bed.lines()[at]["parentId"], bed.id(at - 1));
    }
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

#[tokio::test]
async fn a_compaction_that_cannot_be_stored_is_none_and_nothing_is_lost() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    let (before, context) = (bed.bytes(), bed.context());
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        FauxTurn::text("LOST")
    });
    let error = bed.compact().await.expect_err("not stored").to_string();
    assert!(error.contains(": broken"), "{error}");
    let end = format!("compaction_end manual Compaction failed: {error} retry=false");
    assert_eq!(bed.told(), ["compaction_start manual".to_owned(), end]);
    assert_eq!((bed.bytes(), bed.context()), (before, context));

    set(&is_broken, false);
    bed.model_says(["SUMMARY"]);
    bed.compact().await.expect("compacts");
    assert_eq!(bed.entries()[8..], ["compaction"], "the lost one is not stored later");
    assert_eq!(bed.lines()[8]["summary"], "SUMMARY");
}

#[tokio::test]
async fn by_itself_it_fails_without_holding_up_the_prompt() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    bed.model_says([counted("C.", LIMIT + 1)]);
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        FauxTurn::text("LOST")
    });
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "C.");
    let told = bed.told();
    let end = &told[told.len() - 2];
    assert!(end.starts_with("compaction_end threshold Auto-compaction failed: "), "{end}");
    set(&is_broken, false);
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

#[tokio::test]
async fn what_was_kept_is_written_before_a_compaction() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    set(&is_broken, true);
    bed.model_says(["C."]);
    assert!(bed.prompt(&long("GAMMA")).await.unstored.is_some());
    let context = bed.context();
    let requests = bed.model.contexts().len();
    let error = bed.compact().await.expect_err("not stored").to_string();
    assert!(error.contains(": broken"), "{error}");
    assert_eq!((bed.context(), bed.model.contexts().len()), (context, requests));

    set(&is_broken, false);
    bed.model_says(["SUMMARY"]);
    bed.compact().await.expect("compacts");
    assert_eq!(bed.entries()[8..], ["user", "assistant", "compaction"]);
    assert_eq!(bed.lines()[10]["firstKeptEntryId"], bed.id(8), "they count as what is recent");
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

#[tokio::test]
async fn a_tool_is_not_run_when_its_call_cannot_be_stored() {
    let gate = Gate::new("a");
    let (bed, is_broken) = bed_on_disk(Plan { tools: vec![gate.clone()], ..Plan::small() });
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        call("a")
    });
    let outcome = bed.prompt("GAMMA").await;
    assert!(outcome.aborted && outcome.unstored.is_some());
    assert!(!gate.is_running.load(Ordering::SeqCst));
    set(&is_broken, false);
    bed.model_says(["D."]);
    bed.prompt("DELTA").await;
    let kept = ["user", "assistant", "toolResult", "assistant", "user", "assistant"];
    assert_eq!(bed.entries()[4..], kept, "the call has a result all the same");
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

#[tokio::test]
async fn a_recovery_that_cannot_be_stored_is_told_with_the_outcome() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        FauxTurn::error("prompt is too long")
    });
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert!(outcome.unrecovered.expect("why").contains(": broken"));
    assert!(outcome.unstored.is_some());
    set(&is_broken, false);
    bed.model_says(["D."]);
    assert!(bed.prompt("DELTA").await.unstored.is_none());
    assert_eq!(bed.requests()[3], "system user assistant user assistant user user");
}

#[tokio::test]
async fn a_navigation_writes_what_was_kept_first_or_does_not_happen() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    set(&is_broken, true);
    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    let (leaf, context) = (bed.leaf(), bed.context());
    let target = bed.id(5);
    let error = bed.harness.navigate(Some(&target), NavigateOptions::default()).await;
    assert!(error.expect_err("not stored").to_string().contains(": broken"));
    assert_eq!((bed.leaf(), bed.context()), (leaf, context));

    set(&is_broken, false);
    bed.harness.navigate(Some(&target), NavigateOptions::default()).await.expect("navigates");
    assert_eq!(bed.leaf(), target);
    assert_eq!(bed.entries()[8..], ["user", "assistant"], "on the branch they belong to");
    assert_eq!(bed.lines()[8]["parentId"], bed.id(7));
}

#[tokio::test]
async fn a_summary_of_a_branch_that_cannot_be_stored_keeps_the_leaf() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    let (leaf, context) = (bed.leaf(), bed.context());
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        FauxTurn::text("LOST")
    });
    let options = NavigateOptions { summarize: true, ..NavigateOptions::default() };
    let error = bed.harness.navigate(Some(&bed.id(5)), options).await.expect_err("not stored");
    assert!(error.to_string().contains(": broken"), "{error}");
    assert_eq!((bed.leaf(), bed.context()), (leaf, context));
    set(&is_broken, false);
    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(bed.entries()[8..], ["user", "assistant"]);
}

/// An edit made during a prompt counts from the next one, for which the session is read again.
#[tokio::test]
async fn messages_that_are_not_on_disk_yet_stay_in_the_context_all_the_same() {
    let gate = Gate::new("a");
    let (bed, is_broken) = bed_on_disk(Plan { tools: vec![gate.clone()], ..Plan::small() });
    bed.two_turns().await;
    bed.model_says([call("a")]);
    let broken = Arc::clone(&is_broken);
    bed.model.push_with(move |_| {
        set(&broken, true);
        FauxTurn::text("C.")
    });
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("tool_execution_start").await;
    let edit = EntryBody::ContextEdit { target_id: bed.id(5), replacement: None };
    bed.harness.append(edit).await.expect("stored");
    gate.open.notify_one();
    let outcome = run.await.expect("task").expect("prompt");
    assert!(outcome.unstored.is_some());
    let told = bed.harness.messages();
    assert_eq!(told.last().map(AgentMessage::role), Some("assistant"), "C. is not lost");

    set(&is_broken, false);
    bed.model_says(["E."]);
    bed.prompt("EPSILON").await;
    assert_eq!(
        bed.requests()[4],
        "system user user assistant user assistant toolResult assistant user",
        "once all is on disk, the edit counts"
    );
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}

/// What could not be stored while the summary was written comes before it, not beside it.
#[tokio::test]
async fn what_was_kept_during_a_summary_is_written_before_the_summary() {
    let (bed, is_broken) = bed_on_disk(Plan::small());
    bed.two_turns().await;
    let (broken, harness) = (Arc::clone(&is_broken), bed.harness.clone());
    bed.model.push_with(move |_| {
        set(&broken, true);
        harness.inner.store_or_keep(EntryBody::SessionInfo { name: Some("kept".to_owned()) });
        set(&broken, false);
        FauxTurn::text("SUMMARY")
    });
    bed.compact().await.expect("compacts");
    assert_eq!(bed.entries()[8..], ["session_info", "compaction"]);
    bed.model_says(["C."]);
    bed.prompt("GAMMA").await;
    assert_eq!(bed.entries()[10..], ["user", "assistant"]);
    let context = bed.context();
    assert_eq!(bed.reopened([]).context(), context);
}
