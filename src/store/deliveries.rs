//! What arrived at webhooks: one row for each delivery.
//!
//! ```text
//! store_delivery (W1) ─▶ stored ─┬─▶ begin_turn (W2) ─▶ started ─▶ finish_turn (D8)
//!                    └▶ filtered └─▶ finish_run (what people see, and the end of the deliveries)
//! ```
//!
//! A sender gets its answer after W1, so a crash loses nothing that was accepted. Deliveries that wait for the same conversation
//! begin together.

use chrono::{DateTime, Utc};
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{now, parsed, parsed_option, stamp, time, words};
use super::error::StoreError;
use super::outbox::queue;
use super::schedule_runs::SlotState;
use super::statement::{checked, scalar};
use super::webhooks::{WebhookRow, webhook_row};
use super::work::{Pausing, RunEnd, RunEnded};
use crate::domain::{Cost, TurnId};

words! {
    /// How far a delivery is.
    DeliveryState {
        /// It waits for its turn.
        Stored = "stored",
        /// Its turn runs.
        Started = "started",
        Done = "done",
        /// There was nothing to say.
        Quiet = "quiet",
        /// It is not wanted.
        Filtered = "filtered",
        Failed = "failed",
    }
}

/// Deliveries that one turn takes.
pub const MOST_JOINED: u32 = 20;

/// Deliveries of one turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeliveriesKey {
    pub webhook: String,
    /// Their rows, the earliest first.
    pub rows: Vec<i64>,
}

impl DeliveriesKey {
    /// Returns the value of `turns.cause_id`. It begins with the id of the webhook, which has 32 digits.
    fn cause_id(&self) -> String {
        let first = self.rows.first().copied().unwrap_or_default();
        format!("{}/{first}", self.webhook)
    }
}

/// How a delivery is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryId {
    /// By the sender's id.
    Given(String),
    /// By the hash of its body, for deliveries since then.
    Hash { hash: String, since: DateTime<Utc> },
}

/// A delivery whose signature is right.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    pub webhook: String,
    pub id: DeliveryId,
    pub received_at: DateTime<Utc>,
    /// When its turn may begin.
    pub due_at: DateTime<Utc>,
    /// The header that names its event.
    pub event: Option<String>,
    /// The value of `thread_by`.
    pub thread: Option<String>,
    /// The body, gzip; `None` where it is not wanted.
    pub body: Option<Vec<u8>>,
}

/// What became of a delivery that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It waits for its turn.
    Stored,
    Filtered,
    /// It was here before.
    Seen,
    /// Too many wait already.
    Full,
}

/// Deliveries that wait for one conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingDeliveries {
    pub webhook: WebhookRow,
    /// The value of `thread_by` that they share.
    pub thread: Option<String>,
    /// When their turn may begin.
    pub due_at: DateTime<Utc>,
    /// When the first arrived.
    pub since: DateTime<Utc>,
    pub count: u32,
}

/// One that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDelivery {
    pub row: i64,
    pub event: Option<String>,
    /// gzip.
    pub body: Vec<u8>,
}

/// A delivery, as people look at it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryView {
    pub state: DeliveryState,
    pub reason: Option<String>,
    pub received_at: DateTime<Utc>,
    pub event: Option<String>,
    pub turn: Option<TurnId>,
    /// What its turn cost, which it may share with others.
    pub cost: Option<Cost>,
}

/// The deliveries of a turn, with their webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveriesOf {
    pub key: DeliveriesKey,
    pub webhook: WebhookRow,
    pub since: DateTime<Utc>,
}

impl Store {
    /// Stores a delivery (W1), unless it was here before or `most` wait already.
    pub async fn store_delivery(&self, new: NewDelivery, most: u32) -> Result<Arrived, StoreError> {
        self.write(move |db| Box::pin(arrive(db, new, most))).await
    }

    /// Returns what waits for conversations in which no delivery works, the earliest first, at most 200.
    pub async fn waiting_deliveries(&self) -> Result<Vec<WaitingDeliveries>, StoreError> {
        let query = checked(query!(
            "SELECT w.*, d.thread AS lane, min(coalesce(d.due_at, d.received_at)) AS lane_due, min(d.received_at) AS lane_since,
                     count(*) AS lane_count
                 FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
                 WHERE d.state IN ('stored', 'started') AND d.state = 'stored' AND NOT EXISTS (SELECT 1 FROM deliveries o
                     WHERE o.webhook_id = d.webhook_id AND o.thread IS d.thread AND o.state IN ('stored', 'started')
                         AND o.state = 'started')
                 GROUP BY d.webhook_id, d.thread ORDER BY lane_due LIMIT 200"
        ));
        query
            .readable(&mut *self.reader().await?, "webhooks", "id", |row| {
                Ok(WaitingDeliveries {
                    webhook: webhook_row(row)?,
                    thread: row.try_get("lane")?,
                    due_at: time(row, "lane_due")?,
                    since: time(row, "lane_since")?,
                    count: row.try_get("lane_count")?,
                })
            })
            .await
    }

    /// Returns the earliest deliveries that wait for one conversation, as many as one turn takes; none while others work
    /// there.
    pub async fn next_deliveries(
        &self,
        webhook: &str,
        thread: Option<&str>,
    ) -> Result<Vec<WaitingDelivery>, StoreError> {
        let query = checked(query!(
            "SELECT id, event, coalesce(body, x'') AS body FROM deliveries
                 WHERE webhook_id = ?1 AND thread IS ?2 AND state IN ('stored', 'started') AND state = 'stored'
                     AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.webhook_id = ?1 AND o.thread IS ?2
                         AND o.state IN ('stored', 'started') AND o.state = 'started')
                 ORDER BY id LIMIT ?3",
            webhook.to_owned(),
            thread.map(str::to_owned),
            MOST_JOINED
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                Ok(WaitingDelivery {
                    row: row.try_get("id")?,
                    event: row.try_get("event")?,
                    body: row.try_get("body")?,
                })
            })
            .await
    }

    /// Returns the deliveries of a turn that have not ended, if it has any.
    pub async fn deliveries_of_turn(
        &self,
        turn: TurnId,
    ) -> Result<Option<DeliveriesOf>, StoreError> {
        let query = checked(query!(
            "SELECT w.*, d.id AS row_id, d.received_at FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
                 WHERE d.state IN ('stored', 'started') AND d.turn_id = ? ORDER BY d.id",
            turn.to_string()
        ));
        let rows = query
            .all(&mut *self.reader().await?, |row| {
                let id: i64 = row.try_get("row_id")?;
                Ok((webhook_row(row)?, id, time(row, "received_at")?))
            })
            .await?;
        let Some((webhook, _, since)) = rows.first().cloned() else {
            return Ok(None);
        };
        Ok(Some(DeliveriesOf {
            key: DeliveriesKey {
                webhook: webhook.webhook.id.clone(),
                rows: rows.into_iter().map(|(_, row, _)| row).collect(),
            },
            webhook,
            since,
        }))
    }

    /// Returns the latest deliveries of a webhook, newest first.
    pub async fn latest_deliveries(
        &self,
        webhook: &str,
        most: u32,
    ) -> Result<Vec<DeliveryView>, StoreError> {
        let query = checked(query!(
            "SELECT d.state, d.reason, d.received_at, d.event, d.turn_id, (SELECT total(a.cost_usd) FROM turns c
                     JOIN attempts a ON a.turn_id = c.id WHERE c.run_id = d.turn_id) AS run_cost
                 FROM deliveries d WHERE d.webhook_id = ? ORDER BY d.id DESC LIMIT ?",
            webhook.to_owned(),
            most
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                let turn: Option<TurnId> = parsed_option(row, "turn_id")?;
                let cost: f64 = row.try_get("run_cost")?;
                Ok(DeliveryView {
                    state: parsed(row, "state")?,
                    reason: row.try_get("reason")?,
                    received_at: time(row, "received_at")?,
                    event: row.try_get("event")?,
                    cost: turn.map(|_| Cost::Usd(cost)),
                    turn,
                })
            })
            .await
    }

    /// Removes the bodies of deliveries that came before `bodies`, and the rows of those that came before `rows`. What still
    /// waits has failed then.
    pub async fn forget_deliveries(
        &self,
        bodies: DateTime<Utc>,
        rows: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE deliveries SET state = 'failed', reason = 'it waited for 7 days', ended_at = ?
                 WHERE state IN ('stored', 'started') AND state = 'stored' AND received_at < ?",
            now(),
            stamp(bodies)
        ));
        batch.add(query!(
            "UPDATE deliveries SET body = NULL WHERE body IS NOT NULL AND received_at < ?",
            stamp(bodies)
        ));
        batch.add(query!(
            "DELETE FROM deliveries WHERE received_at < ? AND state NOT IN ('stored', 'started')",
            stamp(rows)
        ));
        self.run(batch.unsynced()).await.map(drop)
    }
}

/// Stores a delivery as it arrives.
async fn arrive(
    db: &mut SqliteConnection,
    new: NewDelivery,
    most: u32,
) -> Result<Arrived, StoreError> {
    if is_seen(db, &new).await? {
        return Ok(Arrived::Seen);
    }
    let is_wanted = new.body.is_some();
    if is_wanted {
        let waiting = checked(query!(
            "SELECT count(*) AS count FROM deliveries WHERE webhook_id = ? AND state IN ('stored', 'started')",
            new.webhook.clone()
        ));
        if waiting.one(db, scalar::<u32>).await? >= most {
            return Ok(Arrived::Full);
        }
    }
    let (state, ended) = if is_wanted {
        (DeliveryState::Stored, None)
    } else {
        (DeliveryState::Filtered, Some(now()))
    };
    let id = match new.id {
        DeliveryId::Given(id) => id,
        DeliveryId::Hash { hash, .. } => format!("{hash}/{}", stamp(new.received_at)),
    };
    checked(query!(
        "INSERT INTO deliveries (webhook_id, delivery_id, received_at, state, event, thread, due_at, ended_at, body)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE EXISTS (SELECT 1 FROM webhooks WHERE id = ?1)",
        new.webhook,
        id,
        stamp(new.received_at),
        state.as_str(),
        new.event,
        new.thread,
        stamp(new.due_at),
        ended,
        new.body
    ))
    .execute(db)
    .await?;
    Ok(match state {
        DeliveryState::Stored => Arrived::Stored,
        _ => Arrived::Filtered,
    })
}

async fn is_seen(db: &mut SqliteConnection, new: &NewDelivery) -> Result<bool, StoreError> {
    let found = match &new.id {
        DeliveryId::Given(id) => checked(query!(
            "SELECT count(*) AS count FROM deliveries WHERE webhook_id = ? AND delivery_id = ?",
            new.webhook.clone(),
            id.clone()
        )),
        // `0` follows `/`: all ids that begin with the hash lie between the two.
        DeliveryId::Hash { hash, since } => checked(query!(
            "SELECT count(*) AS count FROM deliveries WHERE webhook_id = ? AND delivery_id >= ? AND delivery_id < ?
                 AND received_at > ?",
            new.webhook.clone(),
            format!("{hash}/"),
            format!("{hash}0"),
            stamp(*since)
        )),
    };
    Ok(found.one(db, scalar::<i64>).await? > 0)
}

/// Gives deliveries their turn (W2), in the transaction in which that begins.
pub(super) fn start_deliveries(batch: &mut Batch, key: &DeliveriesKey, turn: TurnId) {
    for row in &key.rows {
        batch
            .add(query!(
                "UPDATE deliveries SET state = 'started', turn_id = ? WHERE id = ? AND state = 'stored'",
                turn.to_string(),
                *row
            ))
            .must_change("delivery that has not begun");
    }
    batch.add(query!(
        "UPDATE turns SET cause_id = ? WHERE id = ?",
        key.cause_id(),
        turn.to_string()
    ));
}

/// The deliveries of an interrupted turn go on as those of the turn that continues it.
pub(super) fn hand_on_deliveries(batch: &mut Batch, from: TurnId, to: TurnId) {
    batch.add(query!(
        "UPDATE deliveries SET turn_id = ? WHERE state IN ('stored', 'started') AND turn_id = ?",
        to.to_string(),
        from.to_string()
    ));
}

/// Ends the deliveries of a turn of which nothing more is known than that it did not answer.
pub(super) fn end_deliveries_of(batch: &mut Batch, turn: TurnId, reason: &str) {
    batch.add(query!(
        "UPDATE deliveries SET state = 'failed', reason = ?, ended_at = ? WHERE state IN ('stored', 'started') AND turn_id = ?",
        reason.to_owned(),
        now(),
        turn.to_string()
    ));
}

/// Fails the deliveries of a webhook that have not begun.
pub(super) fn fail_waiting(batch: &mut Batch, webhook: &str, reason: &str) {
    batch.add(query!(
        "UPDATE deliveries SET state = 'failed', reason = ?, ended_at = ?
             WHERE webhook_id = ? AND state IN ('stored', 'started') AND state = 'stored'",
        reason.to_owned(),
        now(),
        webhook.to_owned()
    ));
}

/// Ends deliveries, counts a failure, and pauses their webhook after too many.
pub(super) async fn end_deliveries(
    db: &mut SqliteConnection,
    key: DeliveriesKey,
    end: RunEnd,
) -> Result<RunEnded, StoreError> {
    let state = match end.state {
        SlotState::Quiet => DeliveryState::Quiet,
        SlotState::Done => DeliveryState::Done,
        // A delivery was accepted: what is left out has failed.
        SlotState::Failed
        | SlotState::Skipped
        | SlotState::Due
        | SlotState::Gate
        | SlotState::Started => DeliveryState::Failed,
    };
    let mut changed = 0;
    for row in &key.rows {
        let ended = checked(query!(
            "UPDATE deliveries SET state = ?, reason = ?, ended_at = ? WHERE id = ? AND state IN ('stored', 'started')",
            state.as_str(),
            end.reason.clone(),
            now(),
            *row
        ));
        changed += ended.execute(db).await?;
    }
    if changed == 0 {
        return Ok(RunEnded::Before);
    }
    let mut batch = Batch::default();
    for post in end.posts {
        queue(&mut batch, post.channel, None, post.part, None)?;
    }
    let is_failed = end.state == SlotState::Failed;
    if end.state != SlotState::Skipped {
        batch.add(query!(
            "UPDATE webhooks SET failures = iif(?, failures + 1, 0) WHERE id = ?",
            is_failed,
            key.webhook.clone()
        ));
    }
    batch.run(db).await?;
    match end.pausing.filter(|_| is_failed) {
        Some(pausing) => pause_after(db, &key.webhook, pausing).await,
        None => Ok(RunEnded::Now),
    }
}

/// Pauses a webhook whose runs failed once too often.
async fn pause_after(
    db: &mut SqliteConnection,
    webhook: &str,
    pausing: Pausing,
) -> Result<RunEnded, StoreError> {
    let paused = checked(query!(
        "UPDATE webhooks SET state = 'paused', reason = ? WHERE id = ? AND state = 'active' AND failures >= ?",
        pausing.reason,
        webhook.to_owned(),
        pausing.after
    ));
    if paused.execute(db).await? == 0 {
        return Ok(RunEnded::Now);
    }
    let mut batch = Batch::default();
    fail_waiting(&mut batch, webhook, "paused");
    if let Some(told) = pausing.told {
        queue(&mut batch, told.channel, None, told.part, None)?;
    }
    batch.run(db).await?;
    Ok(RunEnded::AndPaused)
}
