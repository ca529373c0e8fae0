//! The data that a daemon writes about itself into the lock of its home, for its next start and for commands that read
//! the home.

use std::fs;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::config::Paths;
use crate::store::LOCK_FILE;

/// A daemon that ends sooner without being stopped has failed.
const QUICK: Duration = Duration::from_secs(10 * 60);

/// Number of quick failures in a row that are reported. systemd gives up after as many.
const MANY: u32 = 5;

/// A daemon that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedDaemon {
    /// The program's version.
    pub version: String,
    pub at: DateTime<Utc>,
    /// How many daemons in a row failed quickly before it.
    #[serde(default)]
    pub failed: u32,
    /// Whether it was stopped cleanly.
    #[serde(default)]
    pub is_stopped: bool,
}

impl StartedDaemon {
    /// Creates the record of this program, started now after the daemon that wrote `before`.
    pub(super) fn after(before: Option<&str>) -> Self {
        let at = clock::now();
        let before = before.and_then(Self::read);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at,
            failed: before.map_or(0, |before| before.failed_at(at)),
            is_stopped: false,
        }
    }

    /// Reads a daemon's record; `None` if the text is something else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the last daemon of a home.
    pub fn last(paths: &Paths) -> Option<Self> {
        let written = fs::read_to_string(paths.home.join(LOCK_FILE)).ok()?;
        written.lines().nth(1).and_then(Self::read)
    }

    /// Returns how many daemons in a row have failed quickly, including this one if it ended by `end`.
    fn failed_at(&self, end: DateTime<Utc>) -> u32 {
        let lived = (end - self.at).to_std().unwrap_or_default();
        if self.is_stopped || lived > QUICK {
            0
        } else {
            self.failed.saturating_add(1)
        }
    }

    /// Returns a sentence about the daemons that failed before this one, if they are many.
    pub(super) fn failures(&self) -> Option<String> {
        many(self.failed)
    }

    /// Returns the same about this daemon and those before it, once it no longer runs.
    pub fn failures_with_it(&self) -> Option<String> {
        let failed = self.failed.saturating_add(u32::from(!self.is_stopped));
        many(failed)
    }
}

fn many(failed: u32) -> Option<String> {
    (failed >= MANY).then(|| {
        format!("Chorus ended {failed} times in a row without being stopped, each time within 10 minutes of its start")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn quick_failures_in_a_row_are_counted_and_an_orderly_end_forgets_them() {
        let mut daemon = StartedDaemon::after(None);
        assert_eq!(daemon.failed, 0);
        for failed in 1..=MANY {
            assert_eq!(daemon.failures(), None);
            let written = serde_json::to_string(&daemon).unwrap();
            daemon = StartedDaemon::after(Some(&written));
            assert_eq!(daemon.failed, failed);
        }
        assert!(daemon.failures().unwrap().contains("5 times"));
        assert!(daemon.failures_with_it().unwrap().contains("6 times"));
        daemon.is_stopped = true;
        let written = serde_json::to_string(&daemon).unwrap();
        assert_eq!(StartedDaemon::after(Some(&written)).failed, 0);
        daemon.is_stopped = false;
        daemon.at -= QUICK * 2;
        let written = serde_json::to_string(&daemon).unwrap();
        assert_eq!(StartedDaemon::after(Some(&written)).failed, 0);
        assert_eq!(StartedDaemon::after(Some("12")).failed, 0);
    }
}
