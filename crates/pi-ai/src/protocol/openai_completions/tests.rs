//! Behaviour of the protocol, statement by statement.

use serde_json::{Value, json};

use crate::types::Model;

/// A custom provider's model, with the fields of `over` laid over it.
pub(super) fn model(over: Value) -> Model {
    let mut model = json!({
        "id": "m", "name": "M", "api": "openai-completions", "provider": "custom",
        "baseUrl": "http://host.test/v1", "reasoning": false, "input": ["text", "image"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.25},
        "contextWindow": 200_000, "maxTokens": 8192,
    });
    if let (Value::Object(model), Value::Object(over)) = (&mut model, over) {
        model.extend(over);
    }
    serde_json::from_value(model).unwrap()
}
