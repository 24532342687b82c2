//! The `reasoning_details` of one answer. They must return to the provider as they came.

use serde_json::{Map, Value};

/// Details so far: runs of text and of summaries as one entry each, sealed ones by themselves.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<Map<String, Value>>);

impl ReasoningDetails {
    pub(super) fn add(&mut self, details: Vec<Map<String, Value>>) {
        for detail in details {
            match (self.0.last_mut(), text_field(&detail)) {
                (Some(last), Some(field)) if last.get("type") == detail.get("type") => {
                    join(last, detail, field);
                }
                _ => self.0.push(detail),
            }
        }
    }

    /// As a JSON array; `None` when there are none.
    pub(super) fn to_json(&self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        serde_json::to_string(&self.0).ok()
    }
}

/// The field that grows, for details that come in pieces.
fn text_field(detail: &Map<String, Value>) -> Option<&'static str> {
    match detail.get("type").and_then(Value::as_str) {
        Some("reasoning.text") => Some("text"),
        Some("reasoning.summary") => Some("summary"),
        _ => None,
    }
}

/// Adds a piece: its text is appended, its other fields count where there was nothing.
fn join(last: &mut Map<String, Value>, piece: Map<String, Value>, field: &str) {
    for (name, value) in piece {
        if value.is_null() {
            continue;
        }
        match last.get_mut(&name) {
            Some(Value::String(text)) if name == field => {
                text.push_str(value.as_str().unwrap_or_default());
            }
            Some(known) if known.is_null() => *known = value,
            Some(_) => {}
            None => drop(last.insert(name, value)),
        }
    }
}
