//! Schedules and reminders. The runs of their slots are in `schedule_runs`.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{now, parsed, stamp, time, time_option, words};
use super::error::StoreError;
use super::outbox::queue;
use super::schedule_runs::skip_due;
use super::statement::{checked, scalar};
use super::webhooks::delete_webhooks;
use super::work::RunPost;
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
        /// It has ended: it was deleted, or had only one slot.
        Ended = "ended",
    }
}

words! {
    /// Where a schedule's turns run.
    SchedulePlace {
        /// Each in a separate conversation.
        Fresh = "fresh",
        /// In the agent's main conversation.
        Main = "main",
        /// In one thread.
        Thread = "thread",
    }
}

/// A schedule that a person confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSchedule {
    pub agent: AgentId,
    /// Unique among the agent's schedules that have not ended.
    pub name: String,
    pub owner: UserId,
    pub kind: ScheduleKind,
    /// The time as the person wrote it.
    pub when_text: String,
    /// The time in the program's form.
    pub rule: String,
    /// The name of the time zone for its times.
    pub timezone: String,
    /// The prompt, or the text of a reminder.
    pub body: String,
    /// The command that runs before its turn.
    pub gate: Option<String>,
    /// A hash of that command as a person approved it; `None` if the profile allowed it.
    pub gate_binding: Option<String>,
    pub place: SchedulePlace,
    /// The thread in which it posts; `None` is the agent's channel.
    pub thread: Option<ChannelId>,
    /// A model other than the agent's.
    pub model: Option<String>,
    /// The most one run may cost, in US dollars.
    pub budget_usd: Option<f64>,
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
    /// Failed runs in a row.
    pub failures: u32,
    /// The next slot; `None` after the last one.
    pub next_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Schedules that count against a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleCounts {
    /// Schedules of the agent, without reminders.
    pub of_agent: u32,
    /// Reminders of the person with the agent.
    pub reminders_of_person: u32,
    /// All schedules of the server.
    pub of_server: u32,
}

impl Store {
    /// Adds a schedule.
    pub async fn insert_schedule(
        &self,
        new: NewSchedule,
        also_by: &[UserId],
    ) -> Result<ScheduleRow, StoreError> {
        let mut batch = Batch::default();
        let (agent, name) = (new.agent, new.name.clone());
        batch.add(query!(
            "INSERT INTO schedules (agent_id, name, owner_id, kind, when_text, rule, timezone, body, gate, gate_binding, place,
                     thread_id, model, budget_usd, missed, state, next_at, created_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?, ?) RETURNING *",
            new.agent.to_string(),
            new.name,
            new.owner.as_i64(),
            new.kind.as_str(),
            new.when_text,
            new.rule,
            new.timezone,
            new.body,
            new.gate,
            new.gate_binding,
            new.place.as_str(),
            new.thread.map(ChannelId::as_i64),
            new.model,
            new.budget_usd,
            new.missed,
            stamp(new.next_at),
            now()
        ));
        for user in also_by {
            batch.add(query!(
                "INSERT OR IGNORE INTO schedule_people (schedule_id, user_id)
                     SELECT id, ? FROM schedules WHERE agent_id = ? AND name = ? AND state <> 'ended'",
                user.as_i64(),
                agent.to_string(),
                &name
            ));
        }
        self.row(batch, schedule_row).await
    }

    /// Returns the schedules of an agent that have not ended, by name.
    pub async fn schedules(&self, agent: AgentId) -> Result<Vec<ScheduleRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM schedules WHERE agent_id = ? AND state <> 'ended' ORDER BY name",
            agent.to_string()
        ));
        query.all(&mut *self.reader().await?, schedule_row).await
    }

    /// Counts the schedules for the limits of a new one.
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

    /// Pauses an active schedule, and queues the message about it. Its runs that have not begun are skipped.
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
    /// Fails with [`StoreError::NotFound`] if it is not paused.
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

    /// Changes the time, the prompt and the gate of a schedule to those of `new`, which are also words of the people `by`. A
    /// paused one stays paused.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if it has ended.
    pub async fn change_schedule(
        &self,
        schedule: i64,
        new: NewSchedule,
        by: &[UserId],
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "UPDATE schedules SET kind = ?, when_text = ?, rule = ?, timezone = ?, body = ?, gate = ?, gate_binding = ?,
                         next_at = ? WHERE id = ? AND state <> 'ended'",
                new.kind.as_str(),
                new.when_text,
                new.rule,
                new.timezone,
                new.body,
                new.gate,
                new.gate_binding,
                stamp(new.next_at),
                schedule
            ))
            .must_change(format!("schedule {schedule}"));
        for user in by {
            batch.add(query!(
                "INSERT OR IGNORE INTO schedule_people (schedule_id, user_id) VALUES (?, ?)",
                schedule,
                user.as_i64()
            ));
        }
        self.run(batch).await.map(drop)
    }

    /// Ends a schedule for good.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if it has ended.
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

    /// Counts the schedules that wait for a slot.
    pub async fn count_active_schedules(&self) -> Result<u32, StoreError> {
        let query = checked(query!(
            "SELECT count(*) AS count FROM schedules WHERE state = 'active'"
        ));
        query.one(&mut *self.reader().await?, scalar).await
    }
}

/// Ends everything that an agent had planned, and deletes its webhooks.
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
    delete_webhooks(batch, agent);
}

pub(super) fn schedule_row(row: &SqliteRow) -> Result<ScheduleRow, StoreError> {
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
            gate: row.try_get("gate")?,
            gate_binding: row.try_get("gate_binding")?,
            place: parsed(row, "place")?,
            thread: row
                .try_get::<Option<i64>, _>("thread_id")?
                .map(ChannelId::from_i64),
            model: row.try_get("model")?,
            budget_usd: row.try_get("budget_usd")?,
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
