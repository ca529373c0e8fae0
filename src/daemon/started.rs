//! What a daemon writes about itself into the lock of its home as it starts, for commands that look at its home.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::clock;

/// A daemon that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedDaemon {
    /// Of the program.
    pub version: String,
    pub at: DateTime<Utc>,
}

impl StartedDaemon {
    /// This program, started now.
    pub(super) fn now() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at: clock::now(),
        }
    }

    /// Reads what a daemon wrote; `None` where it is something else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
