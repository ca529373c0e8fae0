//! The runs of schedules: one row for each slot.
//!
//! ```text
//! take_slots (S1) ─▶ due ─┬─▶ start_gate (S1g) ─▶ gate ─┐
//!                └▶ skipped├──────────────────────────────┴─▶ begin_turn (S2) ─▶ started ─▶ finish_turn (D8)
//!                          └─▶ finish_run (S3: what people see, and the run's end)
//! ```
//!
//! A slot's row is written with the move of its schedule to the next slot, so no slot is taken twice.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{now, parsed, stamp, time, time_option, words};
use super::error::StoreError;
use super::outbox::queue;
use super::schedules::{ScheduleRow, schedule_row};
use super::statement::{checked, scalar};
use super::work::{Repeats, RunEnd, RunEnded, end_work};
use crate::domain::{Cost, TurnId};

words! {
    /// The progress of a slot's run.
    SlotState {
        /// It begins at its time.
        Due = "due",
        /// Its gate runs.
        Gate = "gate",
        /// Its turn runs.
        Started = "started",
        Done = "done",
        /// There was nothing to post.
        Quiet = "quiet",
        Failed = "failed",
        Skipped = "skipped",
    }
}

/// Most open runs of one schedule: one in progress, and one that waits.
const MOST_OPEN: i64 = 2;

/// Why a slot has no run while one runs and another waits.
const STILL_RUNNING: &str = "still running";

/// How long the same failure of a gate is not posted again.
const SAID_WITHIN: TimeDelta = TimeDelta::hours(24);

/// A slot of a schedule, which has one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotKey {
    pub schedule: i64,
    pub slot: DateTime<Utc>,
}

impl SlotKey {
    /// Returns the value of `turns.cause_id`.
    pub fn cause_id(self) -> String {
        format!("{}/{}", self.schedule, stamp(self.slot))
    }
}

/// A slot that is taken: its run, or why it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenSlot {
    pub slot: DateTime<Utc>,
    /// When its run should begin.
    pub due_at: DateTime<Utc>,
    /// Why it is skipped.
    pub skipped: Option<&'static str>,
}

/// The run of a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct SlotRun {
    pub key: SlotKey,
    pub state: SlotState,
    pub reason: Option<String>,
    pub due_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    /// How long after `due_at` its turn began, if it had one.
    pub late: Option<Duration>,
    /// The cost of its turn.
    pub cost: Option<Cost>,
}

/// A run and its schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOf {
    pub run: SlotRun,
    pub schedule: ScheduleRow,
}

/// Which runs to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOf {
    /// Runs that only post a text.
    Reminders,
    /// Runs with a turn or a command. Only the earliest run of each schedule counts, and only while no other run is in
    /// progress.
    Work,
}

/// Whether a run by hand was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunByHand {
    Added,
    /// One is already running, and another waits.
    StillRunning,
}

impl Store {
    /// Returns the earliest time after `now` at which something is due: a slot, or the beginning of a run.
    pub async fn next_due(&self, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let query = checked(query!(
            "SELECT min(next_at) AS next FROM schedules WHERE state = 'active'
                 UNION ALL SELECT min(due_at) FROM schedule_runs
                     WHERE state IN ('due', 'gate', 'started') AND state = 'due' AND due_at > ?",
            stamp(now)
        ));
        let moments = query
            .all(&mut *self.reader().await?, |row| time_option(row, "next"))
            .await?;
        Ok(moments.into_iter().flatten().min())
    }

    /// Takes slots (S1): stores a run for each, and moves the schedule to its next slot. Does nothing if the schedule
    /// is no longer active at the slot `seen`. Returns how many were skipped. While one run is running and another
    /// waits, slots of `work` are skipped.
    pub async fn take_slots(
        &self,
        schedule: i64,
        seen: DateTime<Utc>,
        slots: Vec<TakenSlot>,
        next: Option<DateTime<Utc>>,
        work: RunsOf,
    ) -> Result<Option<u64>, StoreError> {
        let taken = self.write(move |db| {
            Box::pin(async move {
                let is_full = work == RunsOf::Work && open_runs(db, schedule).await? >= MOST_OPEN;
                let mut batch = Batch::default();
                batch
                    .add(query!(
                        "UPDATE schedules SET next_at = ? WHERE id = ? AND state = 'active' AND next_at = ?",
                        next.map(stamp),
                        schedule,
                        stamp(seen)
                    ))
                    .must_change(format!("active schedule {schedule}"));
                let mut count = 0;
                for slot in slots {
                    let skipped = slot.skipped.or(is_full.then_some(STILL_RUNNING));
                    count += u64::from(skipped.is_some());
                    add_run(&mut batch, schedule, &slot, skipped);
                }
                batch.run(db).await.map(|_| count)
            })
        });
        match taken.await {
            Ok(skipped) => Ok(Some(skipped)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds a run that a person requested, with a separate slot.
    pub async fn run_by_hand(
        &self,
        schedule: i64,
        at: DateTime<Utc>,
    ) -> Result<RunByHand, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                if open_runs(db, schedule).await? >= MOST_OPEN {
                    return Ok(RunByHand::StillRunning);
                }
                let mut batch = Batch::default();
                let slot = TakenSlot {
                    slot: at,
                    due_at: at,
                    skipped: None,
                };
                add_run(&mut batch, schedule, &slot, None);
                batch.run(db).await?;
                Ok(RunByHand::Added)
            })
        })
        .await
    }

    /// Returns runs that should begin, earliest first, at most 200.
    pub async fn due_runs(
        &self,
        at: DateTime<Utc>,
        which: RunsOf,
    ) -> Result<Vec<RunOf>, StoreError> {
        let query = checked(query!(
            "SELECT s.*, r.schedule_id, r.slot, r.state AS run_state, r.reason AS run_reason, r.due_at, r.ended_at
                 FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id
                 WHERE r.state IN ('due', 'gate', 'started') AND r.state = 'due' AND r.due_at <= ?
                     AND (s.kind = 'reminder') = ?
                     AND (s.kind = 'reminder' OR NOT EXISTS (SELECT 1 FROM schedule_runs o
                         WHERE o.schedule_id = r.schedule_id AND o.state IN ('due', 'gate', 'started')
                             AND (o.state <> 'due' OR o.slot < r.slot)))
                 ORDER BY r.due_at, r.schedule_id LIMIT 200",
            stamp(at),
            which == RunsOf::Reminders
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                Ok(RunOf {
                    run: joined_run(row)?,
                    schedule: schedule_row(row)?,
                })
            })
            .await
    }

    /// Records that the gate of a run is about to begin (S1g). Returns whether the run was due.
    pub async fn start_gate(&self, run: SlotKey) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE schedule_runs SET state = 'gate' WHERE schedule_id = ? AND slot = ? AND state = 'due'",
            run.schedule,
            stamp(run.slot)
        ));
        Ok(self.run(batch).await?.iter().sum::<u64>() > 0)
    }

    /// Returns the runs with gates that the end of the daemon interrupted.
    pub async fn interrupted_gates(&self) -> Result<Vec<RunOf>, StoreError> {
        let query = checked(query!(
            "SELECT s.*, r.schedule_id, r.slot, r.state AS run_state, r.reason AS run_reason, r.due_at, r.ended_at
                 FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id
                 WHERE r.state IN ('due', 'gate', 'started') AND r.state = 'gate'"
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                Ok(RunOf {
                    run: joined_run(row)?,
                    schedule: schedule_row(row)?,
                })
            })
            .await
    }

    /// Ends the run of a slot (S3) or deliveries, and queues what people see of it. A schedule without a further slot is over
    /// with it.
    pub async fn finish_run(&self, end: RunEnd) -> Result<RunEnded, StoreError> {
        self.write(move |db| Box::pin(end_work(db, end))).await
    }

    /// Returns the run that a turn belongs to, if that run has not ended.
    pub async fn run_of_turn(&self, turn: TurnId) -> Result<Option<RunOf>, StoreError> {
        let query = checked(query!(
            "SELECT s.*, r.schedule_id, r.slot, r.state AS run_state, r.reason AS run_reason, r.due_at, r.ended_at
                 FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id
                 WHERE r.state IN ('due', 'gate', 'started') AND r.turn_id = ?",
            turn.to_string()
        ));
        query
            .first(&mut *self.reader().await?, |row| {
                Ok(RunOf {
                    run: joined_run(row)?,
                    schedule: schedule_row(row)?,
                })
            })
            .await
    }

    /// Returns the latest runs of a schedule, newest first.
    pub async fn slot_runs(&self, schedule: i64, most: u32) -> Result<Vec<SlotRun>, StoreError> {
        let query = checked(query!(
            "SELECT r.schedule_id, r.slot, r.state AS run_state, r.reason AS run_reason, r.due_at, r.ended_at, t.began_at,
                     t.id IS NOT NULL AS has_turn, (SELECT total(a.cost_usd) FROM turns c JOIN attempts a ON a.turn_id = c.id
                         WHERE c.run_id = r.turn_id) AS run_cost
                 FROM schedule_runs r LEFT JOIN turns t ON t.id = r.turn_id
                 WHERE r.schedule_id = ? ORDER BY r.slot DESC LIMIT ?",
            schedule,
            most
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                let run = joined_run(row)?;
                let began = time_option(row, "began_at")?;
                let cost: f64 = row.try_get("run_cost")?;
                let has_turn: bool = row.try_get("has_turn")?;
                Ok(SlotRun {
                    late: began.map(|began| (began - run.due_at).to_std().unwrap_or_default()),
                    cost: has_turn.then_some(Cost::Usd(cost)),
                    ..run
                })
            })
            .await
    }

    /// Removes runs that ended before `before`, and ended schedules without any further run.
    pub async fn forget_slot_runs(&self, before: DateTime<Utc>) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "DELETE FROM schedule_runs WHERE ended_at < ?",
            stamp(before)
        ));
        batch.add(query!(
            "DELETE FROM schedules WHERE state = 'ended' AND created_at < ?
                 AND NOT EXISTS (SELECT 1 FROM schedule_runs r WHERE r.schedule_id = schedules.id)",
            stamp(before)
        ));
        self.run(batch.unsynced()).await.map(drop)
    }
}

/// Gives a run its turn (S2), in the transaction in which that begins.
pub(super) fn start_run(batch: &mut Batch, run: SlotKey, turn: TurnId) {
    batch
        .add(query!(
            "UPDATE schedule_runs SET state = 'started', turn_id = ?
                 WHERE schedule_id = ? AND slot = ? AND state IN ('due', 'gate')",
            turn.to_string(),
            run.schedule,
            stamp(run.slot)
        ))
        .must_change("run of a slot that has not begun");
    batch.add(query!(
        "UPDATE turns SET cause_id = ? WHERE id = ?",
        run.cause_id(),
        turn.to_string()
    ));
}

/// Moves the run of an interrupted turn to the turn that continues it.
pub(super) fn hand_on_run(batch: &mut Batch, from: TurnId, to: TurnId) {
    batch.add(query!(
        "UPDATE schedule_runs SET turn_id = ? WHERE state IN ('due', 'gate', 'started') AND turn_id = ?",
        to.to_string(),
        from.to_string()
    ));
}

/// Ends the run of a turn about which only one thing is known: it did not answer.
pub(super) fn end_run_of(batch: &mut Batch, turn: TurnId, reason: &str) {
    let turn = turn.to_string();
    batch.add(query!(
        "UPDATE schedules SET state = 'ended' WHERE state = 'active' AND next_at IS NULL AND id IN
             (SELECT schedule_id FROM schedule_runs WHERE state IN ('due', 'gate', 'started') AND turn_id = ?)",
        &turn
    ));
    batch.add(query!(
        "UPDATE schedule_runs SET state = 'failed', reason = ?, ended_at = ?
             WHERE state IN ('due', 'gate', 'started') AND turn_id = ?",
        reason,
        now(),
        &turn
    ));
}

/// Skips the runs of a schedule that have not begun.
pub(super) fn skip_due(batch: &mut Batch, schedule: i64, reason: &str) {
    batch.add(query!(
        "UPDATE schedule_runs SET state = 'skipped', reason = ?, ended_at = ? WHERE schedule_id = ? AND state = 'due'",
        reason,
        now(),
        schedule
    ));
}

/// Ends a run, counts its failure, and pauses its schedule after too many.
pub(super) async fn end_run(
    db: &mut SqliteConnection,
    key: SlotKey,
    end: RunEnd,
) -> Result<RunEnded, StoreError> {
    let RunEnd {
        key: _,
        state,
        reason,
        posts,
        repeats,
        pausing,
    } = end;
    let at = now();
    let was_said = match repeats {
        Repeats::Always => false,
        Repeats::OnceADay => was_said(db, key.schedule, reason.as_deref()).await?,
    };
    let ended = checked(query!(
        "UPDATE schedule_runs SET state = ?, reason = ?, ended_at = ?
             WHERE schedule_id = ? AND slot = ? AND state IN ('due', 'gate', 'started')",
        state.as_str(),
        reason,
        &at,
        key.schedule,
        stamp(key.slot)
    ));
    if ended.execute(db).await? == 0 {
        return Ok(RunEnded::Before);
    }
    let mut batch = Batch::default();
    for post in posts.into_iter().filter(|_| !was_said) {
        queue(&mut batch, post.channel, None, post.part, None)?;
    }
    if state != SlotState::Skipped {
        batch.add(query!(
            "UPDATE schedules SET failures = iif(?, failures + 1, 0) WHERE id = ?",
            state == SlotState::Failed,
            key.schedule
        ));
    }
    batch.add(query!(
        "UPDATE schedules SET state = 'ended' WHERE id = ?1 AND state = 'active' AND next_at IS NULL AND NOT EXISTS
             (SELECT 1 FROM schedule_runs WHERE schedule_id = ?1 AND state IN ('due', 'gate', 'started'))",
        key.schedule
    ));
    batch.run(db).await?;
    let Some(pausing) = pausing.filter(|_| state == SlotState::Failed) else {
        return Ok(RunEnded::Now);
    };
    let paused = checked(query!(
        "UPDATE schedules SET state = 'paused', reason = ? WHERE id = ? AND state = 'active' AND failures >= ?",
        pausing.reason,
        key.schedule,
        pausing.after
    ));
    if paused.execute(db).await? == 0 {
        return Ok(RunEnded::Now);
    }
    let mut batch = Batch::default();
    skip_due(&mut batch, key.schedule, "paused");
    if let Some(told) = pausing.told {
        queue(&mut batch, told.channel, None, told.part, None)?;
    }
    batch.run(db).await?;
    Ok(RunEnded::AndPaused)
}

/// Returns whether a run of the schedule failed for this reason within a day.
async fn was_said(
    db: &mut SqliteConnection,
    schedule: i64,
    reason: Option<&str>,
) -> Result<bool, StoreError> {
    let since = stamp(Utc::now() - SAID_WITHIN);
    let said = checked(query!(
        "SELECT count(*) AS count FROM schedule_runs
             WHERE schedule_id = ? AND state = 'failed' AND reason IS ? AND ended_at > ?",
        schedule,
        reason,
        since
    ));
    Ok(said.one(db, scalar::<i64>).await? > 0)
}

async fn open_runs(db: &mut SqliteConnection, schedule: i64) -> Result<i64, StoreError> {
    let open = checked(query!(
        "SELECT count(*) AS count FROM schedule_runs WHERE schedule_id = ? AND state IN ('due', 'gate', 'started')",
        schedule
    ));
    open.one(db, scalar).await
}

fn add_run(batch: &mut Batch, schedule: i64, slot: &TakenSlot, skipped: Option<&'static str>) {
    let (state, ended) = match skipped {
        None => (SlotState::Due, None),
        Some(_) => (SlotState::Skipped, Some(now())),
    };
    batch.add(query!(
        "INSERT INTO schedule_runs (schedule_id, slot, state, reason, due_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)
             ON CONFLICT (schedule_id, slot) DO NOTHING",
        schedule,
        stamp(slot.slot),
        state.as_str(),
        skipped,
        stamp(slot.due_at),
        ended
    ));
}

fn joined_run(row: &SqliteRow) -> Result<SlotRun, StoreError> {
    Ok(SlotRun {
        key: SlotKey {
            schedule: row.try_get("schedule_id")?,
            slot: time(row, "slot")?,
        },
        state: parsed(row, "run_state")?,
        reason: row.try_get("run_reason")?,
        due_at: time(row, "due_at")?,
        ended_at: time_option(row, "ended_at")?,
        late: None,
        cost: None,
    })
}
