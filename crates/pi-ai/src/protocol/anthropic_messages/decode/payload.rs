//! Data of the events. Strings are borrowed from the event where they hold no escapes, for a delta
//! is read a thousand times per answer.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct TypeOnly<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow)]
    pub(super) message: StartedMessage<'a>,
}

#[derive(Deserialize)]
pub(super) struct StartedMessage<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) model: Cow<'a, str>,
    pub(super) usage: Option<WireUsage>,
    pub(super) input_transformations: Option<Vec<Value>>,
}

#[derive(Deserialize, Default)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_creation: Option<CacheCreation>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) content_block: StartedBlock<'a>,
}

/// Every field a block may begin with; only `kind` decides which count.
#[derive(Deserialize)]
pub(super) struct StartedBlock<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) signature: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) data: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) name: Cow<'a, str>,
    pub(super) input: Option<Value>,
    /// Of a fallback: `{model}`.
    pub(super) to: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: DeltaBody<'a>,
}

#[derive(Deserialize)]
pub(super) struct DeltaBody<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) thinking: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) partial_json: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) signature: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct BlockStop {
    pub(super) index: u64,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow)]
    pub(super) delta: MessageDeltaBody<'a>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct MessageDeltaBody<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) stop_reason: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) stop_details: Option<StopDetails<'a>>,
}

#[derive(Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    pub(super) explanation: Cow<'a, str>,
}

/// A string; empty when the value is of another kind, as unknown blocks may name their fields as
/// they please.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    deserializer.deserialize_any(TextVisitor)
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::default())
    }
}
