//! Parts of request bodies the protocols have in common.

use serde_json::{Value, json};

use crate::types::CacheRetention;

/// Stands for the text of a tool result that has none beside its images.
pub(super) const ONLY_IMAGES: &str = "(see attached image)";

/// An object of parts that are moved in: `json!` would copy them.
pub(super) fn object<'a>(members: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Anthropic's marker, which other protocols pass on: asks for the prompt up to the marked block to
/// be cached. `hour`: the host keeps it for an hour if it is asked to.
pub(super) fn cache_marker(retention: CacheRetention, hour: bool) -> Option<Value> {
    match retention {
        CacheRetention::None => None,
        CacheRetention::Long if hour => Some(json!({"type": "ephemeral", "ttl": "1h"})),
        CacheRetention::Short | CacheRetention::Long => Some(json!({"type": "ephemeral"})),
    }
}
