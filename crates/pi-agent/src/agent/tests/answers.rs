use std::sync::Arc;

use pi_ai::faux::{FauxBlock, FauxProvider, FauxTurn, FauxUsage};
use pi_ai::{
    AssistantEvent, Model, StopReason, SystemContent, SystemMessage, ThinkingLevel, Usage,
};
use serde_json::json;

use super::{Bed, FnTool, calls, lines, user};
use crate::event::AgentEvent;
use crate::message::AgentMessage;

#[tokio::test]
async fn a_plain_prompt_is_told_in_order() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    let told = bed.prompt("Hi").await;
    let wanted = "agent_start
        turn_start
        start user Hi
        end user Hi
        start assistant pending
        end assistant stop
        turn_end stop []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!(bed.answer().text(), "Hello.");
}

#[tokio::test]
async fn system_messages_are_messages_like_any_other() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    let system = SystemMessage {
        content: SystemContent::Text("Be brief.".to_owned()),
        ..SystemMessage::default()
    };
    let messages = vec![AgentMessage::System(Arc::new(system)), user("Hi")];
    bed.agent.prompt(messages).await.unwrap();
    let told = bed.log.take();
    let wanted = "agent_start
        turn_start
        start system
        end system
        start user Hi
        end user Hi";
    assert_eq!(told.get(..6).unwrap(), lines(wanted));
    assert_eq!(told.last().unwrap(), "agent_end [system, user, assistant]");
    let context = bed.faux.contexts().remove(0);
    assert_eq!(context.messages.len(), 2);
    assert_eq!((context.system_prompt, context.tools.len()), (None, 0));
}

#[tokio::test]
async fn message_start_is_empty_and_pending_with_zero_usage() {
    let usage = FauxUsage { input: 100, output: 20, ..FauxUsage::default() };
    let bed = Bed::new([FauxTurn::text("Hello.").with_usage(usage)]);
    bed.prompt("Hi").await;
    let opening = bed.log.events().into_iter().find_map(|event| match event {
        AgentEvent::MessageStart { message: AgentMessage::Assistant(message) } => Some(message),
        _ => None,
    });
    let opening = opening.unwrap();
    assert!(opening.content.is_empty());
    assert_eq!(opening.stop_reason, StopReason::Pending);
    assert_eq!(opening.usage, Usage::default());
    assert_eq!(bed.answer().usage.input, 100);
}

#[tokio::test]
async fn updates_carry_the_stream_between_start_and_end() {
    let bed = Bed::new([FauxTurn::new([FauxBlock::thinking("Hm"), FauxBlock::text("Hello")])]);
    bed.prompt("Hi").await;
    let told: Vec<_> = bed
        .log
        .events()
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::MessageUpdate { assistant_message_event, .. } => {
                Some(serde_json::to_value(assistant_message_event).unwrap())
            }
            _ => None,
        })
        .collect();
    let wanted = [
        json!({"type": "thinking_start", "contentIndex": 0}),
        json!({"type": "thinking_delta", "contentIndex": 0, "delta": "Hm"}),
        json!({"type": "thinking_end", "contentIndex": 0, "content": "Hm"}),
        json!({"type": "text_start", "contentIndex": 1}),
        json!({"type": "text_delta", "contentIndex": 1, "delta": "Hello"}),
        json!({"type": "text_end", "contentIndex": 1, "content": "Hello"}),
    ];
    assert_eq!(told, wanted);
}

#[tokio::test]
async fn an_error_before_the_stream_starts_is_its_own_message_start() {
    let bed = Bed::new([FauxTurn::error("401: bad key")]);
    let told = bed.prompt("Hi").await;
    let wanted = "agent_start
        turn_start
        start user Hi
        end user Hi
        start assistant error
        end assistant error
        turn_end error []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!(bed.agent.error_message().as_deref(), Some("401: bad key"));
}

#[tokio::test]
async fn an_unknown_protocol_is_an_error_answer() {
    let bed = Bed::with([], |config| {
        config.model = Arc::new(Model { api: "telepathy".to_owned(), ..FauxProvider::model() });
    });
    let told = bed.prompt("Hi").await;
    assert!(told.contains(&"start assistant error".to_owned()));
    assert!(bed.answer().error_message.as_ref().unwrap().contains("telepathy"));
}

#[tokio::test]
async fn a_failed_answer_keeps_its_text_and_its_calls_are_never_run() {
    let turn = FauxTurn {
        error_message: Some("terminated".to_owned()),
        ..FauxTurn::new([FauxBlock::text("Part"), FauxBlock::tool_call("c1", "echo", json!({}))])
    };
    let bed = Bed::with_tools([turn], [FnTool::echo("echo")]);
    let told = bed.prompt("Hi").await;
    let wanted = "agent_start
        turn_start
        start user Hi
        end user Hi
        start assistant pending
        end assistant error
        turn_end error []
        agent_end [user, assistant]";
    assert_eq!(told, lines(wanted));
    assert_eq!(bed.answer().text(), "Part");
    assert!(bed.results().is_empty());
}

#[tokio::test]
async fn the_error_of_the_last_answer_is_forgotten_by_the_next_run() {
    let bed = Bed::new([FauxTurn::error("503: busy"), FauxTurn::text("Back.")]);
    bed.prompt("One").await;
    assert!(bed.agent.error_message().is_some());
    bed.prompt("Two").await;
    assert_eq!(bed.agent.error_message(), None);
}

#[tokio::test]
async fn answers_carry_the_level_asked_for_and_how_long_they_took() {
    for (reasoning, level) in [(true, ThinkingLevel::High), (false, ThinkingLevel::Off)] {
        let bed = Bed::with([FauxTurn::text("Hello.")], |config| {
            config.model = Arc::new(Model { reasoning, ..FauxProvider::model() });
            config.thinking_level = ThinkingLevel::High;
        });
        bed.prompt("Hi").await;
        assert_eq!(bed.answer().thinking_level, Some(level));
        assert!(bed.answer().duration_ms.is_some());
        assert_eq!(bed.faux.requests().remove(0).reasoning, level);
    }
}

#[tokio::test]
async fn the_request_carries_the_options_and_what_a_model_reads() {
    let bed = Bed::with([FauxTurn::text("Hello.")], |config| {
        config.options.base.api_key = Some("key".to_owned());
        config.options.base.session_id = Some("s-1".to_owned());
        let hidden = crate::message::BashExecutionMessage {
            command: "ls".to_owned(),
            output: String::new(),
            exit_code: Some(0),
            cancelled: false,
            truncated: false,
            full_output_path: None,
            timestamp: 0,
            exclude_from_context: Some(true),
        };
        config.messages = vec![AgentMessage::BashExecution(Arc::new(hidden))];
    });
    bed.prompt("Hi").await;
    let request = bed.faux.requests().remove(0);
    assert_eq!(request.options.api_key.as_deref(), Some("key"));
    assert_eq!(request.options.session_id.as_deref(), Some("s-1"));
    assert_eq!(request.context.messages.len(), 1);
    assert_eq!(bed.roles(), ["bashExecution", "user", "assistant"]);
}

#[tokio::test]
async fn the_answer_so_far_can_be_read_while_it_streams() {
    let turn = FauxTurn {
        hang: true,
        ..FauxTurn::new([
            FauxBlock::thinking("Let me see"),
            FauxBlock::text("The answer is 42"),
            FauxBlock::tool_call("c1", "echo", json!({"n": 1})),
        ])
    };
    let bed = Bed::new([turn]);
    assert_eq!(bed.agent.streaming_message(), None);
    let run = tokio::spawn(bed.agent.prompt(vec![user("Hi")]));
    let whole = loop {
        tokio::task::yield_now().await;
        let Some(message) = bed.agent.streaming_message() else { continue };
        if message.tool_calls().any(|call| !call.arguments.is_empty()) {
            break message;
        }
    };
    assert_eq!(whole.text(), "The answer is 42");
    bed.agent.abort();
    run.await.unwrap().unwrap();
    assert_eq!(whole.content, bed.answer().content);
    assert_eq!(bed.agent.streaming_message(), None);
}

#[tokio::test]
async fn a_stream_that_stops_without_an_end_is_an_error() {
    let bed = Bed::with([], |config| config.stream = Arc::new(super::state::CutStream));
    bed.prompt("Hi").await;
    assert_eq!(bed.answer().stop_reason, StopReason::Error);
    assert!(bed.answer().error_message.is_some());
}

#[tokio::test]
async fn results_are_sent_back_and_the_run_goes_on_until_the_model_stops() {
    let turns = [
        calls(&[("c1", "echo", json!({"n": 1}))]),
        calls(&[("c2", "echo", json!({}))]),
        "Done.".into(),
    ];
    let bed = Bed::with_tools(turns, [FnTool::echo("echo")]);
    bed.prompt("Go").await;
    let sizes: Vec<_> = bed.faux.contexts().iter().map(|c| c.messages.len()).collect();
    assert_eq!(sizes, [1, 3, 5]);
    let deltas = bed.log.events().into_iter().any(|event| {
        matches!(
            event,
            AgentEvent::MessageUpdate {
                assistant_message_event: AssistantEvent::Start
                    | AssistantEvent::Done { .. }
                    | AssistantEvent::Error { .. },
                ..
            }
        )
    });
    assert!(!deltas, "provider-level events are not updates");
}
