//! Reading content: tolerant of `null`, without spare room, in one pass.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::UserContent;

/// Old files hold `null` where text belongs.
pub(super) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A list, or `null`, which old files hold in its place.
pub(super) fn list_or_null<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_option(ListVisitor(PhantomData))
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of content blocks")
    }

    fn visit_none<E: Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Vec<T>, A::Error> {
        tight_list(items)
    }
}

/// Most messages have one block, and a `Vec` that grows by itself begins with room for four: in a
/// long conversation that room is a third of the memory.
fn tight_list<'de, A, T>(mut items: A) -> Result<Vec<T>, A::Error>
where
    A: SeqAccess<'de>,
    T: Deserialize<'de>,
{
    let mut list = Vec::new();
    while let Some(item) = items.next_element()? {
        if list.len() == list.capacity() {
            list.reserve_exact(list.len().max(1));
        }
        list.push(item);
    }
    Ok(list)
}

impl<'de> Deserialize<'de> for UserContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserContentVisitor)
    }
}

struct UserContentVisitor;

impl<'de> Visitor<'de> for UserContentVisitor {
    type Value = UserContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of content blocks")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UserContent, E> {
        Ok(UserContent::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<UserContent, E> {
        Ok(UserContent::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<UserContent, A::Error> {
        tight_list(blocks).map(UserContent::Blocks)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::{AssistantMessage, ToolResultMessage};

    #[test]
    fn user_content_is_text_or_blocks_and_nothing_else() {
        let block = json!({"type": "text", "text": "a"});
        let cases = [(json!("a"), true), (json!([block, block]), true), (json!([]), true)];
        let bad = [json!(7), json!(null), json!({}), json!([{"type": "alien"}]), json!([1])];
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
}
