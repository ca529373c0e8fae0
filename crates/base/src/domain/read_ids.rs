//! Discord ids as people write them in JSON: as strings, because other programs round large numbers, or as numbers.
//!
//! They are parsed while the text is read, not after, so that a mistake is reported at its own line.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

/// Reads a list of ids.
///
/// # Errors
///
/// Fails if it is not a list, or something in it is not an id.
pub fn ids<'de, D: Deserializer<'de>, T: From<u64>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(List(PhantomData))
}

/// Reads a list of ids, or null.
///
/// # Errors
///
/// Fails like [`ids`].
pub fn optional_ids<'de, D: Deserializer<'de>, T: From<u64>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    deserializer.deserialize_option(OptionalList(PhantomData))
}

/// Reads an id, or null.
///
/// # Errors
///
/// Fails if it is something else.
pub fn optional_id<'de, D: Deserializer<'de>, T: From<u64>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(OptionalId(PhantomData))
}

/// One id. Null is not accepted: in a list of those who may do something, it would leave the list empty.
struct Id;

impl<'de> DeserializeSeed<'de> for Id {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Id {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Discord id such as \"123456789012345678\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        text.parse().map_err(|_| {
            E::custom(format!(
                "{text:?} is not a Discord id: turn on Developer Mode in Discord, right-click, Copy ID"
            ))
        })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }
}

struct List<T>(PhantomData<T>);

impl<'de, T: From<u64>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Discord ids such as [\"123456789012345678\"]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut ids = Vec::new();
        while let Some(id) = list.next_element_seed(Id)? {
            ids.push(T::from(id));
        }
        Ok(ids)
    }
}

struct OptionalList<T>(PhantomData<T>);

impl<'de, T: From<u64>> Visitor<'de> for OptionalList<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Discord ids such as [\"123456789012345678\"], or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        ids(deserializer).map(Some)
    }
}

struct OptionalId<T>(PhantomData<T>);

impl<'de, T: From<u64>> Visitor<'de> for OptionalId<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Discord id such as \"123456789012345678\", or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        Id.deserialize(deserializer).map(|id| Some(T::from(id)))
    }
}
