//! Random histories.

use std::collections::BTreeSet;

use pi_ai::StopReason;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    User(usize),
    Answer(usize),
    /// Calls, how many of them, and the length of each result.
    Tools(usize, usize),
    Custom(usize),
    Bash(usize, bool),
    Branch(usize),
    System(usize),
    Bookkeeping,
    /// A failed answer, taken out of the context or not.
    Failed(bool),
    /// Keeps from an earlier entry on, so far back.
    Compaction(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let size = 0_usize..120;
    prop_oneof![
        4 => size.clone().prop_map(Step::User),
        4 => size.clone().prop_map(Step::Answer),
        4 => (1_usize..4, size.clone()).prop_map(|(calls, size)| Step::Tools(calls, size)),
        1 => size.clone().prop_map(Step::Custom),
        1 => (size.clone(), any::<bool>()).prop_map(|(size, hidden)| Step::Bash(size, hidden)),
        1 => size.clone().prop_map(Step::Branch),
        1 => size.prop_map(Step::System),
        2 => Just(Step::Bookkeeping),
        2 => any::<bool>().prop_map(Step::Failed),
        1 => (0_usize..12).prop_map(Step::Compaction),
    ]
}

fn entries(steps: &[Step]) -> Vec<Value> {
    let mut entries = Vec::new();
    for step in steps {
        let at = entries.len();
        match step {
            Step::User(size) => entries.push(user(*size)),
            Step::Answer(size) => entries.push(answer(*size)),
            Step::Tools(count, size) => {
                let ids: Vec<_> = (0..*count).map(|call| format!("c{at}-{call}")).collect();
                let calls: Vec<_> = ids
                    .iter()
                    .map(|id| json!({"type": "toolCall", "id": id, "name": "t", "arguments": {}}))
                    .collect();
                entries.push(assistant(json!(calls), "toolUse", 0));
                entries.extend(ids.iter().map(|id| result(id, *size)));
            }
            Step::Custom(size) => entries.push(custom(&tokens(*size))),
            Step::Bash(size, hidden) => entries.push(bash("ls", &tokens(*size), *hidden)),
            Step::Branch(size) => entries.push(branch_summary(&tokens(*size))),
            Step::System(size) => entries.push(system(&tokens(*size))),
            Step::Bookkeeping => entries.push(model_change()),
            Step::Failed(is_omitted) => {
                entries.push(failed(""));
                entries.extend(is_omitted.then(|| omit(&format!("e{at}"))));
            }
            Step::Compaction(back) => {
                // As the cut would: a boundary never separates a call from its result.
                let mut kept = at.saturating_sub(*back);
                while kept > 0 && entries[kept.min(at - 1)]["message"]["role"] == "toolResult" {
                    kept -= 1;
                }
                entries.push(compaction("OLD", &format!("e{kept}")));
            }
        }
    }
    entries
}

/// The session as it is after the compaction that was prepared.
fn compacted(mut entries: Vec<Value>, preparation: &Preparation) -> Session {
    let first_kept = preparation.first_kept_entry_id.as_deref().expect("something is kept");
    entries.push(compaction("NEW", first_kept));
    session(&entries)
}

/// Prompts and the compaction's own message are no part of what a compaction divides.
fn told(session: &Session) -> Vec<AgentMessage> {
    let messages = session.context().messages.into_iter();
    let is_told =
        |m: &AgentMessage| !matches!(m, AgentMessage::CompactionSummary(_)) && m.is_turn();
    messages.filter(is_told).collect()
}

fn results_and_calls(messages: &[AgentMessage]) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut results, mut calls) = (BTreeSet::new(), BTreeSet::new());
    for message in messages {
        match message {
            AgentMessage::ToolResult(m) => _ = results.insert(m.tool_call_id.as_str()),
            AgentMessage::Assistant(m) => calls.extend(m.tool_calls().map(|call| call.id.as_str())),
            _ => {}
        }
    }
    (results, calls)
}

proptest! {
    #[test]
    fn a_compaction_divides_the_conversation_and_loses_none_of_it(
        steps in prop::collection::vec(step(), 0..30),
        keep in 0_u64..300,
    ) {
        let entries = entries(&steps);
        let before = session(&entries);
        let Ok(preparation) = prepare(&before, &keeping(keep)) else { return Ok(()) };
        let after = compacted(entries, &preparation);
        let kept = told(&after);

        prop_assert!(!matches!(kept.first(), Some(AgentMessage::ToolResult(_))));
        let (results, calls) = results_and_calls(&kept);
        prop_assert!(results.is_subset(&calls), "{results:?} of {calls:?}");

        let Preparation { messages_to_summarize, turn_prefix_messages, .. } = &preparation;
        let mut all = messages_to_summarize.clone();
        all.extend(turn_prefix_messages.iter().chain(&kept).cloned());
        prop_assert_eq!(places(&all), places(&told(&before)));

        prop_assert_eq!(preparation.is_split_turn, !turn_prefix_messages.is_empty());
        if let Some(first) = turn_prefix_messages.first() {
            prop_assert!(!matches!(first, AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)));
        }
    }

    #[test]
    fn no_more_is_kept_than_asked_for_and_one_group_of_messages(
        steps in prop::collection::vec(step(), 0..30),
        keep in 0_u64..300,
    ) {
        let entries = entries(&steps);
        let before = session(&entries);
        let Ok(preparation) = prepare(&before, &keeping(keep)) else { return Ok(()) };
        let kept = told(&compacted(entries, &preparation));
        let answered = kept.iter().rposition(|message| match message {
            AgentMessage::Assistant(answer) => answer.stop_reason != StopReason::Error,
            _ => false,
        });
        // What is unanswered is kept whatever it weighs, and a call with its results.
        let sent = kept.get(1..answered.unwrap_or_default()).unwrap_or_default();
        prop_assert!(messages_tokens(sent) <= keep + 3 * 120);
    }

    #[test]
    fn what_is_unanswered_is_kept_word_for_word(
        steps in prop::collection::vec(step(), 0..30),
        keep in 0_u64..300,
    ) {
        let entries = entries(&steps);
        let before = session(&entries);
        let Ok(preparation) = prepare(&before, &keeping(keep)) else { return Ok(()) };
        let told_before = told(&before);
        let answered = told_before.iter().rposition(|message| match message {
            AgentMessage::Assistant(answer) => answer.stop_reason != StopReason::Error,
            _ => false,
        });
        let unanswered = &told_before[answered.map_or(0, |answer| answer + 1)..];
        let kept = told(&compacted(entries, &preparation));
        prop_assert!(kept.ends_with(unanswered));
    }
}
