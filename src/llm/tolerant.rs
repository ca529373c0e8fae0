//! Reads fields that servers get wrong without harm: `null` for an empty list, a count that is no count.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// `null` is the same as nothing.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Most that is believed of a count: no request and no answer has a billion tokens, and no sum of such counts overflows.
const MOST: u64 = 1_000_000_000;

/// A count, where it is one: a number that is not negative, whole or not, and can be.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let count = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Ok(count.filter(|count| *count <= MOST))
}

/// Counts, or none where what stands there is no object of counts.
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
