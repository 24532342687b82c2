use serde_json::{Value, json};

use super::{NotStrict, strict_parameters, strict_schema};
use crate::types::{ConstrainedSampling, Strictness, Tool};

fn none(_: &str, _: &Value) -> bool {
    false
}

/// The schema of an object with one required property `a`.
fn with(property: &Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"]})
}

#[test]
fn every_property_is_required_and_optional_ones_may_be_null() {
    let schema = json!({
        "type": "object", "title": "T",
        "properties": {
            "a": {"type": "string", "minLength": 1},
            "b": {"type": "number", "default": 1},
            "c": {"type": ["string", "null"]},
            "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "e": {"enum": ["x", null]},
            "f": {"type": "null"},
            "g": {"anyOf": [{"anyOf": [{"type": "null"}]}, {"type": "number"}]},
            "h": {"type": "array", "items": {"type": "object", "properties": {"i": {"type": "string"}}}},
            "j": {"type": "object"},
        },
        "required": ["a", "h", "j"],
    });
    assert_eq!(
        strict_schema(&schema, &none).unwrap(),
        json!({
            "type": "object", "title": "T",
            "properties": {
                "a": {"type": "string", "minLength": 1},
                "b": {"anyOf": [{"type": "number", "default": 1}, {"type": "null"}]},
                "c": {"type": ["string", "null"]},
                "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "e": {"enum": ["x", null]},
                "f": {"type": "null"},
                "g": {"anyOf": [{"anyOf": [{"type": "null"}]}, {"type": "number"}]},
                "h": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"i": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    "required": ["i"], "additionalProperties": false,
                }},
                "j": {"type": "object", "required": [], "additionalProperties": false},
            },
            "required": ["a", "b", "c", "d", "e", "f", "g", "h", "j"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn what_the_subset_has_not_is_refused() {
    let keyword = |name: &str| NotStrict::Keyword(name.to_owned());
    let text = json!({"type": "string"});
    let cases = [
        (json!({"type": "string"}), NotStrict::Root),
        (json!({"properties": {}}), NotStrict::Root),
        (json!({"type": ["object"], "properties": {}}), NotStrict::Root),
        (with(&json!(true)), NotStrict::Boolean),
        (with(&json!({"type": "array", "items": true})), NotStrict::Boolean),
        (with(&json!({"description": "any"})), NotStrict::Untyped),
        (with(&json!({"const": "x"})), NotStrict::Untyped),
        (with(&json!({"properties": {}})), NotStrict::Untyped),
        (with(&json!({"items": text})), NotStrict::Untyped),
        (with(&json!({"anyOf": [text], "properties": {}})), NotStrict::Untyped),
        (with(&json!({"anyOf": [text, {}]})), NotStrict::Untyped),
        (with(&json!({"type": "array", "items": [text]})), NotStrict::Tuple),
        (with(&json!({"type": ["object", "null"], "properties": {}})), NotStrict::Union),
        (with(&json!({"anyOf": [with(&text), {"type": "null"}]})), NotStrict::Union),
        (with(&json!({"anyOf": [text, {"type": "array", "items": text}]})), NotStrict::Union),
        (with(&json!({"anyOf": []})), NotStrict::AnyOf),
        (json!({"type": "object", "additionalProperties": true}), NotStrict::OpenObject),
        (json!({"type": "object", "additionalProperties": text}), NotStrict::OpenObject),
        (json!({"type": "object", "properties": null}), NotStrict::Properties),
        (json!({"type": "object", "properties": {}, "required": "a"}), NotStrict::Properties),
        (json!({"type": "object", "properties": {}, "required": ["a"]}), NotStrict::Properties),
        (with(&json!({"$ref": "#"})), keyword("$ref")),
        (with(&json!({"type": "string", "not": {}})), keyword("not")),
    ];
    for (schema, reason) in cases {
        assert_eq!(strict_schema(&schema, &none), Err(reason), "{schema}");
    }
    for name in super::REFUSED {
        let mut schema = with(&text);
        schema[name] = json!([]);
        assert_eq!(strict_schema(&schema, &none), Err(keyword(name)));
    }
}

#[test]
fn a_provider_may_refuse_more_keywords() {
    let refuses = |keyword: &str, value: &Value| keyword == "minItems" && *value != json!(1);
    let list = |least: u64| with(&json!({"type": "array", "minItems": least}));
    assert!(strict_schema(&list(1), &refuses).is_ok());
    assert_eq!(strict_schema(&list(2), &refuses), Err(NotStrict::Keyword("minItems".to_owned())));
}

#[test]
fn preference_falls_back_in_silence_and_requirement_speaks() {
    let good = json!({"type": "object", "properties": {}});
    let bad = json!({"type": "object", "allOf": []});
    let refusal = "Tool \"t\" requires strict arguments, but its schema uses \"allOf\"";
    let no_strict = "Tool \"t\" requires strict arguments, but the provider has no strict tools";
    let cases = [
        (None, &good, true, Ok(false)),
        (Some(Strictness::Prefer), &good, true, Ok(true)),
        (Some(Strictness::Prefer), &bad, true, Ok(false)),
        (Some(Strictness::Prefer), &good, false, Ok(false)),
        (Some(Strictness::Require), &good, true, Ok(true)),
        (Some(Strictness::Require), &bad, true, Err(refusal)),
        (Some(Strictness::Require), &good, false, Err(no_strict)),
    ];
    for (strict, parameters, supported, expected) in cases {
        let tool = Tool {
            name: "t".into(),
            description: String::new(),
            parameters: parameters.clone(),
            constrained_sampling: strict.map(|strict| ConstrainedSampling::JsonSchema { strict }),
        };
        let strict = strict_parameters(&tool, supported, &none);
        assert_eq!(
            strict.map(|strict| strict.is_some()).map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
        );
    }
}
