//! Reading JSON that is cut off or slightly broken.
//!
//! Models write raw line breaks into strings, invent escapes and stop half-way. Numbers are read as
//! JavaScript reads them: `1.0` is the integer 1.

use std::fmt::Write as _;

use jiter::{JsonValue, PartialMode};
use serde_json::{Map, Number, Value};

/// Parses whole argument text, repairing what models get wrong. Blank text is an empty object.
///
/// # Errors
/// What is wrong with text that is no object even after repair, followed by the text itself: the
/// model reads this and tries again.
pub(crate) fn parse_object(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let parsed = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&repair(text)).map_err(|_repaired| error));
    let problem = match parsed {
        Ok(Value::Object(mut object)) => {
            object.values_mut().for_each(unify_numbers);
            return Ok(object);
        }
        Ok(other) => format!("Expected a JSON object, received {}", kind(&other)),
        // The one wording known from stored sessions.
        Err(error) if error.is_eof() => "Unexpected end of JSON input".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("{problem}\n\nReceived arguments:\n{text}"))
}

/// Reads as much as there is of an object that is still arriving.
pub(crate) fn parse_partial_object(text: &str) -> Map<String, Value> {
    read_partial(text).or_else(|| read_partial(&repair(text))).unwrap_or_default()
}

fn read_partial(text: &str) -> Option<Map<String, Value>> {
    // The owned parser of jiter insists on the end of input even in partial mode.
    let mode = PartialMode::TrailingStrings;
    match JsonValue::parse_with_config(text.as_bytes(), false, mode).ok()? {
        JsonValue::Object(members) => Some(to_map(&members)),
        _ => None,
    }
}

fn to_map(members: &[(std::borrow::Cow<'_, str>, JsonValue<'_>)]) -> Map<String, Value> {
    members.iter().map(|(name, value)| (name.to_string(), to_value(value))).collect()
}

fn to_value(value: &JsonValue<'_>) -> Value {
    match value {
        JsonValue::Null => Value::Null,
        JsonValue::Bool(value) => Value::Bool(*value),
        JsonValue::Int(value) => Value::from(*value),
        JsonValue::Float(value) => {
            let mut value = Value::from(*value);
            unify_numbers(&mut value);
            value
        }
        JsonValue::Str(value) => Value::String(value.to_string()),
        JsonValue::Array(items) => Value::Array(items.iter().map(to_value).collect()),
        JsonValue::Object(members) => Value::Object(to_map(members)),
    }
}

/// Turns whole floating-point numbers into integers.
fn unify_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(whole_number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unify_numbers),
        Value::Object(members) => members.values_mut().for_each(unify_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn whole_number(value: f64) -> Option<Number> {
    // 2^53: beyond it a double is no longer an exact integer.
    if value.fract() != 0.0 || value.abs() > 9_007_199_254_740_992.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    let whole = value as i64;
    Some(Number::from(whole))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Escapes raw control characters inside strings, doubles backslashes that start no escape, and
/// drops halves of surrogate pairs. An escape cut off by the end of the text stays as it is.
fn repair(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (here, after) = rest.split_at(next.len_utf8());
        rest = after;
        match next {
            '"' => {
                in_string = !in_string;
                repaired.push('"');
            }
            '\\' if in_string => rest = repair_escape(after, &mut repaired),
            '\n' if in_string => repaired.push_str("\\n"),
            '\r' if in_string => repaired.push_str("\\r"),
            '\t' if in_string => repaired.push_str("\\t"),
            control if in_string && control < ' ' => {
                // Writing into a String cannot fail.
                _ = write!(repaired, "\\u{:04x}", u32::from(control));
            }
            _ => repaired.push_str(here),
        }
    }
    repaired
}

/// Takes one escape whose backslash has been read and returns the text after it.
fn repair_escape<'a>(after: &'a str, repaired: &mut String) -> &'a str {
    let Some(letter) = after.chars().next() else {
        repaired.push('\\');
        return after;
    };
    let (head, rest) = after.split_at(letter.len_utf8());
    match letter {
        '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
            repaired.push('\\');
            repaired.push_str(head);
            rest
        }
        'u' => repair_unicode_escape(rest, repaired),
        _ => {
            repaired.push_str("\\\\");
            after
        }
    }
}

/// As [`repair_escape`], behind `\u`.
fn repair_unicode_escape<'a>(after: &'a str, repaired: &mut String) -> &'a str {
    let Some((digits, rest)) = after.split_at_checked(4) else {
        let cut_off = after.bytes().all(|byte| byte.is_ascii_hexdigit());
        repaired.push_str(if cut_off { "\\u" } else { "\\\\u" });
        return after;
    };
    let Some(unit) = hex_unit(digits) else {
        repaired.push_str("\\\\u");
        return after;
    };
    match unit {
        0xD800..=0xDBFF => match rest.strip_prefix("\\u").and_then(|low| low.split_at_checked(4)) {
            Some((low, rest)) if matches!(hex_unit(low), Some(0xDC00..=0xDFFF)) => {
                _ = write!(repaired, "\\u{digits}\\u{low}");
                rest
            }
            _ => rest,
        },
        0xDC00..=0xDFFF => rest,
        _ => {
            _ = write!(repaired, "\\u{digits}");
            rest
        }
    }
}

fn hex_unit(digits: &str) -> Option<u16> {
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn whole_texts_are_read_and_repaired() {
        let cases = [
            ("blank", "  \n", json!({})),
            ("plain", r#"{"b":1,"a":[true,null]}"#, json!({"b": 1, "a": [true, null]})),
            (
                "whole floats are integers",
                r#"{"n":10.0,"m":[1e3,0.5]}"#,
                json!({"n": 10, "m": [1000, 0.5]}),
            ),
            ("raw control characters", "{\"a\":\"x\ny\tz\u{1}\"}", json!({"a": "x\ny\tz\u{1}"})),
            ("bad escapes", r#"{"a":"\d+\x\'"}"#, json!({"a": "\\d+\\x\\'"})),
            ("bad unicode escape", r#"{"a":"\uzz99 \u12"}"#, json!({"a": "\\uzz99 \\u12"})),
            ("surrogate pair", r#"{"a":"\ud83d\ude00"}"#, json!({"a": "😀"})),
            (
                "halves of pairs are dropped",
                r#"{"a":"<\ud83d><\ude00>\ud83d\n"}"#,
                json!({"a": "<><>\n"}),
            ),
            ("escaped quote after repair", "{\"a\":\"\\\"\n\\\\\"}", json!({"a": "\"\n\\"})),
        ];
        for (case, text, expected) in cases {
            assert_eq!(parse_object(text).map(Value::Object), Ok(expected), "{case}");
        }
    }

    #[test]
    fn what_is_no_object_names_the_problem_and_shows_the_text() {
        let cut = r#"{"path": "a.txt", "limit": "#;
        let expected = format!("Unexpected end of JSON input\n\nReceived arguments:\n{cut}");
        assert_eq!(parse_object(cut), Err(expected));
        let array = "Expected a JSON object, received an array\n\nReceived arguments:\n[1]";
        assert_eq!(parse_object("[1]"), Err(array.to_owned()));
        let garbage = parse_object("{'a':1}").unwrap_err();
        assert!(garbage.ends_with("\n\nReceived arguments:\n{'a':1}"), "{garbage}");
    }

    #[test]
    fn cut_texts_give_what_is_there() {
        let cases = [
            (r#"{"path":"a","content":"hel"#, json!({"path": "a", "content": "hel"})),
            (r#"{"a": tru"#, json!({})),
            (r#"{"a":1."#, json!({})),
            (r#"{"a""#, json!({})),
            (r#"{"a":"abc\"#, json!({"a": "abc"})),
            (r#"{"a":"x\u12"#, json!({"a": "x"})),
            (r#"{"a":[1,{"b":"#, json!({"a": [1, {}]})),
            (r#"{"a":1}}"#, json!({"a": 1})),
            ("", json!({})),
            ("{\"a\":\"x\ny", json!({"a": "x\ny"})),
            (r#"{"a":"\d","b":"\"#, json!({"a": "\\d", "b": ""})),
            (r#"{"a":2.0,"a":3.0}"#, json!({"a": 3})),
            ("[1,2", json!({})),
        ];
        for (text, expected) in cases {
            assert_eq!(Value::Object(parse_partial_object(text)), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_fatal(text in "[{}\\[\\]\"\\\\:,u0-9a-fA-F\\n\\t😀d8]{0,40}") {
            drop(parse_object(&text));
            drop(parse_partial_object(&text));
        }

        #[test]
        fn what_json_writes_is_read_back(text in any::<String>(), number in any::<i64>()) {
            let value = json!({"t": text, "n": number, "l": [{"x": text}]});
            prop_assert_eq!(parse_object(&value.to_string()).map(Value::Object), Ok(value.clone()));
            prop_assert_eq!(Value::Object(parse_partial_object(&value.to_string())), value);
        }
    }
}
