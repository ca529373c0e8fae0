//! Reads a JSON array item by item, and an object member by member, without its types: one bad item never spoils the others.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The first items of an array, as they were sent.
#[derive(Debug, Default)]
pub struct Items<'a> {
    pub kept: Vec<&'a RawValue>,
    /// Items that were not kept.
    pub left_out: usize,
}

/// Reads at most `most` items of `array`.
///
/// # Errors
///
/// When it is no array.
pub fn items(array: &RawValue, most: usize) -> Result<Items<'_>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(array.get());
    reader.deserialize_seq(First(most))
}

struct First(usize);

impl<'de> Visitor<'de> for First {
    type Value = Items<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Items::default();
        while items.kept.len() < self.0 {
            match list.next_element()? {
                Some(item) => items.kept.push(item),
                None => return Ok(items),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            items.left_out += 1;
        }
        Ok(items)
    }
}

/// The members of an object that have one of `names`, in their order, as they were sent; the last one of a name counts.
///
/// # Errors
///
/// When it is no object.
pub fn members<'a, const N: usize>(
    object: &'a RawValue,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(object.get());
    reader.deserialize_map(Named(names))
}

struct Named<const N: usize>([&'static str; N]);

impl<'de, const N: usize> Visitor<'de> for Named<N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(name) = map.next_key::<Key<'de>>()? {
            match self.0.iter().position(|wanted| *wanted == name.0) {
                Some(place) => found[place] = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// A name of a member, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] std::borrow::Cow<'a, str>);

/// The text that `value` is, if it is one.
pub fn text(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn only_the_first_items_are_kept() {
        let list = raw("[1, {\"a\": [2]}, \"x\", null]");
        let found = items(&list, 2).unwrap();
        let kept: Vec<&str> = found.kept.iter().map(|item| item.get()).collect();
        assert_eq!((kept, found.left_out), (vec!["1", "{\"a\": [2]}"], 2));
        assert!(items(&raw("{}"), 2).is_err());
    }

    #[test]
    fn members_are_found_whatever_stands_around_them() {
        let deep = format!(
            "{{\"x\":{}{},\"b\":2,\"a\":\"1\"}}",
            "[".repeat(5_000),
            "]".repeat(5_000)
        );
        let object = raw(&deep);
        let [a, b, c] = members(&object, ["a", "b", "c"]).unwrap();
        assert_eq!(text(a), Some("1".to_owned()));
        assert_eq!(text(b), None);
        assert!(c.is_none());
        assert!(members(&raw("[]"), ["a"]).is_err());
    }
}
