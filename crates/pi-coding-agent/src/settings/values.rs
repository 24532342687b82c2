//! Reading single settings out of what the files hold.
//!
//! Owns: which values count as not there: those of the wrong kind, negative and endless numbers. Never:
//! fails, or knows what a setting means. Settings are named by their full name, as the catalogue does.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::catalogue::{self, count};

#[derive(Clone, Copy)]
pub(super) struct Values<'a>(&'a Map<String, Value>);

impl<'a> Values<'a> {
    pub(super) fn new(values: &'a Map<String, Value>) -> Self {
        Self(values)
    }

    pub(super) fn value(self, key: &str) -> Option<&'a Value> {
        debug_assert!(catalogue::find(key).is_some(), "{key} is not in the catalogue");
        match key.rsplit_once('.') {
            Some((groups, name)) => {
                let step = |values: &'a Map<String, Value>, name| values.get(name)?.as_object();
                groups.split('.').try_fold(self.0, step)?.get(name)
            }
            None => self.0.get(key),
        }
    }

    /// A blank text counts as none.
    pub(super) fn text(self, key: &str) -> Option<String> {
        let text = self.value(key)?.as_str()?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    /// A list without what is no text in it.
    pub(super) fn texts(self, key: &str) -> Option<Vec<String>> {
        let list = self.value(key)?.as_array()?;
        Some(list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect())
    }

    pub(super) fn list(self, key: &str) -> &'a [Value] {
        self.value(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn switch(self, key: &str, default: bool) -> bool {
        self.value(key).and_then(Value::as_bool).unwrap_or(default)
    }

    /// A number from 0 to 2^53, without its fraction.
    pub(super) fn count(self, key: &str) -> Option<u64> {
        count(self.value(key)?.as_f64()?)
    }

    pub(super) fn small_count(self, key: &str) -> Option<u32> {
        self.count(key).map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// 0 and `"disabled"` are `None`; a number in quotes counts as a number.
    pub(super) fn timeout(self, key: &str, default: u64) -> Option<u64> {
        let given = match self.value(key) {
            Some(Value::String(text)) if text.trim().eq_ignore_ascii_case("disabled") => Some(0),
            Some(Value::String(text)) => text.trim().parse().ok().and_then(count),
            Some(value) => value.as_f64().and_then(count),
            None => None,
        };
        Some(given.unwrap_or(default)).filter(|milliseconds| *milliseconds > 0)
    }

    pub(super) fn parsed<T: DeserializeOwned>(self, key: &str) -> Option<T> {
        T::deserialize(self.value(key)?).ok()
    }

    /// An object without what cannot be read in it.
    pub(super) fn entries<T: DeserializeOwned>(self, key: &str) -> IndexMap<String, T> {
        let entries = self.value(key).and_then(Value::as_object).into_iter().flatten();
        entries
            .filter_map(|(name, value)| Some((name.clone(), T::deserialize(value).ok()?)))
            .collect()
    }
}
