//! The registry of tools: which there are, which are active, and what a session says of it.

use super::*;

fn tools(names: &[&str]) -> Vec<Arc<dyn Tool>> {
    names.iter().map(|name| Gate::new(name) as Arc<dyn Tool>).collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn restored(names: &[&str]) -> Option<ActiveTools> {
    Some(ActiveTools::Restored(owned(names)))
}

fn plan(all: &[&str], active: Option<ActiveTools>) -> Plan {
    Plan { tools: tools(all), active, ..Plan::default() }
}

fn registered(bed: &Bed) -> Vec<String> {
    bed.harness.tools().iter().map(|tool| tool.definition().name.clone()).collect()
}

/// Same name, other words.
fn reworded(name: &str) -> Arc<dyn Tool> {
    let mut definition = Gate::new(name).definition.clone();
    definition.description = "other".to_owned();
    Arc::new(Says { definition, text: String::new() })
}

/// What the last line but two, a system message, says of tools.
fn patch(bed: &Bed) -> Value {
    let mut lines = bed.lines();
    let message = &lines.remove(lines.len() - 3)["message"];
    assert_eq!(message["role"], "system");
    let names = |field: &str| {
        let tools = message[field].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
    };
    json!([names("toolsAdded"), names("toolsRemoved")])
}

#[tokio::test]
async fn tools_can_come_and_go() {
    let bed = Bed::of(plan(&["a", "b", "c"], restored(&["c", "a", "nobody's"])), []);
    assert_eq!(
        (registered(&bed), bed.harness.active_tools()),
        (owned(&["a", "b", "c"]), owned(&["c", "a"]))
    );
    bed.harness.register_tool(Gate::new("d"), false);
    bed.harness.register_tool(Gate::new("e"), true);
    assert_eq!(registered(&bed), ["a", "b", "c", "d", "e"]);
    assert_eq!(bed.harness.active_tools(), ["c", "a", "e"]);
    assert!(bed.harness.unregister_tool("a") && bed.harness.unregister_tool("b"));
    assert!(!bed.harness.unregister_tool("a"));
    assert_eq!(
        (registered(&bed), bed.harness.active_tools()),
        (owned(&["c", "d", "e"]), owned(&["c", "e"]))
    );
    assert_eq!(bed.harness.state().conversation.active_tools, ["c", "e"]);
}

#[tokio::test]
async fn a_tool_of_the_same_name_takes_the_place_of_the_other() {
    let bed = Bed::of(plan(&["a", "b"], None), []);
    bed.model_says(["1", "2", "3"]);
    bed.prompt("one").await;
    bed.harness.register_tool(reworded("a"), false);
    assert_eq!(
        (registered(&bed), bed.harness.active_tools()),
        (owned(&["a", "b"]), owned(&["a", "b"]))
    );
    assert_eq!(bed.harness.inner.agent.tools()[0].definition().description, "other");
    bed.prompt("two").await;
    assert_eq!(patch(&bed), json!([["a"], []]), "the model is told how it is now");
    bed.harness.unregister_tool("a");
    bed.prompt("three").await;
    assert_eq!(patch(&bed), json!([[], ["a"]]));
}

#[tokio::test]
async fn tools_that_stay_active_keep_their_place() {
    let bed = Bed::of(plan(&["a", "b", "c", "d"], restored(&["b", "a"])), []);
    bed.model_says(["1", "2"]);
    bed.prompt("one").await;
    bed.harness.set_active_tools(&["a", "b"]);
    assert_eq!(bed.harness.active_tools(), ["b", "a"]);
    bed.prompt("two").await;
    assert_eq!(bed.entries()[6..], ["user", "assistant"], "another order alone is no change");
    bed.harness.set_active_tools(&["d", "a", "nobody's", "c"]);
    assert_eq!(bed.harness.active_tools(), ["a", "d", "c"], "new ones come behind");
}

#[tokio::test]
async fn a_session_is_taken_up_with_the_tools_it_was_left_with() {
    let cases: [(Option<ActiveTools>, &[&str]); 4] = [
        (None, &["b", "c"]),
        (restored(&["a"]), &["b", "c"]),
        (Some(ActiveTools::Only(owned(&["a", "c"]))), &["a", "c"]),
        (Some(ActiveTools::Only(vec![])), &[]),
    ];
    for (active, wanted) in cases {
        let bed = Bed::of(plan(&["a", "b", "c"], None), []);
        bed.model_says(["1", "2"]);
        bed.prompt("one").await;
        bed.harness.set_active_tools(&["c", "b"]);
        bed.prompt("two").await;
        let bed = bed.reopened_as(plan(&["c", "b", "a"], active.clone()), []);
        assert_eq!(bed.harness.active_tools(), wanted, "{active:?}");
        bed.model_says(["3"]);
        let lines = bed.lines().len();
        bed.prompt("three").await;
        let is_told = bed.entries()[lines] == "system";
        assert_eq!(is_told, wanted != ["b", "c"], "{active:?}");
    }
}

#[tokio::test]
async fn a_session_that_was_left_without_tools_is_taken_up_without() {
    let bed = Bed::of(plan(&["a"], Some(ActiveTools::Only(vec![]))), []);
    bed.model_says(["1"]);
    bed.prompt("one").await;
    let bed = bed.reopened_as(plan(&["a"], None), []);
    assert_eq!(bed.harness.active_tools(), [""; 0]);
}

#[tokio::test]
async fn a_session_that_says_nothing_of_tools_gets_the_given_ones() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/w"}"#;
    let user = r#"{"type":"message","id":"a","parentId":null,"timestamp":"","message":{"role":"user","content":"old"}}"#;
    let change = r#"{"type":"active_tools_change","id":"b","parentId":"a","timestamp":"","activeToolNames":["c","a","x"]}"#;
    for (lines, wanted) in
        [(vec![header, user], ["b", "a"]), (vec![header, user, change], ["c", "a"])]
    {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, lines.join("\n") + "\n").expect("write");
        let session = Session::open(&path, Path::new("/w")).expect("opens").0;
        let bed = Bed::on(session, dir, plan(&["a", "b", "c"], restored(&["b", "a"])), []);
        assert_eq!(bed.harness.active_tools(), wanted);
    }
}

#[tokio::test]
async fn tools_registered_later_are_as_active_as_they_are_said_to_be() {
    let bed = Bed::of(plan(&["a", "late"], None), []);
    bed.model_says(["1"]);
    bed.prompt("one").await;
    let bed = bed.reopened_as(plan(&["a"], None), []);
    bed.harness.register_tool(Gate::new("late"), true);
    bed.harness.register_tool(Gate::new("new"), false);
    assert_eq!(bed.harness.active_tools(), ["a", "late"]);
    bed.model_says(["2"]);
    bed.prompt("two").await;
    assert_eq!(bed.entries()[6..], ["user", "assistant"], "the model knows it already");
}

#[tokio::test]
async fn a_tool_the_conversation_saw_taken_away_stays_inactive() {
    let bed = Bed::of(plan(&["a", "b"], None), []);
    bed.model_says(["1", "2"]);
    bed.prompt("one").await;
    bed.harness.set_active_tools(&["a"]);
    bed.prompt("two").await;
    bed.harness.register_tool(Gate::new("b"), true);
    assert_eq!(bed.harness.active_tools(), ["a"]);

    let bed = bed.reopened_as(plan(&["a"], restored(&["a", "b"])), []);
    bed.harness.register_tool(Gate::new("b"), true);
    assert_eq!(bed.harness.active_tools(), ["a"], "also after a restart");
    bed.harness.set_active_tools(&["a", "b"]);
    assert_eq!(bed.harness.active_tools(), ["a", "b"], "unless somebody asks for it");
    bed.model_says(["3"]);
    bed.prompt("three").await;
    assert_eq!(patch(&bed), json!([["b"], []]));
    bed.harness.set_active_tools(&["a"]);
    bed.harness.register_tool(Gate::new("b"), true);
    assert_eq!(bed.harness.active_tools(), ["a", "b"], "it was given back");
}

#[tokio::test]
async fn only_the_calls_of_active_tools_are_run() {
    let bed = Bed::of(plan(&[], None), []);
    bed.harness.register_tool(Says::new("a", "ran"), false);
    bed.model_says([call("a"), "1".into()]);
    bed.prompt("one").await;
    assert!(bed.sent(1).contains("Tool a not found"), "{}", bed.sent(1));
    bed.harness.set_active_tools(&["a"]);
    bed.model_says([call("a"), "2".into()]);
    bed.prompt("two").await;
    assert!(bed.sent(3).contains("ran"));
}
