//! The cause of a turn, and the person who is charged for it.

use sqlx::query_scalar;

use super::Store;
use super::codec::words;
use super::error::StoreError;
use super::statement::{checked, scalar};
use crate::domain::{TurnId, UserId};

words! {
    /// The cause of the root turn of a run. Child turns have the cause of their root.
    TurnCause {
        /// A message, a command or a button of a person. It is not written: NULL represents it.
        Message = "message",
        /// Another turn: it sent a message to the agent, or opened a branch.
        Peer = "peer",
        /// A process hook, the end of a task or of a branch.
        Hook = "hook",
        /// The interruption of another turn.
        Resume = "resume",
        Schedule = "schedule",
        Webhook = "webhook",
    }
}

impl TurnCause {
    /// Returns the value to store; `None` for the cause that needs none.
    pub(super) const fn stored(self) -> Option<&'static str> {
        match self {
            Self::Message => None,
            other => Some(other.as_str()),
        }
    }

    /// Returns who watches a turn with this cause.
    pub const fn attendance(self) -> Attendance {
        match self {
            Self::Message => Attendance::Attended,
            Self::Peer => Attendance::AsItsParent,
            Self::Hook | Self::Resume | Self::Schedule | Self::Webhook => Attendance::Unattended,
        }
    }
}

/// Who watches a turn, as far as its cause shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attendance {
    Attended,
    Unattended,
    /// As for the turn that caused it.
    AsItsParent,
}

impl Attendance {
    /// Returns the value of `turns.unattended`; `None` if the parent's value is to be copied.
    pub(super) const fn stored(self) -> Option<bool> {
        match self {
            Self::Attended => Some(false),
            Self::Unattended => Some(true),
            Self::AsItsParent => None,
        }
    }
}

impl Store {
    /// Returns the person who is charged for a turn that no person began: the author of the message that began the
    /// nearest turn that led to it. `None` if no person did, or their message cannot be read.
    pub async fn charged_for(&self, turn: TurnId) -> Result<Option<UserId>, StoreError> {
        let query = checked(query_scalar!(
            "WITH RECURSIVE chain (id, steps) AS (
                 VALUES (?, 0)
                 UNION ALL SELECT turns.parent_id, chain.steps + 1 FROM chain JOIN turns ON turns.id = chain.id
                     WHERE turns.parent_id IS NOT NULL
             )
             SELECT CASE WHEN json_valid(inbound.body) THEN json_extract(inbound.body, '$.author.id') END
                 AS \"author: i64\"
             FROM chain JOIN turns ON turns.id = chain.id AND turns.parent_id IS NULL
                 JOIN inbound ON inbound.message_id = turns.trigger_id
             ORDER BY chain.steps LIMIT 1",
            turn.to_string()
        ));
        let found = query
            .first(&mut *self.reader().await?, scalar::<Option<i64>>)
            .await?;
        Ok(found.flatten().map(UserId::from_i64))
    }
}

impl Store {
    /// Returns whether no person began the run that a turn belongs to.
    pub async fn is_unattended(&self, turn: TurnId) -> Result<bool, StoreError> {
        let query = checked(query_scalar!(
            "SELECT unattended AS \"unattended: bool\" FROM turns WHERE id = ?",
            turn.to_string()
        ));
        let found = query.first(&mut *self.reader().await?, scalar).await?;
        Ok(found.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_what_a_person_does_is_attended_by_itself() {
        let by_cause: Vec<_> = ["message", "peer", "hook", "resume", "schedule", "webhook"]
            .into_iter()
            .map(|word| {
                let cause: TurnCause = word.parse().unwrap();
                (cause.stored(), cause.attendance().stored())
            })
            .collect();
        assert_eq!(
            by_cause,
            [
                (None, Some(false)),
                (Some("peer"), None),
                (Some("hook"), Some(true)),
                (Some("resume"), Some(true)),
                (Some("schedule"), Some(true)),
                (Some("webhook"), Some(true)),
            ]
        );
    }
}
