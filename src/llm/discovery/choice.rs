//! Which model answers where nobody names one.

use std::fmt;

use super::resolve::Resolved;
use super::{Models, Target};

/// Asked where nobody chose a model, the first of these that a provider has.
const PREFERRED: [&str; 2] = ["sonnet", "gpt-5"];

/// A model asked first, and whether somebody chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Named in a configuration.
    Named(String),
    /// Nobody named one: the first that a provider has.
    FirstAvailable(String),
    /// Nobody named one, and no provider has any.
    Nobody,
}

/// As people read it.
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
    /// What is asked first where the configuration names `model`, or none.
    pub fn choice(&self, model: Option<&str>) -> Choice {
        match model {
            Some(model) => Choice::Named(model.to_owned()),
            None => self.first_available().map_or(Choice::Nobody, |target| {
                Choice::FirstAvailable(target.model)
            }),
        }
    }

    /// Who is asked where no configuration names a model; before the first discovery, the likeliest.
    pub fn first_available(&self) -> Option<Target> {
        let all = self.all();
        let resolved = |name: &&str| match self.resolve(name) {
            Resolved::Found(target)
            | Resolved::Unlisted(target)
            | Resolved::Undiscovered(target) => Some(target),
            Resolved::NotFound { .. } | Resolved::NoProvider => None,
        };
        let mut preferred = PREFERRED.iter().filter_map(resolved);
        preferred
            .find(|target| all.contains(target))
            .or_else(|| all.first().cloned())
            .or_else(|| PREFERRED.iter().find_map(resolved))
    }
}
