//! Turns with a task that panicked: the work they left open, and their use.

use serde_json::{Value, json};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::Store;
use super::codec::{cost, counted, now, parsed, tokens};
use super::error::StoreError;
use super::statement::{scalar, sql};
use crate::domain::{Cost, TurnId, Usage};

/// The ids of a turn, to be bound, and of the child turns below it.
macro_rules! below {
    () => {
        "(WITH RECURSIVE below (id) AS (SELECT ? UNION
             SELECT t.id FROM below b JOIN turns t ON t.parent_id = b.id WHERE t.kind <> 'turn')
         SELECT id FROM below)"
    };
}

/// Tokens and money of requests, as stored. The condition after it selects the turns.
macro_rules! sums {
    () => {
        "coalesce(sum(a.input), 0) AS input, coalesce(sum(a.output), 0) AS output,
             coalesce(sum(a.cache_read), 0) AS cache_read, coalesce(sum(a.cache_write), 0) AS cache_write,
             iif(count(*) FILTER (WHERE a.cost_usd IS NULL AND a.input + a.output + a.cache_read + a.cache_write > 0) = 0,
                 total(a.cost_usd), NULL) AS cost_usd
             FROM attempts a WHERE a.provider <> '' AND a.kind <> 'queue'"
    };
}

/// The use of requests. The condition after it selects the turns.
macro_rules! took {
    () => {
        concat!(
            "count(*) FILTER (WHERE a.kind = 'model' AND a.outcome = 'ok') AS steps, ",
            $crate::store::broken::sums!()
        )
    };
}

/// Sets the tokens and the money of turns to the sums of their requests.
macro_rules! costs {
    () => {
        concat!(
            "(input, output, cache_read, cache_write, cost_usd) = (SELECT ",
            $crate::store::broken::sums!(),
            " AND a.turn_id = turns.id)"
        )
    };
}

/// Sets the use of turns to that of their requests: for turns with a task that can no longer add it up.
macro_rules! adds_up {
    () => {
        concat!(
            "(steps, input, output, cache_read, cache_write, cost_usd) = (SELECT ",
            $crate::store::broken::took!(),
            " AND a.turn_id = turns.id)"
        )
    };
}
pub(super) use {adds_up, costs, sums, took};

/// The reason in place of a report: the turn's task panicked.
pub(super) const BROKE_OFF: &str = "broke_off";

/// The work that a turn left open when its task panicked.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOpen {
    /// The child turns that ran below it, at any depth.
    pub below: Vec<TurnId>,
    /// Undecided questions, its own and those of the turns below it.
    pub questions: Vec<i64>,
    /// Its own use.
    pub own: Took,
    /// The use of all child turns below it, including those that had ended.
    pub of_below: Took,
    /// The number of those turns.
    pub children: usize,
    /// The number of those turns that an abort ended.
    pub aborted: usize,
}

/// The use of models by turns, as stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    /// Requests that were answered.
    pub steps: u32,
    pub usage: Usage,
    pub cost: Cost,
}

impl Store {
    /// Closes the calls and questions that a turn left open when its task panicked. The child turns below it end as
    /// failed, with theirs; the turn itself must still be ended.
    pub async fn close_left_open(&self, turn: TurnId) -> Result<LeftOpen, StoreError> {
        let id = turn.to_string();
        self.write(move |db| {
            Box::pin(async move {
            let calls = concat!(
                "UPDATE calls SET state = 'interrupted', ended_at = ? WHERE state IN ('proposed', 'started')
                     AND turn_id IN ",
                below!()
            );
            sql(calls).bind(now()).bind(&id).execute(db).await?;
            let questions = concat!(
                "UPDATE approvals SET decision = 'expired', decided_at = ? WHERE decision IS NULL AND turn_id IN ",
                below!(),
                " RETURNING id"
            );
            let questions = sql(questions).bind(now()).bind(&id).all(db, scalar).await?;
            let turns = concat!(
                "UPDATE turns SET state = 'finished', exit = 'failed', ended_at = ?, report = ?, ",
                adds_up!(),
                " WHERE state = 'running' AND id IN ",
                below!(),
                " AND id <> ? RETURNING id"
            );
            let turns = sql(turns).bind(now()).bind(report().to_string());
            let turns = turns.bind(&id).bind(&id);
            let below = turns.all(db, |row| parsed(row, "id")).await?;
            let own = concat!("SELECT ", took!(), " AND a.turn_id = ?");
            let own = sql(own).bind(&id).one(db, read_took).await?;
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

/// Returns the report in the row of a turn with a task that panicked.
pub(super) fn report() -> Value {
    json!({ "reason": BROKE_OFF })
}

async fn of_all_below(
    db: &mut SqliteConnection,
    turn: &str,
) -> Result<(Took, usize, usize), StoreError> {
    let took = concat!(
        "SELECT ",
        took!(),
        " AND a.turn_id <> ? AND a.turn_id IN ",
        below!()
    );
    let took = sql(took).bind(turn).bind(turn).one(db, read_took).await?;
    let turns = concat!(
        "SELECT count(*) AS children, count(*) FILTER (WHERE exit = 'aborted') AS aborted FROM turns
             WHERE id <> ? AND id IN ",
        below!()
    );
    let turns = sql(turns).bind(turn).bind(turn);
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
