//! Argument shapes of older versions and of careless models, brought into the schema's.

use serde_json::{Map, Value};

/// `edits` as JSON text becomes its value, a lone edit becomes a list of one, and `oldText` and
/// `newText` beside `edits` become one more edit. Anything else is left to validation.
pub(super) fn modernise(mut arguments: Map<String, Value>) -> Map<String, Value> {
    if let Some(edits) = arguments.get_mut("edits") {
        if let Some(parsed) = edits.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            *edits = parsed;
        }
        if edits.is_object() {
            *edits = Value::Array(vec![edits.take()]);
        }
    }
    if !["oldText", "newText"].iter().all(|name| arguments.get(*name).is_some_and(Value::is_string))
    {
        return arguments;
    }
    let mut edit = Map::new();
    for name in ["oldText", "newText"] {
        if let Some(text) = arguments.shift_remove(name) {
            edit.insert(name.to_owned(), text);
        }
    }
    match arguments.entry("edits").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(edits) => edits.push(Value::Object(edit)),
        other => *other = Value::Array(vec![Value::Object(edit)]),
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn old_shapes_become_a_list_of_edits() {
        let ab = json!({"oldText": "a", "newText": "b"});
        let cases = [
            (
                json!({"path": "f", "oldText": "a", "newText": "b"}),
                json!({"path": "f", "edits": [ab]}),
            ),
            (
                json!({"path": "f", "edits": "[{\"oldText\":\"a\",\"newText\":\"b\"}]"}),
                json!({"path": "f", "edits": [ab]}),
            ),
            (json!({"path": "f", "edits": ab}), json!({"path": "f", "edits": [ab]})),
            (
                json!({"path": "f", "edits": [ab], "oldText": "c", "newText": "d"}),
                json!({"path": "f", "edits": [ab, {"oldText": "c", "newText": "d"}]}),
            ),
            (json!({"path": "f", "edits": "nonsense"}), json!({"path": "f", "edits": "nonsense"})),
            (json!({"path": "f", "oldText": "a"}), json!({"path": "f", "oldText": "a"})),
            (json!({"path": "f", "edits": [ab]}), json!({"path": "f", "edits": [ab]})),
        ];
        for (given, want) in cases {
            assert_eq!(Value::Object(modernise(given.as_object().unwrap().clone())), want);
        }
    }
}
