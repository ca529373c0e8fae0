//! JSON that people write: a repeated key is a mistake. serde_json would silently use the last value, so a list of
//! denied things could be lost.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Refuses a text with an object that has the same key twice, at any depth.
///
/// # Errors
///
/// Fails for such a key, with the line and column of its second occurrence, and for a text that is not JSON.
pub fn refuse_double_keys(text: &str) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Unique.deserialize(&mut reader)?;
    reader.end()
}

/// Returns the message for a repeated key; serde has another one for the fields of its own types.
pub fn double_key(message: &str) -> Option<String> {
    let key = message.strip_prefix("duplicate field ")?;
    Some(format!("the key {key} stands twice: keep one of them"))
}

/// A value that is only checked.
#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = object.next_key::<String>()? {
            if keys.contains(&key) {
                let message = format!("duplicate field `{key}`");
                return Err(A::Error::custom(double_key(&message).unwrap_or(message)));
            }
            keys.insert(key);
            object.next_value_seed(self)?;
        }
        Ok(())
    }
}
