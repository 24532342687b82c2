//! Making one model's messages readable for another, and the calls and results complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HandoffRules;
use crate::types::{
    AssistantBlock, AssistantMessage, InputBlock, Message, Model, StopReason, ThinkingContent,
    ToolResultMessage, UserContent, UserMessage,
};

const USER_IMAGE_OMITTED: &str = "(image omitted: model does not support images)";
const TOOL_IMAGE_OMITTED: &str = "(tool image omitted: model does not support images)";

pub(super) fn transform(messages: Vec<Message>, rules: &HandoffRules<'_>) -> Vec<Message> {
    let mut transform = Transform {
        rules,
        out: Vec::with_capacity(messages.len()),
        renamed: BTreeMap::new(),
        open: None,
        held: Vec::new(),
    };
    for message in messages {
        transform.take(message);
    }
    transform.close();
    transform.out
}

struct Transform<'a> {
    rules: &'a HandoffRules<'a>,
    out: Vec<Message>,
    /// New ids of renamed tool calls.
    renamed: BTreeMap<String, String>,
    open: Option<OpenCalls>,
    /// System messages waiting for the results of the open calls.
    held: Vec<Message>,
}

/// The last answer, as it is sent, and which of its calls have a result.
struct OpenCalls {
    answer: Arc<AssistantMessage>,
    answered: Vec<bool>,
}

impl OpenCalls {
    fn all_answered(&self) -> bool {
        self.answered.iter().all(|answered| *answered)
    }

    /// Takes a result of this call. False when no call waits for it: its call is lost, belongs to an
    /// earlier turn, or has a result. Providers refuse such results, now and at every later request.
    fn answer_with(&mut self, id: &str) -> bool {
        let mut slots = self.answer.tool_calls().zip(&mut self.answered);
        let waiting = slots.find(|(call, answered)| call.id == id && !**answered);
        waiting.map(|(_, answered)| *answered = true).is_some()
    }
}

impl Transform<'_> {
    fn take(&mut self, message: Message) {
        match message {
            Message::System(_) => {
                if self.open.as_ref().is_some_and(|open| !open.all_answered()) {
                    self.held.push(message);
                } else {
                    self.out.push(message);
                }
            }
            Message::User(user) => {
                self.close();
                let user = without_user_images(user, self.rules.model);
                self.out.push(Message::User(user));
            }
            Message::Assistant(answer) => {
                self.close();
                if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    return;
                }
                let answer = self.hand_over(answer);
                let calls = answer.tool_calls().count();
                if calls > 0 {
                    let answered = vec![false; calls];
                    self.open = Some(OpenCalls { answer: Arc::clone(&answer), answered });
                }
                self.out.push(Message::Assistant(answer));
            }
            Message::ToolResult(result) => {
                let result = self.result(result);
                let is_awaited =
                    self.open.as_mut().is_some_and(|open| open.answer_with(&result.tool_call_id));
                if is_awaited {
                    self.out.push(Message::ToolResult(result));
                }
            }
        }
    }

    /// Gives every open call a result, then lets the held messages go.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let missing = open.answer.tool_calls().zip(open.answered).filter(|(_, done)| !done);
            self.out.extend(missing.map(|(call, _)| {
                Message::ToolResult(Arc::new(ToolResultMessage::missing(
                    call,
                    open.answer.timestamp,
                )))
            }));
        }
        self.out.append(&mut self.held);
    }

    /// The answer as the target model may read it.
    fn hand_over(&mut self, answer: Arc<AssistantMessage>) -> Arc<AssistantMessage> {
        let same = is_same_model(&answer, self.rules.model);
        let mut new_ids = Vec::new();
        for call in answer.tool_calls() {
            let new_id = (self.rules.tool_call_id)(&call.id, &answer, same);
            if new_id == call.id {
                self.renamed.remove(&call.id);
            } else {
                self.renamed.insert(call.id.clone(), new_id.clone());
            }
            new_ids.push(new_id);
        }
        let ids_stay = answer.tool_calls().zip(&new_ids).all(|(call, new_id)| call.id == *new_id);
        if ids_stay && answer.content.iter().all(|block| stays(block, same)) {
            return answer;
        }
        let mut answer = Arc::unwrap_or_clone(answer);
        let mut new_ids = new_ids.into_iter();
        answer.content.retain_mut(|block| match block {
            AssistantBlock::Text(text) => {
                if !same {
                    text.text_signature = None;
                }
                true
            }
            AssistantBlock::Thinking(thinking) => same && says_something(thinking),
            AssistantBlock::ToolCall(call) => {
                if !same {
                    call.thought_signature = None;
                }
                if let Some(new_id) = new_ids.next() {
                    call.id = new_id;
                }
                true
            }
        });
        Arc::new(answer)
    }

    fn result(&self, result: Arc<ToolResultMessage>) -> Arc<ToolResultMessage> {
        let new_id = self.renamed.get(&result.tool_call_id);
        let blind = !self.rules.model.sees_images() && has_image(&result.content);
        if new_id.is_none() && !blind {
            return result;
        }
        let mut result = Arc::unwrap_or_clone(result);
        if let Some(new_id) = new_id {
            result.tool_call_id.clone_from(new_id);
        }
        if blind {
            result.content = without_images(result.content, TOOL_IMAGE_OMITTED);
        }
        Arc::new(result)
    }
}

fn is_same_model(answer: &AssistantMessage, model: &Model) -> bool {
    answer.model == model.id && answer.provider == model.provider && answer.api == model.api
}

/// Whether a block reaches the target as it is, ids aside.
fn stays(block: &AssistantBlock, same: bool) -> bool {
    match block {
        AssistantBlock::Text(text) => same || text.text_signature.is_none(),
        AssistantBlock::Thinking(thinking) => same && says_something(thinking),
        AssistantBlock::ToolCall(call) => same || call.thought_signature.is_none(),
    }
}

fn says_something(thinking: &ThinkingContent) -> bool {
    thinking.redacted == Some(true)
        || thinking.thinking_signature.as_ref().is_some_and(|signature| !signature.is_empty())
        || !thinking.thinking.trim().is_empty()
}

fn without_user_images(user: Arc<UserMessage>, model: &Model) -> Arc<UserMessage> {
    if model.sees_images() {
        return user;
    }
    match &user.content {
        UserContent::Blocks(blocks) if has_image(blocks) => Arc::new(UserMessage {
            content: UserContent::Blocks(without_images(blocks.clone(), USER_IMAGE_OMITTED)),
            timestamp: user.timestamp,
        }),
        UserContent::Blocks(_) | UserContent::Text(_) => user,
    }
}

fn has_image(blocks: &[InputBlock]) -> bool {
    blocks.iter().any(InputBlock::is_image)
}

/// Each run of images becomes one `placeholder`.
fn without_images(blocks: Vec<InputBlock>, placeholder: &str) -> Vec<InputBlock> {
    let mut out = Vec::with_capacity(blocks.len());
    let mut in_run = false;
    for block in blocks {
        match block {
            InputBlock::Image(_) if in_run => {}
            InputBlock::Image(_) => {
                in_run = true;
                out.push(InputBlock::text(placeholder));
            }
            InputBlock::Text(_) => {
                in_run = false;
                out.push(block);
            }
        }
    }
    out
}
