//! Reading stored messages: tolerant of `null` and of what this version does not know, without spare
//! room, in one pass.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{AssistantMessage, StopReason, SystemContent, UserContent};
use crate::loose::{Loose, word};
use crate::types::content::{FlatBlock, TextContent};

/// Old files hold `null` where text belongs.
pub(super) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A list of blocks, or text, which is one; `null` is none.
pub(super) fn blocks<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<FlatBlock> + From<TextContent>,
{
    Ok(match Option::deserialize(deserializer)? {
        Some(Content::Text(text)) => vec![TextContent::new(text).into()],
        Some(Content::Blocks(blocks)) => blocks,
        None => Vec::new(),
    })
}

/// [`StopReason::Pending`], which is never stored, stands for a word that is not known.
pub(super) fn stop_reason<'de, D>(deserializer: D) -> Result<StopReason, D::Error>
where
    D: Deserializer<'de>,
{
    word(deserializer).map(Option::unwrap_or_default)
}

impl AssistantMessage {
    /// Gives an answer that stopped for an unknown reason the one its content speaks for.
    pub(super) fn with_known_stop_reason(mut self) -> Self {
        if self.stop_reason == StopReason::Pending {
            let calls = self.tool_calls().next().is_some();
            self.stop_reason = if calls { StopReason::ToolUse } else { StopReason::Stop };
        }
        self
    }
}

/// Text, or a list of blocks without those that may not stand in it.
pub(super) enum Content<T> {
    Text(String),
    Blocks(Vec<T>),
}

impl<'de, T: TryFrom<FlatBlock>> Deserialize<'de> for Content<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

struct ContentVisitor<T>(PhantomData<T>);

impl<'de, T: TryFrom<FlatBlock>> Visitor<'de> for ContentVisitor<T> {
    type Value = Content<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of content blocks")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content<T>, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Content<T>, E> {
        Ok(Content::Text(text))
    }

    /// Most messages have one block, and a `Vec` that grows by itself begins with room for four: in
    /// a long conversation that room is a third of the memory.
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Loose<'de, FlatBlock>>()? {
            let Loose::Record(block) = item else { continue };
            let Ok(block) = T::try_from(block) else { continue };
            if list.len() == list.capacity() {
                list.reserve_exact(list.len().max(1));
            }
            list.push(block);
        }
        Ok(Content::Blocks(list))
    }
}

impl<'de> Deserialize<'de> for UserContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Content::deserialize(deserializer)? {
            Content::Text(text) => Self::Text(text),
            Content::Blocks(blocks) => Self::Blocks(blocks),
        })
    }
}

impl<'de> Deserialize<'de> for SystemContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Content::deserialize(deserializer)? {
            Content::Text(text) => Self::Text(text),
            Content::Blocks(blocks) => Self::Blocks(blocks),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::types::{SystemMessage, ToolResultMessage, Usage, UserMessage};

    #[test]
    fn user_content_is_text_or_blocks_and_nothing_else() {
        let block = json!({"type": "text", "text": "a"});
        let cases = [(json!("a"), true), (json!([block, block]), true), (json!([]), true)];
        let bad = [json!(7), json!(null), json!({}), json!(block)];
        for (value, good) in cases.into_iter().chain(bad.map(|value| (value, false))) {
            let from_value = UserContent::deserialize(&value).ok();
            let from_text: Option<UserContent> = serde_json::from_str(&value.to_string()).ok();
            assert_eq!(from_value, from_text, "{value}");
            assert_eq!(from_value.is_some(), good, "{value}");
            if let Some(content) = from_value {
                assert_eq!(serde_json::to_value(content).expect("JSON"), value);
            }
        }
    }

    #[test]
    fn lists_have_no_spare_room_for_one_or_two_blocks() {
        for count in [0, 1, 2] {
            let blocks = vec![json!({"type": "text", "text": "a"}); count];
            let answer = json!({"content": blocks, "stopReason": "stop"});
            let answer: AssistantMessage = serde_json::from_value(answer).expect("answer");
            assert_eq!((answer.content.len(), answer.content.capacity()), (count, count));
            let result = json!({"content": blocks, "toolCallId": "c"}).to_string();
            let result: ToolResultMessage = serde_json::from_str(&result).expect("result");
            assert_eq!((result.content.len(), result.content.capacity()), (count, count));
        }
    }
    /// From text and from a tree, which must agree.
    fn read<T: DeserializeOwned + PartialEq + fmt::Debug>(value: &Value) -> T {
        let message: T = serde_json::from_str(&value.to_string()).expect("reads");
        assert_eq!(T::deserialize(value).expect("reads"), message, "{value}");
        message
    }

    /// The content as it is written, of a message that is read with this one.
    fn kept<T>(content: &Value) -> Value
    where
        T: DeserializeOwned + Serialize + PartialEq + fmt::Debug,
    {
        let message = json!({"content": content, "stopReason": "stop", "toolCallId": "c"});
        let message = serde_json::to_value(read::<T>(&message)).expect("JSON");
        message["content"].clone()
    }

    #[test]
    fn unknown_blocks_are_passed_over_and_the_others_stay() {
        let text = json!({"type": "text", "text": "a"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let thinking = json!({"type": "thinking", "thinking": "t"});
        let call = json!({"type": "toolCall", "id": "c", "name": "n", "arguments": {"k": [1]}});
        let alien = json!({"type": "alien", "text": "b", "more": {"type": "text", "text": "c"}});
        let untyped = json!({"text": "b"});
        let odd = json!({"type": 7, "text": "b"});
        let all = json!([
            alien,
            text,
            image,
            untyped,
            thinking,
            call,
            odd,
            1,
            "b",
            null,
            [text],
            {},
            true,
            alien
        ]);
        assert_eq!(kept::<SystemMessage>(&all), json!([text]));
        assert_eq!(kept::<UserMessage>(&all), json!([text, image]));
        assert_eq!(kept::<AssistantMessage>(&all), json!([text, thinking, call]));
        assert_eq!(kept::<ToolResultMessage>(&all), json!([text, image]));
        assert_eq!(kept::<UserMessage>(&json!([alien])), json!([]));
    }

    #[test]
    fn fields_of_the_wrong_kind_are_absent() {
        let odd = json!([{"type": "text", "text": 7, "textSignature": {"v": 1}},
                         {"type": "thinking", "thinking": "t", "redacted": "yes"}]);
        let expected = json!([{"type": "text", "text": ""}, {"type": "thinking", "thinking": "t"}]);
        assert_eq!(kept::<AssistantMessage>(&odd), expected);
    }

    #[test]
    fn plain_text_is_one_block_of_an_answer_or_a_result() {
        let text = json!("say \"a\"\n");
        let block = json!([{"type": "text", "text": text}]);
        assert_eq!(kept::<AssistantMessage>(&text), block);
        assert_eq!(kept::<ToolResultMessage>(&text), block);
        assert_eq!(kept::<UserMessage>(&text), text);
    }

    #[test]
    fn arguments_are_an_object_whatever_was_stored() {
        let cases = [
            (json!({"path": "a", "n": [1.5]}), json!({"path": "a", "n": [1.5]})),
            (json!("{\"path\": \"a\"}"), json!({"path": "a"})),
            (json!("[1]"), json!({})),
            (json!("{\"path\": "), json!({})),
            (json!(""), json!({})),
            (json!(null), json!({})),
            (json!([{"path": "a"}]), json!({})),
            (json!(7), json!({})),
        ];
        for (arguments, expected) in cases {
            let call =
                json!([{"type": "toolCall", "id": "c", "name": "n", "arguments": arguments}]);
            assert_eq!(kept::<AssistantMessage>(&call)[0]["arguments"], expected, "{arguments}");
        }
    }

    #[test]
    fn an_unknown_stop_reason_is_the_one_the_content_speaks_for() {
        let call = json!({"type": "toolCall", "id": "c", "name": "n", "arguments": {}});
        for reason in [json!("alien"), json!("tool_use"), json!("pending"), json!(7), json!(null)] {
            for (content, expected) in
                [(json!([]), StopReason::Stop), (json!([call]), StopReason::ToolUse)]
            {
                let first = json!({"stopReason": reason, "content": content});
                let last = json!({"content": content, "stopReason": reason});
                let none = json!({"content": content});
                for answer in [first, last, none] {
                    assert_eq!(read::<AssistantMessage>(&answer).stop_reason, expected, "{answer}");
                }
            }
        }
        let known = json!({"content": [call], "stopReason": "length"});
        assert_eq!(read::<AssistantMessage>(&known).stop_reason, StopReason::Length);
    }

    #[test]
    fn odd_values_beside_the_content_do_not_lose_a_message() {
        let answer: AssistantMessage = read(&json!({
            "content": [], "stopReason": "stop", "timestamp": 7.5, "api": null, "model": 3,
            "usage": {"input": 1.5, "output": -1, "totalTokens": "9"}, "durationMs": -1.5,
            "thinkingLevel": "galactic", "diagnostics": {"type": "x"}, "endTurn": "no",
        }));
        assert_eq!((answer.timestamp, answer.api.as_str(), answer.model.as_str()), (7, "", ""));
        assert_eq!((answer.usage.input, answer.usage.total_tokens), (1, 0));
        assert_eq!((answer.duration_ms, answer.thinking_level), (Some(0), None));
        assert_eq!((answer.diagnostics, answer.end_turn), (None, None));
        for usage in [json!(null), json!(7), json!("x"), json!([1])] {
            let answer: AssistantMessage = read(&json!({"content": [], "usage": usage}));
            assert_eq!(answer.usage, Usage::default(), "{usage}");
        }

        let result: ToolResultMessage = read(&json!({
            "toolCallId": "c", "toolName": null, "content": [], "isError": 1, "timestamp": "now",
            "usage": "much", "nestedCalls": {"calls": "none"}, "durationMs": 3.9,
        }));
        assert_eq!((result.is_error, result.timestamp, result.duration_ms), (false, 0, Some(3)));
        assert_eq!((result.usage, result.nested_calls), (None, None));

        let user: UserMessage = read(&json!({"content": "a", "timestamp": "2026-01-01"}));
        assert_eq!(user.timestamp, 0);
    }

    #[test]
    fn what_is_still_no_message_is_refused() {
        for answer in [json!({"content": 7}), json!({"content": {"type": "text"}}), json!([])] {
            assert!(AssistantMessage::deserialize(&answer).is_err(), "{answer}");
        }
        assert!(ToolResultMessage::deserialize(&json!({"content": []})).is_err(), "no call id");
    }
}
