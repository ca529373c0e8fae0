//! What discovery found.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Available {
    pub last_updated: DateTime<Utc>,
    /// By provider; only configured ones.
    pub providers: BTreeMap<String, Listed>,
}

/// What one provider answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// It took the key.
    pub valid: bool,
    /// Its models, sorted.
    #[serde(default)]
    pub models: Vec<String>,
    /// Why there is no list, or none newer than the one here; shown by `/models` and `/settings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
