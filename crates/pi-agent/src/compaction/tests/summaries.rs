//! What summaries of compactions are asked for, and what becomes of the answers.

use super::requests::Bed;
use super::*;

const HEADINGS: [&str; 6] = [
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
];

fn prepared(entries: &[Value]) -> Preparation {
    prepare(&session(entries), &keeping(100)).expect("prepared")
}

async fn ask(preparation: &Preparation, instructions: Option<&str>) -> (Summary, Vec<String>) {
    let bed = Bed::new(["SUM-1", "SUM-2"]);
    let summary = summarize(preparation, instructions, &bed.summarizer).await.expect("summary");
    (summary, bed.prompts())
}

#[tokio::test]
async fn a_first_summary_is_asked_for_with_the_conversation_first() {
    let preparation = prepared(&[says("FIRST"), answers("one"), user(80), answer(30)]);
    let (summary, prompts) = ask(&preparation, None).await;
    let [prompt] = prompts.as_slice() else { panic!("one request") };
    assert!(
        prompt
            .starts_with("<conversation>\n[User]: FIRST\n\n[Assistant]: one\n</conversation>\n\n")
    );
    let places = HEADINGS.map(|heading| prompt.find(heading).expect(heading));
    assert!(places.is_sorted());
    for part in ["### Done\n- [x] ", "### In Progress\n- [ ] ", "### Blocked\n- ", "\"(none)\""] {
        assert!(prompt.contains(part), "{part}");
    }
    assert!(!prompt.contains("previous-summary") && !prompt.contains("Additional focus"));
    assert_eq!(summary.text, "SUM-1");
    assert_eq!(summary.details, Some(json!({"readFiles": [], "modifiedFiles": []})));
}

#[tokio::test]
async fn a_later_summary_is_asked_for_with_the_earlier_one_whole() {
    let old = "OLD\n\n<read-files>\nold.txt\n</read-files>";
    let entries =
        [user(9), compaction(old, "e1"), says("SINCE"), answers("two"), user(80), answer(30)];
    let (summary, prompts) = ask(&prepared(&entries), Some("the numbers")).await;
    let [prompt] = prompts.as_slice() else { panic!("one request") };
    assert!(prompt.starts_with(&format!(
        "<conversation>\n[User]: SINCE\n\n[Assistant]: two\n</conversation>\n\n\
         <previous-summary>\n{old}\n</previous-summary>\n\n"
    )));
    assert!(prompt.ends_with("\n\nAdditional focus: the numbers"));
    assert_eq!(
        summary.text,
        "SUM-1\n\n<read-files>\nold.txt\n</read-files>\n\n\
         <modified-files>\nmade.txt\n</modified-files>"
    );
    assert_eq!(
        summary.details,
        Some(json!({"readFiles": ["old.txt"], "modifiedFiles": ["made.txt"]}))
    );
}

#[tokio::test]
async fn a_split_turn_takes_two_requests_and_both_hear_the_instructions() {
    let entries = [
        says("FIRST"),
        answers("one"),
        says("SECOND"),
        call("a.txt"),
        result("a.txt", 1),
        answer(100),
    ];
    let (summary, prompts) = ask(&prepared(&entries), Some("the numbers")).await;
    let [history, prefix] = prompts.as_slice() else { panic!("two requests") };
    assert!(history.contains("FIRST") && !history.contains("SECOND"));
    assert!(prefix.starts_with(
        "# Conversation\n\n[User]: SECOND\n\n[Assistant tool calls]: read(path=\"a.txt\")\n\n\
         [Tool result]: xxxx\n\n# Instructions\n\n"
    ));
    for heading in ["## Original Request", "## Progress So Far", "## Context Needed to Continue"] {
        assert!(prefix.contains(heading), "{heading}");
    }
    for prompt in [history, prefix] {
        assert!(prompt.ends_with("\n\nAdditional focus: the numbers"));
    }
    assert_eq!(
        summary.text,
        "SUM-1\n\n---\n\n**Turn Context (split turn):**\n\nSUM-2\n\n\
         <read-files>\na.txt\n</read-files>"
    );
}

#[tokio::test]
async fn without_history_the_earlier_summary_stands_for_it() {
    let first_turn = prepared(&[says("ONLY"), answer(100)]);
    let (summary, prompts) = ask(&first_turn, None).await;
    assert_eq!(summary.text, "No prior history.\n\n---\n\n**Turn Context (split turn):**\n\nSUM-1");
    assert_eq!(prompts.len(), 1);

    let old = "OLD\n\n<read-files>\nold.txt\n</read-files>\n\n<modified-files>\nmade.txt\n</modified-files>";
    let entries = [user(9), compaction(old, "e1"), says("SINCE"), answer(100)];
    let (summary, prompts) = ask(&prepared(&entries), None).await;
    assert_eq!(
        summary.text,
        "OLD\n\n---\n\n**Turn Context (split turn):**\n\nSUM-1\n\n\
         <read-files>\nold.txt\n</read-files>\n\n<modified-files>\nmade.txt\n</modified-files>"
    );
    assert!(!prompts[0].contains("previous-summary"));
}

#[tokio::test]
async fn prompts_thinking_and_hidden_commands_do_not_reach_the_summary() {
    let thinking =
        json!([{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": "seen"}]);
    let entries = [
        system("SECRET"),
        says("first"),
        assistant(thinking, "stop", 0),
        bash("SECRET", "SECRET", true),
        json!({"type": "session_info", "name": "SECRET"}),
        user(80),
        answer(30),
    ];
    let (_, prompts) = ask(&prepared(&entries), None).await;
    assert!(prompts[0].contains("seen") && !prompts[0].contains("SECRET"));
}

#[tokio::test]
async fn the_second_request_is_sent_when_the_first_is_answered() {
    let bed = Bed::new([pi_ai::faux::FauxTurn::error("401: no")]);
    let entries = [user(50), answer(50), user(10), answer(100)];
    let failed = summarize(&prepared(&entries), None, &bed.summarizer).await;
    assert_eq!(failed, Err(SummaryError::Failed("401: no".to_owned())));
    assert_eq!(bed.prompts().len(), 1);
}
