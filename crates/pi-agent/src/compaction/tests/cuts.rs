//! Where sessions are cut.

use super::*;

/// First kept entry, places of the history and of the turn's beginning.
type Cut = (&'static str, Vec<i64>, Vec<i64>);

fn check(cases: Vec<(&str, u64, Vec<Value>, Cut)>) {
    for (case, keep, entries, (first_kept, history, prefix)) in cases {
        let preparation = prepare(&session(&entries), &keeping(keep));
        let preparation = preparation.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(preparation.first_kept_entry_id.as_deref(), Some(first_kept), "{case}");
        assert_eq!(places(&preparation.messages_to_summarize), history, "{case}");
        assert_eq!(places(&preparation.turn_prefix_messages), prefix, "{case}");
        assert_eq!(preparation.is_split_turn, !prefix.is_empty(), "{case}");
    }
}

#[test]
fn about_so_many_recent_tokens_are_kept() {
    let turns = |tokens| vec![user(tokens), answer(tokens), user(tokens), answer(tokens)];
    let with_last = |mut entries: Vec<Value>| {
        entries.extend([user(5), counted(5, 95_010)]);
        entries
    };
    check(vec![
        (
            "long answers: the turn is split",
            100,
            with_last(turns(125)),
            ("e3", vec![0, 1], vec![2]),
        ),
        ("shorter ones: it is not", 100, with_last(turns(80)), ("e2", vec![0, 1], vec![])),
        ("exactly so many", 130, with_last(turns(60)), ("e2", vec![0, 1], vec![])),
        ("the newest message alone is more", 1, turns(50), ("e3", vec![0, 1], vec![2])),
        ("nothing need be kept: one message is", 0, turns(50), ("e3", vec![0, 1], vec![2])),
    ]);
}

#[test]
fn a_cut_stands_before_any_message_but_a_tool_result() {
    let head = || vec![user(50), answer(50)];
    let with = |mut entries: Vec<Value>, more: Vec<Value>| {
        entries.extend(more);
        entries
    };
    check(vec![
        (
            "custom message",
            100,
            with(head(), vec![custom(&tokens(100)), answer(5)]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "branch summary",
            100,
            with(head(), vec![branch_summary(&tokens(100)), answer(5)]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "command",
            100,
            with(head(), vec![bash("ls", &tokens(100), false), answer(5)]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "a long result and an answer to it: the answer is kept",
            100,
            with(head(), vec![user(10), call("c"), result("c", 500), answer(5)]),
            ("e5", vec![0, 1], vec![2, 3, 4]),
        ),
        (
            "a call is kept with its result",
            100,
            with(
                head(),
                vec![user(10), call("c"), result("c", 50), answer(40), user(8), answer(8)],
            ),
            ("e5", vec![0, 1], vec![2, 3, 4]),
        ),
        (
            "a prompt counts, and is no place to cut",
            100,
            with(head(), vec![user(60), answer(5), system(&tokens(100)), user(10), answer(10)]),
            ("e5", vec![0, 1, 2, 3], vec![]),
        ),
        (
            "what the model is not told counts nothing and begins no turn",
            100,
            with(head(), vec![user(10), bash("ls", &tokens(500), true), answer(100)]),
            ("e4", vec![0, 1], vec![2]),
        ),
    ]);
}

#[test]
fn bookkeeping_right_before_the_cut_stays_with_what_follows() {
    check(vec![
        (
            "before a user message; that is no split turn",
            100,
            vec![user(50), answer(50), model_change(), label(), user(80), answer(30)],
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "before an answer",
            100,
            vec![user(50), answer(50), user(10), model_change(), label(), answer(100)],
            ("e3", vec![0, 1], vec![2]),
        ),
        (
            "an older compaction is none",
            100,
            vec![user(50), answer(50), compaction("OLD", "e0"), user(80), answer(30)],
            ("e3", vec![0, 1], vec![]),
        ),
    ]);
}

#[test]
fn what_was_never_answered_is_not_summarised() {
    let head = || vec![user(50), answer(50), user(10), call("c")];
    let with = |more: Vec<Value>| {
        let mut entries = head();
        entries.extend(more);
        entries
    };
    let two_calls = json!([{"type": "toolCall", "id": "a", "name": "read", "arguments": {}},
        {"type": "toolCall", "id": "b", "name": "read", "arguments": {}}]);
    check(vec![
        ("a long result", 100, with(vec![result("c", 500)]), ("e3", vec![0, 1], vec![2])),
        (
            "two results, the first long",
            100,
            vec![
                user(50),
                answer(50),
                user(10),
                assistant(two_calls, "toolUse", 0),
                result("a", 500),
                result("b", 10),
            ],
            ("e3", vec![0, 1], vec![2]),
        ),
        (
            "a long result before a short message",
            100,
            with(vec![result("c", 500), user(5)]),
            ("e3", vec![0, 1], vec![2]),
        ),
        (
            "results the aborted run closed off without a request",
            100,
            with(vec![result("c", 500), assistant(json!([]), "aborted", 0), user(200)]),
            ("e3", vec![0, 1], vec![2]),
        ),
        ("a long prompt", 100, vec![user(50), answer(50), user(300)], ("e2", vec![0, 1], vec![])),
        (
            "two messages, the last long",
            100,
            vec![user(50), answer(50), user(5), user(300)],
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "an answer that broke off proves that its request arrived",
            100,
            vec![user(300), failed("part"), custom(&tokens(100))],
            ("e2", vec![0, 1], vec![]),
        ),
    ]);
}

/// Other than the original on purpose: it summarises a long prompt whose answer failed, and the model
/// then answers a summary of what the user wanted.
#[test]
fn what_a_failed_answer_left_unanswered_is_kept_whatever_its_size() {
    let overflow = |message: Vec<Value>| {
        let mut entries = vec![user(50), answer(50)];
        entries.extend(message);
        entries
    };
    check(vec![
        (
            "a long prompt",
            100,
            overflow(vec![user(300), failed(""), omit("e3")]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "two prompts, either long",
            100,
            overflow(vec![user(300), failed(""), omit("e3"), user(200), failed(""), omit("e6")]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "bookkeeping before it stays with it",
            100,
            overflow(vec![label(), user(300), label(), failed(""), omit("e5")]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "a message after the attempt",
            100,
            overflow(vec![user(300), failed(""), omit("e3"), custom("new")]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "the attempt saw other content",
            100,
            overflow(vec![
                user(300),
                failed(""),
                omit("e3"),
                edit("e2", json!({"content": tokens(300)})),
            ]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "an answer that broke off and was taken out is none",
            100,
            overflow(vec![user(300), failed("part"), omit("e3")]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "a short prompt, and recent messages before it",
            100,
            vec![user(50), answer(80), user(30), failed(""), omit("e3")],
            ("e1", vec![], vec![0]),
        ),
        (
            "an answer after the attempt",
            100,
            overflow(vec![user(100), failed(""), omit("e3"), answer(5), user(3), answer(3)]),
            ("e2", vec![0, 1], vec![]),
        ),
        (
            "a long result stays with its call",
            100,
            overflow(vec![user(10), call("c"), result("c", 500), failed(""), omit("e5")]),
            ("e3", vec![0, 1], vec![2]),
        ),
        (
            "a long result and a message after it",
            100,
            overflow(vec![user(10), call("c"), result("c", 500), user(5), failed(""), omit("e6")]),
            ("e3", vec![0, 1], vec![2]),
        ),
    ]);
}

#[test]
fn an_answer_that_an_abandoned_attempt_could_not_go_on_from_is_summarised() {
    let entries = |more: Vec<Value>| {
        let mut entries = vec![user(50), answer(50), user(10), answer(200), failed(""), omit("e4")];
        entries.extend(more);
        entries
    };
    check(vec![
        ("a long answer", 100, entries(vec![]), ("e4", vec![0, 1], vec![2, 3])),
        (
            "the attempt saw other content",
            100,
            entries(vec![edit("e3", json!({"content": text(&tokens(300))}))]),
            ("e3", vec![0, 1], vec![2]),
        ),
    ]);
}

#[test]
fn the_next_compaction_begins_where_the_last_one_kept() {
    let again = |summary: Value| {
        vec![
            user(50),
            answer(50),
            user(20),
            answer(20),
            summary,
            user(60),
            answer(10),
            user(90),
            answer(20),
        ]
    };
    check(vec![
        (
            "what it kept is summarised now",
            100,
            again(compaction("OLD", "e2")),
            ("e7", vec![2, 3, 5, 6], vec![]),
        ),
        ("it kept nothing", 100, again(compaction("OLD", "e4")), ("e7", vec![5, 6], vec![])),
        ("what it kept is gone", 100, again(compaction("OLD", "zz")), ("e7", vec![5, 6], vec![])),
        (
            "it kept a turn without its beginning",
            100,
            vec![user(50), answer(50), compaction("OLD", "e1"), answer(60), answer(100)],
            ("e4", vec![1, 3], vec![]),
        ),
    ]);
}

#[test]
fn only_the_branch_of_the_leaf_counts_and_edits_come_first() {
    check(vec![
        (
            "an abandoned branch",
            100,
            vec![user(50), answer(50), user(400), answer(400), below("e1", user(80)), answer(30)],
            ("e4", vec![0, 1], vec![]),
        ),
        (
            "an omitted message weighs nothing and is not summarised",
            100,
            vec![user(50), answer(500), omit("e1"), user(80), answer(30)],
            ("e2", vec![0], vec![]),
        ),
        (
            "results of an omitted answer go with it",
            50,
            vec![user(50), call("c"), result("c", 300), omit("e1"), answer(5), user(60), answer(5)],
            ("e5", vec![0, 4], vec![]),
        ),
    ]);
    let edited = [user(50), answer(5), edit("e0", json!({"content": "NEW"})), user(100), answer(2)];
    let preparation = prepare(&session(&edited), &keeping(50)).expect("prepared");
    let AgentMessage::User(first) = &preparation.messages_to_summarize[0] else { panic!("user") };
    assert_eq!(first.content.to_text(), "NEW");
}

#[test]
fn there_may_be_nothing_to_do() {
    let cases = [
        ("empty", vec![], "Nothing to compact (session too small)"),
        ("all recent", vec![user(20), answer(20)], "Nothing to compact (session too small)"),
        ("one long message", vec![user(500)], "Nothing to compact (session too small)"),
        (
            "one long message, and a failed answer that was taken out",
            vec![user(500), failed(""), omit("e1")],
            "Nothing to compact (session too small)",
        ),
        ("compacted", vec![user(500), answer(500), compaction("OLD", "e1")], "Already compacted"),
        (
            "compacted, and bookkeeping since",
            vec![user(50), answer(50), compaction("OLD", "e1"), label()],
            "Nothing to compact (session too small)",
        ),
        (
            "one small turn since",
            vec![user(50), answer(120), compaction("OLD", "e1"), user(5), answer(5)],
            "Nothing to compact (session too small)",
        ),
        (
            "a prompt alone comes before the cut",
            vec![system("rules"), user(500), answer(5)],
            "Nothing to compact (session too small)",
        ),
    ];
    for (case, entries, expected) in cases {
        let refused = prepare(&session(&entries), &keeping(100)).expect_err(case);
        assert_eq!(refused.to_string(), expected, "{case}");
    }
}

#[test]
fn a_preparation_tells_size_settings_and_what_came_before() {
    let settings = keeping(100);
    let mut entries = vec![user(50), counted(50, 700), compaction("OLD", "e0"), user(80)];
    entries.extend([answer(30), user(10), counted(90, 95_010), user(2)]);
    let preparation = prepare(&session(&entries), &settings).expect("prepared");
    assert_eq!(preparation.tokens_before, 95_012);
    assert_eq!(preparation.previous_summary.as_deref(), Some("OLD"));
    assert_eq!(preparation.settings, settings);

    let uncounted = [user(50), answer(50), user(80), answer(30)];
    assert_eq!(prepare(&session(&uncounted), &settings).expect("prepared").tokens_before, 210);

    // The context as it is: the summary, what was kept, what came since.
    let again = [user(50), answer(50), compaction(&tokens(7), "e1"), user(80), answer(30)];
    assert_eq!(prepare(&session(&again), &settings).expect("prepared").tokens_before, 167);
}

#[test]
fn a_turn_compacted_in_its_middle_goes_on() {
    let entries = [user(100), counted(50, 1700), user(10), call("c"), result("c", 2)];
    let preparation = prepare(&session(&entries), &keeping(60)).expect("prepared");
    assert_eq!(preparation.first_kept_entry_id.as_deref(), Some("e1"));
    assert_eq!(places(&preparation.turn_prefix_messages), [0]);
}

#[test]
fn from_before_the_compaction_the_whole_history_counts_again() {
    let mut session =
        session(&[user(50), answer(50), user(80), answer(30), compaction("OLD", "e2")]);
    session.set_leaf(Some("e3")).expect("leaf");
    let preparation = prepare(&session, &keeping(100)).expect("prepared");
    assert_eq!(preparation.previous_summary, None);
    assert_eq!(places(&preparation.messages_to_summarize), [0, 1]);
}

#[test]
fn nothing_before_the_last_kept_entry_is_read() {
    let broken = json!({"type": "message", "message": {"role": "nobody"}});
    let broken_edit = json!({"type": "context_edit"});
    let broken_compaction = json!({"type": "compaction"});
    let entries = [broken, broken_edit, broken_compaction, user(50), answer(50)];
    let mut entries = entries.to_vec();
    entries.extend([compaction("OLD", "e3"), user(80), answer(30)]);
    let preparation = prepare(&session(&entries), &keeping(100)).expect("prepared");
    assert_eq!(places(&preparation.messages_to_summarize), [3, 4]);
    assert_eq!(preparation.first_kept_entry_id.as_deref(), Some("e6"));
}

#[test]
fn files_are_listed_by_what_was_done_to_them() {
    let nested = json!({"calls": [
        {"id": "n1", "name": "read", "arguments": {"path": "nested.txt"}, "status": "ok"},
        {"id": "n2", "name": "edit", "arguments": {"path": "b.txt"}, "status": "error"},
        {"id": "n3", "name": "write", "status": "ok"}], "complete": true});
    let mut with_nested = result("c5", 1);
    with_nested["message"]["nestedCalls"] = nested;
    let entries = [
        user(50),
        compaction("OLD", "e0"),
        calls("c1", "read", json!({"path": "z.txt"})),
        results("c1", "no such file"),
        calls("c2", "read", json!({"path": "a.txt"})),
        calls("c3", "write", json!({"path": "./a.txt"})),
        calls("c4", "edit", json!({"path": "a.txt"})),
        calls("c5", "code", json!({"path": "other.txt"})),
        with_nested,
        calls("c6", "read", json!({"file": "x"})),
        calls("c7", "read", json!({"path": ""})),
        branch_summary("elsewhere"),
        user(80),
        answer(30),
    ];
    let preparation = prepare(&session(&entries), &keeping(100)).expect("prepared");
    let lists = serde_json::to_value(preparation.file_operations.lists()).expect("JSON");
    assert_eq!(
        lists,
        json!({"readFiles": ["nested.txt", "old.txt", "z.txt"],
            "modifiedFiles": ["./a.txt", "a.txt", "b.txt", "made.txt"]})
    );
}

#[test]
fn files_of_a_turns_beginning_are_listed_and_those_of_an_extensions_summary_are_not() {
    let mut by_extension = compaction("OLD", "e0");
    by_extension["fromHook"] = json!(true);
    let entries = [user(50), by_extension, user(5), call("c.txt"), result("c.txt", 5), answer(100)];
    let preparation = prepare(&session(&entries), &keeping(100)).expect("prepared");
    assert!(preparation.is_split_turn);
    assert_eq!(preparation.file_operations.lists().read_files, ["c.txt"]);
    assert!(preparation.file_operations.lists().modified_files.is_empty());
}
