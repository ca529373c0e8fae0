//! Tokens and money.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one model request, or of several added up.
///
/// The four counts are disjoint: `input` is what was neither read from nor written to the provider's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens at full price.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    /// Input tokens read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to the cache.
    #[serde(default)]
    pub cache_write: u64,
}

impl Usage {
    /// Returns all input tokens, cached or not: the tokens that fill the window.
    pub const fn input_total(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Money, in US dollars. An unknown price never counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cost {
    Usd(f64),
    /// At least one price is not known.
    Unknown,
}

impl Cost {
    /// Returns the sum, if it is known.
    pub const fn usd(self) -> Option<f64> {
        match self {
            Self::Usd(sum) => Some(sum),
            Self::Unknown => None,
        }
    }

    /// Returns the US dollars that it adds to a sum: zero if the price is not known.
    pub const fn known_usd(self) -> f64 {
        match self {
            Self::Usd(usd) => usd,
            Self::Unknown => 0.0,
        }
    }

    /// Returns the sum of both; unknown if one of them is.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Usd(a), Self::Usd(b)) => Self::Usd(a + b),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
        }
    }
}
