//! What runs, waits, was spent and failed, for the operator; by a daemon about itself, or by a command beside it.
//!
//! It reads the database and the agents' `agent.json`, and nothing of any conversation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::agent::{start_of_day, start_of_month};
use crate::config::{Config, DayBudget, UnattendedDay};
use crate::domain::{AgentConfig, BudgetState, DaemonState, GuildId, Overview};
use crate::store::{
    AgentSpent, BudgetDay, BudgetKind, BudgetOfDay, Store, StoreError, UsageFilter,
};

/// Rows of each section: more than anybody reads.
const MOST: u32 = 1_000;

/// Where an overview is read from.
#[derive(Debug)]
pub struct OverviewSource<'a> {
    pub store: &'a Store,
    pub config: &'a Config,
    /// The folder of the agents' folders.
    pub agents: PathBuf,
}

impl OverviewSource<'_> {
    /// Reads the state of `daemon` at `now`.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub async fn read(
        &self,
        daemon: DaemonState,
        now: DateTime<Utc>,
    ) -> Result<Overview, StoreError> {
        Ok(Overview {
            version: Overview::VERSION,
            daemon,
            running: self.store.running_runs(MOST).await?,
            waiting: self.store.waiting_things(MOST).await?,
            budgets: self.budgets(now).await?,
            schedules: self.store.next_schedules(MOST).await?,
            failures: self.store.failures(now, MOST).await?,
        })
    }

    /// Every budget that anything was used of, the most used first.
    async fn budgets(&self, now: DateTime<Utc>) -> Result<Vec<BudgetState>, StoreError> {
        let agents = self.store.agents().await?;
        let guilds: BTreeSet<GuildId> = agents.iter().map(|agent| agent.guild_id).collect();
        let raised = self.store.budgets_on(now.date_naive()).await?;
        let mut budgets = Vec::new();
        for guild in guilds {
            for spent in self.store.spent_by_agent(guild, start_of_day(now)).await? {
                budgets.extend(self.of_agent(guild, &spent, &raised, now).await);
            }
            self.of_persons(guild, now, &mut budgets).await?;
            self.of_month(guild, &raised, now, &mut budgets).await?;
        }
        let share = |budget: &BudgetState| match budget.limit_usd {
            Some(limit) if limit > 0.0 => budget.used_usd / limit,
            Some(_) | None => 0.0,
        };
        budgets.sort_by(|one, other| share(other).total_cmp(&share(one)));
        budgets.truncate(MOST as usize);
        Ok(budgets)
    }

    /// The budgets of an agent's day: its own, and that of its turns that no person began.
    async fn of_agent(
        &self,
        guild: GuildId,
        spent: &AgentSpent,
        raised: &[(BudgetOfDay, BudgetDay)],
        now: DateTime<Utc>,
    ) -> Vec<BudgetState> {
        let own = own_budget(&self.agents, &spent.name).await;
        let day = DayBudget::of(own, &self.config.budgets).usd;
        let unattended = UnattendedDay::of(&self.config.budgets).usd;
        let state = |kind: BudgetKind, used_usd, limit: Option<f64>| {
            let extra_usd = extra(raised, &BudgetOfDay::of_agent(kind, spent.agent, now));
            BudgetState {
                budget: kind.as_str().to_owned(),
                agent: Some(spent.name.clone()),
                guild_id: guild.to_string(),
                user_id: None,
                used_usd,
                limit_usd: limit.map(|limit| limit + extra_usd),
                extra_usd,
            }
        };
        let mut states = vec![state(BudgetKind::AgentDay, spent.usd, day)];
        if spent.unattended_usd > 0.0 {
            let kind = BudgetKind::UnattendedDay;
            states.push(state(kind, spent.unattended_usd, Some(unattended)));
        }
        states
    }

    /// The shares of persons, where there is such a budget.
    async fn of_persons(
        &self,
        guild: GuildId,
        now: DateTime<Utc>,
        budgets: &mut Vec<BudgetState>,
    ) -> Result<(), StoreError> {
        let Some(limit) = self.config.budgets.user_day.map(|usd| usd.get()) else {
            return Ok(());
        };
        let today = start_of_day(now);
        let persons = self.store.spent_by_person(guild, today, MOST).await?;
        budgets.extend(persons.into_iter().map(|spent| BudgetState {
            budget: "user_day".to_owned(),
            agent: None,
            guild_id: guild.to_string(),
            user_id: Some(spent.user.to_string()),
            used_usd: spent.usd,
            limit_usd: Some(limit),
            extra_usd: 0.0,
        }));
        Ok(())
    }

    /// The budget of a server's month, where there is one.
    async fn of_month(
        &self,
        guild: GuildId,
        raised: &[(BudgetOfDay, BudgetDay)],
        now: DateTime<Utc>,
        budgets: &mut Vec<BudgetState>,
    ) -> Result<(), StoreError> {
        let Some(limit) = self.config.budgets.month.map(|usd| usd.get()) else {
            return Ok(());
        };
        let filter = UsageFilter {
            since: Some(start_of_month(now)),
            guild: Some(guild),
            ..UsageFilter::default()
        };
        let spent = self.store.spent(filter, None).await?.sum.usd;
        let extra_usd = extra(raised, &BudgetOfDay::of_month(guild, now));
        budgets.push(BudgetState {
            budget: BudgetKind::Month.as_str().to_owned(),
            agent: None,
            guild_id: guild.to_string(),
            user_id: None,
            used_usd: spent,
            limit_usd: Some(limit + extra_usd),
            extra_usd,
        });
        Ok(())
    }
}

fn extra(raised: &[(BudgetOfDay, BudgetDay)], budget: &BudgetOfDay) -> f64 {
    let found = raised.iter().find(|(other, _)| other == budget);
    found.map_or(0.0, |(_, day)| day.extra_usd)
}

/// The budget of a day that an agent has by its own file, if that can be read.
async fn own_budget(agents: &Path, name: &str) -> Option<f64> {
    let path = agents.join(name).join("agent.json");
    let text = tokio::fs::read_to_string(path).await.ok()?;
    let config: AgentConfig = serde_json::from_str(&text).ok()?;
    config.budget_day
}
