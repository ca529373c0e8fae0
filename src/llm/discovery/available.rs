//! The result of discovery.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::llm::listing::Abilities;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Available {
    pub last_updated: DateTime<Utc>,
    /// By provider; only those that are configured.
    pub providers: BTreeMap<String, Listed>,
}

/// The answer of one provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Whether it accepted the key.
    pub valid: bool,
    /// Its models, in its own order.
    #[serde(default)]
    pub models: Vec<String>,
    /// Models that it does not list but that answered when a person named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
    /// The abilities of its models, as it reports them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abilities: BTreeMap<String, Abilities>,
    /// Why there is no list, or no newer one; shown by `/models` and `/settings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
