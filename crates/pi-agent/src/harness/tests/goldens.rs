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
