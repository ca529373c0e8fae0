//! Schedules and reminders, and the runs of their slots.
//!
//! ```text
//! take_slots (S1) ─▶ due ─▶ finish_run (S3: what people see, and the run's end)
//!                └─▶ skipped
//! ```
//!
//! A slot has one row. It is written with the move of the schedule to its next slot, so no slot is taken twice.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{now, parsed, stamp, time, time_option, words};
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::{checked, scalar};
use crate::domain::{AgentId, ChannelId, GuildId, UserId};

words! {
    /// What a schedule does at its slots.
    ScheduleKind {
        /// It begins a turn.
        Turn = "turn",
        /// It posts the output of its gate.
        Post = "post",
        /// It posts its text.
        Reminder = "reminder",
    }
}

words! {
    ScheduleState {
        Active = "active",
        /// It has no slots until a person resumes it.
        Paused = "paused",
        /// It is over: it was deleted, or had one slot.
        Ended = "ended",
    }
}

words! {
    /// How far the run of a slot is.
    SlotState {
        /// It begins at its time.
        Due = "due",
        /// Its gate runs.
        Gate = "gate",
        /// Its turn runs.
        Started = "started",
        Done = "done",
        /// There was nothing to say.
        Quiet = "quiet",
        Failed = "failed",
        Skipped = "skipped",
    }
}

/// A schedule that a person confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSchedule {
    pub agent: AgentId,
    /// Unique among the agent's schedules that are not over.
    pub name: String,
    pub owner: UserId,
    pub kind: ScheduleKind,
    /// The time as the person wrote it.
    pub when_text: String,
    /// The same as the program reads it.
    pub rule: String,
    /// The name of the zone of its times.
    pub timezone: String,
    /// The prompt, or the text of a reminder.
    pub body: String,
    /// The thread in which it posts; `None` is the agent's channel.
    pub thread: Option<ChannelId>,
    /// What happens to missed slots.
    pub missed: String,
    /// The first slot.
    pub next_at: DateTime<Utc>,
}

/// A schedule as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleRow {
    pub id: i64,
    pub schedule: NewSchedule,
    pub state: ScheduleState,
    /// Why it is paused.
    pub reason: Option<String>,
    /// Runs in a row that failed.
    pub failures: u32,
    /// The next slot; `None` after the last one.
    pub next_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// A slot that is taken: its run, or why it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenSlot {
    pub slot: DateTime<Utc>,
    /// When its run is to begin.
    pub due_at: DateTime<Utc>,
    /// Why it is skipped.
    pub skipped: Option<&'static str>,
}

/// The run of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRun {
    pub schedule: i64,
    pub slot: DateTime<Utc>,
    pub state: SlotState,
    pub reason: Option<String>,
    pub due_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// What people see of the end of a run, where they see anything.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPost {
    pub channel: ChannelId,
    pub part: NewPart,
}

/// The only place that schedules have so far: a conversation of their own.
const OWN_CONVERSATION: &str = "fresh";

/// Schedules that count against a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Schedules of the agent, without reminders.
    pub of_agent: u32,
    /// Reminders of the person with the agent.
    pub reminders_of_person: u32,
    /// All of the server.
    pub of_server: u32,
}

impl Store {
    /// Adds a schedule.
    pub async fn insert_schedule(&self, new: NewSchedule) -> Result<ScheduleRow, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO schedules (agent_id, name, owner_id, kind, when_text, rule, timezone, body, place, thread_id, missed,
                     state, next_at, created_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?) RETURNING *",
            new.agent.to_string(),
            new.name,
            new.owner.as_i64(),
            new.kind.as_str(),
            new.when_text,
            new.rule,
            new.timezone,
            new.body,
            OWN_CONVERSATION,
            new.thread.map(ChannelId::as_i64),
            new.missed,
            stamp(new.next_at),
            now()
        ));
        self.row(batch, schedule_row).await
    }

    /// Returns the schedules of an agent that are not over, by name.
    pub async fn schedules(&self, agent: AgentId) -> Result<Vec<ScheduleRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM schedules WHERE agent_id = ? AND state <> 'ended' ORDER BY name",
            agent.to_string()
        ));
        query.all(&mut *self.reader().await?, schedule_row).await
    }

    /// Counts what the limits of a new schedule are about.
    pub async fn count_schedules(
        &self,
        agent: AgentId,
        owner: UserId,
        guild: GuildId,
    ) -> Result<ScheduleCounts, StoreError> {
        let query = checked(query!(
            "SELECT count(*) FILTER (WHERE s.agent_id = ?1 AND s.kind <> 'reminder') AS of_agent,
                    count(*) FILTER (WHERE s.agent_id = ?1 AND s.kind = 'reminder' AND s.owner_id = ?2) AS reminders,
                    count(*) AS of_server
                 FROM schedules s JOIN agents a ON a.id = s.agent_id WHERE a.guild_id = ?3 AND s.state <> 'ended'",
            agent.to_string(),
            owner.as_i64(),
            guild.as_i64()
        ));
        query
            .one(&mut *self.reader().await?, |row| {
                Ok(ScheduleCounts {
                    of_agent: row.try_get("of_agent")?,
                    reminders_of_person: row.try_get("reminders")?,
                    of_server: row.try_get("of_server")?,
                })
            })
            .await
    }

    /// Returns active schedules whose next slot has come, earliest first, at most 200.
    pub async fn due_schedules(&self, at: DateTime<Utc>) -> Result<Vec<ScheduleRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM schedules WHERE state = 'active' AND next_at <= ? ORDER BY next_at, id LIMIT 200",
            stamp(at)
        ));
        query.all(&mut *self.reader().await?, schedule_row).await
    }

    /// Returns the earliest moment at which something is due: a slot, or the beginning of a run.
    pub async fn next_due(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let query = checked(query!(
            "SELECT min(next_at) AS next FROM schedules WHERE state = 'active'
                 UNION ALL SELECT min(due_at) FROM schedule_runs WHERE state IN ('due', 'gate', 'started') AND state = 'due'"
        ));
        let moments = query
            .all(&mut *self.reader().await?, |row| time_option(row, "next"))
            .await?;
        Ok(moments.into_iter().flatten().min())
    }

    /// Takes slots (S1): stores a run for each, and moves the schedule to its next slot. Does nothing where the schedule is
    /// no longer active at the slot `seen`; returns whether it was.
    pub async fn take_slots(
        &self,
        schedule: i64,
        seen: DateTime<Utc>,
        slots: Vec<TakenSlot>,
        next: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedules SET next_at = ? WHERE id = ? AND state = 'active' AND next_at = ?",
                next.map(stamp),
                schedule,
                stamp(seen)
            ))
            .must_change(format!("active schedule {schedule}"));
        let taken = now();
        for slot in slots {
            let (state, ended) = match slot.skipped {
                None => (SlotState::Due, None),
                Some(_) => (SlotState::Skipped, Some(taken.clone())),
            };
            batch.add(query!(
                "INSERT INTO schedule_runs (schedule_id, slot, state, reason, due_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)
                     ON CONFLICT (schedule_id, slot) DO NOTHING",
                schedule,
                stamp(slot.slot),
                state.as_str(),
                slot.skipped,
                stamp(slot.due_at),
                ended
            ));
        }
        match self.run(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns runs that are to begin, with their schedules, earliest first, at most 200.
    pub async fn due_runs(
        &self,
        at: DateTime<Utc>,
    ) -> Result<Vec<(SlotRun, ScheduleRow)>, StoreError> {
        let query = checked(query!(
            "SELECT s.*, r.schedule_id, r.slot, r.state AS run_state, r.reason AS run_reason, r.due_at, r.ended_at
                 FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id
                 WHERE r.state IN ('due', 'gate', 'started') AND r.state = 'due' AND r.due_at <= ?
                 ORDER BY r.due_at, r.schedule_id LIMIT 200",
            stamp(at)
        ));
        query
            .all(&mut *self.reader().await?, |row| {
                Ok((joined_run(row)?, schedule_row(row)?))
            })
            .await
    }

    /// Ends the run of a slot (S3) and queues what people see of it. A schedule without a further slot is over with it.
    /// Returns whether the run was still to be ended.
    pub async fn finish_run(
        &self,
        run: &SlotRun,
        state: SlotState,
        reason: Option<&str>,
        posts: Vec<RunPost>,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedule_runs SET state = ?, reason = ?, ended_at = ?
                     WHERE schedule_id = ? AND slot = ? AND state IN ('due', 'gate', 'started')",
                state.as_str(),
                reason,
                now(),
                run.schedule,
                stamp(run.slot)
            ))
            .must_change("open run of a slot".to_owned());
        let failed = state == SlotState::Failed;
        batch.add(query!(
            "UPDATE schedules SET failures = iif(?, failures + 1, 0) WHERE id = ?",
            failed,
            run.schedule
        ));
        batch.add(query!(
            "UPDATE schedules SET state = 'ended' WHERE id = ?1 AND state = 'active' AND next_at IS NULL AND NOT EXISTS
                 (SELECT 1 FROM schedule_runs WHERE schedule_id = ?1 AND state IN ('due', 'gate', 'started'))",
            run.schedule
        ));
        for post in posts {
            queue(&mut batch, post.channel, None, post.part, None)?;
        }
        match self.run(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Pauses an active schedule, and queues what people are told of it. Its runs that have not begun are skipped.
    pub async fn pause_schedule(
        &self,
        schedule: i64,
        reason: &str,
        told: Option<RunPost>,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedules SET state = 'paused', reason = ? WHERE id = ? AND state = 'active'",
                reason,
                schedule
            ))
            .must_change(format!("active schedule {schedule}"));
        skip_due(&mut batch, schedule, "paused");
        if let Some(told) = told {
            queue(&mut batch, told.channel, None, told.part, None)?;
        }
        match self.run(batch).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Resumes a paused schedule at its next slot.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where it is not paused.
    pub async fn resume_schedule(
        &self,
        schedule: i64,
        next: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedules SET state = 'active', reason = NULL, failures = 0, next_at = ? WHERE id = ? AND state = 'paused'",
                stamp(next),
                schedule
            ))
            .must_change(format!("paused schedule {schedule}"));
        self.run(batch).await.map(drop)
    }

    /// Ends a schedule for good.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotFound`] where it is over.
    pub async fn end_schedule(&self, schedule: i64) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedules SET state = 'ended' WHERE id = ? AND state <> 'ended'",
                schedule
            ))
            .must_change(format!("schedule {schedule}"));
        skip_due(&mut batch, schedule, "deleted");
        self.run(batch).await.map(drop)
    }

    /// Returns the latest runs of a schedule, newest first.
    pub async fn slot_runs(&self, schedule: i64, most: u32) -> Result<Vec<SlotRun>, StoreError> {
        let query = checked(query!(
            "SELECT schedule_id, slot, state AS run_state, reason AS run_reason, due_at, ended_at FROM schedule_runs
                 WHERE schedule_id = ? ORDER BY slot DESC LIMIT ?",
            schedule,
            most
        ));
        query.all(&mut *self.reader().await?, joined_run).await
    }

    /// Removes runs that ended before `before`, and schedules that are over and have none left.
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

    /// Counts the schedules that wait for a slot.
    pub async fn count_active_schedules(&self) -> Result<u32, StoreError> {
        let query = checked(query!(
            "SELECT count(*) AS count FROM schedules WHERE state = 'active'"
        ));
        query.one(&mut *self.reader().await?, scalar).await
    }
}

/// Ends what an agent had planned, and deletes its webhooks.
pub(super) fn end_plans(batch: &mut Batch, agent: AgentId) {
    batch.add(query!(
        "UPDATE schedule_runs SET state = 'skipped', reason = 'destroyed', ended_at = ? WHERE state = 'due' AND schedule_id IN
             (SELECT id FROM schedules WHERE agent_id = ?)",
        now(),
        agent.to_string()
    ));
    batch.add(query!(
        "UPDATE schedules SET state = 'ended' WHERE agent_id = ? AND state <> 'ended'",
        agent.to_string()
    ));
    batch.add(query!(
        "DELETE FROM deliveries WHERE webhook_id IN (SELECT id FROM webhooks WHERE agent_id = ?)",
        agent.to_string()
    ));
    batch.add(query!(
        "DELETE FROM webhooks WHERE agent_id = ?",
        agent.to_string()
    ));
}

fn skip_due(batch: &mut Batch, schedule: i64, reason: &'static str) {
    batch.add(query!(
        "UPDATE schedule_runs SET state = 'skipped', reason = ?, ended_at = ? WHERE schedule_id = ? AND state = 'due'",
        reason,
        now(),
        schedule
    ));
}

fn schedule_row(row: &SqliteRow) -> Result<ScheduleRow, StoreError> {
    let next_at = time_option(row, "next_at")?;
    let created_at = time(row, "created_at")?;
    Ok(ScheduleRow {
        id: row.try_get("id")?,
        schedule: NewSchedule {
            agent: parsed(row, "agent_id")?,
            name: row.try_get("name")?,
            owner: UserId::from_i64(row.try_get("owner_id")?),
            kind: parsed(row, "kind")?,
            when_text: row.try_get("when_text")?,
            rule: row.try_get("rule")?,
            timezone: row.try_get("timezone")?,
            body: row.try_get("body")?,
            thread: row
                .try_get::<Option<i64>, _>("thread_id")?
                .map(ChannelId::from_i64),
            missed: row.try_get("missed")?,
            next_at: next_at.unwrap_or(created_at),
        },
        state: parsed(row, "state")?,
        reason: row.try_get("reason")?,
        failures: row.try_get("failures")?,
        next_at,
        created_at,
    })
}

fn joined_run(row: &SqliteRow) -> Result<SlotRun, StoreError> {
    Ok(SlotRun {
        schedule: row.try_get("schedule_id")?,
        slot: time(row, "slot")?,
        state: parsed(row, "run_state")?,
        reason: row.try_get("run_reason")?,
        due_at: time(row, "due_at")?,
        ended_at: time_option(row, "ended_at")?,
    })
}
