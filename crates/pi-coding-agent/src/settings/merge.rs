//! Lays a project's settings over the user's.
//!
//! Owns: how each kind of value combines. Never: checks a value.

use serde_json::{Map, Value};

use super::catalogue::{self, Scope};

/// Lists both scopes add to.
const RESOURCES: [&str; 5] = ["extensions", "packages", "prompts", "skills", "themes"];

/// Objects merge key by key, resource lists are joined (the project's first), a project's
/// `defaultTools` of nothing but `+name` and `-name` change the user's. Anything else is replaced.
pub(super) fn merge(
    global: &Map<String, Value>,
    project: &Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = global.clone();
    for (key, value) in project {
        if catalogue::find(key).is_some_and(|setting| setting.scope == Scope::User) {
            continue;
        }
        let value = match (key.as_str(), merged.get(key), value) {
            (key, Some(Value::Array(users)), Value::Array(projects))
                if RESOURCES.contains(&key) =>
            {
                projects.iter().chain(users).cloned().collect()
            }
            ("defaultTools", Some(Value::Array(users)), Value::Array(projects))
                if !projects.is_empty() && projects.iter().all(is_tool_change) =>
            {
                users.iter().chain(projects).cloned().collect()
            }
            (_, Some(below), above) => overlay(below, above),
            (_, None, value) => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    merged
}

fn overlay(below: &Value, above: &Value) -> Value {
    let (Value::Object(below), Value::Object(above)) = (below, above) else {
        return above.clone();
    };
    let mut merged = below.clone();
    for (key, above) in above {
        let value = merged.get(key).map_or_else(|| above.clone(), |below| overlay(below, above));
        merged.insert(key.clone(), value);
    }
    Value::Object(merged)
}

fn is_tool_change(entry: &Value) -> bool {
    entry.as_str().is_some_and(|entry| entry.starts_with(['+', '-']))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn project_values_lie_over_the_users() {
        let cases = [
            (json!({"a": 1, "b": 2}), json!({"b": 3, "c": 4}), json!({"a": 1, "b": 3, "c": 4})),
            (
                json!({"o": {"x": 1, "deep": {"y": 1}}}),
                json!({"o": {"z": 2, "deep": {"y": 2}}}),
                json!({"o": {"x": 1, "deep": {"y": 2}, "z": 2}}),
            ),
            (json!({"o": {"x": 1}}), json!({"o": 5}), json!({"o": 5})),
            (
                json!({"enabledModels": ["a"]}),
                json!({"enabledModels": ["b"]}),
                json!({"enabledModels": ["b"]}),
            ),
            (json!({"skills": ["g"]}), json!({"skills": ["p"]}), json!({"skills": ["p", "g"]})),
            (json!({}), json!({"skills": ["p"]}), json!({"skills": ["p"]})),
            (json!({"httpProxy": "g"}), json!({"httpProxy": "p"}), json!({"httpProxy": "g"})),
            (json!({}), json!({"httpProxy": "p", "defaultProjectTrust": "always"}), json!({})),
            (
                json!({"defaultTools": ["+grep", "-write"]}),
                json!({"defaultTools": ["+ls"]}),
                json!({"defaultTools": ["+grep", "-write", "+ls"]}),
            ),
            (
                json!({"defaultTools": ["read"]}),
                json!({"defaultTools": ["ls"]}),
                json!({"defaultTools": ["ls"]}),
            ),
            (
                json!({"defaultTools": ["read"]}),
                json!({"defaultTools": []}),
                json!({"defaultTools": []}),
            ),
        ];
        for (global, project, expected) in cases {
            let merged = merge(global.as_object().unwrap(), project.as_object().unwrap());
            assert_eq!(Value::Object(merged), expected, "{global} + {project}");
        }
    }
}
