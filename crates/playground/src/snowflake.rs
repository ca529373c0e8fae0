//! Discord's ids: the moment at which a thing was made is in its id.

use chorus_ids::MessageId;
use chrono::{DateTime, Utc};

/// The first snowflake of a moment.
pub(crate) fn first_at(at: DateTime<Utc>) -> u64 {
    MessageId::first_at(at).0
}

/// When the thing with this snowflake was made.
pub(crate) fn made_at(id: u64) -> DateTime<Utc> {
    MessageId(id).sent_at()
}
