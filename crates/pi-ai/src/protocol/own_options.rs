//! Options of one protocol, typed on both sides of [`ProtocolOptions`].

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::types::ProtocolOptions;

/// Reads a protocol's options; others in the map are left alone.
///
/// # Errors
/// An option has a value of the wrong kind.
pub(super) fn read<T: DeserializeOwned>(options: &ProtocolOptions) -> Result<T, String> {
    T::deserialize(options).map_err(|error| format!("Invalid request option: {error}"))
}

/// The options under their documented names.
pub(super) fn write(options: &impl Serialize) -> ProtocolOptions {
    match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map,
        // A struct of plain words always becomes an object.
        Ok(_) | Err(_) => ProtocolOptions::new(),
    }
}
