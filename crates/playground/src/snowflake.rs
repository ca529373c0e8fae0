//! Discord's ids: the moment at which a thing was made is in its id.

use chrono::{DateTime, TimeZone, Utc};

/// Milliseconds of the year 2015, where snowflakes begin.
const EPOCH: i64 = 1_420_070_400_000;

/// The first snowflake of a moment.
pub(crate) fn first_at(at: DateTime<Utc>) -> u64 {
    ((at.timestamp_millis() - EPOCH).max(0) as u64) << 22
}

/// When the thing with this snowflake was made.
pub(crate) fn made_at(id: u64) -> DateTime<Utc> {
    Utc.timestamp_millis_opt((id >> 22) as i64 + EPOCH)
        .single()
        .unwrap_or_default()
}
