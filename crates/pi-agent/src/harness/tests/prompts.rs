use super::*;

#[tokio::test]
async fn the_first_prompt_writes_state_prompt_and_messages_in_order() {
    let bed = Bed::new([FauxTurn::text("Hi."), FauxTurn::text("Again.")]);
    bed.harness.set_name("Named").await.expect("name");
    assert_eq!(bed.entries(), [""; 0], "nothing is on disk before a prompt");
    bed.told();

    let outcome = bed.prompt("Hello").await;
    assert_eq!((stop_of(&outcome), outcome.aborted), (StopReason::Stop, false));
    assert_eq!(
        bed.entries(),
        [
            "session",
            "model_change",
            "thinking_level_change",
            "session_info",
            "system",
            "user",
            "assistant"
        ]
    );
    assert_eq!(
        bed.told(),
        [
            "agent_start",
            "turn_start",
            "message_start system",
            "message_end system",
            "message_start user",
            "message_end user",
            "message_start assistant pending",
            "message_end assistant stop",
            "turn_end assistant stop",
            "agent_end system,user,assistant retry=false",
            "agent_settled aborted=false"
        ]
    );

    bed.prompt("More").await;
    assert_eq!(bed.told()[2], "message_start user", "no system message when nothing changed");
    assert_eq!(bed.requests(), ["system user", "system user assistant user"]);
}

#[tokio::test]
async fn messages_are_on_disk_before_their_event_is_public_and_after_it_is_announced() {
    struct Order(PathBuf, Mutex<Vec<(usize, usize)>>);
    impl Order {
        fn count(&self) -> usize {
            fs::read_to_string(&self.0).map_or(0, |text| text.lines().count())
        }
    }
    impl SessionListener for Order {
        fn before_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
            if matches!(event, SessionEvent::Agent(crate::AgentEvent::MessageEnd { .. })) {
                self.1.lock().expect("lock").push((self.count(), 0));
            }
            Box::pin(std::future::ready(()))
        }
        fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
            if matches!(event, SessionEvent::Agent(crate::AgentEvent::MessageEnd { .. })) {
                let count = self.count();
                self.1.lock().expect("lock").last_mut().expect("announced").1 = count;
            }
            Box::pin(std::future::ready(()))
        }
    }
    let bed = Bed::new([FauxTurn::text("Hi.")]);
    let order = Arc::new(Order(bed.path(), Mutex::default()));
    bed.harness.subscribe(Arc::clone(&order) as Arc<dyn SessionListener>);
    bed.prompt("Hello").await;
    // The system message waits for the user's; then each message is one line more.
    assert_eq!(*order.1.lock().expect("lock"), [(0, 0), (0, 5), (5, 6)]);
}

#[tokio::test]
async fn resuming_appends_nothing_of_its_own() {
    let bed = Bed::new([FauxTurn::text("Hi.")]);
    bed.prompt("Hello").await;
    let before = bed.lines();
    let bed = bed.reopened([FauxTurn::text("Back.")]);
    assert_eq!(bed.lines(), before);
    bed.prompt("Go on").await;
    assert_eq!(bed.entries()[before.len()..], ["user", "assistant"]);
    assert_eq!(bed.requests(), ["system user assistant user"]);
}

#[tokio::test]
async fn an_old_session_gets_a_level_when_opened_and_the_prompt_with_the_next_message() {
    let dir = tempfile::tempdir().expect("temp dir");
    let path = dir.path().join("old.jsonl");
    let old = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"old"}}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"","message":{"role":"assistant","content":[],"provider":"faux","model":"faux-1","stopReason":"stop"}}"#,
        "\n",
    );
    fs::write(&path, old).expect("write");
    let session = Session::open(&path, Path::new("/w")).expect("opens").0;
    let bed = Bed::on(session, dir, Plan::default(), [FauxTurn::text("Hi.")]);
    assert_eq!(bed.entries()[3..], ["thinking_level_change"]);
    bed.prompt("Hello").await;
    assert_eq!(bed.entries()[4..], ["system", "user", "assistant"]);
}

#[tokio::test]
async fn another_model_or_level_is_recorded_once() {
    let bed = Bed::new([FauxTurn::text("Hi.")]);
    bed.prompt("Hello").await;
    let count = bed.entries().len();
    let same = bed.harness.inner.agent.model();
    bed.harness.set_model(same).await;
    bed.harness.set_thinking_level(ThinkingLevel::Off).await;
    assert_eq!(bed.entries().len(), count);

    let other = Model { id: "faux-2".to_owned(), ..FauxProvider::model() };
    bed.harness.set_model(Arc::new(other)).await;
    bed.told();
    assert_eq!(bed.harness.set_thinking_level(ThinkingLevel::High).await, ThinkingLevel::High);
    assert_eq!(bed.told(), ["thinking_level_changed high"]);
    assert_eq!(bed.entries()[count..], ["model_change", "thinking_level_change"]);
}

#[tokio::test]
async fn changed_tools_reach_the_model_with_the_next_prompt_and_keep_their_order() {
    let (a, b, c) = (Gate::new("a"), Gate::new("b"), Gate::new("c"));
    let bed =
        Bed::with_tools([FauxTurn::text("1"), FauxTurn::text("2")], vec![a.clone(), b.clone()]);
    bed.prompt("one").await;
    bed.harness.register_tool(c, false);
    bed.harness.set_active_tools(&["c", "b", "a"]);
    let tools = bed.harness.inner.agent.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    bed.prompt("two").await;
    let patch = &bed.lines()[6]["message"];
    assert_eq!(patch["sections"], json!({"tools": "a b c"}));
    assert_eq!(patch["toolsAdded"][0]["name"], "c");
    assert_eq!((patch["content"].as_str(), &patch["toolsAdded"][1]), (Some(""), &Value::Null));
}

#[tokio::test]
async fn tools_changed_by_a_tool_are_told_before_the_next_request_of_the_same_run() {
    let gate = Gate::new("a");
    let bed = Bed::with_tools([call("a"), FauxTurn::text("done")], vec![gate.clone()]);
    let run = bed.spawn_prompt("go");
    bed.ear.wait_for("tool_execution_start").await;
    bed.harness.register_tool(Gate::new("b"), true);
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    assert_eq!(bed.requests()[1], "system user assistant toolResult system");
    assert_eq!(bed.entries()[4..], ["user", "assistant", "toolResult", "system", "assistant"]);
}

#[tokio::test]
async fn a_second_prompt_meanwhile_is_refused() {
    let gate = Gate::new("a");
    let bed = Bed::with_tools([call("a"), FauxTurn::text("done")], vec![gate.clone()]);
    let run = bed.spawn_prompt("go");
    bed.ear.wait_for("tool_execution_start").await;
    let error = bed.harness.prompt(vec![]).await.expect_err("busy");
    assert_eq!(error.to_string(), "Agent is already processing");
    let elsewhere = bed.harness.navigate(None, NavigateOptions::default()).await;
    assert!(matches!(elsewhere, Err(HarnessError::Occupied(Operation::Turn))));
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    bed.harness.wait_for_idle().await;
    assert!(!bed.harness.is_busy());
}

#[tokio::test]
async fn who_hears_of_the_end_may_prompt_at_once() {
    let bed = Bed::new([FauxTurn::text("1"), FauxTurn::text("2")]);
    let first = bed.spawn_prompt("one");
    bed.ear.wait_for("agent_settled").await;
    bed.prompt("two").await;
    first.await.expect("task").expect("prompt");
    assert_eq!(bed.requests().len(), 2);
}

#[tokio::test]
async fn commands_run_meanwhile_are_stored_when_the_run_is_over() {
    let gate = Gate::new("a");
    let bed = Bed::with_tools(
        [call("a"), FauxTurn::text("done"), FauxTurn::text("next")],
        vec![gate.clone()],
    );
    let run = bed.spawn_prompt("go");
    bed.ear.wait_for("tool_execution_start").await;
    bed.harness.record_bash(bash("ls")).expect("held");
    assert_eq!(bed.entries().last().map(String::as_str), Some("assistant"));
    gate.open.notify_one();
    run.await.expect("task").expect("prompt");
    assert_eq!(bed.entries()[6..], ["toolResult", "assistant", "bashExecution"]);

    bed.harness.record_bash(bash("pwd")).expect("stored");
    assert_eq!(bed.entries()[9..], ["bashExecution"]);
    bed.prompt("now").await;
    let context = bed.model.contexts().pop().expect("request");
    let texts: Vec<_> = context.messages.iter().rev().take(3).rev().collect();
    assert!(format!("{texts:?}").contains("Ran `pwd`"), "{texts:?}");
}

#[tokio::test]
async fn the_leaf_can_be_moved_and_the_conversation_goes_on_from_there() {
    let bed = Bed::new(["1", "2", "3"].map(FauxTurn::text));
    bed.prompt("one").await;
    let leaf = bed.harness.with_session(|s| s.leaf().map(|leaf| leaf.id().to_owned()));
    bed.prompt("two").await;
    bed.harness.navigate(leaf.as_deref(), NavigateOptions::default()).await.expect("idle");
    bed.prompt("three").await;
    assert_eq!(bed.requests()[2], "system user assistant user");
    let lines = bed.lines();
    assert_eq!(lines[lines.len() - 2]["parentId"].as_str(), leaf.as_deref());
}

#[tokio::test]
async fn custom_entries_are_told_and_others_are_not() {
    let bed = Bed::new([]);
    let custom = EntryBody::Custom { custom_type: "x".to_owned(), data: None };
    bed.harness.append(custom).await.expect("append");
    let label = EntryBody::Label { target_id: "a".to_owned(), label: None };
    bed.harness.append(label).await.expect("append");
    assert_eq!(bed.told(), ["entry_appended custom"]);
}

#[tokio::test]
async fn what_could_not_be_written_is_written_first_later() {
    let dir = tempfile::tempdir().expect("temp dir");
    let folder = dir.path().join("sessions");
    fs::write(&folder, "in the way").expect("write");
    let session = Session::create(&folder.join("s.jsonl"), Path::new("/w"), new_session_id());
    let bed = Bed::on(session.expect("session"), dir, Plan::default(), [FauxTurn::text("2")]);
    let outcome = bed.prompt("one").await;
    assert_eq!(stop_of(&outcome), StopReason::Aborted, "nothing is asked that leaves no record");
    assert!(bed.requests().is_empty());
    let error = outcome.unstored.expect("not stored").to_string();
    assert!(error.starts_with("Cannot write session file"), "{error}");

    fs::remove_file(&folder).expect("remove");
    assert!(bed.prompt("two").await.unstored.is_none());
    assert_eq!(
        bed.entries()[3..],
        ["system", "user", "assistant", "user", "assistant"],
        "all of it, in order"
    );
}
