//! Budgets of one day (UTC): whether people were notified that a budget is mostly used, and their additions to it.

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::audit::{AuditRow, insert_audit};
use super::batch::Batch;
use super::codec::{now, parsed, words};
use super::error::StoreError;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::checked;
use crate::domain::{AgentId, ChannelId, GuildId};

words! {
    /// A budget with a notice before it is used up.
    BudgetKind {
        /// Of an agent, per day.
        AgentDay = "agent_day",
        /// Of a server, per month.
        Month = "month",
        /// Of the turns of an agent that no person began, per day.
        UnattendedDay = "unattended_day",
        /// Like `UnattendedDay`, but once it is used up.
        UnattendedOver = "unattended_over",
    }
}

/// A budget on one day.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BudgetOfDay {
    pub day: NaiveDate,
    pub kind: BudgetKind,
    /// The id of the agent or of the server.
    pub scope: String,
}

impl BudgetOfDay {
    /// Returns a budget of an agent on the day of `now`.
    pub fn of_agent(kind: BudgetKind, agent: AgentId, now: DateTime<Utc>) -> Self {
        Self {
            day: now.date_naive(),
            kind,
            scope: agent.to_string(),
        }
    }

    /// Returns the budget of a server's month on the day of `now`.
    pub fn of_month(guild: GuildId, now: DateTime<Utc>) -> Self {
        Self {
            day: now.date_naive(),
            kind: BudgetKind::Month,
            scope: guild.to_string(),
        }
    }
}

/// The stored state of a budget on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetDay {
    /// Whether people were notified.
    pub is_told: bool,
    /// The amount that people added to it, in US dollars.
    pub extra_usd: f64,
}

/// The outcome of raising a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Raised {
    By(BudgetDay),
    /// It was already raised as often as allowed in one day.
    TooOften,
}

impl Store {
    /// Returns the stored state of a budget on a day.
    pub async fn budget_day(&self, budget: &BudgetOfDay) -> Result<BudgetDay, StoreError> {
        let query = checked(query!(
            "SELECT budget, warned_at IS NOT NULL AS is_told, extra_usd FROM budget_days
             WHERE day = ? AND budget = ? AND scope = ?",
            budget.day.to_string(),
            budget.kind.as_str(),
            &*budget.scope
        ));
        let found = query.first(&mut *self.reader().await?, budget_day).await?;
        Ok(found.unwrap_or_default())
    }

    /// Returns the stored state of all budgets on a day.
    pub async fn budgets_on(
        &self,
        day: NaiveDate,
    ) -> Result<Vec<(BudgetOfDay, BudgetDay)>, StoreError> {
        let query = checked(query!(
            "SELECT budget, scope, warned_at IS NOT NULL AS is_told, extra_usd FROM budget_days WHERE day = ?",
            day.to_string()
        ));
        let read = |row: &SqliteRow| {
            let budget = BudgetOfDay {
                day,
                kind: parsed(row, "budget")?,
                scope: row.try_get("scope")?,
            };
            Ok((budget, budget_day(row)?))
        };
        query.all(&mut *self.reader().await?, read).await
    }

    /// Queues a notice about a budget, unless there was one on that day; returns whether it did.
    pub async fn tell_of_budget(
        &self,
        budget: &BudgetOfDay,
        channel: ChannelId,
        part: NewPart,
    ) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "INSERT INTO budget_days (day, budget, scope, warned_at) VALUES (?, ?, ?, ?)
                     ON CONFLICT (day, budget, scope) DO UPDATE SET warned_at = excluded.warned_at WHERE warned_at IS NULL",
                budget.day.to_string(),
                budget.kind.as_str(),
                &*budget.scope,
                now()
            ))
            .must_change("a budget of which people were not told");
        queue(&mut batch, channel, None, part, None)?;
        match self.run(batch).await {
            Err(StoreError::NotFound(_)) => Ok(false),
            told => told.map(|_| true),
        }
    }

    /// Raises a budget until the end of its day, at most `most` times, and writes `row` to the audit log.
    pub async fn raise_budget(
        &self,
        budget: &BudgetOfDay,
        usd: f64,
        most: u32,
        row: &AuditRow,
    ) -> Result<Raised, StoreError> {
        let mut batch = Batch::default();
        batch
            .add(query!(
                "INSERT INTO budget_days (day, budget, scope, extra_usd, presses) VALUES (?, ?, ?, ?, 1)
                     ON CONFLICT (day, budget, scope) DO UPDATE
                     SET extra_usd = extra_usd + excluded.extra_usd, presses = presses + 1 WHERE presses < ?",
                budget.day.to_string(),
                budget.kind.as_str(),
                &*budget.scope,
                usd,
                most
            ))
            .must_change("a budget that may be raised once more");
        insert_audit(&mut batch, row);
        match self.run(batch).await {
            Err(StoreError::NotFound(_)) => Ok(Raised::TooOften),
            raised => {
                raised?;
                Ok(Raised::By(self.budget_day(budget).await?))
            }
        }
    }
}

fn budget_day(row: &SqliteRow) -> Result<BudgetDay, StoreError> {
    Ok(BudgetDay {
        is_told: row.try_get("is_told")?,
        extra_usd: row.try_get("extra_usd")?,
    })
}
