//! Reads fields that servers harmlessly get wrong: `null` for an empty list, an invalid count.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `null` as the default.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Largest count that is believed: no request and no answer has a billion tokens, and no sum of such counts overflows.
const MOST: u64 = 1_000_000_000;

/// Reads a count if it is valid: a number that is not negative and not too large, whole or not.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let count = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Ok(count.filter(|count| *count <= MOST))
}

/// Reads counts, or `None` if the value is not an object of counts.
pub(super) fn counts<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    Ok(value
        .is_object()
        .then(|| serde_json::from_value(value).ok())
        .flatten())
}

fn whole(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}
