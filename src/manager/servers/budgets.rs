//! Budgets that people raise for a day.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::agent::{AgentDeps, MOST_RAISES, amount, end_of_day};
use crate::clock;
use crate::config::effective;
use crate::domain::{GuildId, Person, UserId};
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::error::ManagerError;
use crate::permission::may_answer;
use crate::store::{AuditRow, BudgetKind, BudgetOfDay, Outcome, Raised};

/// The refusal of a press by somebody else.
const NOT_THEIRS: &str = "Only members with Manage Server, and those who may answer approvals by their role, can raise a budget.";

/// Budgets of agents and servers, as people may raise them.
pub(crate) struct Budgets {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Arc<Audit>,
}

/// A budget that was raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaisedBudget {
    pub kind: BudgetKind,
    /// What people added to it today, in US dollars.
    pub extra_usd: f64,
    /// When that ends.
    pub until: DateTime<Utc>,
}

/// A person's share of the day in a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// In US dollars.
    pub used: f64,
    pub limit: f64,
}

impl Budgets {
    /// Raises a budget of `guild` until the end of the day, for `by`.
    ///
    /// # Errors
    ///
    /// When they may not, the day is over, it is no budget of the server, or it was raised too often.
    pub(crate) async fn raise(
        &self,
        guild: GuildId,
        budget: &BudgetOfDay,
        usd: u32,
        by: &Person,
    ) -> Result<RaisedBudget, ManagerError> {
        let approvers = effective::server(&self.deps.settings_of(guild), &self.deps.config.load())
            .approver_roles;
        if !may_answer(by, &approvers, &[]) {
            return Err(ManagerError::refused(NOT_THEIRS));
        }
        let now = clock::now();
        if budget.day != now.date_naive() {
            return Err(ManagerError::refused(format!(
                "This button was only for {}. That day is over, so nothing was raised.",
                budget.day
            )));
        }
        let row = self.row(guild, budget, usd, by).await?;
        let reservations = &self.deps.reservations;
        let raising =
            reservations.raise(&self.deps.store, budget, f64::from(usd), MOST_RAISES, &row);
        match raising.await? {
            Raised::By(day) => Ok(RaisedBudget {
                kind: budget.kind,
                extra_usd: day.extra_usd,
                until: end_of_day(now),
            }),
            Raised::TooOften => Err(ManagerError::refused(format!(
                "This budget was already raised {MOST_RAISES} times today, which is the limit. The operator can change `budgets` in `config.json`."
            ))),
        }
    }

    /// The row of the audit log, where the budget is one of `guild`.
    async fn row(
        &self,
        guild: GuildId,
        budget: &BudgetOfDay,
        usd: u32,
        by: &Person,
    ) -> Result<AuditRow, ManagerError> {
        let word = format!("raise_budget:{}", budget.kind.as_str());
        let row = match budget.kind {
            BudgetKind::Month if budget.scope == guild.to_string() => {
                self.audit.command_row(&word, guild, by.id)
            }
            BudgetKind::Month => return Err(ManagerError::NoAgentHere),
            BudgetKind::AgentDay | BudgetKind::UnattendedDay | BudgetKind::UnattendedOver => {
                let agents = self.directory.agents(guild);
                let agent = agents
                    .iter()
                    .find(|agent| agent.id.to_string() == budget.scope)
                    .ok_or_else(|| {
                        ManagerError::refused(
                            "The agent of this budget no longer exists, so nothing was raised.",
                        )
                    })?;
                let identity = self.directory.identity(agent);
                let joined = self.deps.may_join(by, &[&identity]).await;
                joined.map_err(|why| ManagerError::refused(why.to_string()))?;
                self.audit.agent_row(&word, agent, by)
            }
        };
        let detail = json!({"usd": usd, "day": budget.day.to_string()});
        Ok(AuditRow {
            outcome: Some(Outcome::Applied),
            detail: Some(detail.to_string()),
            ..row
        })
    }

    /// Returns a person's share of today; `None` where no budget of persons is set.
    pub(crate) async fn share(
        &self,
        guild: GuildId,
        user: UserId,
    ) -> Result<Option<Share>, ManagerError> {
        let Some(limit) = self.deps.config.load().budgets.user_day else {
            return Ok(None);
        };
        let now = clock::now();
        let share = self
            .deps
            .reservations
            .share(&self.deps.store, (guild, user), now);
        Ok(Some(Share {
            used: share.await?,
            limit: limit.get(),
        }))
    }
}

impl Share {
    /// What is used and what is left, in words.
    pub fn words(self) -> String {
        let left = (self.limit - self.used).max(0.0);
        format!(
            "Share of today: {} of {} USD used, {} left.",
            amount(self.used),
            amount(self.limit),
            amount(left)
        )
    }
}

impl RaisedBudget {
    /// What all in the channel are told.
    pub fn words(self, usd: u32) -> String {
        let budget = match self.kind {
            BudgetKind::AgentDay => "the budget of today",
            BudgetKind::Month => "the budget of this month",
            BudgetKind::UnattendedDay | BudgetKind::UnattendedOver => {
                "the budget of today for turns that no person began"
            }
        };
        let extra = if (self.extra_usd - f64::from(usd)).abs() < 0.005 {
            String::new()
        } else {
            format!(" ({} USD in all)", amount(self.extra_usd))
        };
        format!(
            "added {usd} USD to {budget}{extra}, until <t:{}:t>.",
            self.until.timestamp()
        )
    }
}
