//! All profiles of a server: the built-in ones and those that `config.json` names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::builtin;
use super::profile::{Profile, ProfileError};
use crate::domain::ProfileRef;
use crate::text;

/// Profiles that are spelled out and kept compiled; with one more all are forgotten.
const MOST_SPELLED: usize = 64;

/// The profiles that can be named; by default none.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    named: BTreeMap<String, Arc<Profile>>,
    /// Those that files spell out, by their text: a look at each step compiles none twice.
    spelled: Arc<Mutex<HashMap<String, Arc<Profile>>>>,
}

impl Profiles {
    /// The built-in profiles only.
    ///
    /// # Errors
    ///
    /// Never with the profiles this version ships; the signature spares a panic.
    pub fn builtin() -> Result<Self, ProfileError> {
        let mut named = BTreeMap::new();
        for name in builtin::NAMES {
            named.insert(name.to_owned(), Arc::new(Profile::builtin(name)?));
        }
        Ok(Self {
            named,
            ..Self::default()
        })
    }

    /// The built-in profiles and `custom` ones. A built-in name cannot be taken.
    ///
    /// # Errors
    ///
    /// The first profile that is invalid, with its name.
    pub fn with<'a>(
        custom: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Self, (String, ProfileError)> {
        let mut all = Self::builtin().map_err(|error| ("built-in".to_owned(), error))?;
        for (name, value) in custom {
            let profile = if builtin::NAMES.contains(&name) || name == "custom" {
                Err(ProfileError::NameTaken)
            } else {
                Profile::parse(value)
            };
            let profile = profile.map_err(|error| (name.to_owned(), error))?;
            all.named.insert(name.to_owned(), Arc::new(profile));
        }
        Ok(all)
    }

    /// The profile that `reference` means.
    ///
    /// # Errors
    ///
    /// When no profile has that name, or the one spelled out is invalid.
    pub fn resolve(&self, reference: &ProfileRef) -> Result<Arc<Profile>, ProfileError> {
        match reference {
            ProfileRef::Named(name) => self
                .named
                .get(name)
                .cloned()
                .ok_or_else(|| self.unknown(name)),
            ProfileRef::Custom(map) => self.spelled(map),
        }
    }

    fn spelled(&self, map: &Map<String, Value>) -> Result<Arc<Profile>, ProfileError> {
        let Ok(text) = serde_json::to_string(map) else {
            return Profile::parse_map(map).map(Arc::new);
        };
        if let Some(known) = self.spelled.lock().get(&text) {
            return Ok(known.clone());
        }
        let profile = Arc::new(Profile::parse_map(map)?);
        let mut spelled = self.spelled.lock();
        if spelled.len() >= MOST_SPELLED {
            spelled.clear();
        }
        spelled.insert(text, profile.clone());
        Ok(profile)
    }

    /// Every profile with its name: the built-in ones first, from the widest to the narrowest.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Profile>)> {
        let custom = self
            .named
            .keys()
            .map(String::as_str)
            .filter(|name| !builtin::NAMES.contains(name));
        builtin::NAMES
            .into_iter()
            .chain(custom)
            .filter_map(|name| self.named.get_key_value(name))
            .map(|(name, profile)| (name.as_str(), profile))
    }

    fn unknown(&self, name: &str) -> ProfileError {
        let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
        let hint = match text::near(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        ProfileError::UnknownName {
            name: text::visible(name).0,
            hint,
        }
    }
}
