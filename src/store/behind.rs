//! The people behind a turn: the authors of the words that led to it, through any number of hooks and agents.
//!
//! Words are messages, answers to questions of `ask_person`, reasons of denials, and the prompt of a schedule.

use super::Store;
use super::error::StoreError;
use super::statement::{scalar, sql};
use crate::domain::{TurnId, UserId};

/// A turn and those that led to it; the first of the chain is last.
const CHAIN: &str = "WITH RECURSIVE chain (id, agent_id, parent_id) AS (
         SELECT id, agent_id, parent_id FROM turns WHERE id = ?
         UNION SELECT turns.id, turns.agent_id, turns.parent_id FROM turns JOIN chain ON turns.id = chain.parent_id
     ), all_of (id) AS (
         SELECT id FROM chain
         UNION SELECT turns.id FROM turns JOIN chain ON turns.run_id = chain.id WHERE turns.kind <> 'turn'
     )";

impl Store {
    /// Returns the authors of all messages in `turn` and in the turns that led to it, the earliest first. If no person
    /// wrote in any of them, returns the owners of their agents, who are responsible for the agents' own actions.
    pub async fn people_behind(&self, turn: TurnId) -> Result<Vec<UserId>, StoreError> {
        let people = self.authors_behind(turn).await?;
        if !people.is_empty() {
            return Ok(people);
        }
        let owners = "SELECT owner_id FROM agents WHERE owner_id IS NOT NULL
             AND id IN (SELECT agent_id FROM chain)";
        self.ids(owners, turn).await
    }

    /// Returns the authors of all words in `turn`, in the turns that led to it and in the child turns of those: first the
    /// owner of its schedule, then authors of messages, earliest first. A message to a child is part of its report.
    pub async fn authors_behind(&self, turn: TurnId) -> Result<Vec<UserId>, StoreError> {
        // If a row cannot be read, its author becomes user 0, which does not exist. The owner of a schedule or a webhook
        // counts as the author of its turns.
        let authors = "SELECT s.owner_id AS user, 0 AS position FROM chain JOIN turns ON turns.id = chain.id
                 JOIN schedules s ON s.id = CAST(turns.cause_id AS INTEGER) WHERE turns.cause = 'schedule'
             UNION ALL SELECT w.owner_id, 0 FROM chain JOIN turns ON turns.id = chain.id
                 JOIN webhooks w ON w.id = substr(turns.cause_id, 1, 32) WHERE turns.cause = 'webhook'
             UNION ALL SELECT coalesce(CASE WHEN json_valid(inbound.body)
                 THEN json_extract(inbound.body, '$.author.id') END, 0), inbound.message_id
             FROM inbound WHERE inbound.turn_id IN (SELECT id FROM all_of)
                 OR inbound.message_id IN (SELECT turns.trigger_id FROM all_of JOIN turns ON turns.id = all_of.id)
             UNION ALL SELECT answered_by, 9223372036854775807 FROM questions
                 WHERE answered_by IS NOT NULL AND turn_id IN (SELECT id FROM all_of)
             UNION ALL SELECT user_id, 9223372036854775807 FROM turn_people WHERE turn_id IN (SELECT id FROM all_of)
             UNION ALL SELECT p.user_id, 9223372036854775807 FROM chain JOIN turns ON turns.id = chain.id
                 JOIN schedule_people p ON p.schedule_id = CAST(turns.cause_id AS INTEGER) WHERE turns.cause = 'schedule'
             ORDER BY position";
        self.ids(authors, turn).await
    }

    /// Returns the users that `select` finds by the chain of a turn, each once.
    async fn ids(&self, select: &'static str, turn: TurnId) -> Result<Vec<UserId>, StoreError> {
        let query = sql(format!("{CHAIN} {select}")).bind(turn.to_string());
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
