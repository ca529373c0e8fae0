//! Turns whose task broke off: what they left open.

use sqlx::Row as _;

use super::Store;
use super::codec::{now, parsed};
use super::error::StoreError;
use crate::domain::TurnId;

/// The ids of a turn, to be bound, and of the child turns below it.
macro_rules! below {
    () => {
        "(WITH RECURSIVE below (id) AS (SELECT ? UNION
             SELECT t.id FROM below b JOIN turns t ON t.parent_id = b.id WHERE t.kind <> 'turn')
         SELECT id FROM below)"
    };
}

/// What a turn that broke off had left open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOpen {
    /// The child turns that ran below it, at any depth.
    pub below: Vec<TurnId>,
    /// Questions that nobody had decided, its own and those of the turns below it.
    pub questions: Vec<i64>,
}

impl Store {
    /// Closes the calls and questions that a turn left open whose task broke off. The child turns below it end as failed, with
    /// theirs; the turn itself is still to be ended.
    pub async fn close_left_open(&self, turn: TurnId) -> Result<LeftOpen, StoreError> {
        let id = turn.to_string();
        self.write(move |db| {
            Box::pin(async move {
                let calls = concat!(
                    "UPDATE calls SET state = 'interrupted', ended_at = ? WHERE state IN ('proposed', 'started')
                         AND turn_id IN ",
                    below!()
                );
                let calls = sqlx::query(calls).bind(now()).bind(&id);
                calls.execute(&mut *db).await?;
                let questions = concat!(
                    "UPDATE approvals SET decision = 'expired', decided_at = ? WHERE decision IS NULL AND turn_id IN ",
                    below!(),
                    " RETURNING id"
                );
                let questions = sqlx::query(questions).bind(now()).bind(&id);
                let questions = questions.fetch_all(&mut *db).await?;
                let turns = concat!(
                    "UPDATE turns SET state = 'finished', exit = 'failed', ended_at = ? WHERE state = 'running' AND id IN ",
                    below!(),
                    " AND id <> ? RETURNING id"
                );
                let turns = sqlx::query(turns).bind(now()).bind(&id).bind(&id);
                let turns = turns.fetch_all(&mut *db).await?;
                Ok(LeftOpen {
                    below: turns
                        .iter()
                        .map(|row| parsed(row, "id"))
                        .collect::<Result<_, _>>()?,
                    questions: questions
                        .iter()
                        .map(|row| row.try_get("id"))
                        .collect::<Result<_, _>>()?,
                })
            })
        })
        .await
    }
}
