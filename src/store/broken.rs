//! Turns whose task panicked: what they left open, and what they used.

use serde_json::{Value, json};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::Store;
use super::codec::{cost, counted, now, parsed, tokens};
use super::error::StoreError;
use super::shared::shared_query;
use super::statement::{checked, scalar};
use crate::domain::{Cost, TurnId, Usage};

/// The reason in place of a report: the turn's task panicked.
pub(super) const BROKE_OFF: &str = "broke_off";

/// What a turn whose task panicked had left open.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOpen {
    /// The child turns that ran below it, at any depth.
    pub below: Vec<TurnId>,
    /// Questions that nobody had decided, its own and those of the turns below it.
    pub questions: Vec<i64>,
    /// Its own use.
    pub own: Took,
    /// The use of all child turns below it, including those that had ended.
    pub of_below: Took,
    /// How many of them there are.
    pub children: usize,
    /// How many of them an abort ended.
    pub aborted: usize,
}

/// What turns used of models, as stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Requests that were answered.
    pub steps: u32,
    pub usage: Usage,
    pub cost: Cost,
}

impl Store {
    /// Closes the calls and questions that a turn left open when its task panicked. The child turns below it end as failed,
    /// with theirs; the turn itself is still to be ended.
    pub async fn close_left_open(&self, turn: TurnId) -> Result<LeftOpen, StoreError> {
        let id = turn.to_string();
        self.write(move |db| {
            Box::pin(async move {
            let calls = checked(shared_query!(
                "UPDATE calls SET state = 'interrupted', ended_at = ? WHERE state IN ('proposed', 'started')
                     AND turn_id IN " below;
                now(), &id
            ));
            calls.execute(db).await?;
            let questions = checked(shared_query!(
                "UPDATE approvals SET decision = 'expired', decided_at = ? WHERE decision IS NULL AND turn_id IN "
                    below " RETURNING id";
                now(), &id
            ));
            let questions = questions.all(db, scalar).await?;
            let turns = checked(shared_query!(
                "UPDATE turns SET state = 'finished', exit = 'failed', ended_at = ?, report = ?, " adds_up
                    " WHERE state = 'running' AND id IN " below " AND id <> ? RETURNING id";
                now(), report().to_string(), &id, &id
            ));
            let below = turns.all(db, |row| parsed(row, "id")).await?;
            let own = checked(shared_query!("SELECT " steps sums " AND a.turn_id = ?"; &id));
            let own = own.one(db, read_took).await?;
            let (of_below, children, aborted) = of_all_below(db, &id).await?;
            Ok(LeftOpen {
                below,
                questions,
                own,
                of_below,
                children,
                aborted,
            })
            })
        })
        .await
    }
}

/// The report in the row of a turn whose task panicked.
pub(super) fn report() -> Value {
    json!({ "reason": BROKE_OFF })
}

async fn of_all_below(
    db: &mut SqliteConnection,
    turn: &str,
) -> Result<(Took, usize, usize), StoreError> {
    let took = checked(shared_query!(
        "SELECT " steps sums " AND a.turn_id <> ? AND a.turn_id IN " below;
        turn, turn
    ));
    let took = took.one(db, read_took).await?;
    let turns = checked(shared_query!(
        "SELECT count(*) AS children, count(*) FILTER (WHERE exit = 'aborted') AS aborted FROM turns
             WHERE id <> ? AND id IN " below;
        turn, turn
    ));
    let read = |row: &SqliteRow| {
        let number =
            |name| counted(row, name).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        Ok((took, number("children")?, number("aborted")?))
    };
    turns.one(db, read).await
}

fn read_took(row: &SqliteRow) -> Result<Took, StoreError> {
    Ok(Took {
        steps: u32::try_from(counted(row, "steps")?).unwrap_or(u32::MAX),
        usage: tokens(row)?,
        cost: cost(row)?,
    })
}
