//! Reads the keys of an entry, and names the one that is wrong.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{EntryError, wrong};

/// Reads the keys of one object. `null` is a key that is not set.
pub(super) struct Reader<'a> {
    pub(super) keys: &'a Map<String, Value>,
    /// What stands before a key in a message.
    pub(super) prefix: &'static str,
}

impl Reader<'_> {
    pub(super) fn only(&self, known: &[&str]) -> Result<(), EntryError> {
        match self.keys.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let near = chorus_text::near(key, known.iter().copied());
                let near = near.map(|near| format!("; did you mean `{near}`?"));
                Err(self.wrong(key, &format!("is not known{}", near.unwrap_or_default())))
            }
        }
    }

    fn wrong(&self, key: &str, problem: &str) -> EntryError {
        wrong(format!("{}{key}", self.prefix), problem)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, EntryError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.contains('\0') => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "is not text")),
        }
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, EntryError> {
        let value = self.get(key);
        value
            .map(|value| {
                value
                    .as_u64()
                    .ok_or_else(|| self.wrong(key, "is not a whole number"))
            })
            .transpose()
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, EntryError> {
        let value = self.get(key);
        value
            .map(|value| {
                value
                    .as_bool()
                    .ok_or_else(|| self.wrong(key, "is neither true nor false"))
            })
            .transpose()
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<Vec<String>>, EntryError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let texts = value.as_array().and_then(|items| {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>()
        });
        texts
            .filter(|texts| texts.iter().all(|text| !text.contains('\0')))
            .map(Some)
            .ok_or_else(|| self.wrong(key, "is not a list of texts"))
    }

    pub(super) fn texts(&self, key: &str) -> Result<BTreeMap<String, String>, EntryError> {
        let Some(value) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        let Value::Object(members) = value else {
            return Err(self.wrong(key, "is not an object"));
        };
        let read = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) if !text.contains('\0') => Ok((name.clone(), text.to_owned())),
            _ => Err(self.wrong(&format!("{key}.{name}"), "is not text")),
        };
        members.iter().map(read).collect()
    }
}
