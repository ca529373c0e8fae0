//! Time, as Chorus reads and writes it: UTC, to the microsecond.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, SubsecRound, TimeDelta, Utc};
use tokio::sync::watch;

#[cfg(test)]
mod tests;

/// Returns the current time, cut to microseconds, so that a time read back from a file or the database equals the one
/// written.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// Returns `time` as RFC 3339 with six decimals and `Z`: all of one width, so that they sort as the times do.
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Returns how long ago `time` was, in one unit: `just now`, `5 min ago`, `3 h ago`, `2 days ago`.
///
/// A time that has not come yet counts as now: clocks of two machines differ.
pub fn ago(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let passed = (now - time).to_std().unwrap_or_default();
    if passed < Duration::from_secs(5) {
        return "just now".to_owned();
    }
    format!("{} ago", duration(passed))
}

/// Returns `length` in its largest whole unit: `12 s`, `5 min`, `3 h`, `1 day`, `2 days`.
pub fn duration(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        86_400..172_800 => "1 day".to_owned(),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The clock that starts planned work: the machine's, or in a test one that can be moved.
#[derive(Clone, Debug, Default)]
pub struct WallClock {
    ahead: Option<watch::Sender<TimeDelta>>,
}

impl WallClock {
    /// Returns a clock that shows the machine's time until it is moved.
    pub fn movable() -> Self {
        Self {
            ahead: Some(watch::Sender::new(TimeDelta::zero())),
        }
    }

    /// Returns the time that it shows.
    pub fn now(&self) -> DateTime<Utc> {
        let ahead = self.ahead.as_ref().map(|ahead| *ahead.borrow());
        now() + ahead.unwrap_or_default()
    }

    /// Moves it, forwards or back. The machine's clock is not changed.
    pub fn moves(&self, by: TimeDelta) {
        if let Some(ahead) = &self.ahead {
            ahead.send_modify(|so_far| *so_far += by);
        }
    }

    /// Returns a receiver that sees each move; `None` for the machine's clock.
    pub fn watched(&self) -> Option<watch::Receiver<TimeDelta>> {
        self.ahead.as_ref().map(watch::Sender::subscribe)
    }
}
