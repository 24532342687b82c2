//! Brings keys of older versions into today's, in memory only.
//!
//! Owns: the list of old keys. Never: overrides a key the user has set by its present name.

use serde_json::{Map, Value, json};

/// Full names of old keys and of what they are today. `skills` kept its name: it was an object.
pub(super) const OLD_KEYS: [(&str, &str); 5] = [
    ("queueMode", "steeringMode"),
    ("websockets", "transport"),
    ("retry.maxDelayMs", "retry.provider.maxRetryDelayMs"),
    ("hooks", "extensions"),
    ("customTools", "extensions"),
];

/// The same settings under current keys.
pub(super) fn migrate(mut values: Map<String, Value>) -> Map<String, Value> {
    if let Some(mode) = values.shift_remove("queueMode") {
        values.entry("steeringMode").or_insert(mode);
    }
    if let Some(websockets) = values.shift_remove("websockets").and_then(|value| value.as_bool()) {
        values.entry("transport").or_insert(json!(if websockets { "websocket" } else { "sse" }));
    }
    move_retry_delay(&mut values);
    flatten_skills(&mut values);
    for old in ["hooks", "customTools"] {
        if let Some(Value::Array(paths)) = values.shift_remove(old)
            && let Value::Array(extensions) = values.entry("extensions").or_insert(json!([]))
        {
            extensions.extend(paths);
        }
    }
    values
}

fn move_retry_delay(values: &mut Map<String, Value>) {
    if let Some(Value::Object(retry)) = values.get_mut("retry")
        && let Some(delay) = retry.shift_remove("maxDelayMs")
        && let Value::Object(provider) = retry.entry("provider").or_insert(json!({}))
    {
        provider.entry("maxRetryDelayMs").or_insert(delay);
    }
}

/// `skills` was an object with a switch and a list of directories.
fn flatten_skills(values: &mut Map<String, Value>) {
    let Some(Value::Object(skills)) = values.get_mut("skills") else { return };
    let directories = skills.shift_remove("customDirectories").filter(Value::is_array);
    let enabled = skills.shift_remove("enableSkillCommands");
    values.insert("skills".to_owned(), directories.unwrap_or(json!([])));
    if let Some(enabled) = enabled {
        values.entry("enableSkillCommands").or_insert(enabled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_keys_become_new_ones() {
        let cases = [
            (json!({"queueMode": "all"}), json!({"steeringMode": "all"})),
            (
                json!({"queueMode": "all", "steeringMode": "one-at-a-time"}),
                json!({"steeringMode": "one-at-a-time"}),
            ),
            (json!({"websockets": true}), json!({"transport": "websocket"})),
            (json!({"websockets": false}), json!({"transport": "sse"})),
            (json!({"websockets": true, "transport": "auto"}), json!({"transport": "auto"})),
            (
                json!({"retry": {"maxDelayMs": 5, "maxRetries": 1}}),
                json!({"retry": {"maxRetries": 1, "provider": {"maxRetryDelayMs": 5}}}),
            ),
            (
                json!({"retry": {"maxDelayMs": 5, "provider": {"maxRetryDelayMs": 7}}}),
                json!({"retry": {"provider": {"maxRetryDelayMs": 7}}}),
            ),
            (
                json!({"skills": {"enableSkillCommands": false, "customDirectories": ["/x"]}}),
                json!({"skills": ["/x"], "enableSkillCommands": false}),
            ),
            (json!({"skills": {}}), json!({"skills": []})),
            (json!({"skills": ["/x"]}), json!({"skills": ["/x"]})),
            (
                json!({"extensions": ["e"], "hooks": ["h"], "customTools": ["c"]}),
                json!({"extensions": ["e", "h", "c"]}),
            ),
            (json!({"retry": 5, "unknown": {"a": 1}}), json!({"retry": 5, "unknown": {"a": 1}})),
        ];
        for (old, expected) in cases {
            let migrated = migrate(old.as_object().unwrap().clone());
            assert_eq!(Value::Object(migrated), expected, "{old}");
        }
    }
}
