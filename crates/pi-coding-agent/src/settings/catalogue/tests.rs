use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Map;

use super::*;
use crate::settings::{Settings, SettingsSources};
use crate::tool_selection::DEFAULT_TOOLS;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_manual_and_the_schema_are_up_to_date() {
    pi_test::assert_generated(root().join("docs/settings.md"), &docs_page());
    let schema = root().join("crates/pi-coding-agent/schema/settings.json");
    pi_test::assert_generated(schema, &json_schema());
}

/// A file that says nothing but this.
fn file(key: &str, value: &Value) -> Value {
    key.rsplit('.').fold(value.clone(), |value, name| json!({name: value}))
}

/// What pi makes of the user's file.
fn read(file: &Value) -> (Settings, SettingsSources) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("settings.json"), file.to_string()).unwrap();
    let sources = SettingsSources::read(dir.path(), None);
    let (mut settings, warnings) = sources.resolve(false);
    assert_eq!(warnings, []);
    settings.raw = Map::new();
    (settings, sources)
}

/// All that can be told of what was read, but for the text itself.
fn effect(file: &Value) -> String {
    let (settings, sources) = read(file);
    let resources = sources.user_resources();
    let rest = (sources.session_dir(), sources.default_project_trust());
    format!("{settings:?} {rest:?} {resources:?}")
}

/// Values this kind takes, not all the same.
fn samples(kind: &Kind) -> Vec<Value> {
    match kind {
        Kind::Switch => vec![json!(true), json!(false)],
        Kind::Text => vec![json!("a"), json!("b")],
        Kind::OneOf(words) => words.iter().map(|word| json!(word)).collect(),
        Kind::Number | Kind::Size => vec![json!(0), json!(1), json!(9_007_199_254_740_991_u64)],
        Kind::Timeout => vec![json!(1), json!("disabled")],
        Kind::Between(least, most) => vec![json!(least), json!(most)],
        Kind::No => vec![json!(false)],
        Kind::Either(kinds) => kinds.iter().flat_map(samples).collect(),
        Kind::List(kind) => vec![json!([]), Value::Array(samples(kind))],
        Kind::Entries(kind) => samples(kind).iter().map(|value| json!({"p/m": value})).collect(),
        Kind::Fields(fields) => {
            let fields =
                fields.iter().map(|(name, kind)| ((*name).to_owned(), samples(kind)[0].clone()));
            vec![Value::Object(fields.collect())]
        }
    }
}

#[test]
fn settings_marked_so_have_an_effect_and_the_others_none() {
    let nothing = effect(&json!({}));
    for setting in all() {
        let changes =
            samples(&setting.kind).iter().any(|value| effect(&file(setting.key, value)) != nothing);
        assert_eq!(changes, setting.effect == Effect::Now, "{}", setting.key);
    }
}

#[test]
fn defaults_are_what_holds_without_the_setting() {
    let (unset, _) = read(&json!({}));
    for setting in all() {
        let Some(value) = setting.fallback.value() else { continue };
        assert!(setting.kind.accepts(&value), "{}", setting.key);
        let (mut settings, sources) = read(&file(setting.key, &value));
        if setting.key == "theme" {
            // What chooses the theme knows the default.
            settings.theme = None;
        }
        assert_eq!(settings, unset, "{}", setting.key);
        assert_eq!(sources.default_project_trust(), Default::default());
    }
    let tools = DEFAULT_TOOLS.map(|name| format!("`{name}`")).join(", ");
    let fallback = find("defaultTools").unwrap().fallback;
    assert!(matches!(fallback, Fallback::Told(words) if words == tools));
}

#[test]
fn every_setting_is_there_once() {
    let keys: BTreeSet<&str> = all().map(|setting| setting.key).collect();
    assert_eq!(keys.len(), all().count());
    for setting in all() {
        assert!(!is_group(setting.key), "{} is a setting and a group", setting.key);
        assert!(setting.about.ends_with('.'), "{}", setting.key);
    }
    let user_only: Vec<_> =
        all().filter(|setting| setting.scope == Scope::User).map(|setting| setting.key).collect();
    assert_eq!(
        user_only,
        [
            "httpProxy",
            "cacheWarming",
            "defaultProjectTrust",
            "selfUpdateCommand",
            "deviceId",
            "trackingId"
        ]
    );
}

#[test]
fn schema_and_checks_agree_on_every_value() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut values: Vec<Value> = all().flat_map(|setting| samples(&setting.kind)).collect();
    values.extend([
        json!(null),
        json!(-1),
        json!(1.5),
        json!(4.0),
        json!(101),
        json!(1e300),
        json!("odd"),
        json!([5]),
        json!({"source": 5}),
        json!({"p/m": {"reserveTokens": -1, "more": 1}}),
        json!({"customDirectories": 5}),
    ]);
    for setting in all() {
        for value in &values {
            let is_valid = validator.is_valid(&file(setting.key, value));
            assert_eq!(is_valid, setting.kind.accepts(value), "{}: {value}", setting.key);
        }
    }
    assert!(!json_schema().contains("]("), "no links in tooltips");
    for fine in [json!({}), json!({"own": {"a": 1}, "retry": {"own": 1}}), json!({"$schema": "x"})]
    {
        assert!(validator.is_valid(&fine), "{fine}");
    }
    assert!(!validator.is_valid(&json!([])));
    assert!(Kind::Timeout.accepts(&json!("1500")), "in quotes it is read, though not offered");
}

#[test]
fn examples_of_settings_in_the_manual_are_valid() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut count = 0;
    for page in [
        "settings.md",
        "trust.md",
        "compaction.md",
        "skills.md",
        "prompt-templates.md",
        "export.md",
    ] {
        let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
        for block in text.split("```json\n").skip(1) {
            let example = block.split("```").next().unwrap();
            let example: Value = serde_json::from_str(example).unwrap();
            let is_settings =
                example.as_object().unwrap().keys().all(|key| find(key).is_some() || is_group(key));
            if is_settings {
                assert!(validator.is_valid(&example), "{page}: {example}");
                count += 1;
            }
        }
    }
    assert!(count > 0);
}
