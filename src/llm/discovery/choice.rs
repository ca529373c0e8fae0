//! Chooses the model that answers if none is named.

use std::fmt;

use super::resolve::Resolved;
use super::{Models, Target};

/// The models to ask if none is chosen: the first of these that a provider has.
const PREFERRED: [&str; 2] = ["sonnet", "gpt-5"];

/// The model that is asked first, and whether it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Named in a configuration.
    Named(String),
    /// None is named: the first that a provider has.
    FirstAvailable(String),
    /// None is named, and no provider has any.
    Nobody,
}

/// Writes it for people.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(model) => f.write_str(model),
            Self::FirstAvailable(model) => write!(f, "{model} (chosen: first available)"),
            Self::Nobody => f.write_str("none configured"),
        }
    }
}

impl Choice {
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Named(model) | Self::FirstAvailable(model) => Some(model),
            Self::Nobody => None,
        }
    }
}

impl Models {
    /// Returns the model that is asked first if the configuration names `model`, or none.
    pub fn choice(&self, model: Option<&str>) -> Choice {
        match model {
            Some(model) => Choice::Named(model.to_owned()),
            None => self.first_available().map_or(Choice::Nobody, |target| {
                Choice::FirstAvailable(target.to_string())
            }),
        }
    }

    /// Returns the model to ask if no configuration names one: the likeliest of the vendors' models, or the first that
    /// a local server lists. Before the first discovery only vendors have a likeliest one.
    pub fn first_available(&self) -> Option<Target> {
        let all = self.all();
        let preferred = || {
            let resolved = |name: &&str| match self.resolve(name) {
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target) => Some(target),
                Resolved::NotFound { .. } | Resolved::NoProvider => None,
            };
            PREFERRED.iter().filter_map(resolved)
        };
        let is_own = |target: &Target| !self.providers.is_foreign(&target.provider);
        let is_vendor = |target: &Target| self.providers.is_vendor(&target.provider);
        let mut there = preferred().filter(|target| is_own(target) && all.contains(target));
        there
            .next()
            .or_else(|| self.first_listed())
            .or_else(|| preferred().find(is_vendor))
    }

    /// Returns the first model of the first provider that has any, in the provider's own order.
    fn first_listed(&self) -> Option<Target> {
        let available = self.available();
        let mut all = self.providers.all().into_iter();
        all.find_map(|(name, _)| {
            let declared = self.providers.declared(&name).into_iter().next();
            let listed = available.as_ref().and_then(|all| all.providers.get(&name));
            let listed = listed.filter(|listed| listed.valid);
            let listed = listed.and_then(|listed| listed.models.first().cloned());
            Some(Target::new(name, declared.or(listed)?))
        })
    }
}
