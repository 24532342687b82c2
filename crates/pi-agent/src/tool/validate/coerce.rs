//! Mends what models commonly get wrong. Driven by the validator's errors, so that a valid value is
//! never touched and references need no code here.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::types::JsonType;
use jsonschema::{ValidationError, Validator};
use serde_json::{Number, Value};

use super::Checker;

/// Each round mends one more level of nesting; deeper schemas than this do not occur.
const MAX_ROUNDS: usize = 32;

/// 2^53: beyond it a double is no longer an exact integer.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

type Errors = Vec<ValidationError<'static>>;

/// Gives the value as the schema wants it, or what stands in the way.
pub(super) fn coerce(checker: &Checker, received: &Value) -> Result<Value, Errors> {
    let mut value = received.clone();
    drop_empty_fractions(&mut value);
    for _ in 0..MAX_ROUNDS {
        let errors = errors_of(&checker.validator, &value);
        if errors.is_empty() {
            return Ok(value);
        }
        if !mend_all(checker, &mut value, &errors) {
            return Err(errors);
        }
    }
    Err(errors_of(&checker.validator, &value))
}

/// JSON makes no difference between `2.0` and `2`, Rust does: tools that read integers want `2`.
fn drop_empty_fractions(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(whole) = number.as_f64().and_then(integer) {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty_fractions),
        Value::Object(map) => map.values_mut().for_each(drop_empty_fractions),
        _ => {}
    }
}

/// The types a `type` keyword names, in the order the schema does.
pub(super) fn expected_types(
    checker: &Checker,
    error: &ValidationError<'_>,
    kind: &TypeKind,
) -> Vec<JsonType> {
    let mut types: Vec<JsonType> = match kind {
        TypeKind::Single(single) => vec![*single],
        TypeKind::Multiple(set) => set.iter().collect(),
    };
    if let Some(Value::Array(named)) = checker.schema.pointer(error.schema_path().as_str()) {
        types.sort_by_key(|kind| named.iter().position(|name| *name == kind.as_str()));
    }
    types
}

fn errors_of(validator: &Validator, value: &Value) -> Errors {
    if validator.is_valid(value) {
        return Vec::new();
    }
    validator.iter_errors(value).map(ValidationError::to_owned).collect()
}

fn mend_all(checker: &Checker, value: &mut Value, errors: &[ValidationError<'static>]) -> bool {
    let mut changed = false;
    for error in errors {
        changed |= mend(checker, value, error);
    }
    changed
}

fn mend(checker: &Checker, value: &mut Value, error: &ValidationError<'static>) -> bool {
    let path = error.instance_path().as_str();
    let mended = match (error.kind(), value.pointer(path)) {
        (
            ValidationErrorKind::Type { .. }
            | ValidationErrorKind::Enum { .. }
            | ValidationErrorKind::Constant { .. }
            | ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. },
            Some(Value::Null),
        ) => return drop_optional(checker, value, path),
        (ValidationErrorKind::Type { kind }, Some(wrong)) => {
            expected_types(checker, error, kind).into_iter().find_map(|kind| convert(wrong, kind))
        }
        (ValidationErrorKind::Enum { options }, Some(wrong)) => options
            .as_array()
            .and_then(|options| options.iter().find(|option| same_text(option, wrong)))
            .cloned(),
        (ValidationErrorKind::Constant { expected_value }, Some(wrong)) => {
            same_text(expected_value, wrong).then(|| expected_value.as_ref().clone())
        }
        (
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context },
            Some(_),
        ) => return mend_union(checker, value, error, context.len()),
        _ => None,
    };
    match (mended, value.pointer_mut(path)) {
        (Some(mended), Some(slot)) => {
            *slot = mended;
            true
        }
        _ => false,
    }
}

/// Removes a `null` property, unless it is required.
fn drop_optional(checker: &Checker, value: &mut Value, path: &str) -> bool {
    let Some((parent_path, name)) = path.rsplit_once('/') else { return false };
    let name = name.replace("~1", "/").replace("~0", "~");
    let mut without = value.clone();
    let Some(Value::Object(parent)) = without.pointer_mut(parent_path) else { return false };
    parent.shift_remove(&name);
    let is_required = any_error(&errors_of(&checker.validator, &without), &|error| {
        let missing = ValidationErrorKind::Required { property: Value::String(name.clone()) };
        error.instance_path().as_str() == parent_path && same_kind(error.kind(), &missing)
    });
    if !is_required {
        *value = without;
    }
    !is_required
}

fn same_kind(a: &ValidationErrorKind, b: &ValidationErrorKind) -> bool {
    match (a, b) {
        (
            ValidationErrorKind::Required { property: a },
            ValidationErrorKind::Required { property: b },
        ) => a == b,
        _ => false,
    }
}

/// Mends the value for the first arm of the union that then takes it.
fn mend_union(
    checker: &Checker,
    value: &mut Value,
    union: &ValidationError<'static>,
    arms: usize,
) -> bool {
    for arm in 0..arms {
        let mut candidate = value.clone();
        for _ in 0..MAX_ROUNDS {
            let errors = errors_of(&checker.validator, &candidate);
            let Some(arm_errors) = arm_errors(&errors, union, arm) else {
                *value = candidate;
                return true;
            };
            if !mend_all(checker, &mut candidate, arm_errors) {
                break;
            }
        }
    }
    false
}

/// What an arm of `union` has against the value; `None` when the union is content.
fn arm_errors<'a>(
    errors: &'a [ValidationError<'static>],
    union: &ValidationError<'static>,
    arm: usize,
) -> Option<&'a [ValidationError<'static>]> {
    errors.iter().find_map(|error| {
        let context = arms_of(error)?;
        if error.instance_path() == union.instance_path()
            && error.schema_path() == union.schema_path()
        {
            return context.get(arm).map(Vec::as_slice);
        }
        context.iter().find_map(|errors| arm_errors(errors, union, arm))
    })
}

fn any_error(
    errors: &[ValidationError<'static>],
    is_it: &dyn Fn(&ValidationError<'static>) -> bool,
) -> bool {
    errors.iter().any(|error| {
        is_it(error)
            || arms_of(error).is_some_and(|arms| arms.iter().any(|errors| any_error(errors, is_it)))
    })
}

fn arms_of<'a>(error: &'a ValidationError<'static>) -> Option<&'a [Errors]> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => Some(context),
        _ => None,
    }
}

fn convert(value: &Value, kind: JsonType) -> Option<Value> {
    match (kind, value) {
        (_, Value::Null) => None,
        (JsonType::Null, Value::String(text)) => {
            matches!(text.as_str(), "" | "null").then_some(Value::Null)
        }
        (JsonType::Boolean, Value::String(text)) => match text.trim().to_ascii_lowercase().as_str()
        {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (JsonType::Boolean, Value::Number(number)) => match number.as_i64()? {
            0 => Some(Value::Bool(false)),
            1 => Some(Value::Bool(true)),
            _ => None,
        },
        (JsonType::Number | JsonType::Integer, Value::Bool(flag)) => Some(u8::from(*flag).into()),
        (JsonType::Number, Value::String(text)) => parse_number(text),
        (JsonType::Integer, Value::String(text)) => whole(&parse_number(text)?),
        (JsonType::Integer, Value::Number(_)) => whole(value),
        (JsonType::String, Value::Number(_) | Value::Bool(_)) => {
            Some(Value::String(value.to_string()))
        }
        (JsonType::Array, Value::String(text)) => match serde_json::from_str(text) {
            Ok(parsed @ Value::Array(_)) => Some(parsed),
            _ => Some(Value::Array(vec![value.clone()])),
        },
        (JsonType::Array, _) => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}

fn parse_number(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    match integer(number) {
        Some(whole) => Some(whole.into()),
        None => Number::from_f64(number).map(Value::Number),
    }
}

/// The number without its fraction.
fn whole(value: &Value) -> Option<Value> {
    match value.as_i64() {
        Some(_) => Some(value.clone()),
        None => integer(value.as_f64()?.trunc()).map(Value::from),
    }
}

fn integer(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    (number.fract() == 0.0 && number.abs() < EXACT_INTEGERS).then_some(number as i64)
}

/// Whether a scalar and a text say the same, as `1` and `"1"` do.
fn same_text(wanted: &Value, value: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    text(wanted).is_some_and(|wanted| Some(wanted) == text(value))
}
