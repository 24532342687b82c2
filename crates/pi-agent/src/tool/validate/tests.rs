use pi_ai::Tool;
use serde_json::{Value, json};

use super::ToolValidators;

fn tool(parameters: Value) -> Tool {
    Tool {
        name: "t".to_owned(),
        description: String::new(),
        parameters,
        constrained_sampling: None,
    }
}

fn validate(schema: &Value, arguments: &Value) -> Result<Value, String> {
    ToolValidators::default()
        .validate(&tool(schema.clone()), arguments.as_object().unwrap().clone())
        .map(Value::Object)
}

/// A schema of one required property.
fn one(name: &str, schema: &Value) -> Value {
    json!({"type": "object", "properties": {name: schema}, "required": [name]})
}

/// The same, optional.
fn optional(name: &str, schema: &Value) -> Value {
    json!({"type": "object", "properties": {name: schema}})
}

#[track_caller]
fn becomes(schema: &Value, cases: &[(Value, Value)]) {
    for (sent, wanted) in cases {
        let got = validate(schema, sent);
        assert_eq!(got.as_ref(), Ok(wanted), "{sent} against {schema}");
        // Numbers compare equal across kinds in JSON terms only as text.
        assert_eq!(got.unwrap().to_string(), wanted.to_string());
    }
}

#[track_caller]
fn fails(schema: &Value, cases: &[(Value, &str)]) {
    for (sent, problems) in cases {
        let error = validate(schema, sent).unwrap_err();
        let received = serde_json::to_string_pretty(sent).unwrap();
        let list: String = problems.split(" | ").map(|line| format!("\n  - {line}")).collect();
        let wanted =
            format!("Validation failed for tool \"t\":{list}\n\nReceived arguments:\n{received}");
        assert_eq!(error, wanted, "{sent} against {schema}");
    }
}

#[test]
fn the_error_text_lists_problems_and_the_arguments_as_received() {
    let schema = one("command", &json!({"type": "string"}));
    assert_eq!(
        validate(&schema, &json!({"command": ["echo", "x"]})),
        Err("Validation failed for tool \"t\":\n  - command: expected string, got array\n\n\
             Received arguments:\n{\n  \"command\": [\n    \"echo\",\n    \"x\"\n  ]\n}"
            .to_owned())
    );
    assert_eq!(
        validate(&schema, &json!({})),
        Err("Validation failed for tool \"t\":\n  - command: missing\n\nReceived arguments:\n{}"
            .to_owned())
    );
}

#[test]
fn numeric_strings_become_numbers() {
    let number = one("n", &json!({"type": "number"}));
    becomes(
        &number,
        &[
            (json!({"n": "1"}), json!({"n": 1})),
            (json!({"n": "1.5"}), json!({"n": 1.5})),
            (json!({"n": " 2 "}), json!({"n": 2})),
            (json!({"n": "1e3"}), json!({"n": 1000})),
            (json!({"n": "3.0"}), json!({"n": 3})),
            (json!({"n": true}), json!({"n": 1})),
        ],
    );
    fails(
        &number,
        &[
            (json!({"n": "abc"}), "n: expected number, got string"),
            (json!({"n": ""}), "n: expected number, got string"),
            (json!({"n": "Infinity"}), "n: expected number, got string"),
            (json!({"n": [3]}), "n: expected number, got array"),
            (json!({"n": null}), "n: expected number, got null"),
        ],
    );
}

#[test]
fn integers_lose_their_fraction() {
    becomes(
        &one("n", &json!({"type": "integer"})),
        &[
            (json!({"n": "1"}), json!({"n": 1})),
            (json!({"n": "1.5"}), json!({"n": 1})),
            (json!({"n": 1.5}), json!({"n": 1})),
            (json!({"n": false}), json!({"n": 0})),
        ],
    );
}

#[test]
fn whole_numbers_are_integers_however_they_are_written() {
    becomes(
        &one("n", &json!({"type": "number"})),
        &[(json!({"n": 2.0}), json!({"n": 2})), (json!({"n": 2.5}), json!({"n": 2.5}))],
    );
}

#[test]
fn numbers_and_booleans_become_strings() {
    let string = one("s", &json!({"type": "string"}));
    becomes(
        &string,
        &[
            (json!({"s": 5}), json!({"s": "5"})),
            (json!({"s": 1.5}), json!({"s": "1.5"})),
            (json!({"s": true}), json!({"s": "true"})),
        ],
    );
    fails(
        &string,
        &[
            (json!({"s": {"a": 1}}), "s: expected string, got object"),
            (json!({"s": null}), "s: expected string, got null"),
        ],
    );
}

#[test]
fn true_and_false_in_words_become_booleans() {
    let boolean = one("b", &json!({"type": "boolean"}));
    becomes(
        &boolean,
        &[
            (json!({"b": "true"}), json!({"b": true})),
            (json!({"b": "FALSE"}), json!({"b": false})),
            (json!({"b": 1}), json!({"b": true})),
            (json!({"b": 0}), json!({"b": false})),
        ],
    );
    fails(
        &boolean,
        &[
            (json!({"b": "yes"}), "b: expected boolean, got string"),
            (json!({"b": 2}), "b: expected boolean, got integer"),
        ],
    );
}

#[test]
fn null_on_an_optional_property_is_dropped() {
    let schema = json!({
        "type": "object",
        "properties": {
            "n": {"type": "number"},
            "s": {"type": "string"},
            "e": {"enum": ["a"]},
            "u": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
        },
    });
    becomes(
        &schema,
        &[
            (json!({"n": null}), json!({})),
            (json!({"n": null, "s": "a"}), json!({"s": "a"})),
            (json!({"n": null, "s": null, "e": null, "u": null}), json!({})),
            (json!({"other": null}), json!({"other": null})),
        ],
    );
}

#[test]
fn a_single_value_becomes_an_array_of_one() {
    becomes(
        &one("a", &json!({"type": "array", "items": {"type": "string"}})),
        &[
            (json!({"a": "x"}), json!({"a": ["x"]})),
            (json!({"a": 5}), json!({"a": ["5"]})),
            (json!({"a": "[x"}), json!({"a": ["[x"]})),
            (json!({"a": ""}), json!({"a": [""]})),
            (json!({"a": [1, true]}), json!({"a": ["1", "true"]})),
        ],
    );
    becomes(
        &one("a", &json!({"type": "array", "items": {"type": "number"}})),
        &[(json!({"a": "5"}), json!({"a": [5]})), (json!({"a": ["1", "2"]}), json!({"a": [1, 2]}))],
    );
    fails(
        &one("a", &json!({"type": "array", "items": {"type": "number"}})),
        &[
            (json!({"a": "1,2"}), "a.0: expected number, got string"),
            (
                json!({"a": [1, "x", {"z": 1}]}),
                "a.1: expected number, got string | a.2: expected number, got object",
            ),
        ],
    );
}

#[test]
fn json_text_for_an_array_is_parsed() {
    becomes(
        &one("a", &json!({"type": "array", "items": {"type": "string"}})),
        &[(json!({"a": "[\"x\",\"y\"]"}), json!({"a": ["x", "y"]}))],
    );
    let objects = json!({"type": "array", "items": one("k", &json!({"type": "number"}))});
    becomes(
        &one("a", &objects),
        &[
            (json!({"a": "[{\"k\":\"1\"}]"}), json!({"a": [{"k": 1}]})),
            (json!({"a": {"k": "1"}}), json!({"a": [{"k": 1}]})),
        ],
    );
}

#[test]
fn nested_values_are_coerced_and_reported_by_path() {
    let item =
        json!({"type": "object", "properties": {"d": {"type": "number"}}, "required": ["d"]});
    let list = one("c", &json!({"type": "array", "items": item}));
    let schema = one("a", &one("b", &list));
    becomes(
        &schema,
        &[(json!({"a": {"b": {"c": {"d": "1"}}}}), json!({"a": {"b": {"c": [{"d": 1}]}}}))],
    );
    fails(
        &schema,
        &[
            (
                json!({"a": {"b": {"c": [{"d": "x"}, {}]}}}),
                "a.b.c.0.d: expected number, got string | a.b.c.1.d: missing",
            ),
            (json!({"a": {"b": {}}}), "a.b.c: missing"),
        ],
    );
}

#[test]
fn a_value_that_matches_an_arm_of_a_union_stays_as_it_is() {
    becomes(
        &one("u", &json!({"anyOf": [{"type": "number"}, {"type": "string"}]})),
        &[(json!({"u": "5"}), json!({"u": "5"})), (json!({"u": 5}), json!({"u": 5}))],
    );
    becomes(
        &optional("u", &json!({"anyOf": [{"type": "string"}, {"type": "null"}]})),
        &[(json!({"u": null}), json!({"u": null})), (json!({"u": 5}), json!({"u": "5"}))],
    );
    becomes(
        &optional("u", &json!({"type": ["string", "null"]})),
        &[(json!({"u": null}), json!({"u": null})), (json!({"u": 5}), json!({"u": "5"}))],
    );
}

#[test]
fn a_value_that_matches_no_arm_is_coerced_for_the_first_that_then_takes_it() {
    becomes(
        &one("u", &json!({"type": ["number", "boolean"]})),
        &[(json!({"u": "5"}), json!({"u": 5})), (json!({"u": "true"}), json!({"u": true}))],
    );
    becomes(
        &one("u", &json!({"oneOf": [{"type": "number"}, {"type": "boolean"}]})),
        &[(json!({"u": "5"}), json!({"u": 5})), (json!({"u": "true"}), json!({"u": true}))],
    );
    becomes(
        &one("u", &tagged()),
        &[
            (json!({"u": {"t": "a", "n": "5"}}), json!({"u": {"t": "a", "n": 5}})),
            (json!({"u": {"t": "b", "m": 5}}), json!({"u": {"t": "b", "m": "5"}})),
        ],
    );
}

fn tagged() -> Value {
    json!({"anyOf": [
        {
            "type": "object",
            "properties": {"t": {"const": "a"}, "n": {"type": "number"}},
            "required": ["t", "n"],
        },
        {
            "type": "object",
            "properties": {"t": {"const": "b"}, "m": {"type": "string"}},
            "required": ["t", "m"],
        },
    ]})
}

#[test]
fn a_union_is_reported_by_the_arm_that_was_meant() {
    fails(
        &one("u", &tagged()),
        &[
            (json!({"u": {"t": "c"}}), "u.t: expected one of [\"a\",\"b\"]"),
            (json!({"u": {"t": "b"}}), "u.m: missing"),
        ],
    );
    fails(
        &one("u", &json!({"anyOf": [{"type": "number"}, {"type": "string"}]})),
        &[(json!({"u": {"a": 1}}), "u: expected number, got object")],
    );
    fails(
        &optional("u", &json!({"type": ["string", "null"]})),
        &[(json!({"u": {}}), "u: expected string or null, got object")],
    );
    fails(
        &one("u", &json!({"type": ["number", "boolean"]})),
        &[(json!({"u": "x"}), "u: expected number or boolean, got string")],
    );
    fails(
        &json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        &[(json!({}), "a: missing")],
    );
    fails(
        &one("e", &json!({"oneOf": [{"type": "number"}, {"minimum": 3}]})),
        &[(json!({"e": 5}), "e: matches more than one alternative")],
    );
}

#[test]
fn enums_and_constants_take_the_same_text_and_name_what_they_want() {
    becomes(&one("e", &json!({"enum": [1, 2]})), &[(json!({"e": "1"}), json!({"e": 1}))]);
    fails(
        &one("e", &json!({"type": "string", "enum": ["a", "b"]})),
        &[
            (json!({"e": "A"}), "e: expected one of [\"a\",\"b\"]"),
            (json!({"e": 5}), "e: expected one of [\"a\",\"b\"]"),
            (json!({"e": {"x": 1}}), "e: expected string, got object"),
        ],
    );
    fails(
        &one("e", &json!({"const": "z"})),
        &[(json!({"e": "y"}), "e: expected \"z\""), (json!({"e": 1}), "e: expected \"z\"")],
    );
}

#[test]
fn every_other_rule_has_its_words() {
    let cases = [
        (json!({"type": "number", "minimum": 1}), json!(0), "expected >= 1"),
        (json!({"type": "number", "minimum": 1}), json!("0"), "expected >= 1"),
        (json!({"type": "number", "maximum": 5}), json!(9), "expected <= 5"),
        (json!({"type": "number", "exclusiveMinimum": 1}), json!(1), "expected > 1"),
        (json!({"type": "number", "exclusiveMaximum": 5}), json!(5), "expected < 5"),
        (json!({"type": "number", "multipleOf": 2}), json!(3), "expected a multiple of 2"),
        (json!({"type": "string", "minLength": 2}), json!("a"), "expected at least 2 characters"),
        (json!({"type": "string", "maxLength": 3}), json!("abcd"), "expected at most 3 characters"),
        (json!({"type": "string", "pattern": "^a"}), json!("b"), "expected to match ^a"),
        (json!({"type": "array", "minItems": 2}), json!([1]), "expected at least 2 items"),
        (json!({"type": "array", "maxItems": 1}), json!([1, 2]), "expected at most 1 items"),
        (json!({"type": "array", "uniqueItems": true}), json!([1, 1]), "expected unique items"),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({}),
            "expected at least 1 properties",
        ),
        (
            json!({"type": "object", "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "expected at most 1 properties",
        ),
        (json!({"type": "string", "format": "uri"}), json!("nope"), "expected format uri"),
        (json!({"type": "string", "format": "email"}), json!("nope"), "expected format email"),
        (json!({"not": {"type": "string"}}), json!("x"), "must not match the schema in not"),
    ];
    for (schema, value, problem) in cases {
        fails(&one("x", &schema), &[(json!({"x": value}), &format!("x: {problem}"))]);
    }
    fails(
        &json!({"type": "object", "minProperties": 1}),
        &[(json!({}), "root: expected at least 1 properties")],
    );
}

#[test]
fn missing_comes_before_wrong_and_wrong_before_unknown() {
    let many = json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "c": {"type": "string"}},
        "required": ["a", "b", "c"],
    });
    fails(
        &many,
        &[(json!({"b": "x"}), "a: missing | c: missing | b: expected number, got string")],
    );
    let closed = json!({
        "type": "object",
        "properties": {"e": {"type": "string"}, "f": {"type": "string"}},
        "required": ["f"],
        "additionalProperties": false,
    });
    fails(
        &closed,
        &[
            (json!({"zz": 1, "yy": 2}), "f: missing | zz: unknown field | yy: unknown field"),
            (
                json!({"e": {"x": 1}, "f": "", "zz": 1}),
                "e: expected string, got object | zz: unknown field",
            ),
            (json!({"f": "x", "zz": null}), "zz: unknown field"),
        ],
    );
}

#[test]
fn unknown_fields_pass_where_the_schema_allows_them() {
    let open = one("a", &json!({"type": "string"}));
    becomes(&open, &[(json!({"a": "x", "bogus": true}), json!({"a": "x", "bogus": true}))]);
    let mut numbers = open;
    numbers["additionalProperties"] = json!({"type": "number"});
    becomes(&numbers, &[(json!({"a": "x", "zz": "1"}), json!({"a": "x", "zz": 1}))]);
    fails(&numbers, &[(json!({"a": "x", "zz": "q"}), "zz: expected number, got string")]);
}

#[test]
fn local_references_recursion_and_a_relative_root_id_work() {
    let node = json!({
        "type": "object",
        "properties": {
            "v": {"type": "number"},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/N"}},
        },
        "required": ["v"],
    });
    let schema = json!({
        "$id": "rel/thing",
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/N"}},
        "required": ["t"],
        "$defs": {"N": node},
    });
    becomes(
        &schema,
        &[(
            json!({"t": {"v": "1", "kids": [{"v": "2"}]}}),
            json!({"t": {"v": 1, "kids": [{"v": 2}]}}),
        )],
    );
    fails(
        &schema,
        &[
            (json!({"t": {"v": 1, "kids": [{"kids": []}]}}), "t.kids.0.v: missing"),
            (json!({"t": "x"}), "t: expected object, got string"),
        ],
    );
}

#[test]
fn tuples_of_both_kinds_and_nullable_arrays_work() {
    for keyword in ["items", "prefixItems"] {
        let schema =
            one("t", &json!({"type": "array", keyword: [{"type": "number"}, {"type": "string"}]}));
        becomes(&schema, &[(json!({"t": ["1", 2]}), json!({"t": [1, "2"]}))]);
        fails(&schema, &[(json!({"t": ["x", "y"]}), "t.0: expected number, got string")]);
    }
    becomes(
        &optional("t", &json!({"type": ["array", "null"], "items": {"type": "number"}})),
        &[
            (json!({"t": null}), json!({"t": null})),
            (json!({"t": ["1"]}), json!({"t": [1]})),
            (json!({"t": "[1]"}), json!({"t": [1]})),
        ],
    );
}

#[test]
fn all_of_is_coerced_too() {
    let schema = one("n", &json!({"allOf": [{"type": "number"}, {"minimum": 3}]}));
    becomes(&schema, &[(json!({"n": "5"}), json!({"n": 5}))]);
    fails(&schema, &[(json!({"n": 1}), "n: expected >= 3")]);
}

#[test]
fn names_with_dots_blanks_and_slashes_are_told_as_they_are() {
    let schema = json!({
        "type": "object",
        "properties": {"a.b": {"type": "number"}, "c/d": {"type": "number"}},
        "required": ["a.b", "c/d"],
    });
    fails(
        &schema,
        &[
            (json!({}), "a.b: missing | c/d: missing"),
            (
                json!({"a.b": "x", "c/d": "y"}),
                "a.b: expected number, got string | c/d: expected number, got string",
            ),
        ],
    );
    becomes(&schema, &[(json!({"a.b": 1, "c/d": "2"}), json!({"a.b": 1, "c/d": 2}))]);
}

#[test]
fn a_schema_that_makes_no_sense_lets_arguments_pass() {
    let schema = optional("n", &json!({"type": "number", "minimum": "x"}));
    becomes(&schema, &[(json!({"n": 1}), json!({"n": 1}))]);
}

#[test]
fn a_tool_that_changes_its_schema_is_compiled_anew() {
    let validators = ToolValidators::default();
    let arguments = json!({"n": "1"}).as_object().unwrap().clone();
    for (schema, wanted) in [("number", json!(1)), ("number", json!(1)), ("string", json!("1"))] {
        let tool = tool(one("n", &json!({"type": schema})));
        let got = validators.validate(&tool, arguments.clone()).unwrap();
        assert_eq!(got.get("n"), Some(&wanted));
    }
    assert_eq!(validators.compiled.lock().unwrap().len(), 1);
}
