//! Makes the arguments a model sent fit a tool's schema, or says what is wrong with them.
//!
//! Owns: everything that touches the JSON Schema library, and the text the model reads. Never:
//! changes a value that is valid as it stands.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value};

mod coerce;
mod report;
#[cfg(test)]
mod tests;

/// Compiled schemas by tool name; a tool that changed its schema is compiled anew.
#[derive(Debug, Default)]
pub struct ToolValidators {
    compiled: Mutex<BTreeMap<String, Arc<Compiled>>>,
}

#[derive(Debug)]
struct Compiled {
    /// As the tool gave it, to notice a change.
    schema: Value,
    /// `None` for a schema that makes no sense: its tool gets its arguments unchecked.
    checker: Option<Checker>,
}

#[derive(Debug)]
struct Checker {
    schema: Value,
    validator: Validator,
}

impl ToolValidators {
    /// Coerces and validates.
    ///
    /// # Errors
    /// What the model reads: every problem by path, and the arguments as received.
    pub fn validate(
        &self,
        tool: &pi_ai::Tool,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let compiled = self.compiled(tool);
        let Some(checker) = &compiled.checker else { return Ok(arguments) };
        let received = Value::Object(arguments);
        match coerce::coerce(checker, &received) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(other) => Err(report::failure(&tool.name, &[], &other)),
            Err(errors) => {
                let problems = report::problems(checker, &errors);
                Err(report::failure(&tool.name, &problems, &received))
            }
        }
    }

    fn compiled(&self, tool: &pi_ai::Tool) -> Arc<Compiled> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        match compiled.get(&tool.name) {
            Some(known) if known.schema == tool.parameters => Arc::clone(known),
            _ => {
                let schema = tool.parameters.clone();
                let fresh = Arc::new(Compiled { checker: Checker::new(&schema), schema });
                compiled.insert(tool.name.clone(), Arc::clone(&fresh));
                fresh
            }
        }
    }
}

impl Checker {
    fn new(schema: &Value) -> Option<Self> {
        let mut schema = schema.clone();
        if let Value::Object(root) = &mut schema {
            // Arguments are always an object, and no other document refers to this one by name.
            root.shift_remove("$id");
        }
        let mut options = jsonschema::options().should_validate_formats(true);
        if schema.get("$schema").is_none() && has_tuple_items(&schema) {
            options = options.with_draft(Draft::Draft201909);
        }
        let validator = options.build(&schema).ok()?;
        Some(Self { schema, validator })
    }
}

/// A list of item schemas is how drafts before 2020-12 wrote tuples.
fn has_tuple_items(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            map.get("items").is_some_and(Value::is_array) || map.values().any(has_tuple_items)
        }
        Value::Array(items) => items.iter().any(has_tuple_items),
        _ => false,
    }
}
