use std::sync::Arc;

use pi_ai::faux::FauxTurn;
use pi_ai::{ImageContent, InputBlock};
use serde_json::json;

use super::{Bed, FnTool, calls, lines, user};
use crate::agent::{Agent, AgentError};
use crate::message::AgentMessage;
use crate::queue::{QueueMode, QueuedMessages};
use crate::tool::{Tool, ToolOutput};

/// An agent whose tool queues messages while it runs.
fn bed_that_queues(
    turns: impl IntoIterator<Item = FauxTurn>,
    steering: &'static [&'static str],
    follow_up: &'static [&'static str],
) -> Bed {
    let bed = Bed::new(turns);
    let agent = bed.agent.clone();
    let tool = FnTool::new("work", move |_, _| queue(agent.clone(), steering, follow_up));
    bed.agent.set_tools(vec![Arc::new(tool) as Arc<dyn Tool>]);
    bed
}

async fn queue(
    agent: Agent,
    steering: &[&str],
    follow_up: &[&str],
) -> Result<ToolOutput, crate::tool::ToolError> {
    for text in steering {
        agent.steer(user(text)).await;
    }
    for text in follow_up {
        agent.follow_up(user(text)).await;
    }
    Ok(ToolOutput::text("done"))
}

fn work() -> FauxTurn {
    calls(&[("c1", "work", json!({}))])
}

#[tokio::test]
async fn steering_comes_after_the_turn_and_follow_ups_when_the_run_would_end() {
    let turns = [work(), "1".into(), "2".into(), "3".into(), "4".into()];
    let bed = bed_that_queues(turns, &["S1", "S2"], &["F1", "F2"]);
    let told = bed.prompt("Go").await;
    let wanted = "tool c1
        queue [S1] []
        queue [S1, S2] []
        queue [S1, S2] [F1]
        queue [S1, S2] [F1, F2]
        tool c1 done
        start result c1
        end result c1
        turn_end toolUse [c1]
        turn_start
        queue [S2] [F1, F2]
        start user S1
        end user S1
        start assistant pending
        end assistant stop
        turn_end stop []
        turn_start
        queue [] [F1, F2]
        start user S2
        end user S2
        start assistant pending
        end assistant stop
        turn_end stop []
        turn_start
        queue [] [F2]
        start user F1
        end user F1
        start assistant pending
        end assistant stop
        turn_end stop []
        turn_start
        queue [] []
        start user F2
        end user F2
        start assistant pending
        end assistant stop
        turn_end stop []
        agent_end [user, assistant, toolResult, user, assistant, user, assistant, user, assistant, user, assistant]";
    assert_eq!(told.get(6..).unwrap(), lines(wanted));
}

#[tokio::test]
async fn mode_all_delivers_everything_in_one_turn() {
    let bed = bed_that_queues([work(), "1".into(), "2".into()], &["S1", "S2"], &["F1", "F2"]);
    bed.agent.set_steering_mode(QueueMode::All);
    bed.agent.set_follow_up_mode(QueueMode::All);
    let told = bed.prompt("Go").await;
    let wanted = "turn_start
        queue [S2] [F1, F2]
        start user S1
        end user S1
        queue [] [F1, F2]
        start user S2
        end user S2
        start assistant pending";
    assert_eq!(told.get(15..23).unwrap(), lines(wanted));
    assert_eq!(bed.faux.remaining(), 0);
    assert!(!bed.agent.has_queued_messages());
}

#[tokio::test]
async fn steering_queued_while_idle_follows_the_next_prompt() {
    let bed = Bed::new([FauxTurn::text("Hello.")]);
    bed.agent.steer(user("Be brief")).await;
    assert!(bed.agent.has_queued_messages());
    let told = bed.prompt("Hi").await;
    let wanted = "queue [Be brief] []
        agent_start
        turn_start
        start user Hi
        end user Hi
        queue [] []
        start user Be brief
        end user Be brief
        start assistant pending";
    assert_eq!(told.get(..9).unwrap(), lines(wanted));
}

#[tokio::test]
async fn steering_after_a_terminating_batch_still_gets_its_turn() {
    let bed = Bed::new([work(), "Steered.".into()]);
    let agent = bed.agent.clone();
    let tool = FnTool::new("work", move |_, _| {
        let agent = agent.clone();
        async move {
            agent.steer(user("S")).await;
            Ok(ToolOutput { terminate: Some(true), ..ToolOutput::default() })
        }
    });
    bed.agent.set_tools(vec![Arc::new(tool) as Arc<dyn Tool>]);
    bed.prompt("Go").await;
    assert_eq!(bed.answer().text(), "Steered.");
}

#[tokio::test]
async fn clearing_gives_both_lists_back_and_tells_once() {
    let bed = Bed::new([]);
    bed.agent.steer(user("S")).await;
    bed.agent.follow_up(user("F")).await;
    bed.log.take();
    let wanted = QueuedMessages { steering: vec![user("S")], follow_up: vec![user("F")] };
    assert_eq!(bed.agent.queued_messages(), wanted);
    assert_eq!(bed.agent.clear_queues().await, wanted);
    assert_eq!(bed.log.take(), lines("queue [] []"));
    assert!(!bed.agent.has_queued_messages());

    bed.agent.steer(user("S")).await;
    bed.agent.follow_up(user("F")).await;
    assert_eq!(bed.agent.clear_steering().await, [user("S")]);
    assert_eq!(bed.agent.clear_follow_up().await, [user("F")]);
    assert_eq!(bed.log.take(), lines("queue [S] []\nqueue [S] [F]\nqueue [] [F]\nqueue [] []"));
}

#[tokio::test]
async fn an_image_without_text_leaves_the_queue_too() {
    let bed = Bed::new([FauxTurn::text("Seen.")]);
    let image = ImageContent { data: "AAAA".to_owned(), mime_type: "image/png".to_owned() };
    bed.agent.steer(AgentMessage::user(vec![InputBlock::Image(image)], 0)).await;
    bed.prompt("Look").await;
    assert!(!bed.agent.has_queued_messages());
    assert_eq!(bed.roles(), ["user", "user", "assistant"]);
}

#[tokio::test]
async fn continuing_behind_an_answer_takes_what_is_queued_one_at_a_time() {
    let bed = Bed::new([FauxTurn::text("1"), FauxTurn::text("2"), FauxTurn::text("3")]);
    bed.prompt("Go").await;
    assert_eq!(bed.agent.continue_run().await, Err(AgentError::AnswerLast));
    bed.agent.follow_up(user("F1")).await;
    bed.agent.follow_up(user("F2")).await;
    bed.log.take();
    bed.agent.continue_run().await.unwrap();
    let told = bed.log.take();
    let wanted = "agent_start
        turn_start
        queue [] [F2]
        start user F1
        end user F1
        start assistant pending
        end assistant stop
        turn_end stop []
        turn_start
        queue [] []
        start user F2
        end user F2";
    assert_eq!(told.get(..12).unwrap(), lines(wanted));
    assert_eq!(told.last().unwrap(), "agent_end [user, assistant, user, assistant]");
}

#[tokio::test]
async fn continuing_answers_a_message_that_has_no_answer() {
    let bed = Bed::with([FauxTurn::text("1")], |config| config.messages = vec![user("Waiting")]);
    bed.agent.continue_run().await.unwrap();
    let wanted = "agent_start
        turn_start
        start assistant pending
        end assistant stop
        turn_end stop []
        agent_end [assistant]";
    assert_eq!(bed.log.take(), lines(wanted));
    let empty = Bed::new([]);
    assert_eq!(empty.agent.continue_run().await, Err(AgentError::NothingToContinue));
}
