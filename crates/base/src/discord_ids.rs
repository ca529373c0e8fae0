//! Discord's ids, each its own type, so that a channel is never passed for a user; each id contains the time at which the
//! thing was made.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Milliseconds from the Unix epoch to the first of 2015, where snowflakes begin.
const EPOCH: i64 = 1_420_070_400_000;

/// The bits of a snowflake below its time.
const BELOW_TIME: u32 = 22;

/// Returns the smallest snowflake that a thing made at `time` can have.
pub fn first_at(time: DateTime<Utc>) -> u64 {
    let since = time.timestamp_millis().saturating_sub(EPOCH);
    u64::try_from(since).unwrap_or_default() << BELOW_TIME
}

/// Returns when the thing with this snowflake was created.
pub fn made_at(id: u64) -> DateTime<Utc> {
    // 42 bits of milliseconds reach to the year 2154, which chrono can represent.
    DateTime::from_timestamp_millis((id >> BELOW_TIME) as i64 + EPOCH).unwrap_or_default()
}

/// A Discord snowflake: 64 bits, written as a decimal number.
macro_rules! snowflake {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Returns the id as SQLite holds it: the same 64 bits, signed.
            pub const fn as_i64(self) -> i64 {
                self.0 as i64
            }

            /// Returns the id that SQLite held as `stored`.
            pub const fn from_i64(stored: i64) -> Self {
                Self(stored as u64)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<u64> for $name {
            fn from(id: u64) -> Self {
                Self(id)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

snowflake! {
    /// A Discord channel or thread.
    ChannelId;
    /// A Discord server.
    GuildId;
    /// A Discord message.
    MessageId;
    /// A Discord role.
    RoleId;
    /// A Discord user.
    UserId;
}

impl MessageId {
    /// Returns when Discord received the message, which its id contains.
    pub fn sent_at(self) -> DateTime<Utc> {
        made_at(self.0)
    }

    /// Returns the smallest id that a message sent at `time` can have.
    pub fn first_at(time: DateTime<Utc>) -> Self {
        Self(first_at(time))
    }
}
