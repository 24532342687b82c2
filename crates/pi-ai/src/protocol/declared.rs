//! What a model's `compat` declares. A value of the wrong type counts as absent: catalogues written
//! for other versions must not make a model unusable.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::types::Model;

/// The switches of one model, by their names in the catalogue.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a>(Option<&'a Map<String, Value>>);

impl<'a> Declared<'a> {
    pub(super) fn by(model: &'a Model) -> Self {
        Self(model.compat.as_ref())
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.and_then(|compat| compat.get(name))
    }

    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    /// Whether a flag that is off by default is on.
    pub(super) fn is_set(self, name: &str) -> bool {
        self.flag(name).unwrap_or(false)
    }

    pub(super) fn word<T: DeserializeOwned>(self, name: &str) -> Option<T> {
        self.get(name).and_then(|value| T::deserialize(value).ok())
    }

    pub(super) fn object(self, name: &str) -> Option<Map<String, Value>> {
        self.get(name).and_then(Value::as_object).cloned()
    }

    /// The entries of a list that can be read.
    pub(super) fn list<T: DeserializeOwned>(self, name: &str) -> Vec<T> {
        let entries = self.get(name).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| T::deserialize(entry).ok()).collect()
    }
}
