//! The order of events and entries, held against recordings of the original.

use super::*;

fn golden(name: &str) -> Option<Value> {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return None;
    };
    let path = shared.join(format!("oracle/goldens/handed/{name}.anthropic.json"));
    let text = fs::read_to_string(&path).expect("golden");
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn events(golden: &Value) -> Vec<String> {
    let runs = golden["runs"].as_array().expect("runs");
    let events = runs.iter().find_map(|run| run["events"].as_array()).expect("events");
    events
        .iter()
        .filter(|event| {
            !matches!(
                text(&event["type"]),
                "session" | "message_update" | "tool_execution_update" | "bash_execution_update"
            )
        })
        .map(outline)
        .collect()
}

fn entries(golden: &Value) -> Vec<String> {
    let entries = golden["sessions"][0]["entries"].as_array().expect("entries");
    entries.iter().map(entry_outline).collect()
}

#[tokio::test]
async fn errors_and_retries_follow_the_recordings() {
    let failed = |text: &str| FauxTurn::error(text);
    let cut = FauxTurn {
        error_message: Some("terminated: other side closed (UND_ERR_SOCKET)".to_owned()),
        ..FauxTurn::text("This part is")
    };
    let cases = [
        ("retry_429", 50, 3, vec![failed("429 Slow down"), FauxTurn::text("Fine.")]),
        ("retry_exhausted", 20, 2, vec![failed("500 Internal server error"); 3]),
        ("disconnect", 50, 3, vec![cut, FauxTurn::text("Complete answer.")]),
        ("auth_error", 50, 3, vec![failed("401 Bad key")]),
        ("overflow_first", 50, 3, vec![failed("prompt is too long: 9 tokens > 8 maximum")]),
    ];
    for (name, base_delay_ms, max_retries, turns) in cases {
        let Some(golden) = golden(name) else { return };
        let bed = Bed::new(turns);
        bed.harness.set_retry(RetrySettings {
            base_delay_ms,
            max_retries,
            ..RetrySettings::default()
        });
        bed.prompt("Try").await;
        assert_eq!(bed.told(), events(&golden), "{name}");
        assert_eq!(bed.entries(), entries(&golden), "{name}");
    }
}

#[tokio::test]
async fn steering_and_follow_ups_follow_the_recording() {
    let Some(golden) = golden("steer_followup") else { return };
    let gate = Gate::new("bash");
    let answers = ["Steered once.", "Steered twice.", "Followed once.", "Followed twice."];
    let turns = std::iter::once(call("bash")).chain(answers.map(FauxTurn::text));
    let bed = Bed::with_tools(turns, vec![gate.clone()]);
    let run = bed.spawn_prompt("Start the work");
    bed.ear.wait_for("tool_execution_start").await;
    let message = |text: &str| AgentMessage::user(vec![InputBlock::text(text)], 0);
    bed.harness.steer(message("Steer me STEER-1")).await;
    bed.harness.follow_up(message("Follow me FOLLOW-1")).await;
    bed.harness.follow_up(message("Follow me FOLLOW-2")).await;
    bed.harness.steer(message("Steered by prompt STEER-2")).await;
    bed.harness.record_bash(bash("touch go")).expect("held");
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    assert_eq!(bed.told(), events(&golden));
    assert_eq!(bed.entries(), entries(&golden));
}

const FILLER: &str = "The quick brown fox jumps over the lazy dog. ";

/// A text of about 460 tokens; the recordings keep 300.
fn filled(mark: &str) -> String {
    format!("{mark} {}", FILLER.repeat(40))
}

/// Line and count of each compaction, in the recording and in a file.
fn compactions(entries: &[Value]) -> Vec<(Option<usize>, Value, Value)> {
    let line = |id: &Value| entries.iter().position(|entry| entry["id"] == *id);
    let compactions = entries.iter().filter(|entry| entry["type"] == "compaction");
    compactions
        .map(|e| (line(&e["firstKeptEntryId"]), e["fromHook"].clone(), e["tokensBefore"].clone()))
        .collect()
}

fn recorded(golden: &Value) -> &[Value] {
    golden["sessions"][0]["entries"].as_array().expect("entries")
}

#[tokio::test]
async fn an_overflow_follows_the_recording() {
    let Some(golden) = golden("overflow_compact") else { return };
    let mut plan = Plan::default();
    plan.compaction.keep_recent_tokens = 300;
    let turns = [
        counted("Answer alpha.", 120),
        counted("Answer beta.", 120),
        FauxTurn::error("400 prompt is too long: 213462 tokens > 200000 maximum"),
        counted("SUMMARY", 120),
        counted("Answer gamma after compaction.", 120),
    ];
    let bed = Bed::of(plan, turns);
    for text in [filled("First"), filled("Second"), "Third".to_owned()] {
        bed.prompt(&text).await;
    }
    assert_eq!(bed.told(), events(&golden));
    assert_eq!(bed.entries(), entries(&golden));
    let kept = |entries: &[Value]| compactions(entries).swap_remove(0).0;
    assert_eq!(kept(&bed.lines()), kept(recorded(&golden)));
}

#[tokio::test]
async fn a_compaction_near_the_limit_follows_the_recordings() {
    let mut plan = Plan::default();
    plan.model.context_window = 32_768;
    plan.compaction.reserve_tokens = 8_000;
    plan.compaction.keep_recent_tokens = 300;
    if let Some(golden) = golden("compact_threshold") {
        let turns = [
            counted("Answer alpha.", 1_500),
            counted("Answer beta.", 25_500),
            counted("SUMMARY", 120),
            counted("Answer gamma.", 2_020),
        ];
        let bed = Bed::of(plan.clone(), turns);
        for text in ["First", "Second", "Third"] {
            bed.prompt(&filled(text)).await;
        }
        assert_eq!(bed.told(), events(&golden));
        assert_eq!(bed.entries(), entries(&golden));
        assert_eq!(compactions(&bed.lines()), compactions(recorded(&golden)));
    }
    if let Some(golden) = golden("compact_split") {
        let step = |text: &str, id: &str, tokens| {
            let call = FauxBlock::tool_call(id, "bash", json!({"command": "echo"}));
            with_count(FauxTurn::new([FauxBlock::text(filled(text)), call]), tokens)
        };
        let turns = [
            step("Step one", "call_1", 1_500),
            step("Step two", "call_2", 25_500),
            counted("SUMMARY", 120),
            counted("Final answer.", 2_020),
        ];
        let tools: Vec<Arc<dyn Tool>> = vec![Says::new("bash", "two\n")];
        let bed = Bed::of(Plan { tools, ..plan }, turns);
        bed.prompt("Only request").await;
        assert_eq!(bed.told(), events(&golden));
        assert_eq!(bed.entries(), entries(&golden));
        assert_eq!(compactions(&bed.lines()), compactions(recorded(&golden)));
    }
}

#[tokio::test]
async fn a_compaction_on_demand_follows_the_recording() {
    let Some(golden) = golden("compact_manual") else { return };
    let mut plan = Plan::default();
    plan.compaction.keep_recent_tokens = 300;
    let answers = ["Answer alpha.", "Answer beta.", "SUMMARY", "Answer delta."];
    let bed = Bed::of(plan, answers.map(|answer| counted(answer, 120)));
    bed.prompt(&filled("First")).await;
    bed.prompt(&filled("Second")).await;
    bed.harness.compact(Some("Keep the tables")).await.expect("compacts");
    bed.prompt("After compaction").await;
    assert_eq!(bed.told(), events(&golden));
    let bed = bed.reopened([counted("Answer epsilon.", 120)]);
    bed.prompt("Resumed").await;
    assert_eq!(bed.entries(), entries(&golden));
    assert_eq!(compactions(&bed.lines()), compactions(recorded(&golden)));
}

#[tokio::test]
async fn a_way_through_the_tree_follows_the_recording() {
    let Some(golden) = golden("navigate_ext") else { return };
    let answers = ["Alpha.", "Beta.", "SUMMARY", "Gamma.", "Delta."];
    let bed = Bed::new(answers.map(|answer| counted(answer, 120)));
    let note = || EntryBody::Custom { custom_type: "note".to_owned(), data: None };
    bed.prompt("First").await;
    bed.prompt("Second").await;
    let second = bed.id(6);
    let summarize = NavigateOptions { summarize: true, ..NavigateOptions::default() };
    bed.harness.navigate(Some(&second), summarize).await.expect("navigates");
    bed.harness.append(note()).await.expect("stored");
    bed.prompt("Other branch").await;
    bed.harness.navigate(Some(&second), NavigateOptions::default()).await.expect("navigates");
    bed.harness.append(note()).await.expect("stored");
    bed.prompt("Third branch").await;
    assert_eq!(bed.told(), events(&golden));
    assert_eq!(bed.entries(), entries(&golden));
    let shape = |entries: &[Value]| {
        let line = |id: &Value| entries.iter().position(|entry| entry["id"] == *id);
        let shape = |e: &Value| (line(&e["parentId"]), line(&e["fromId"]));
        entries.iter().skip(1).map(shape).collect::<Vec<_>>()
    };
    assert_eq!(shape(&bed.lines()), shape(recorded(&golden)));
}
