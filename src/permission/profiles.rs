//! All profiles of a server: the built-in ones and those that `config.json` names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::builtin;
use super::profile::{Profile, ProfileError};
use crate::domain::ProfileRef;
use crate::text;

/// Custom profiles that are kept compiled; with one more, all are dropped.
const MOST_SPELLED: usize = 64;

/// The profiles that have names; by default only the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    custom: BTreeMap<String, Arc<Profile>>,
    /// The custom profiles in files, by their text, so that no profile is compiled twice.
    spelled: Arc<Mutex<HashMap<String, Arc<Profile>>>>,
}

impl Profiles {
    /// Creates all profiles from the built-in ones and `custom`. A custom profile cannot have a built-in name.
    ///
    /// # Errors
    ///
    /// Fails with the first invalid profile, with its name.
    pub fn with<'a>(
        custom: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Self, (String, ProfileError)> {
        let mut all = Self::default();
        for (name, value) in custom {
            let profile = if builtin::NAMES.contains(&name) || name == "custom" {
                Err(ProfileError::NameTaken)
            } else {
                Profile::parse(value)
            };
            let profile = profile.map_err(|error| (name.to_owned(), error))?;
            all.custom.insert(name.to_owned(), Arc::new(profile));
        }
        Ok(all)
    }

    /// Returns the profile that `reference` names or contains.
    ///
    /// # Errors
    ///
    /// Fails if no profile has that name, or the custom one is invalid.
    pub fn resolve(&self, reference: &ProfileRef) -> Result<Arc<Profile>, ProfileError> {
        match reference {
            ProfileRef::Named(name) => self.named(name).ok_or_else(|| self.unknown(name))?,
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

    /// Returns every profile with its name: the built-in ones first, from the widest to the narrowest.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Arc<Profile>)> {
        self.names()
            .filter_map(|name| Some((name, self.named(name)?.ok()?)))
    }

    /// Returns every name, in the same order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let custom = self.custom.keys().map(String::as_str);
        builtin::NAMES.into_iter().chain(custom)
    }

    /// Checks that a profile has this name.
    ///
    /// # Errors
    ///
    /// Fails if none has.
    pub fn has(&self, name: &str) -> Result<(), ProfileError> {
        let mut names = self.names();
        names
            .any(|known| known == name)
            .then_some(())
            .ok_or_else(|| self.unknown(name))
    }

    fn named(&self, name: &str) -> Option<Result<Arc<Profile>, ProfileError>> {
        let custom = || self.custom.get(name).cloned().map(Ok);
        builtin::kept(name).or_else(custom)
    }

    fn unknown(&self, name: &str) -> ProfileError {
        let names: Vec<&str> = self.names().collect();
        // A typing error must not give more rights than intended, so the widest profile is never suggested.
        let proposed = names
            .iter()
            .copied()
            .filter(|name| *name != builtin::WIDEST);
        let hint = match text::near(name, proposed) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        ProfileError::UnknownName {
            name: text::visible(name).0,
            hint,
        }
    }
}
