//! Session files, our own and recorded ones: nothing is lost, and the context is right.

use std::fs;
use std::path::{Path, PathBuf};

use pi_agent::AgentMessage;
use pi_agent::session::{Problem, Session};
use pi_test::json_differences;
use serde_json::Value;

/// Opens a copy, so that a migration rewrites that.
fn open_copy(path: &Path) -> (Session, Vec<Problem>, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("temp dir");
    let copy = dir.path().join("session.jsonl");
    fs::copy(path, &copy).expect("copy");
    let (session, diagnostics) = Session::open(&copy, Path::new("/w")).expect("opens");
    (session, diagnostics.into_iter().map(|d| d.problem).collect(), dir)
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sessions").join(name)
}

/// A recorded session of the original.
fn recorded(name: &str) -> Option<PathBuf> {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return None;
    };
    Some(shared.join("spec/fixtures").join(format!("session-{name}.jsonl")))
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("read");
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn told(session: &Session) -> Vec<String> {
    let context = session.context();
    assert!(context.diagnostics.is_empty(), "{:?}", context.diagnostics);
    context.messages.iter().map(|message| message.role().to_owned()).collect()
}

fn text_of(message: &AgentMessage) -> String {
    serde_json::to_value(message).expect("JSON").to_string()
}

/// Reading an entry into its type and writing it again loses and changes nothing.
fn assert_lossless(path: &Path) {
    let (session, _, dir) = open_copy(path);
    let lines = json_lines(&dir.path().join("session.jsonl"));
    assert_eq!(session.entries().count() + 1, lines.len(), "{}", path.display());
    for (entry, line) in session.entries().zip(&lines[1..]) {
        let typed = entry.parse().expect("typed");
        let written = serde_json::to_value(typed.as_ref()).expect("JSON");
        // Token totals that old files lack read as 0.
        let lost = json_differences(line, &written)
            .into_iter()
            .filter(|difference| !difference.ends_with("totalTokens: expected nothing found 0"));
        assert_eq!(lost.collect::<Vec<_>>(), [""; 0], "{line}");
        let raw: Value = serde_json::from_str(&entry.json()).expect("JSON");
        assert_eq!(&raw, line);
    }
    let header = serde_json::to_value(session.header()).expect("JSON");
    for (name, value) in header.as_object().expect("object") {
        assert_eq!(&lines[0][name], value, "{name}");
    }
}

#[test]
fn the_worked_example_reads_as_the_format_says() {
    let (mut session, problems, _dir) = open_copy(&own("tree.jsonl"));
    assert_eq!(
        (session.id(), session.cwd(), problems),
        ("tree-1", Path::new("/home/me/garden"), vec![])
    );
    assert_eq!(session.leaf().map(|leaf| leaf.id()), Some("0000000b"));
    assert_eq!(told(&session), ["system", "user", "assistant", "branchSummary", "user"]);
    let context = session.context();
    assert_eq!(context.model, Some(("acme".to_owned(), "m1".to_owned())));
    assert_eq!(context.thinking_level, Some(pi_ai::ThinkingLevel::Low));
    assert_eq!(context.prompt.sections.keys().collect::<Vec<_>>(), ["preamble", "cwd"]);
    assert_eq!(context.prompt.tools.keys().collect::<Vec<_>>(), ["dig"]);

    let children = |id: Option<&str>| {
        session.children(id).into_iter().map(|entry| entry.id().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(children(None), ["00000001"]);
    assert_eq!(children(Some("00000005")), ["00000006", "0000000a"]);
    let target = session.select_target("00000006").expect("entry");
    assert_eq!((target.leaf, target.editor_text.as_deref()), (Some("00000005"), Some("B")));

    session.set_leaf(Some("00000009")).expect("leaf");
    assert_eq!(
        told(&session),
        ["system", "user", "assistant", "user", "assistant", "toolResult", "assistant"]
    );
    assert_eq!(session.branch_to("0000000b").expect("branch").len(), 7);
}

#[test]
fn entries_survive_being_read_and_written() {
    assert_lossless(&own("tree.jsonl"));
}

#[test]
fn a_version_1_file_is_brought_up_to_date_on_disk() {
    let (session, problems, dir) = open_copy(&own("version-1.jsonl"));
    assert_eq!(problems, []);
    assert_eq!(told(&session), ["compactionSummary", "user", "assistant"]);
    let lines = json_lines(&dir.path().join("session.jsonl"));
    assert_eq!((&lines[0]["version"], &lines[0]["modelId"]), (&3.into(), &"m0".into()));
    assert_eq!(lines[4]["firstKeptEntryId"], lines[3]["id"]);
    assert_eq!(lines[2]["message"]["role"], "custom");
}

#[test]
fn recorded_entries_survive_being_read_and_written() {
    for name in
        ["basic", "branch-summary", "cloned", "compactions", "forked", "v1-migrated-then-prompted"]
    {
        let Some(path) = recorded(name) else { return };
        assert_lossless(&path);
        let (_, problems, _dir) = open_copy(&path);
        assert_eq!(problems, [], "{name}");
    }
}

#[test]
fn recorded_sessions_give_the_context_they_had() {
    let cases = [
        (
            "basic",
            "system user assistant bashExecution user assistant toolResult assistant custom user assistant",
        ),
        ("branch-summary", "system user assistant branchSummary user assistant"),
        ("forked", "system user assistant bashExecution"),
        ("v1-migrated-then-prompted", "compactionSummary user user system user assistant"),
    ];
    for (name, roles) in cases {
        let Some(path) = recorded(name) else { return };
        let (session, ..) = open_copy(&path);
        assert_eq!(told(&session).join(" "), roles, "{name}");
    }
}

#[test]
fn a_recorded_compaction_keeps_the_right_entries() {
    let Some(path) = recorded("compactions") else { return };
    let (mut session, ..) = open_copy(&path);
    let last = session.context();
    assert!(last.prompt.sections.contains_key("preamble"), "the checkpoint holds the prompt");
    assert_eq!(last.messages[0].role(), "system");
    assert_eq!(last.messages[1].role(), "compactionSummary");

    session.set_leaf(Some("23797f3f")).expect("leaf");
    let context = session.context();
    let roles: Vec<_> = context.messages.iter().map(AgentMessage::role).collect();
    assert_eq!(
        roles,
        [
            "system",
            "compactionSummary",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert!(text_of(&context.messages[2]).contains("bbb beta"));
    assert!(text_of(&context.messages[6]).contains("SAY next"));

    // The answer that overflowed is edited out, and the compaction after it starts over.
    session.set_leaf(Some("7ae99794")).expect("leaf");
    let context = session.context();
    assert!(!context.messages.iter().any(|m| text_of(m).contains("\"stopReason\":\"error\"")));
}

#[test]
fn a_recorded_clone_and_fork_hold_the_path_of_their_parent() {
    let (Some(basic), Some(cloned), Some(forked)) =
        (recorded("basic"), recorded("cloned"), recorded("forked"))
    else {
        return;
    };
    let (parent, ..) = open_copy(&basic);
    for path in [cloned, forked] {
        let (session, ..) = open_copy(&path);
        assert!(session.header().parent_session.is_some());
        for entry in session.entries().filter(|entry| entry.kind().as_str() != "label") {
            assert!(parent.entry(entry.id()).is_some(), "{}", entry.id());
        }
    }
}

/// Ours against theirs: same file in, same file out but for the random ids.
#[test]
fn a_recorded_version_1_file_is_migrated_as_the_original_does() {
    let (Some(input), Some(output)) = (recorded("v1-input"), recorded("v1-migrated-then-prompted"))
    else {
        return;
    };
    let (_, problems, dir) = open_copy(&input);
    assert!(matches!(problems[..], [Problem::MalformedLine(_)]), "{problems:?}");
    let normalized = |path: &Path| {
        let mut normalizer = pi_test::Normalizer::new();
        // The recording's folders were shortened.
        normalizer.folder(Path::new("/home/me/proj"), "<WS>");
        normalizer.folder(Path::new("/home/u/proj"), "<WS>");
        json_lines(path).iter().map(|line| normalizer.json(line)).collect::<Vec<_>>()
    };
    let ours = normalized(&dir.path().join("session.jsonl"));
    let theirs = normalized(&output);
    assert_eq!(ours.len(), 8);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.to_string(), theirs.to_string());
    }
}
