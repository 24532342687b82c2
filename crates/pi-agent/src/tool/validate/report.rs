//! What the model reads about arguments that do not fit.

use std::collections::BTreeMap;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::Checker;
use super::coerce::expected_types;

/// The whole text of a failed validation.
pub(super) fn failure(tool: &str, problems: &[String], received: &Value) -> String {
    let mut text = format!("Validation failed for tool \"{tool}\":");
    for problem in problems {
        text.push_str("\n  - ");
        text.push_str(problem);
    }
    text.push_str("\n\nReceived arguments:\n");
    text.push_str(&serde_json::to_string_pretty(received).unwrap_or_default());
    text
}

/// One line per problem, `<path>: <problem>`.
pub(super) fn problems(checker: &Checker, errors: &[ValidationError<'static>]) -> Vec<String> {
    let mut lines = Vec::new();
    describe_all(checker, errors, &mut lines);
    lines
}

fn describe_all(checker: &Checker, errors: &[ValidationError<'static>], lines: &mut Vec<String>) {
    for error in in_order(errors) {
        // A value of the wrong type breaks other rules too; those say nothing new.
        let is_consequence = !is_type_error(error)
            && errors
                .iter()
                .any(|e| is_type_error(e) && e.instance_path() == error.instance_path());
        if !is_consequence {
            describe(checker, error, lines);
        }
    }
}

/// Per object: what is missing, then what is wrong inside, then what does not belong.
fn in_order<'a>(errors: &'a [ValidationError<'static>]) -> Vec<&'a ValidationError<'static>> {
    let mut first_seen = BTreeMap::new();
    let mut keyed: Vec<_> = errors
        .iter()
        .enumerate()
        .map(|(index, error)| {
            let path = error.instance_path().as_str();
            let ends = path.char_indices().filter(|(at, c)| *c == '/' && *at > 0);
            let mut key: Vec<(u8, usize)> = ends
                .map(|(at, _)| at)
                .chain((!path.is_empty()).then_some(path.len()))
                .map(|end| (1, *first_seen.entry(path.get(..end)).or_insert(index)))
                .collect();
            key.push(match error.kind() {
                Kind::Required { .. } => (0, index),
                Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => {
                    (2, index)
                }
                _ => (1, index),
            });
            (key, error)
        })
        .collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed.into_iter().map(|(_, error)| error).collect()
}

fn describe(checker: &Checker, error: &ValidationError<'static>, lines: &mut Vec<String>) {
    match error.kind() {
        Kind::Required { property } => {
            lines.push(format!("{}: missing", child_path(error, &name_of(property))));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            lines.extend(
                unexpected.iter().map(|name| format!("{}: unknown field", child_path(error, name))),
            );
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            describe_union(checker, error, context, lines);
        }
        kind => lines.push(format!("{}: {}", path_of(error), problem(checker, error, kind))),
    }
}

fn problem(checker: &Checker, error: &ValidationError<'static>, kind: &Kind) -> String {
    match kind {
        Kind::Type { kind } => {
            let types = expected_types(checker, error, kind);
            let names: Vec<_> = types.iter().map(|kind| kind.as_str()).collect();
            format!("expected {}, got {}", names.join(" or "), type_name(error.instance()))
        }
        Kind::Enum { options } => format!("expected one of {options}"),
        Kind::Constant { expected_value } => format!("expected {expected_value}"),
        Kind::Minimum { limit } => format!("expected >= {limit}"),
        Kind::Maximum { limit } => format!("expected <= {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("expected > {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("expected < {limit}"),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => format!("expected at most {limit} characters"),
        Kind::Pattern { pattern } => format!("expected to match {pattern}"),
        Kind::MinItems { limit } => format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items"),
        Kind::UniqueItems => "expected unique items".to_owned(),
        Kind::MinProperties { limit } => format!("expected at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} properties"),
        Kind::Format { format } => format!("expected format {format}"),
        Kind::Not { .. } => "must not match the schema in not".to_owned(),
        Kind::OneOfMultipleValid { .. } => "matches more than one alternative".to_owned(),
        _ => error.masked().to_string(),
    }
}

/// Tells of one arm only: the one the value was meant for, as far as its type and its constant
/// fields tell.
fn describe_union(
    checker: &Checker,
    union: &ValidationError<'static>,
    arms: &[Vec<ValidationError<'static>>],
    lines: &mut Vec<String>,
) {
    let open: Vec<_> = arms.iter().filter(|arm| tag_error(union, arm).is_none()).collect();
    let same_type = open.iter().find(|arm| {
        !arm.iter().any(|e| is_type_error(e) && e.instance_path() == union.instance_path())
    });
    if let Some(arm) = same_type.or_else(|| open.first()) {
        describe_all(checker, arm, lines);
        return;
    }
    let tags: Vec<_> = arms.iter().filter_map(|arm| tag_error(union, arm)).collect();
    if let Some(first) = tags.first() {
        let wanted: Vec<Value> = tags.iter().flat_map(|error| wanted(error)).collect();
        lines.push(format!("{}: expected one of {}", path_of(first), Value::Array(wanted)));
    }
}

/// The error of a field with a fixed value, right below the union.
fn tag_error<'a>(
    union: &ValidationError<'static>,
    arm: &'a [ValidationError<'static>],
) -> Option<&'a ValidationError<'static>> {
    let depth = segments(union).count() + 1;
    arm.iter().find(|error| {
        matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
            && segments(error).count() == depth
    })
}

fn wanted(error: &ValidationError<'static>) -> Vec<Value> {
    match error.kind() {
        Kind::Constant { expected_value } => vec![expected_value.as_ref().clone()],
        Kind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn is_type_error(error: &ValidationError<'static>) -> bool {
    matches!(error.kind(), Kind::Type { .. })
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn path_of(error: &ValidationError<'static>) -> String {
    let path: Vec<_> = segments(error).collect();
    if path.is_empty() { "root".to_owned() } else { path.join(".") }
}

fn child_path(error: &ValidationError<'static>, name: &str) -> String {
    segments(error).chain([name.to_owned()]).collect::<Vec<_>>().join(".")
}

fn segments<'a>(error: &'a ValidationError<'static>) -> impl Iterator<Item = String> + 'a {
    let pointer = error.instance_path().as_str();
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
}

fn name_of(property: &Value) -> String {
    property.as_str().map_or_else(|| property.to_string(), str::to_owned)
}
