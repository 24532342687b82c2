//! Messages waiting to be delivered to a run.
//!
//! Owns: the steering and the follow-up queue, and the messages on their way from a queue into the
//! transcript. Never: decides when to deliver; that is the loop's.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::message::AgentMessage;

/// How much of a queue one delivery takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// Everything that waits.
    All,
    /// The oldest message; the rest waits for later turns.
    #[default]
    OneAtATime,
}

/// What waits, oldest first. Messages that are about to be delivered still count as waiting.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueuedMessages {
    /// Delivered after the current turn.
    pub steering: Vec<AgentMessage>,
    /// Delivered when the run would end.
    pub follow_up: Vec<AgentMessage>,
}

/// Names one of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueKind {
    Steering,
    FollowUp,
}

/// Both queues of an agent.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    steering: Queue,
    follow_up: Queue,
    /// Told as delivered, not yet in the transcript.
    arriving: Option<(QueueKind, AgentMessage)>,
}

#[derive(Debug, Default)]
struct Queue {
    mode: QueueMode,
    waiting: VecDeque<AgentMessage>,
    /// Taken for the turn that is starting, not yet in the transcript.
    reserved: VecDeque<AgentMessage>,
}

impl Queues {
    pub(crate) fn new(steering: QueueMode, follow_up: QueueMode) -> Self {
        Self {
            steering: Queue { mode: steering, ..Queue::default() },
            follow_up: Queue { mode: follow_up, ..Queue::default() },
            arriving: None,
        }
    }

    pub(crate) fn mode(&self, kind: QueueKind) -> QueueMode {
        self.queue(kind).mode
    }

    pub(crate) fn set_mode(&mut self, kind: QueueKind, mode: QueueMode) {
        self.queue_mut(kind).mode = mode;
    }

    pub(crate) fn push(&mut self, kind: QueueKind, message: AgentMessage) {
        self.queue_mut(kind).waiting.push_back(message);
    }

    /// Empties a queue. Messages already reserved for a turn stay with it.
    pub(crate) fn clear(&mut self, kind: QueueKind) -> Vec<AgentMessage> {
        self.queue_mut(kind).waiting.drain(..).collect()
    }

    /// Sets aside what the next delivery takes; `false` when nothing waits.
    pub(crate) fn reserve(&mut self, kind: QueueKind) -> bool {
        let queue = self.queue_mut(kind);
        let count = match queue.mode {
            QueueMode::All => queue.waiting.len(),
            QueueMode::OneAtATime => queue.waiting.len().min(1),
        };
        queue.reserved.extend(queue.waiting.drain(..count));
        count > 0
    }

    /// The next reserved message; from now on it no longer waits.
    pub(crate) fn deliver(&mut self) -> Option<AgentMessage> {
        let (kind, message) = [QueueKind::Steering, QueueKind::FollowUp]
            .into_iter()
            .find_map(|kind| Some((kind, self.queue_mut(kind).reserved.pop_front()?)))?;
        self.arriving = Some((kind, message.clone()));
        Some(message)
    }

    /// The delivered message is in the transcript.
    pub(crate) fn arrived(&mut self) {
        self.arriving = None;
    }

    /// Puts reserved messages back to the front, after a run that never came to deliver them.
    pub(crate) fn release(&mut self) {
        if let Some((kind, message)) = self.arriving.take() {
            self.queue_mut(kind).reserved.push_front(message);
        }
        for queue in [&mut self.steering, &mut self.follow_up] {
            while let Some(message) = queue.reserved.pop_back() {
                queue.waiting.push_front(message);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> QueuedMessages {
        QueuedMessages { steering: self.steering.all(), follow_up: self.follow_up.all() }
    }

    /// Whether there is something to reserve.
    pub(crate) fn waits(&self, kind: QueueKind) -> bool {
        !self.queue(kind).waiting.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    fn queue(&self, kind: QueueKind) -> &Queue {
        match kind {
            QueueKind::Steering => &self.steering,
            QueueKind::FollowUp => &self.follow_up,
        }
    }

    fn queue_mut(&mut self, kind: QueueKind) -> &mut Queue {
        match kind {
            QueueKind::Steering => &mut self.steering,
            QueueKind::FollowUp => &mut self.follow_up,
        }
    }
}

impl Queue {
    fn all(&self) -> Vec<AgentMessage> {
        self.reserved.iter().chain(&self.waiting).cloned().collect()
    }

    fn is_empty(&self) -> bool {
        self.reserved.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> AgentMessage {
        AgentMessage::user(vec![pi_ai::InputBlock::text(text)], 0)
    }

    fn delivered(queues: &mut Queues) -> Vec<AgentMessage> {
        std::iter::from_fn(|| queues.deliver()).collect()
    }

    #[test]
    fn modes_have_the_names_of_the_settings_and_default_to_one_at_a_time() {
        assert_eq!(serde_json::to_string(&QueueMode::All).unwrap(), "\"all\"");
        assert_eq!(serde_json::to_string(&QueueMode::OneAtATime).unwrap(), "\"one-at-a-time\"");
        assert_eq!(QueueMode::default(), QueueMode::OneAtATime);
    }

    #[test]
    fn one_at_a_time_takes_the_oldest_and_all_takes_everything() {
        let mut queues = Queues::default();
        for text in ["a", "b", "c"] {
            queues.push(QueueKind::Steering, message(text));
        }
        assert!(queues.reserve(QueueKind::Steering));
        assert_eq!(delivered(&mut queues), [message("a")]);
        queues.set_mode(QueueKind::Steering, QueueMode::All);
        assert!(queues.reserve(QueueKind::Steering));
        assert_eq!(delivered(&mut queues), [message("b"), message("c")]);
        assert!(!queues.reserve(QueueKind::Steering));
    }

    #[test]
    fn a_reserved_message_still_waits_until_it_is_delivered() {
        let mut queues = Queues::default();
        queues.push(QueueKind::FollowUp, message("a"));
        queues.reserve(QueueKind::FollowUp);
        assert_eq!(queues.snapshot().follow_up, [message("a")]);
        assert!(!queues.is_empty());
        queues.deliver();
        assert!(queues.is_empty());
    }

    #[test]
    fn clearing_gives_the_messages_back_but_leaves_those_of_a_starting_turn() {
        let mut queues = Queues::default();
        queues.push(QueueKind::Steering, message("a"));
        queues.push(QueueKind::Steering, message("b"));
        queues.reserve(QueueKind::Steering);
        assert_eq!(queues.clear(QueueKind::Steering), [message("b")]);
        assert_eq!(queues.deliver(), Some(message("a")));
    }

    #[test]
    fn released_messages_return_to_the_front_in_their_order() {
        let mut queues = Queues::new(QueueMode::All, QueueMode::All);
        queues.push(QueueKind::Steering, message("a"));
        queues.push(QueueKind::Steering, message("b"));
        queues.reserve(QueueKind::Steering);
        queues.push(QueueKind::Steering, message("c"));
        queues.deliver();
        queues.release();
        assert_eq!(queues.snapshot().steering, [message("a"), message("b"), message("c")]);
        queues.reserve(QueueKind::Steering);
        queues.deliver();
        queues.arrived();
        queues.release();
        assert_eq!(queues.snapshot().steering, [message("b"), message("c")]);
    }
}
