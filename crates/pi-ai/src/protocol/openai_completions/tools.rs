//! Tool declarations on the wire.

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::compat::Compat;
use crate::protocol::strict_schema::strict_parameters;
use crate::types::{ConstrainedSampling, GrammarVariants, Tool};

/// `tools` as the endpoint takes them.
///
/// # Errors
/// A tool that must be strict or follow a grammar cannot.
pub(super) fn wire_tools(tools: &[Tool], compat: &Compat) -> Result<Vec<Value>, String> {
    let mut declarations =
        tools.iter().map(|tool| Declaration::of(tool, compat)).collect::<Result<Vec<_>, _>>()?;
    if compat.quirks.uniform_strictness && !declarations.iter().all(Declaration::is_strict) {
        for (declaration, tool) in declarations.iter_mut().zip(tools) {
            if declaration.is_strict() {
                strict_parameters(tool, false, &ANYTHING_GOES).map_err(|e| e.to_string())?;
                *declaration = Declaration::lenient(tool, compat);
            }
        }
    }
    Ok(tools.iter().zip(declarations).map(|(tool, d)| d.into_json(tool)).collect())
}

/// The protocol's strict mode refuses nothing beyond what all refuse.
const ANYTHING_GOES: fn(&str, &Value) -> bool = |_keyword, _value| false;

/// The property that carries the text of each grammar tool among `tools`, by tool name. Empty where
/// the endpoint takes no grammars.
///
/// # Errors
/// A grammar tool whose schema has no such property.
pub(super) fn grammar_properties<'a>(
    tools: impl IntoIterator<Item = &'a Tool>,
    compat: &Compat,
) -> Result<IndexMap<String, String>, String> {
    if !compat.grammar_tools {
        return Ok(IndexMap::new());
    }
    tools
        .into_iter()
        .filter(|tool| grammar_of(tool).is_some())
        .map(|tool| Ok((tool.name.clone(), grammar_property(tool)?.to_owned())))
        .collect()
}

enum Declaration {
    /// An ordinary function; `strict` is left out where the endpoint does not know it.
    Function {
        parameters: Value,
        strict: Option<bool>,
    },
    Grammar {
        syntax: &'static str,
        definition: String,
    },
}

impl Declaration {
    fn of(tool: &Tool, compat: &Compat) -> Result<Self, String> {
        match &tool.constrained_sampling {
            Some(ConstrainedSampling::Grammar { variants }) if compat.grammar_tools => {
                grammar_property(tool)?;
                Self::grammar(tool, variants)
            }
            _ => {
                let supported = compat.strict_mode
                    && !(compat.quirks.strict_spoils_optionals
                        && has_optional_property(&tool.parameters));
                let strict = strict_parameters(tool, supported, &ANYTHING_GOES)
                    .map_err(|error| error.to_string())?;
                Ok(match strict {
                    Some(parameters) => Self::Function { parameters, strict: Some(true) },
                    None => Self::lenient(tool, compat),
                })
            }
        }
    }

    fn lenient(tool: &Tool, compat: &Compat) -> Self {
        Self::Function {
            parameters: tool.parameters.clone(),
            strict: compat.strict_mode.then_some(false),
        }
    }

    fn grammar(tool: &Tool, variants: &GrammarVariants) -> Result<Self, String> {
        let lark = variants.openai_lark.as_ref().map(|definition| ("lark", definition));
        let regex = variants.openai_regex.as_ref().map(|definition| ("regex", definition));
        match lark.or(regex) {
            Some((syntax, definition)) => {
                Ok(Self::Grammar { syntax, definition: definition.clone() })
            }
            None => Err(grammar_refusal(tool, "no supported grammar variant was provided")),
        }
    }

    fn is_strict(&self) -> bool {
        matches!(self, Self::Function { strict: Some(true), .. })
    }

    fn into_json(self, tool: &Tool) -> Value {
        match self {
            Self::Function { parameters, strict } => {
                let mut function = json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": parameters,
                });
                if let (Some(strict), Some(function)) = (strict, function.as_object_mut()) {
                    function.insert("strict".into(), json!(strict));
                }
                json!({"type": "function", "function": function})
            }
            Self::Grammar { syntax, definition } => json!({
                "type": "custom",
                "custom": {
                    "name": tool.name,
                    "description": tool.description,
                    "format": {
                        "type": "grammar",
                        "grammar": {"syntax": syntax, "definition": definition},
                    },
                },
            }),
        }
    }
}

fn has_optional_property(schema: &Value) -> bool {
    match schema {
        Value::Object(node) => {
            let required = node.get("required").and_then(Value::as_array);
            let is_required = |name: &String| {
                required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)))
            };
            let properties = node.get("properties").and_then(Value::as_object);
            properties.is_some_and(|properties| !properties.keys().all(is_required))
                || node.values().any(has_optional_property)
        }
        Value::Array(nodes) => nodes.iter().any(has_optional_property),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn grammar_of(tool: &Tool) -> Option<&GrammarVariants> {
    match &tool.constrained_sampling {
        Some(ConstrainedSampling::Grammar { variants }) => Some(variants),
        Some(ConstrainedSampling::JsonSchema { .. }) | None => None,
    }
}

/// The one required property, which must be a string.
fn grammar_property(tool: &Tool) -> Result<&str, String> {
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let Some([Value::String(name)]) = required.map(Vec::as_slice) else {
        let reason = "grammar constrained sampling requires exactly one required string property";
        return Err(grammar_refusal(tool, reason));
    };
    let kind = tool.parameters.get("properties").and_then(|p| p.get(name)?.get("type"));
    if kind.and_then(Value::as_str) == Some("string") {
        Ok(name)
    } else {
        let reason = format!("grammar constrained sampling property {name} must have type string");
        Err(grammar_refusal(tool, &reason))
    }
}

fn grammar_refusal(tool: &Tool, reason: &str) -> String {
    format!("Tool {:?} cannot use grammar constrained sampling: {reason}.", tool.name)
}
