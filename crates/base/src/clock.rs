//! Time, as Chorus reads and writes it: UTC, to the microsecond.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};

#[cfg(test)]
mod tests;

/// Now, cut to microseconds, so that a time read back from a file or the database equals the one written.
pub fn now() -> DateTime<Utc> {
    Utc::now().trunc_subsecs(6)
}

/// `time` as RFC 3339 with six decimals and `Z`: all of one width, so that they sort as the times do.
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// How long ago `time` was, in one unit: `just now`, `5 min ago`, `3 h ago`, `2 days ago`.
///
/// A time that has not come yet counts as now: clocks of two machines differ.
pub fn ago(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let passed = (now - time).to_std().unwrap_or_default();
    if passed < Duration::from_secs(5) {
        return "just now".to_owned();
    }
    format!("{} ago", duration(passed))
}

/// A length of time in its largest whole unit: `12 s`, `5 min`, `3 h`, `1 day`, `2 days`.
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
