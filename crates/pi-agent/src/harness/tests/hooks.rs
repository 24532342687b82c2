//! Hooks of sessions, of the loop and of requests, as a harness asks them.

use pi_ai::protocol::builtin;
use pi_ai::transport::{HttpTransport, TransportConfig};
use pi_ai::{RequestHookChain, RequestHooks, TextContent, ToolResultMessage};
use pi_test::{ModelServer, Turn};

use super::*;
use crate::hooks::{LoopHooks, TurnFinish};

type Log = Arc<Mutex<Vec<String>>>;

/// Decides as it is told, and notes what it hears.
#[derive(Debug)]
pub(super) struct Decider {
    pub(super) name: &'static str,
    pub(super) compact: CompactDecision,
    pub(super) navigate: NavigateDecision,
    pub(super) log: Log,
}

impl Decider {
    pub(super) fn new(name: &'static str, log: &Log) -> Self {
        Self {
            name,
            compact: CompactDecision::Proceed,
            navigate: NavigateDecision::Proceed,
            log: Arc::clone(log),
        }
    }

    fn note(&self, what: &str) {
        self.log.lock().expect("lock").push(format!("{}: {what}", self.name));
    }
}

impl SessionHooks for Decider {
    fn before_compact<'a>(
        &'a self,
        compaction: BeforeCompact<'a>,
    ) -> BoxFuture<'a, CompactDecision> {
        let BeforeCompact { preparation, instructions, reason, will_retry, .. } = compaction;
        let messages = preparation.messages_to_summarize.len();
        let instructions = instructions.unwrap_or("nothing");
        self.note(&format!(
            "before {reason:?} of {messages}, look at {instructions}, {will_retry}"
        ));
        Box::pin(std::future::ready(self.compact.clone()))
    }

    fn after_compact<'a>(&'a self, compacted: Compacted<'a>) -> BoxFuture<'a, ()> {
        let Compacted { entry, from_hook, reason, will_retry } = compacted;
        let kind = &entry.kind;
        self.note(&format!("after {reason:?}, {kind}, hook {from_hook}, {will_retry}"));
        Box::pin(std::future::ready(()))
    }

    fn compact_failed<'a>(&'a self, failed: CompactFailed<'a>) -> BoxFuture<'a, ()> {
        let CompactFailed { reason, failure, from_hook } = failed;
        self.note(&format!("failed {reason:?}, {failure}, hook {from_hook}"));
        Box::pin(std::future::ready(()))
    }

    fn before_navigate<'a>(
        &'a self,
        navigation: BeforeNavigate<'a>,
    ) -> BoxFuture<'a, NavigateDecision> {
        let BeforeNavigate { preparation, options, .. } = navigation;
        let (left, instructions) = (preparation.entry_ids.len(), &options.instructions);
        let instructions = instructions.as_deref().unwrap_or("nothing");
        self.note(&format!("before leaving {left}, look at {instructions}"));
        Box::pin(std::future::ready(self.navigate.clone()))
    }

    fn after_navigate<'a>(&'a self, navigated: Navigated<'a>) -> BoxFuture<'a, ()> {
        let Navigated { new_leaf_id, old_leaf_id, summary, from_hook } = navigated;
        let is_moved = new_leaf_id != old_leaf_id;
        let is_summary = summary.map(|summary| Some(summary.id.as_str()) == new_leaf_id);
        self.note(&format!("moved {is_moved}, summary {is_summary:?}, hook {from_hook}"));
        Box::pin(std::future::ready(()))
    }
}

pub(super) fn heard(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().expect("lock"))
}

/// Notes the events of compactions between what the hooks say.
struct Among(Log);

impl SessionListener for Among {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let event = serde_json::to_value(event).expect("JSON");
        let kind = text(&event["type"]);
        if kind.starts_with("compaction") {
            self.0.lock().expect("lock").push(kind.to_owned());
        }
        Box::pin(std::future::ready(()))
    }
}

fn supplied(first_kept: Option<String>) -> CompactDecision {
    CompactDecision::Use(Box::new(SuppliedCompaction {
        summary: "MINE".to_owned(),
        first_kept_entry_id: first_kept,
        tokens_before: 7,
        usage: None,
        details: Some(json!({"readFiles": ["mine.txt"], "x": 1})),
    }))
}

#[tokio::test]
async fn hooks_hear_of_a_compaction_before_the_public_does() {
    let log = Log::default();
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_session_hooks(vec![Arc::new(Decider::new("a", &log))]);
    bed.harness.subscribe(Arc::new(Among(Arc::clone(&log))));
    bed.model_says(["SUMMARY"]);
    bed.harness.compact(Some("TABLES")).await.expect("compacts");
    assert_eq!(
        heard(&log),
        [
            "compaction_start",
            "a: before Manual of 2, look at TABLES, false",
            "a: after Manual, compaction, hook false, false",
            "compaction_end"
        ]
    );
    bed.compact().await.expect_err("compacted already");
    assert_eq!(
        heard(&log),
        ["compaction_start", "a: failed Manual, Already compacted, hook false", "compaction_end"]
    );
}

#[tokio::test]
async fn hooks_learn_that_a_failed_answer_is_tried_again() {
    let log = Log::default();
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_session_hooks(vec![Arc::new(Decider::new("a", &log))]);
    bed.model_says([FauxTurn::error("prompt is too long"), "SUMMARY".into(), "C.".into()]);
    bed.prompt("GAMMA").await;
    assert_eq!(
        heard(&log),
        [
            "a: before Overflow of 2, look at nothing, true",
            "a: after Overflow, compaction, hook false, true"
        ]
    );
}

#[tokio::test]
async fn a_hook_may_cancel_a_compaction() {
    let log = Log::default();
    let cancels =
        || Arc::new(Decider { compact: CompactDecision::Cancel, ..Decider::new("a", &log) });
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_session_hooks(vec![cancels()]);
    let before = bed.bytes();
    assert_eq!(bed.compact().await.expect_err("cancelled").to_string(), "Compaction cancelled");
    assert_eq!(
        bed.told(),
        ["compaction_start manual", "compaction_end manual aborted retry=false"]
    );
    assert_eq!(heard(&log)[1], "a: failed Manual, Compaction cancelled, hook false");
    assert_eq!(bed.bytes(), before);
    assert_eq!(bed.harness.operation(), Operation::Idle);

    bed.model_says([counted("C.", LIMIT + 1), "D.".into()]);
    bed.prompt("GAMMA").await;
    let told = bed.told();
    assert_eq!(told[told.len() - 2], "compaction_end threshold aborted retry=false");
    let outcome = bed.prompt("DELTA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "D.", "the prompt follows all the same");
}

#[tokio::test]
async fn a_summary_of_a_hook_is_stored_as_it_is_and_no_model_is_asked() {
    let log = Log::default();
    let bed = Bed::small([]);
    bed.two_turns().await;
    let kept = bed.id(6);
    let hook = Decider { compact: supplied(Some(kept.clone())), ..Decider::new("a", &log) };
    bed.harness.set_session_hooks(vec![Arc::new(hook)]);
    let result = bed.compact().await.expect("compacts");
    assert_eq!((result.summary.as_str(), &result.first_kept_entry_id), ("MINE", &kept));
    assert_eq!((result.tokens_before, result.usage), (7, None));
    let mut entry = bed.lines().pop().expect("entry");
    let fields = entry.as_object_mut().expect("object");
    for own in ["id", "parentId", "timestamp", "systemMessage"] {
        fields.remove(own).expect(own);
    }
    assert_eq!(
        entry,
        json!({
            "type": "compaction",
            "summary": "MINE",
            "firstKeptEntryId": kept,
            "tokensBefore": 7,
            "details": {"readFiles": ["mine.txt"], "x": 1},
            "fromHook": true
        })
    );
    assert_eq!(bed.model.contexts().len(), 2, "no request");
    assert_eq!(heard(&log)[1], "a: after Manual, compaction, hook true, false");
    let roles: Vec<_> = bed.harness.messages().iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["system", "compactionSummary", "user", "assistant"]);
}

#[tokio::test]
async fn a_hook_may_keep_nothing_and_what_is_queued_then_is_delivered() {
    let log = Log::default();
    let bed = Bed::small([]);
    bed.two_turns().await;
    let hook = Decider { compact: supplied(None), ..Decider::new("a", &log) };
    bed.harness.set_session_hooks(vec![Arc::new(hook)]);
    let gate = Gate::new("a");
    bed.harness.register_tool(gate.clone(), true);
    bed.model_says([with_count(call("a"), 500), counted("C.", LIMIT + 1), counted("D.", 500)]);
    let run = bed.spawn_prompt("GAMMA");
    bed.ear.wait_for("tool_execution_start").await;
    gate.open.notify_one();
    bed.ear.wait_for("message_end assistant stop").await;
    run.await.expect("task").expect("prompt");
    let entry = bed.lines().pop().expect("entry");
    assert_eq!(entry["firstKeptEntryId"], entry["id"]);
    let message = AgentMessage::user(vec![InputBlock::text("QUEUED")], 0);
    bed.harness.follow_up(message).await;
    bed.harness.run_queued().await.expect("idle").expect("something");
    assert_eq!(bed.requests()[4], "system user user", "summary and message, in one request");
}

#[tokio::test]
async fn the_first_hook_that_decides_is_the_last_that_is_asked() {
    let log = Log::default();
    let bed = Bed::small([]);
    bed.two_turns().await;
    let uses = Decider { compact: supplied(Some(bed.id(6))), ..Decider::new("b", &log) };
    let cancels = Decider { compact: CompactDecision::Cancel, ..Decider::new("c", &log) };
    bed.harness.set_session_hooks(vec![
        Arc::new(Decider::new("a", &log)),
        Arc::new(uses),
        Arc::new(cancels),
    ]);
    bed.compact().await.expect("compacts");
    let heard: Vec<_> =
        heard(&log).iter().map(|line| line.chars().take(8).collect::<String>()).collect();
    assert_eq!(heard, ["a: befor", "b: befor", "a: after", "b: after", "c: after"]);
}

#[tokio::test]
async fn an_abort_does_not_wait_for_a_hook_that_thinks() {
    #[derive(Debug)]
    struct Thinks;
    impl SessionHooks for Thinks {
        fn before_compact<'a>(&'a self, _: BeforeCompact<'a>) -> BoxFuture<'a, CompactDecision> {
            Box::pin(std::future::pending())
        }
    }
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_session_hooks(vec![Arc::new(Thinks)]);
    let compaction = bed.spawn_compact();
    bed.ear.wait_for("compaction_start").await;
    bed.harness.abort();
    let result = compaction.await.expect("task");
    assert_eq!(result.expect_err("cancelled").to_string(), "Compaction cancelled");
}

/// Changes every message it is shown.
#[derive(Debug)]
struct Rewrites;

impl LoopHooks for Rewrites {
    fn finish_message<'a>(&'a self, message: AgentMessage) -> BoxFuture<'a, AgentMessage> {
        let changed = match &message {
            AgentMessage::User(_) => AgentMessage::user(vec![InputBlock::text("changed user")], 5),
            AgentMessage::Assistant(answer) if answer.tool_calls().next().is_none() => {
                let text = TextContent::new("changed answer");
                AgentMessage::Assistant(Arc::new(AssistantMessage {
                    content: vec![pi_ai::AssistantBlock::Text(text)],
                    ..answer.as_ref().clone()
                }))
            }
            AgentMessage::ToolResult(result) if result.tool_call_id == "call_1" => {
                AgentMessage::ToolResult(Arc::new(ToolResultMessage {
                    content: vec![InputBlock::text("changed result")],
                    ..result.as_ref().clone()
                }))
            }
            AgentMessage::ToolResult(result) => {
                AgentMessage::ToolResult(Arc::new(ToolResultMessage {
                    tool_call_id: "another".to_owned(),
                    ..result.as_ref().clone()
                }))
            }
            AgentMessage::System(_) => AgentMessage::user(vec![InputBlock::text("no prompt")], 0),
            _ => message.clone(),
        };
        Box::pin(std::future::ready(changed))
    }
}

#[tokio::test]
async fn a_finished_message_is_changed_before_it_is_stored_told_and_sent() {
    let turns = [
        FauxTurn::new([
            FauxBlock::tool_call("call_1", "a", json!({})),
            FauxBlock::tool_call("call_2", "a", json!({})),
        ]),
        FauxTurn::text("Done."),
    ];
    let gate = Gate::new("a");
    let bed = Bed::with_tools(turns, vec![gate.clone()]);
    bed.harness.set_hooks(Arc::new(Rewrites));
    let run = bed.spawn_prompt("Go");
    bed.ear.wait_for("tool_execution_start").await;
    gate.open.notify_one();
    bed.ear.wait_for("tool_execution_end").await;
    gate.open.notify_one();
    let outcome = run.await.expect("task").expect("prompt");
    assert_eq!(outcome.answer.expect("answer").text(), "changed answer");

    let lines = bed.lines();
    let stored = |line: usize| text(&lines[line]["message"]["content"][0]["text"]).to_owned();
    assert_eq!(
        bed.entries()[3..],
        ["system", "user", "assistant", "toolResult", "toolResult", "assistant"],
        "a message of another role is no change"
    );
    assert_eq!(
        [4, 6, 7, 8].map(stored),
        ["changed user", "changed result", "done", "changed answer"]
    );
    assert_eq!(lines[7]["message"]["toolCallId"], "call_2", "a result keeps its call");
    assert!(bed.sent(1).contains("changed user") && bed.sent(1).contains("changed result"));
    let events = bed.ear.events.lock().expect("lock");
    let told: Vec<_> = events.iter().filter(|e| e["type"] == "message_end").collect();
    let told: Vec<_> = told.iter().map(|event| &event["message"]).collect();
    let stored: Vec<_> = lines[3..].iter().map(|line| &line["message"]).collect();
    assert_eq!(told, stored, "what is told is what is stored");
    let turn_end = events.iter().find(|event| event["type"] == "turn_end").expect("turn");
    assert_eq!(turn_end["toolResults"][0], lines[6]["message"]);
}

/// Wants one more request behind the first answer of the run that it hears of.
#[derive(Debug, Default)]
struct OneMore {
    finished: Mutex<Vec<(StopReason, usize)>>,
}

impl LoopHooks for OneMore {
    fn finish_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, TurnFinish> {
        let mut finished = self.finished.lock().expect("lock");
        finished.push((message.stop_reason, results.len()));
        let is_first = finished.len() == 1;
        Box::pin(std::future::ready(match is_first {
            true => TurnFinish::Continue,
            false => TurnFinish::AsItIs,
        }))
    }
}

#[tokio::test]
async fn a_finished_turn_may_be_followed_by_one_more() {
    let bed = Bed::new(["1", "2"].map(FauxTurn::text));
    let hooks = Arc::new(OneMore::default());
    bed.harness.set_hooks(hooks.clone());
    let outcome = bed.prompt("Go").await;
    assert_eq!(outcome.answer.expect("answer").text(), "2");
    assert_eq!(bed.requests(), ["system user", "system user assistant"]);
    let told = bed.told();
    assert_eq!(told.iter().filter(|line| *line == "agent_start").count(), 1, "in the same run");
    assert_eq!(
        *hooks.finished.lock().expect("lock"),
        [(StopReason::Stop, 0), (StopReason::Stop, 0)]
    );
}

#[tokio::test]
async fn a_failed_turn_ends_the_run_whatever_the_hook_wants() {
    let bed = Bed::new([FauxTurn::error("401 no"), FauxTurn::text("never")]);
    let hooks = Arc::new(OneMore::default());
    bed.harness.set_hooks(hooks.clone());
    let outcome = bed.prompt("Go").await;
    assert_eq!(stop_of(&outcome), StopReason::Error);
    assert_eq!(bed.model.remaining(), 1);
    assert_eq!(*hooks.finished.lock().expect("lock"), [(StopReason::Error, 0)]);
}

#[tokio::test]
async fn the_one_more_request_is_tried_again_as_any_other() {
    let bed = Bed::small([]);
    bed.two_turns().await;
    bed.harness.set_hooks(Arc::new(OneMore::default()));
    bed.model_says([
        "C.".into(),
        FauxTurn::error("529 overloaded_error"),
        FauxTurn::error("prompt is too long"),
        "SUMMARY".into(),
        "D.".into(),
    ]);
    let outcome = bed.prompt("GAMMA").await;
    assert_eq!(outcome.answer.expect("answer").text(), "D.");
    assert_eq!(bed.requests()[6], "system user user assistant user assistant");
    assert_eq!(bed.told().last().expect("event"), "agent_settled aborted=false");
}

/// Sets a field of every body, and notes the models it saw.
#[derive(Debug)]
struct Adds(&'static str, Log);

impl RequestHooks for Adds {
    fn on_payload<'a>(
        &'a self,
        body: &'a pi_ai::protocol::RequestBody,
        _model: &'a Model,
    ) -> BoxFuture<'a, Option<Value>> {
        let mut body = body.to_value();
        let said = body["messages"].as_array().map_or(0, Vec::len);
        self.1.lock().expect("lock").push(format!("{}: {said} after {}", self.0, body["added"]));
        body["added"] = json!(self.0);
        Box::pin(std::future::ready(Some(body)))
    }
}

#[tokio::test]
async fn hooks_of_requests_see_and_change_what_goes_over_the_wire() {
    let server = ModelServer::start(["A.", "B.", "SUMMARY"].map(Turn::from)).await;
    let model = json!({
        "id": "m", "name": "M", "api": "openai-completions", "provider": "fx", "input": ["text"],
        "baseUrl": server.url(), "contextWindow": 100_000, "maxTokens": 8192,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    });
    let transport = Arc::new(HttpTransport::new(TransportConfig::default()));
    let model = Arc::new(serde_json::from_value(model).expect("model"));
    let mut agent = AgentConfig::new(model, Arc::new(builtin(&transport)));
    agent.options.base.api_key = Some("k".to_owned());
    let session = Session::in_memory(Path::new("/w"), new_session_id()).expect("session");
    let settings = Plan::small().compaction;
    let harness = Harness::new(HarnessConfig {
        compaction: CompactionPolicy { settings, ..CompactionPolicy::default() },
        ..HarnessConfig::new(agent, session)
    });
    let log = Log::default();
    let chain: RequestHookChain = ["x", "y"]
        .map(|name| Arc::new(Adds(name, Arc::clone(&log))) as Arc<dyn RequestHooks>)
        .into_iter()
        .collect();
    harness.prompt(vec![InputBlock::text(long("ALPHA"))]).await.expect("prompt");
    harness.set_request_hooks(Some(Arc::new(chain)));
    harness.prompt(vec![InputBlock::text(long("BETA"))]).await.expect("prompt");
    harness.compact(None).await.expect("compacts");
    let added: Vec<_> = server.requests().iter().map(|r| r.json()["added"].clone()).collect();
    assert_eq!(added, [json!(null), json!("y"), json!("y")], "summaries are requests too");
    assert_eq!(
        heard(&log),
        ["x: 3 after null", "y: 3 after \"x\"", "x: 2 after null", "y: 2 after \"x\""]
    );
}
