//! Reading validated arguments, forgiving what models get nearly right.

use pi_agent::ToolError;
use serde_json::{Map, Value};

/// A required string.
pub(crate) fn text(arguments: &Map<String, Value>, name: &str) -> Result<String, ToolError> {
    match arguments.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(ToolError::new(format!("{name} must be a string"))),
    }
}

/// An optional string; `null` counts as absent.
pub(crate) fn optional_text(
    arguments: &Map<String, Value>,
    name: &str,
) -> Result<Option<String>, ToolError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(arguments, name).map(Some),
    }
}

/// An optional yes or no; anything else than `true` is no.
pub(crate) fn flag(arguments: &Map<String, Value>, name: &str) -> bool {
    matches!(arguments.get(name), Some(Value::Bool(true)))
}

/// How many results are wanted: a whole number, at least 1.
pub(crate) fn limit(
    arguments: &Map<String, Value>,
    name: &str,
    default: u64,
) -> Result<u64, ToolError> {
    Ok(number(arguments, name)?.map_or(default, |limit| whole(limit).max(1)))
}

/// The whole part of a number; 0 for what is below.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
pub(crate) fn whole(number: f64) -> u64 {
    number as u64
}

/// An optional number; `null` counts as absent, a numeric string as its number.
pub(crate) fn number(arguments: &Map<String, Value>, name: &str) -> Result<Option<f64>, ToolError> {
    let number = match arguments.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(ToolError::new(format!("{name} must be a number"))),
    }
}

/// Drops optional arguments that are `null`, as models forced into a strict schema write them.
pub(crate) fn without_nulls(
    mut arguments: Map<String, Value>,
    names: &[&str],
) -> Map<String, Value> {
    for name in names {
        if arguments.get(*name).is_some_and(Value::is_null) {
            arguments.shift_remove(*name);
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_absent_and_numeric_strings_are_understood() {
        let arguments = json!({"a": null, "b": "12", "c": 3, "d": "x", "e": []});
        let arguments = arguments.as_object().unwrap();
        assert_eq!(number(arguments, "missing"), Ok(None));
        assert_eq!(number(arguments, "a"), Ok(None));
        assert_eq!(number(arguments, "b"), Ok(Some(12.0)));
        assert_eq!(number(arguments, "c"), Ok(Some(3.0)));
        assert!(number(arguments, "d").is_err() && number(arguments, "e").is_err());
        let rest = without_nulls(arguments.clone(), &["a", "b"]);
        assert_eq!(rest.keys().collect::<Vec<_>>(), ["b", "c", "d", "e"]);
        assert!(text(arguments, "c").is_err() && text(arguments, "missing").is_err());
    }
}
