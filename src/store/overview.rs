//! The contents of `/overview` and `chorus status`: running and waiting work, today's spending, failures.
//!
//! Each query reads few rows, regardless of how many turns there were.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::codec::{counted, parsed, stamp, time, time_option};
use super::error::StoreError;
use super::schedule_runs::SlotState;
use super::statement::checked;
use crate::domain::{
    AgentId, ChannelId, Failed, FailedKind, GuildId, NextSchedule, RunningRun, UserId, WaitingKind,
    WaitingThing,
};

/// The state of an interrupted turn with a card that waits for a press.
const ASKED: &str = "asked";

/// How far back failures are shown.
const FAILURES: TimeDelta = TimeDelta::hours(24);

/// The spending of an agent today.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpent {
    pub agent: AgentId,
    pub name: String,
    /// In US dollars, as far as prices are known.
    pub usd: f64,
    /// The part of turns that no person began.
    pub unattended_usd: f64,
}

/// The amount charged to a person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PersonSpent {
    pub user: UserId,
    /// In US dollars, as far as prices are known.
    pub usd: f64,
}

impl Store {
    /// Returns the running turns, the oldest first.
    pub async fn running_runs(&self, most: u32) -> Result<Vec<RunningRun>, StoreError> {
        let query = checked(query!(
            "SELECT t.id, coalesce(a.name, '') AS agent, t.channel_id, coalesce(t.cause, 'message') AS cause, t.unattended,
                 t.began_at,
                 (SELECT count(*) FROM attempts n WHERE n.turn_id = t.id AND n.kind = 'model' AND n.outcome = 'ok') AS steps,
                 CASE
                     WHEN EXISTS (SELECT 1 FROM approvals p WHERE p.decision IS NULL AND (p.turn_id = t.id OR p.turn_id IN
                         (SELECT c.id FROM turns c WHERE c.run_id = t.id AND c.kind <> 'turn'))) THEN 1
                     WHEN EXISTS (SELECT 1 FROM questions q WHERE q.outcome IS NULL AND (q.turn_id = t.id OR q.turn_id IN
                         (SELECT c.id FROM turns c WHERE c.run_id = t.id AND c.kind <> 'turn'))) THEN 2
                     ELSE 0
                 END AS asks,
                 (SELECT name FROM calls WHERE calls.turn_id = t.id AND calls.state = 'started' ORDER BY position LIMIT 1)
                     AS tool
             FROM turns t LEFT JOIN agents a ON a.id = t.agent_id
             WHERE t.state = 'running' AND t.kind = 'turn' ORDER BY t.rowid LIMIT ?",
            most
        ));
        query.all(&mut *self.reader().await?, running).await
    }

    /// Returns work that waits for people or for Discord: the oldest of each kind.
    pub async fn waiting_things(&self, most: u32) -> Result<Vec<WaitingThing>, StoreError> {
        let approvals = checked(query!(
            "SELECT a.name, p.channel_id, 1 AS count, p.asked_at AS since, p.expires_at
             FROM approvals p INDEXED BY approvals_open LEFT JOIN turns t ON t.id = p.turn_id LEFT JOIN agents a ON a.id = t.agent_id
             WHERE p.decision IS NULL ORDER BY p.id LIMIT ?",
            most
        ));
        let questions = checked(query!(
            "SELECT a.name, q.channel_id, 1 AS count, q.asked_at AS since, q.expires_at
             FROM questions q INDEXED BY questions_open LEFT JOIN turns t ON t.id = q.turn_id LEFT JOIN agents a ON a.id = t.agent_id
             WHERE q.outcome IS NULL ORDER BY q.id LIMIT ?",
            most
        ));
        let cards = checked(query!(
            "SELECT a.name, t.channel_id, 1 AS count, r.created_at AS since, r.expires_at
             FROM resumes r JOIN turns t ON t.id = r.turn_id LEFT JOIN agents a ON a.id = t.agent_id
             WHERE r.state = ? ORDER BY r.created_at LIMIT ?",
            ASKED,
            most
        ));
        let messages = checked(query!(
            "SELECT (SELECT a.name FROM agents a WHERE a.channel_id = n.channel_id
                     AND a.status <> 'destroyed') AS name, n.channel_id, count(*) AS count,
                 min(n.received_at) AS since, CAST(NULL AS TEXT) AS expires_at
             FROM inbound n WHERE n.state = 'new' GROUP BY n.channel_id ORDER BY 5 LIMIT ?",
            most
        ));
        let outbox = checked(query!(
            "SELECT (SELECT a.name FROM agents a WHERE a.channel_id = o.channel_id
                     AND a.status <> 'destroyed') AS name, o.channel_id, count(*) AS count,
                 min(o.queued_at) AS since, CAST(NULL AS TEXT) AS expires_at
             FROM outbox o WHERE o.state IN ('pending', 'sending') GROUP BY o.channel_id ORDER BY 5 LIMIT ?",
            most
        ));
        let db = &mut *self.reader().await?;
        let mut found = Vec::new();
        for (kind, query) in [
            (WaitingKind::Approval, approvals),
            (WaitingKind::Question, questions),
            (WaitingKind::Card, cards),
            (WaitingKind::Message, messages),
            (WaitingKind::Outbox, outbox),
        ] {
            found.extend(query.all(db, |row| waiting(kind, row)).await?);
        }
        Ok(found)
    }

    /// Returns the failures in the last 24 hours before `now`, the latest first.
    pub async fn failures(&self, now: DateTime<Utc>, most: u32) -> Result<Vec<Failed>, StoreError> {
        let since = stamp(now - FAILURES);
        // The conditions are those of the indexes, word for word.
        let turns = checked(query!(
            "SELECT a.name, t.channel_id, t.ended_at AS at, t.exit AS reason, t.id AS run
             FROM turns t LEFT JOIN agents a ON a.id = t.agent_id WHERE t.kind = 'turn'
                 AND t.exit IN ('interrupted', 'step_limit', 'time_limit', 'budget', 'loop', 'errors', 'bad_calls', 'window',
                     'failed', 'report')
                 AND t.ended_at > ? ORDER BY t.ended_at DESC LIMIT ?",
            &*since,
            most
        ));
        let deliveries = checked(query!(
            "SELECT (SELECT a.name FROM agents a WHERE a.channel_id = o.channel_id
                     AND a.status <> 'destroyed') AS name, o.channel_id, o.queued_at AS at,
                 o.state AS reason, CAST(NULL AS TEXT) AS run
             FROM outbox o WHERE o.state IN ('failed', 'unknown') AND o.queued_at > ? ORDER BY o.queued_at DESC LIMIT ?",
            &*since,
            most
        ));
        // Runs with a turn are among the turns.
        let schedules = checked(query!(
            "SELECT a.name, coalesce(s.thread_id, a.channel_id, 0) AS channel_id, r.ended_at AS at,
                 coalesce(r.reason, '') AS reason, CAST(NULL AS TEXT) AS run
             FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id JOIN agents a ON a.id = s.agent_id
             WHERE r.state = ? AND r.turn_id IS NULL AND r.ended_at > ? ORDER BY r.ended_at DESC LIMIT ?",
            SlotState::Failed.as_str(),
            &*since,
            most
        ));
        let db = &mut *self.reader().await?;
        let mut found = turns.all(db, |row| failed(FailedKind::Turn, row)).await?;
        let lost = deliveries.all(db, |row| failed(FailedKind::Delivery, row));
        found.extend(lost.await?);
        let runs = schedules.all(db, |row| failed(FailedKind::Schedule, row));
        found.extend(runs.await?);
        found.sort_by_key(|failed| std::cmp::Reverse(failed.at));
        found.truncate(most as usize);
        Ok(found)
    }

    /// Returns the next schedules and reminders, the earliest first.
    pub async fn next_schedules(&self, most: u32) -> Result<Vec<NextSchedule>, StoreError> {
        let query = checked(query!(
            "SELECT s.name, a.name AS agent, s.next_at FROM schedules s JOIN agents a ON a.id = s.agent_id
             WHERE s.state = 'active' AND s.next_at IS NOT NULL ORDER BY s.next_at, s.id LIMIT ?",
            most
        ));
        let read = |row: &SqliteRow| {
            Ok(NextSchedule {
                name: row.try_get("name")?,
                agent: row.try_get("agent")?,
                next_at: time(row, "next_at")?,
            })
        };
        query.all(&mut *self.reader().await?, read).await
    }

    /// Returns the spending of each agent of a server since `since`.
    pub async fn spent_by_agent(
        &self,
        guild: GuildId,
        since: DateTime<Utc>,
    ) -> Result<Vec<AgentSpent>, StoreError> {
        let query = checked(query!(
            "SELECT n.agent_id, coalesce(a.name, '') AS name, total(n.cost_usd) AS usd,
                 total(n.cost_usd) FILTER (WHERE t.unattended = 1) AS unattended_usd
             FROM attempts n LEFT JOIN agents a ON a.id = n.agent_id LEFT JOIN turns t ON t.id = n.turn_id
             WHERE n.guild_id = ? AND n.at >= ? AND n.provider <> '' AND n.kind <> 'queue' GROUP BY n.agent_id",
            guild.as_i64(),
            stamp(since)
        ));
        let read = |row: &SqliteRow| {
            Ok(AgentSpent {
                agent: parsed(row, "agent_id")?,
                name: row.try_get("name")?,
                usd: row.try_get("usd")?,
                unattended_usd: row.try_get("unattended_usd")?,
            })
        };
        query.all(&mut *self.reader().await?, read).await
    }

    /// Returns the amounts charged to the persons of a server since `since`, the highest first.
    pub async fn spent_by_person(
        &self,
        guild: GuildId,
        since: DateTime<Utc>,
        most: u32,
    ) -> Result<Vec<PersonSpent>, StoreError> {
        let query = checked(query!(
            "SELECT user_id AS \"user_id!: i64\", total(cost_usd) AS usd FROM attempts
             WHERE guild_id = ? AND at >= ? AND provider <> '' AND kind <> 'queue' AND user_id IS NOT NULL
             GROUP BY user_id ORDER BY 2 DESC LIMIT ?",
            guild.as_i64(),
            stamp(since),
            most
        ));
        let read = |row: &SqliteRow| {
            Ok(PersonSpent {
                user: UserId::from_i64(row.try_get(0)?),
                usd: row.try_get(1)?,
            })
        };
        query.all(&mut *self.reader().await?, read).await
    }
}

fn channel(row: &SqliteRow) -> Result<String, StoreError> {
    Ok(ChannelId::from_i64(row.try_get("channel_id")?).to_string())
}

fn running(row: &SqliteRow) -> Result<RunningRun, StoreError> {
    let tool: Option<String> = row.try_get("tool")?;
    let steps = u32::try_from(counted(row, "steps")?).unwrap_or(u32::MAX);
    Ok(RunningRun {
        run: row.try_get("id")?,
        agent: row.try_get("agent")?,
        channel_id: channel(row)?,
        cause: row.try_get("cause")?,
        unattended: row.try_get("unattended")?,
        step: steps.saturating_add(1),
        since: time(row, "began_at")?,
        waits_for: match row.try_get("asks")? {
            1 => "approval".to_owned(),
            2 => "question".to_owned(),
            _ => tool.unwrap_or_else(|| "model".to_owned()),
        },
    })
}

fn waiting(kind: WaitingKind, row: &SqliteRow) -> Result<WaitingThing, StoreError> {
    Ok(WaitingThing {
        kind,
        agent: row.try_get("name")?,
        channel_id: channel(row)?,
        count: counted(row, "count")?,
        since: time(row, "since")?,
        expires_at: time_option(row, "expires_at")?,
    })
}

fn failed(kind: FailedKind, row: &SqliteRow) -> Result<Failed, StoreError> {
    Ok(Failed {
        kind,
        agent: row.try_get("name")?,
        channel_id: channel(row)?,
        at: time(row, "at")?,
        reason: row.try_get("reason")?,
        run: row.try_get("run")?,
    })
}
