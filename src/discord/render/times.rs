//! Times as Discord shows them to each reader: in the reader's time zone and language.

use chrono::{DateTime, Utc};

/// Returns date and time: `20 April 2021 16:20`.
pub(super) fn at(time: DateTime<Utc>) -> String {
    stamp(time, 'f')
}

/// Returns weekday, date and time: `Tuesday, 20 April 2021 16:20`.
pub(super) fn in_full(time: DateTime<Utc>) -> String {
    stamp(time, 'F')
}

/// Returns how far away: `5 minutes ago`, `in 2 hours`.
pub(super) fn ago(time: DateTime<Utc>) -> String {
    stamp(time, 'R')
}

/// Returns date and time to the second, for a log.
pub(super) fn exactly(time: DateTime<Utc>) -> String {
    format!("{} {}", stamp(time, 'd'), stamp(time, 'T'))
}

fn stamp(time: DateTime<Utc>, style: char) -> String {
    format!("<t:{}:{style}>", time.timestamp())
}
