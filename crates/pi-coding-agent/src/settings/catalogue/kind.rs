//! What a setting may be: checked, described in words, and described as JSON Schema.

use serde_json::{Map, Value, json};

/// Largest integer that JavaScript holds exactly; settings are shared with programs written in it.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

#[derive(Debug)]
pub enum Kind {
    Switch,
    Text,
    OneOf(&'static [&'static str]),
    /// From 0 to 2^53; a fraction is dropped.
    Number,
    /// A number of milliseconds, also in quotes, or `"disabled"`; 0 says the same.
    Timeout,
    /// Whole, from 0 to 2^53 - 1. What is not is no default, but an error.
    Size,
    /// Whole, both ends included.
    Between(u64, u64),
    /// `false` alone.
    No,
    Either(&'static [Self]),
    List(&'static Self),
    /// An object whose names are anybody's, each with a value of this kind.
    Entries(&'static Self),
    /// An object with these names, and perhaps others.
    Fields(&'static [(&'static str, Self)]),
}

/// How words about a kind are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Plain,
    Markdown,
}

/// A part of a setting that is not what it may be.
#[derive(Debug)]
pub(crate) struct Fault<'a> {
    /// Full name: that of the setting, then names and numbers of what is in it.
    pub(crate) key: String,
    pub(crate) value: &'a Value,
    pub(crate) kind: &'static Kind,
}

impl Kind {
    pub fn accepts(&'static self, value: &Value) -> bool {
        let mut faults = Vec::new();
        self.check(value, "", &mut faults);
        faults.is_empty()
    }

    /// Adds what is wrong with `value`, the setting or part named `key`.
    pub(crate) fn check<'a>(
        &'static self,
        value: &'a Value,
        key: &str,
        faults: &mut Vec<Fault<'a>>,
    ) {
        let is_right = match (self, value) {
            (Self::Switch, value) => value.is_boolean(),
            (Self::Text, value) => value.is_string(),
            (Self::OneOf(words), value) => value.as_str().is_some_and(|word| words.contains(&word)),
            (Self::Number, value) => value.as_f64().and_then(count).is_some(),
            (Self::Timeout, value) => is_timeout(value),
            (Self::Size, value) => whole(value).is_some(),
            (Self::Between(least, most), value) => {
                whole(value).is_some_and(|number| (least..=most).contains(&&number))
            }
            (Self::No, value) => *value == json!(false),
            (Self::Either(kinds), value) => kinds.iter().any(|kind| kind.accepts(value)),
            (Self::List(kind), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    kind.check(item, &format!("{key}.{index}"), faults);
                }
                true
            }
            (Self::Entries(kind), Value::Object(entries)) => {
                for (name, value) in entries {
                    kind.check(value, &format!("{key}.{name}"), faults);
                }
                true
            }
            (Self::Fields(fields), Value::Object(given)) => {
                check_fields(fields, given, key, faults);
                true
            }
            (Self::List(_) | Self::Entries(_) | Self::Fields(_), _) => false,
        };
        if !is_right {
            faults.push(Fault { key: key.to_owned(), value, kind: self });
        }
    }

    /// What is allowed, for people.
    pub fn words(&self, style: Words) -> String {
        let code = |text: &str| match style {
            Words::Plain => text.to_owned(),
            Words::Markdown => format!("`{text}`"),
        };
        let listed = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(", ");
        match self {
            Self::Switch => format!("{}, {}", code("true"), code("false")),
            Self::Text => "text".to_owned(),
            Self::OneOf(words) => listed(&mut words.iter().map(|word| code(word))),
            Self::Number => "number from 0".to_owned(),
            Self::Timeout => format!("milliseconds or {}", code("disabled")),
            Self::Size => "whole number from 0".to_owned(),
            Self::Between(least, most) => format!("whole number from {least} to {most}"),
            Self::No => code("false"),
            Self::Either(kinds) => {
                kinds.iter().map(|kind| kind.words(style)).collect::<Vec<_>>().join(" or ")
            }
            Self::List(kind) => format!("list of {}", kind.words(style)),
            Self::Entries(kind) => format!("object ({} each)", kind.words(style)),
            Self::Fields(fields) => {
                format!("object with {}", listed(&mut fields.iter().map(|(name, _)| code(name))))
            }
        }
    }

    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Switch => json!({"type": "boolean"}),
            Self::Text => json!({"type": "string"}),
            Self::OneOf(words) => json!({"enum": words}),
            Self::Number => {
                json!({"type": "number", "minimum": 0, "maximum": MAX_SAFE_INTEGER + 1})
            }
            Self::Timeout => json!({"anyOf": [Self::Number.schema(), {"const": "disabled"}]}),
            Self::Size => json!({"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER}),
            Self::Between(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Self::No => json!({"const": false}),
            Self::Either(kinds) => {
                json!({"anyOf": kinds.iter().map(Self::schema).collect::<Vec<_>>()})
            }
            Self::List(kind) => json!({"type": "array", "items": kind.schema()}),
            Self::Entries(kind) => {
                json!({"type": "object", "additionalProperties": kind.schema()})
            }
            Self::Fields(fields) => {
                let fields = fields.iter().map(|(name, kind)| ((*name).to_owned(), kind.schema()));
                json!({"type": "object", "properties": fields.collect::<Map<_, _>>()})
            }
        }
    }
}

fn check_fields<'a>(
    fields: &'static [(&'static str, Kind)],
    given: &'a Map<String, Value>,
    key: &str,
    faults: &mut Vec<Fault<'a>>,
) {
    for (name, kind) in fields {
        if let Some(value) = given.get(*name) {
            kind.check(value, &format!("{key}.{name}"), faults);
        }
    }
}

fn is_timeout(value: &Value) -> bool {
    let text = value.as_str().map(str::trim);
    let number = value.as_f64().or_else(|| text?.parse().ok());
    text.is_some_and(|text| text.eq_ignore_ascii_case("disabled"))
        || number.and_then(count).is_some()
}

/// A number from 0 to 2^53, without its fraction.
pub(crate) fn count(number: f64) -> Option<u64> {
    // 2^53: beyond it a double is no longer an exact integer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked range")]
    (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number as u64)
}

/// A whole number that every program can hold. `5.0` is written for 5 by some.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|number| number.fract() == 0.0).and_then(count);
    value.as_u64().or_else(float).filter(|number| *number <= MAX_SAFE_INTEGER)
}
