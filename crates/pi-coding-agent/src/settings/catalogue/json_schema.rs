//! The table as JSON Schema (draft 2020-12), for editors.

use serde_json::{Map, Value, json};

use super::{Effect, Scope, Setting, all};
use crate::settings::migrate::OLD_KEYS;

/// The schema of `settings.json`, as it is checked in. Unknown keys are allowed: extensions may own
/// them.
pub fn json_schema() -> String {
    let mut properties = Map::new();
    properties.insert("$schema".to_owned(), json!({"type": "string"}));
    for setting in all() {
        insert(&mut properties, setting.key, property(setting));
    }
    for (old, present) in OLD_KEYS {
        let about = format!("Old name of {present}.");
        insert(&mut properties, old, json!({"deprecated": true, "description": about}));
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of pi",
        "description": "~/.pi/agent/settings.json, and .pi/settings.json of a project",
        "type": "object",
        "properties": properties,
    });
    format!("{schema:#}\n")
}

fn property(setting: &Setting) -> Value {
    let mut property = setting.kind.schema();
    let mut about = plain(setting.about);
    if setting.scope == Scope::User {
        about.push_str(" Counts in the user's file only.");
    }
    if setting.effect == Effect::Later {
        about.push_str(" Without effect in this build.");
    }
    property["description"] = about.into();
    if let Some(value) = setting.fallback.value() {
        property["default"] = value;
    }
    property
}

/// Markdown as a tooltip would show it: no code marks, and links by their words.
fn plain(markdown: &str) -> String {
    let text = markdown.replace('`', "");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once('[')
        && let Some((words, behind)) = link.split_once("](")
        && let Some((_, after)) = behind.split_once(')')
    {
        plain.extend([before, words]);
        rest = after;
    }
    plain + rest
}

/// Puts a property where its name says, through the objects in between.
fn insert(properties: &mut Map<String, Value>, key: &str, property: Value) {
    let Some((group, rest)) = key.split_once('.') else {
        properties.insert(key.to_owned(), property);
        return;
    };
    let group =
        properties.entry(group).or_insert_with(|| json!({"type": "object", "properties": {}}));
    if let Some(Value::Object(inner)) = group.get_mut("properties") {
        insert(inner, rest, property);
    }
}
