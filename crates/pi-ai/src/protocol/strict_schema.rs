//! The subset of JSON Schema that providers can force arguments into.
//!
//! Rewrites a tool's schema to that subset, or says why that is impossible. Never loosens what the
//! tool asked for: an optional property becomes required but may be null.

use serde_json::{Map, Value};

use crate::types::{ConstrainedSampling, Strictness, Tool};

#[cfg(test)]
mod tests;

/// Keywords no provider's strict mode takes.
const REFUSED: [&str; 16] = [
    "$defs",
    "$ref",
    "allOf",
    "contains",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedProperties",
];

/// Says whether a provider refuses a keyword with this value, beyond what all refuse.
pub(super) type RefusesKeyword<'a> = &'a dyn Fn(&str, &Value) -> bool;

/// Why a schema cannot be strict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotStrict {
    #[error("the provider has no strict tools")]
    Unsupported,
    #[error("its schema is not an object schema at the root")]
    Root,
    #[error("its schema uses {0:?}")]
    Keyword(String),
    #[error("its schema has a boolean in place of a schema")]
    Boolean,
    #[error("its schema has a part without a type")]
    Untyped,
    #[error("its schema has tuple items")]
    Tuple,
    #[error("its schema has a union with objects or arrays")]
    Union,
    #[error("its schema has an empty or malformed anyOf")]
    AnyOf,
    #[error("its schema allows properties it does not name")]
    OpenObject,
    #[error("its schema has malformed properties or required names")]
    Properties,
}

/// A tool that must be strict cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Tool {tool:?} requires strict arguments, but {reason}")]
pub(super) struct StrictRequired {
    pub(super) tool: String,
    #[source]
    pub(super) reason: NotStrict,
}

/// The strict form of a tool's parameters; `None` when the tool goes without: it does not ask, or
/// only prefers what is not possible.
///
/// # Errors
/// The tool requires what is not possible.
pub(super) fn strict_parameters(
    tool: &Tool,
    supported: bool,
    refuses: RefusesKeyword<'_>,
) -> Result<Option<Value>, StrictRequired> {
    let Some(ConstrainedSampling::JsonSchema { strict }) = &tool.constrained_sampling else {
        return Ok(None);
    };
    let parameters = if supported {
        strict_schema(&tool.parameters, refuses)
    } else {
        Err(NotStrict::Unsupported)
    };
    match (parameters, strict) {
        (Ok(parameters), _) => Ok(Some(parameters)),
        (Err(_), Strictness::Prefer) => Ok(None),
        (Err(reason), Strictness::Require) => {
            Err(StrictRequired { tool: tool.name.clone(), reason })
        }
    }
}

/// Rewrites an object schema to the strict subset.
///
/// # Errors
/// The first thing found that the subset has not.
pub(super) fn strict_schema(
    schema: &Value,
    refuses: RefusesKeyword<'_>,
) -> Result<Value, NotStrict> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(NotStrict::Root);
    }
    rewrite(schema, refuses)
}

fn rewrite(schema: &Value, refuses: RefusesKeyword<'_>) -> Result<Value, NotStrict> {
    let Value::Object(schema) = schema else {
        return Err(NotStrict::Boolean);
    };
    if let Some((keyword, _)) = schema
        .iter()
        .find(|(keyword, value)| REFUSED.contains(&keyword.as_str()) || refuses(keyword, value))
    {
        return Err(NotStrict::Keyword(keyword.clone()));
    }
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if !is_object && names_type(schema, "object") {
        return Err(NotStrict::Union);
    }
    if !["type", "enum", "anyOf"].iter().any(|keyword| schema.contains_key(*keyword))
        || (!is_object && schema.contains_key("properties"))
    {
        return Err(NotStrict::Untyped);
    }

    let mut out = schema.clone();
    if let Some(variants) = schema.get("anyOf") {
        out.insert("anyOf".into(), rewrite_union(variants, refuses)?);
    }
    match schema.get("items") {
        Some(Value::Array(_)) => return Err(NotStrict::Tuple),
        Some(items) => drop(out.insert("items".into(), rewrite(items, refuses)?)),
        None => {}
    }
    if is_object {
        close_object(&mut out, refuses)?;
    }
    Ok(Value::Object(out))
}

fn rewrite_union(variants: &Value, refuses: RefusesKeyword<'_>) -> Result<Value, NotStrict> {
    let variants = match variants {
        Value::Array(variants) if !variants.is_empty() => variants,
        _ => return Err(NotStrict::AnyOf),
    };
    let rewritten = variants.iter().map(|variant| {
        let is_nested = variant
            .as_object()
            .is_some_and(|variant| names_type(variant, "object") || names_type(variant, "array"));
        if is_nested { Err(NotStrict::Union) } else { rewrite(variant, refuses) }
    });
    rewritten.collect::<Result<Vec<_>, _>>().map(Value::Array)
}

/// Requires every property and allows no others.
fn close_object(
    schema: &mut Map<String, Value>,
    refuses: RefusesKeyword<'_>,
) -> Result<(), NotStrict> {
    if !matches!(schema.get("additionalProperties"), None | Some(Value::Bool(false))) {
        return Err(NotStrict::OpenObject);
    }
    let mut properties = match schema.get("properties") {
        None => None,
        Some(Value::Object(properties)) => Some(properties.clone()),
        Some(_) => return Err(NotStrict::Properties),
    };
    let required = required_names(schema.get("required"))?;
    let is_known = |name: &String| properties.as_ref().is_some_and(|p| p.contains_key(name));
    if !required.iter().all(is_known) {
        return Err(NotStrict::Properties);
    }
    for (name, property) in properties.iter_mut().flatten() {
        let rewritten = rewrite(property, refuses)?;
        *property = if required.contains(name) || accepts_null(&rewritten) {
            rewritten
        } else {
            serde_json::json!({"anyOf": [rewritten, {"type": "null"}]})
        };
    }
    let names = properties.iter().flat_map(Map::keys).cloned().map(Value::String).collect();
    schema.insert("required".into(), Value::Array(names));
    schema.insert("additionalProperties".into(), Value::Bool(false));
    if let Some(properties) = properties {
        schema.insert("properties".into(), Value::Object(properties));
    }
    Ok(())
}

fn required_names(required: Option<&Value>) -> Result<Vec<String>, NotStrict> {
    match required {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(str::to_owned).ok_or(NotStrict::Properties))
            .collect(),
        Some(_) => Err(NotStrict::Properties),
    }
}

fn names_type(schema: &Map<String, Value>, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name.as_str() == Some(kind)),
        _ => false,
    }
}

fn accepts_null(schema: &Value) -> bool {
    let Some(schema) = schema.as_object() else {
        return false;
    };
    let has = |keyword: &str, is_null: fn(&Value) -> bool| {
        schema.get(keyword).and_then(Value::as_array).is_some_and(|list| list.iter().any(is_null))
    };
    names_type(schema, "null") || has("enum", Value::is_null) || has("anyOf", accepts_null)
}
