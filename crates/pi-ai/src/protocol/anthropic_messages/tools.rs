//! Tool declarations.

use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::content;
use super::strict_memory::StrictMemory;
use crate::protocol::strict_schema::strict_parameters;
use crate::types::{ConstrainedSampling, Strictness, Tool};

/// Stands at the end of a frozen tool list, so that tools may be added later.
const PLACEHOLDER: &str = "__pi_deferred_placeholder__";
const PLACEHOLDER_DESCRIPTION: &str = "Reserved placeholder. Never available. Never call this.";
/// String formats the strict mode knows.
const STRICT_FORMATS: [&str; 10] =
    ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"];

/// Writes tool declarations of one request.
pub(super) struct ToolWriter<'a> {
    pub(super) compat: &'a Compat,
    /// Tools that only prefer to be strict may be.
    pub(super) prefer_strict: bool,
    pub(super) memory: &'a StrictMemory,
}

impl ToolWriter<'_> {
    /// The top-level list; `frozen` lists take additions later.
    pub(super) fn list(
        &self,
        tools: &[Tool],
        frozen: bool,
        cache_control: Option<&Value>,
    ) -> Result<Vec<Value>, String> {
        let mut list =
            tools.iter().map(|tool| self.declaration(tool)).collect::<Result<Vec<_>, _>>()?;
        if self.compat.cache_control_on_tools
            && let Some(last) = list.last_mut()
        {
            content::mark(last, cache_control);
        }
        if frozen {
            list.push(json!({
                "name": PLACEHOLDER,
                "description": PLACEHOLDER_DESCRIPTION,
                "input_schema": {"type": "object", "properties": {}, "required": []},
                "defer_loading": true,
            }));
        }
        Ok(list)
    }

    /// One declaration.
    ///
    /// # Errors
    /// The tool must be strict and cannot be.
    pub(super) fn declaration(&self, tool: &Tool) -> Result<Value, String> {
        let loose = self.write(tool, &tool.parameters, false);
        let prefers = matches!(
            tool.constrained_sampling,
            Some(ConstrainedSampling::JsonSchema { strict: Strictness::Prefer })
        );
        if prefers && !self.prefer_strict {
            return Ok(loose);
        }
        match strict_parameters(tool, self.compat.strict_tools, &refuses)
            .map_err(|error| error.to_string())?
        {
            None => Ok(loose),
            Some(parameters) => {
                let strict = self.write(tool, &parameters, true);
                if prefers {
                    self.memory.remember_loose(&strict, loose);
                }
                Ok(strict)
            }
        }
    }

    fn write(&self, tool: &Tool, parameters: &Value, strict: bool) -> Value {
        let mut declaration = Map::new();
        declaration.insert("name".into(), Value::from(tool.name.as_str()));
        declaration.insert("description".into(), Value::from(tool.description.as_str()));
        if self.compat.eager_tool_input_streaming {
            declaration.insert("eager_input_streaming".into(), Value::Bool(true));
        }
        if strict {
            declaration.insert("strict".into(), Value::Bool(true));
        }
        let schema = if strict { whole_schema(parameters) } else { known_schema(parameters) };
        declaration.insert("input_schema".into(), schema);
        Value::Object(declaration)
    }
}

/// A strict schema goes out whole; the API insists on `properties`.
fn whole_schema(parameters: &Value) -> Value {
    let mut schema = parameters.clone();
    if let Value::Object(schema) = &mut schema {
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The root keywords every host of this protocol takes.
fn known_schema(parameters: &Value) -> Value {
    let get = |keyword: &str| parameters.get(keyword).filter(|value| !value.is_null());
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), get("properties").cloned().unwrap_or_else(|| json!({})));
    schema.insert("required".into(), get("required").cloned().unwrap_or_else(|| json!([])));
    for keyword in ["additionalProperties", "$defs", "definitions"] {
        if let Some(value) = get(keyword) {
            schema.insert(keyword.into(), value.clone());
        }
    }
    Value::Object(schema)
}

/// Keywords Anthropic's strict mode refuses beyond what all refuse.
fn refuses(keyword: &str, value: &Value) -> bool {
    match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf"
        | "maxItems" | "uniqueItems" | "minContains" | "maxContains" | "minProperties"
        | "maxProperties" => true,
        "minItems" => !matches!(value.as_u64(), Some(0 | 1)),
        "format" => !value.as_str().is_some_and(|format| STRICT_FORMATS.contains(&format)),
        _ => false,
    }
}
