//! Reading an entry in one pass over its line.
//!
//! serde's tagged enums would build a tree of every value first, and flattened structs too. Here the
//! first field says which struct takes the others; the head is picked out on the way.

use std::fmt;

use pi_ai::surrogates::repair_surrogates;
use pi_ai::{ThinkingLevel, Usage, UserContent};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::super::jsonl::Text;
use super::{Entry, EntryBody, EntryKind, Replacement};
use crate::message::AgentMessage;

impl Entry {
    /// Reads one line of a session file.
    ///
    /// # Errors
    /// The line is no JSON object with `type` and `id`, or its fields do not fit its type.
    pub fn from_json(line: &str) -> Result<Self, serde_json::Error> {
        from_json(line)
    }

    /// Reads nothing but the message of a line whose type is `message`.
    pub(in crate::session) fn message_from_json(
        line: &str,
    ) -> Result<AgentMessage, serde_json::Error> {
        from_json(line).map(|MessageBody { message }| message)
    }
}

fn from_json<T: DeserializeOwned>(line: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(line).or_else(|error| match repair_surrogates(line) {
        Some(repaired) => serde_json::from_str(&repaired),
        None => Err(error),
    })
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry of a session")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Entry, A::Error> {
        let mut name = fields.next_key::<Text<'de>>()?;
        if name.as_ref().is_some_and(|name| name.0 == "type") {
            let kind: Text<'de> = fields.next_value()?;
            return read(kind.0.as_ref().into(), fields);
        }
        // Another order is legal and rare: gather everything first.
        let mut gathered = Map::new();
        while let Some(Text(known)) = name {
            gathered.insert(known.into_owned(), fields.next_value()?);
            name = fields.next_key()?;
        }
        let kind = gathered.get("type").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| A::Error::missing_field("type"))?.into();
        read(kind, MapDeserializer::new(gathered.into_iter())).map_err(A::Error::custom)
    }
}

fn read<'de, A: MapAccess<'de>>(kind: EntryKind, fields: A) -> Result<Entry, A::Error> {
    let mut head = Head::default();
    let body = MapAccessDeserializer::new(BodyFields { fields, head: &mut head });
    let body = read_body(&kind, body)?;
    let Head { id, parent_id, timestamp } = head;
    let id = id.ok_or_else(|| A::Error::missing_field("id"))?;
    Ok(Entry { kind, id, parent_id, timestamp, body })
}

#[derive(Default)]
struct Head {
    id: Option<String>,
    parent_id: Option<String>,
    timestamp: String,
}

/// The fields of an entry without those of the head, which it keeps for itself.
struct BodyFields<'h, A> {
    fields: A,
    head: &'h mut Head,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for BodyFields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(name)) = self.fields.next_key::<Text<'de>>()? {
            match name.as_ref() {
                "id" => self.head.id = Some(self.fields.next_value()?),
                "parentId" => self.head.parent_id = self.fields.next_value()?,
                "timestamp" => self.head.timestamp = self.fields.next_value()?,
                "type" => _ = self.fields.next_value::<IgnoredAny>()?,
                _ => return seed.deserialize(name.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}

fn read_body<'de, D: Deserializer<'de>>(kind: &EntryKind, body: D) -> Result<EntryBody, D::Error> {
    Ok(match kind {
        EntryKind::Message => {
            EntryBody::Message { message: MessageBody::deserialize(body)?.message }
        }
        EntryKind::Compaction => EntryBody::Compaction(Deserialize::deserialize(body)?),
        EntryKind::BranchSummary => EntryBody::BranchSummary(Deserialize::deserialize(body)?),
        EntryKind::ActiveToolsChange => active_tools(Map::deserialize(body)?),
        EntryKind::Other(_) => EntryBody::Unknown(Map::deserialize(body)?),
        EntryKind::ModelChange
        | EntryKind::ThinkingLevelChange
        | EntryKind::Custom
        | EntryKind::CustomMessage
        | EntryKind::ContextEdit
        | EntryKind::Usage
        | EntryKind::Label
        | EntryKind::SessionInfo => SmallBody::deserialize(body)?
            .into_body(kind)
            .ok_or_else(|| D::Error::custom(format_args!("fields missing in {kind} entry")))?,
    })
}

#[derive(Deserialize)]
struct MessageBody {
    message: AgentMessage,
}

/// Other programs' state: a shape that is not the usual one is no reason to fail.
fn active_tools(fields: Map<String, Value>) -> EntryBody {
    let names =
        fields.get("activeToolNames").and_then(|names| Deserialize::deserialize(names).ok());
    match names {
        Some(active_tool_names) => EntryBody::ActiveToolsChange { active_tool_names },
        None => EntryBody::Unknown(fields),
    }
}

/// Every field the small entry types carry; only the type decides which count.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SmallBody {
    provider: Option<String>,
    model_id: Option<String>,
    thinking_level: Option<ThinkingLevel>,
    custom_type: Option<String>,
    data: Option<Value>,
    content: Option<UserContent>,
    display: Option<bool>,
    details: Option<Value>,
    target_id: Option<String>,
    replacement: Option<Replacement>,
    kind: Option<String>,
    model: Option<String>,
    /// Extensions put what they like under common names; only a `usage` entry needs the real thing.
    #[serde(default, deserialize_with = "pi_ai::loose::if_readable")]
    usage: Option<Usage>,
    note: Option<String>,
    label: Option<String>,
    name: Option<String>,
}

impl SmallBody {
    /// `None`: a field the type cannot do without is missing.
    fn into_body(self, kind: &EntryKind) -> Option<EntryBody> {
        Some(match kind {
            EntryKind::ModelChange => {
                EntryBody::ModelChange { provider: self.provider?, model_id: self.model_id? }
            }
            EntryKind::ThinkingLevelChange => {
                EntryBody::ThinkingLevelChange { thinking_level: self.thinking_level? }
            }
            EntryKind::Custom => {
                EntryBody::Custom { custom_type: self.custom_type?, data: self.data }
            }
            EntryKind::CustomMessage => EntryBody::CustomMessage {
                custom_type: self.custom_type?,
                content: self.content.unwrap_or_default(),
                display: self.display.unwrap_or_default(),
                details: self.details,
            },
            EntryKind::ContextEdit => {
                EntryBody::ContextEdit { target_id: self.target_id?, replacement: self.replacement }
            }
            EntryKind::Usage => EntryBody::Usage {
                kind: self.kind.unwrap_or_default(),
                provider: self.provider.unwrap_or_default(),
                model: self.model.unwrap_or_default(),
                usage: self.usage?,
                note: self.note,
            },
            EntryKind::Label => EntryBody::Label { target_id: self.target_id?, label: self.label },
            EntryKind::SessionInfo => EntryBody::SessionInfo { name: self.name },
            EntryKind::Message
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::ActiveToolsChange
            | EntryKind::Other(_) => return None,
        })
    }
}
