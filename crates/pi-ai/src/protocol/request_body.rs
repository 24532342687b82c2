//! The JSON text of a request.
//!
//! A long conversation would cost several times its size as a tree of values, and more time to free
//! than to write. So messages become text one by one, and the tree is made only for who asks.

use std::fmt;

use bytes::Bytes;
use serde_json::{Map, Value};

/// One JSON object, as it goes over the wire. Cloning shares the text.
///
/// Its `Debug` form is its length.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestBody(Bytes);

impl RequestBody {
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The body as a tree. Costs a parse of the whole text.
    pub fn to_value(&self) -> Value {
        serde_json::from_slice(&self.0).unwrap_or_default()
    }

    /// A body of `fields`, in order, with `messages` in the place of [`MESSAGES_GO_HERE`].
    pub(super) fn new(fields: &Map<String, Value>, messages: MessageList) -> Self {
        let is_list =
            |(name, value): &(&String, &Value)| (name.as_str(), *value) == MESSAGES_GO_HERE;
        let mut head = vec![b'{'];
        for (name, value) in fields.iter().take_while(|field| !is_list(field)) {
            write_field(&mut head, name, value);
        }
        let mut rest = fields.iter().skip_while(|field| !is_list(field));
        if let Some((name, _)) = rest.next() {
            write_name(&mut head, name);
            head.push(b'[');
        }
        let (mut text, start) = messages.finish(&head);
        if fields.iter().any(|field| is_list(&field)) {
            text.push(b']');
        }
        for (name, value) in rest {
            write_field(&mut text, name, value);
        }
        text.push(b'}');
        Self(Bytes::from(text).slice(start..))
    }
}

/// The field that stands for the messages of a body.
pub(super) const MESSAGES_GO_HERE: (&str, &Value) = ("messages", &Value::Null);

impl From<Value> for RequestBody {
    fn from(body: Value) -> Self {
        let mut text = Vec::new();
        write(&mut text, &body);
        Self(text.into())
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.0.len())
    }
}

/// Room kept free before the messages for what stands before them, so that a long list need not be
/// moved: some 10,000 tokens of prompt.
const HEADROOM: usize = 64 * 1024;

/// Messages on their way into a body. The last one can still be changed.
#[derive(Default)]
pub(super) struct MessageList {
    /// [`HEADROOM`] bytes, once there is a message; then those that are done, separated by commas.
    text: Vec<u8>,
    open: Vec<Value>,
    keeps_all: bool,
}

impl MessageList {
    /// A list whose messages can all be changed until the end.
    pub(super) fn kept_open() -> Self {
        Self { keeps_all: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, message: Value) {
        if !self.keeps_all {
            self.close();
        }
        self.open.push(message);
    }

    pub(super) fn last(&self) -> Option<&Value> {
        self.open.last()
    }

    /// The messages that can still be changed.
    pub(super) fn open_mut(&mut self) -> &mut [Value] {
        &mut self.open
    }

    fn close(&mut self) {
        if self.text.is_empty() {
            self.text.resize(HEADROOM, 0);
        }
        for message in self.open.drain(..) {
            if self.text.len() > HEADROOM {
                self.text.push(b',');
            }
            write(&mut self.text, &message);
        }
    }

    /// `head` and the messages behind it, separated by commas, and where in the text it begins.
    fn finish(mut self, head: &[u8]) -> (Vec<u8>, usize) {
        self.close();
        let start = HEADROOM.saturating_sub(head.len());
        self.text.splice(start..HEADROOM, head.iter().copied());
        (self.text, start)
    }
}

impl Extend<Value> for MessageList {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, messages: I) {
        for message in messages {
            self.push(message);
        }
    }
}

fn write_field(text: &mut Vec<u8>, name: &str, value: &Value) {
    write_name(text, name);
    write(text, value);
}

fn write_name(text: &mut Vec<u8>, name: &str) {
    // Only a text that ends in an opening bracket has no field before.
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
    write(text, name);
    text.push(b':');
}

fn write<T: serde::Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    // Neither strings nor values can fail to be written into memory.
    let _written = serde_json::to_writer(text, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields() -> Map<String, Value> {
        let (name, value) = MESSAGES_GO_HERE;
        [("a\"b", &json!(1)), (name, value), ("z", &json!({"x": null}))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }

    #[test]
    fn messages_stand_in_their_place() {
        for mut list in [MessageList::default(), MessageList::kept_open()] {
            let empty = RequestBody::new(&fields(), MessageList::default());
            assert_eq!(empty.bytes(), r#"{"a\"b":1,"messages":[],"z":{"x":null}}"#);
            list.extend([json!({"n": 1}), json!({"n": 2})]);
            if let Some(last) = list.open_mut().last_mut() {
                last["m"] = json!(true);
            }
            let body = RequestBody::new(&fields(), list);
            let expected = r#"{"a\"b":1,"messages":[{"n":1},{"n":2,"m":true}],"z":{"x":null}}"#;
            assert_eq!(body.bytes(), expected);
            assert_eq!(RequestBody::from(body.to_value()), body);
        }
    }

    #[test]
    fn what_stands_before_the_messages_may_be_long() {
        for length in [HEADROOM - 30, HEADROOM, 3 * HEADROOM] {
            let prompt = json!("p".repeat(length));
            let (name, value) = MESSAGES_GO_HERE;
            let fields: Map<String, Value> = [("system", &prompt), (name, value)]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            let mut list = MessageList::default();
            list.extend([json!({"n": 1}), json!({"n": 2})]);
            let body = RequestBody::new(&fields, list).to_value();
            assert_eq!(body, json!({"system": prompt, "messages": [{"n": 1}, {"n": 2}]}));
        }
    }

    #[test]
    fn only_a_list_kept_open_lets_earlier_messages_be_changed() {
        for (mut list, open) in [(MessageList::default(), 1), (MessageList::kept_open(), 2)] {
            list.extend([json!(1), json!(2)]);
            assert_eq!(list.open_mut().len(), open);
            assert_eq!(list.last(), Some(&json!(2)));
        }
    }

    #[test]
    fn debug_output_holds_nothing_of_the_conversation() {
        assert_eq!(format!("{:?}", RequestBody::from(json!({"a": 1}))), "RequestBody(7 bytes)");
    }
}
