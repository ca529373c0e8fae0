//! Our own identifiers, each its own type, so that one is never passed for another. Discord's are in
//! [`crate::discord_ids`].

use std::fmt;
use std::str::FromStr;

pub use crate::discord_ids::{ChannelId, GuildId, MessageId, RoleId, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// An id of ours: a UUID.
macro_rules! uuid_id {
    ($($(#[$doc:meta])* $name:ident = $new:ident, $shown:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Returns a new id, which cannot be guessed.
            pub fn random() -> Self {
                Self(Uuid::$new())
            }

            /// Returns the eight characters of it that people see in lists.
            pub fn short(&self) -> String {
                self.0.simple().to_string()[$shown].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

uuid_id! {
    /// An agent, for its whole life. A recreated agent without kept files gets a new one.
    AgentId = new_v4, ..8;
    SessionId = new_v4, ..8;
    /// One turn: from a message to its one outcome. Later ones have greater ids, so that rows and indexes grow at their
    /// ends instead of in random pages. People see the last characters, because all ids of a minute begin alike.
    TurnId = now_v7, 24..;
}

/// A conversation of an agent: its main one or a branch. Rowid in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConversationId(pub i64);

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A tool call's id within its conversation, as the provider gave it (we make it unique if it is not).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A long-running command of an agent: `task_001` and on, counted per agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub String);

impl TaskId {
    /// Returns the `n`-th task of an agent, counted from 1.
    pub fn nth(n: u32) -> Self {
        Self(format!("task_{n:03}"))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
