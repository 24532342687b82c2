//! Reading stored values of the wrong kind as absent, so that one of them does not lose a message.
//!
//! Functions for serde's `deserialize_with`, in one pass. For what sessions hold only: what a
//! provider streams or a program asks for is read strictly.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess};
use serde::de::{Visitor, value};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A number, text or flag; the default where another kind of value stands.
///
/// # Errors
/// The JSON is broken.
pub fn scalar<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Scalar,
{
    let value = Loose::<IgnoredAny>::deserialize(deserializer)?;
    Ok(T::from_loose(value).unwrap_or_default())
}

/// A word of a fixed set; `None` for other words and for what is no text.
///
/// # Errors
/// The JSON is broken.
pub fn word<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(match Loose::<IgnoredAny>::deserialize(deserializer)? {
        Loose::Text(word) => {
            let word: value::StrDeserializer<'_, value::Error> = word.as_ref().into_deserializer();
            T::deserialize(word).ok()
        }
        _ => None,
    })
}

/// An object; the default where none stands.
///
/// # Errors
/// The JSON is broken, or the object is not one of these.
pub fn record<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(match Loose::deserialize(deserializer)? {
        Loose::Record(record) => record,
        _ => T::default(),
    })
}

/// Anything that may be left out; `None` where it does not fit. Builds a tree first, so only for
/// what is rare.
///
/// # Errors
/// The JSON is broken.
pub fn if_readable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

/// An object, or text that holds one; else an empty one.
pub(crate) fn arguments<'de, D>(deserializer: D) -> Result<Map<String, Value>, D::Error>
where
    D: Deserializer<'de>,
{
    Ok(match Loose::deserialize(deserializer)? {
        Loose::Record(arguments) => arguments,
        Loose::Text(json) => serde_json::from_str(&json).unwrap_or_default(),
        _ => Map::new(),
    })
}

/// What [`scalar`] can read.
pub trait Scalar: Default {
    /// `None`: the value is of another kind.
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self>;
}

impl Scalar for u64 {
    /// Fractions are cut off, what is below zero is zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, which is what is meant"
    )]
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        match value {
            Loose::Count(number) => Some(number),
            Loose::Negative(_) => Some(0),
            Loose::Fraction(number) => Some(number as Self),
            _ => None,
        }
    }
}

impl Scalar for i64 {
    /// Fractions are cut off.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, which is what is meant")]
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        match value {
            Loose::Count(number) => Some(Self::try_from(number).unwrap_or(Self::MAX)),
            Loose::Negative(number) => Some(number),
            Loose::Fraction(number) => Some(number as Self),
            _ => None,
        }
    }
}

impl Scalar for f64 {
    #[expect(clippy::cast_precision_loss, reason = "as JavaScript reads such numbers")]
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        match value {
            Loose::Count(number) => Some(number as Self),
            Loose::Negative(number) => Some(number as Self),
            Loose::Fraction(number) => Some(number),
            _ => None,
        }
    }
}

impl Scalar for bool {
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        match value {
            Loose::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

impl Scalar for String {
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        match value {
            Loose::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl<T: Scalar> Scalar for Option<T> {
    fn from_loose(value: Loose<'_, IgnoredAny>) -> Option<Self> {
        T::from_loose(value).map(Some)
    }
}

/// Any JSON value. Objects are read as `R`, lists are passed over.
#[derive(Debug)]
pub enum Loose<'de, R> {
    /// `null` or a list.
    Nothing,
    Flag(bool),
    Count(u64),
    Negative(i64),
    Fraction(f64),
    Text(Cow<'de, str>),
    Record(R),
}

impl<'de, R: Deserialize<'de>> Deserialize<'de> for Loose<'de, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

struct LooseVisitor<R>(PhantomData<R>);

impl<'de, R: Deserialize<'de>> Visitor<'de> for LooseVisitor<R> {
    type Value = Loose<'de, R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Loose::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Loose::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Loose::Count(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).map_or(Loose::Negative(number), Loose::Count))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Loose::Fraction(number))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        R::deserialize(MapAccessDeserializer::new(fields)).map(Loose::Record)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// From a tree and from text, which must agree.
    fn read<T: Scalar + PartialEq + fmt::Debug>(value: &Value) -> T {
        let from_value: T = scalar(value).unwrap();
        let text = value.to_string();
        let from_text: T = scalar(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        assert_eq!(from_value, from_text, "{value}");
        from_value
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        let cases = [
            (json!(7), Some(7)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!(7.9), Some(7)),
            (json!(1e30), Some(u64::MAX)),
            (json!(-1), Some(0)),
            (json!(-0.5), Some(0)),
            (json!("7"), None),
            (json!(null), None),
            (json!(true), None),
            (json!([1, [2]]), None),
            (json!({"a": {"b": 1}}), None),
        ];
        for (value, expected) in cases {
            assert_eq!(read::<Option<u64>>(&value), expected, "{value}");
            assert_eq!(read::<u64>(&value), expected.unwrap_or(0), "{value}");
        }
    }

    #[test]
    fn other_scalars_are_of_their_kind_or_absent() {
        assert_eq!(read::<i64>(&json!(-7.9)), -7);
        assert_eq!(read::<i64>(&json!(u64::MAX)), i64::MAX);
        assert_eq!(read::<Option<i64>>(&json!("2026-01-01")), None);
        assert!((read::<f64>(&json!(-2)) + 2.0).abs() < f64::EPSILON);
        assert_eq!(read::<Option<f64>>(&json!("0.5")), None);
        assert_eq!(
            [json!(true), json!("true"), json!(1)].map(|v| read::<bool>(&v)),
            [true, false, false]
        );
        assert_eq!(read::<String>(&json!("a\n\"b")), "a\n\"b");
        assert_eq!(read::<Option<String>>(&json!(7)), None);
    }
}
