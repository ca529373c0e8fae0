//! The people behind a turn: those whose messages led to it, through any number of hooks and agents.

use super::Store;
use super::error::StoreError;
use super::shared::{shared_query, shared_text};
use super::statement::{Statement, checked, scalar, sql};
use crate::domain::{TurnId, UserId};

impl Store {
    /// The authors of all messages in `turn` and in the turns that led to it, the earliest first. Where no person wrote in
    /// any of them: the owners of their agents, who are responsible for what agents do on their own.
    pub async fn people_behind(&self, turn: TurnId) -> Result<Vec<UserId>, StoreError> {
        let people = self.authors_behind(turn).await?;
        if !people.is_empty() {
            return Ok(people);
        }
        let owners = shared_query!(
            chain "SELECT owner_id FROM agents WHERE owner_id IS NOT NULL AND id IN (SELECT agent_id FROM chain)";
            turn.to_string()
        );
        self.ids(checked(owners)).await
    }

    /// The authors of all messages in `turn`, in the turns that led to it and in the child turns of those, the earliest
    /// first: what was written to a child is part of its report.
    pub async fn authors_behind(&self, turn: TurnId) -> Result<Vec<UserId>, StoreError> {
        // Where a row cannot be read, its author becomes user 0, whom nobody knows.
        // The macros cannot tell which type is in JSON.
        let authors = shared_text!(
            chain "SELECT coalesce(CASE WHEN json_valid(inbound.body)
                 THEN json_extract(inbound.body, '$.author.id') END, 0)
             FROM inbound WHERE inbound.turn_id IN (SELECT id FROM all_of)
                 OR inbound.message_id IN (SELECT turns.trigger_id FROM all_of JOIN turns ON turns.id = all_of.id)
             ORDER BY inbound.message_id"
        );
        self.ids(sql(authors).bind(turn.to_string())).await
    }

    /// The users that `query` finds, each once.
    async fn ids(&self, query: Statement) -> Result<Vec<UserId>, StoreError> {
        let found: Vec<i64> = query.all(&mut *self.reader().await?, scalar).await?;
        let mut people: Vec<UserId> = Vec::new();
        for user in found.into_iter().map(UserId::from_i64) {
            if !people.contains(&user) {
                people.push(user);
            }
        }
        Ok(people)
    }
}
