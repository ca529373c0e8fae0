//! What is left of budgets as a turn begins, and what people are told of them.

use std::fmt;

use chrono::{DateTime, Utc};
use tracing::warn;

use super::AgentDeps;
use super::identity::Identity;
use crate::agent::event::Event;
use crate::agent::models::budget::{Caps, Payer, Spender};
use crate::agent::models::budget_days::{NearLimit, amount, end_of_day, reaches, with_buttons};
use crate::clock;
use crate::config::UnattendedDay;
use crate::domain::{AgentId, GuildId, Participant, Person, UserId};
use crate::store::{BudgetKind, BudgetOfDay, NewPart, StoreError};
use crate::text;

/// A person's share of a day that is used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::agent) struct ShareUsed {
    /// In US dollars.
    pub(in crate::agent) used: f64,
    pub(in crate::agent) limit: f64,
    renews: DateTime<Utc>,
}

/// The sentence for that person.
impl fmt::Display for ShareUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, limit) = (amount(self.used), amount(self.limit));
        let renews = self.renews.timestamp();
        write!(
            f,
            "Your share of today is used: {used} of {limit} USD. It renews <t:{renews}:R>."
        )
    }
}

/// Why no unattended turn of an agent begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::agent) enum UnattendedOver {
    /// The operator wants none.
    Off,
    Money {
        /// In US dollars.
        used: f64,
        limit: f64,
    },
    /// Of models without a known price.
    Tokens { used: u64, limit: u64 },
}

impl UnattendedOver {
    /// Compares what was used with the limits.
    fn of(limits: UnattendedDay, used: f64, extra: f64, unpriced: u64) -> Option<Self> {
        let limit = limits.usd + extra;
        if limits.is_off() {
            Some(Self::Off)
        } else if reaches(used, limit) {
            Some(Self::Money { used, limit })
        } else if unpriced > 0 && unpriced >= limits.unpriced {
            Some(Self::Tokens {
                used: unpriced,
                limit: limits.unpriced,
            })
        } else {
            None
        }
    }

    /// The line of the day in the agent's channel.
    fn line(self, now: DateTime<Utc>) -> String {
        let renews = end_of_day(now).timestamp();
        let until = format!("The next one starts after <t:{renews}:t>.");
        match self {
            Self::Off => {
                "⏸️ A turn that no person began did not run: `budgets.unattended_day` is 0."
                    .to_owned()
            }
            Self::Money { used, limit } => format!(
                "⏸️ The budget of today for turns that no person began is used up: {} of {} USD. {until}",
                amount(used),
                amount(limit)
            ),
            Self::Tokens { used, limit } => format!(
                "⏸️ The budget of today for turns that no person began is used up: {} of {} tokens of models without a known price. {until}",
                text::thousands(used),
                text::thousands(limit)
            ),
        }
    }
}

impl AgentDeps {
    /// Returns the person whose budget of a day holds for what they are charged for: `None` where there is no such budget,
    /// nobody is charged, or they manage the server. `known` is that person as far as they are known already.
    pub async fn held_to_share(
        &self,
        guild: GuildId,
        charged: Option<UserId>,
        known: Option<&Person>,
    ) -> Option<UserId> {
        let user = charged?;
        self.config.load().budgets.user_day?;
        let is_exempt = |person: &Person| person.is_administrator || person.may_manage_server;
        let exempt = match self.participant(guild, user).await {
            Participant::Member(person) => is_exempt(&person),
            Participant::Unknown(_) => known.is_some_and(is_exempt),
        };
        (!exempt).then_some(user)
    }

    /// Returns the share of a person where it is used up.
    pub(in crate::agent) async fn share_used(
        &self,
        guild: GuildId,
        user: UserId,
    ) -> Result<Option<ShareUsed>, StoreError> {
        let Some(limit) = self.config.load().budgets.user_day.map(|usd| usd.get()) else {
            return Ok(None);
        };
        let now = clock::now();
        let used = self.reservations.share(&self.store, (guild, user), now);
        let used = used.await?;
        Ok(reaches(used, limit).then(|| ShareUsed {
            used,
            limit,
            renews: end_of_day(now),
        }))
    }

    /// Returns why no unattended turn of an agent begins; `None` where one may.
    pub(in crate::agent) async fn unattended_over(
        &self,
        agent: &Identity,
    ) -> Result<Option<UnattendedOver>, StoreError> {
        let limits = UnattendedDay::of(&self.config.load().budgets);
        let of = (agent.id, agent.guild);
        let unattended = self.reservations.unattended(&self.store, of, clock::now());
        let (spent, extra) = unattended.await?;
        Ok(UnattendedOver::of(limits, spent.usd, extra, spent.unpriced))
    }

    /// Says whether an unattended turn of an agent may begin. Where none may, its channel is told, once a day.
    pub async fn may_begin_unattended(&self, agent: &Identity) -> Result<bool, StoreError> {
        match self.unattended_over(agent).await? {
            None => Ok(true),
            Some(over) => {
                self.tell_unattended_over(agent, over).await?;
                Ok(false)
            }
        }
    }

    /// Says in an agent's channel, once a day, that no unattended turn begins.
    pub(in crate::agent) async fn tell_unattended_over(
        &self,
        agent: &Identity,
        over: UnattendedOver,
    ) -> Result<(), StoreError> {
        let now = clock::now();
        let line = NewPart::notice(over.line(now));
        let part = match over {
            UnattendedOver::Money { .. } => {
                let raised = BudgetOfDay::of_agent(BudgetKind::UnattendedDay, agent.id, now);
                with_buttons(line, &raised)
            }
            UnattendedOver::Off | UnattendedOver::Tokens { .. } => line,
        };
        let told = BudgetOfDay::of_agent(BudgetKind::UnattendedOver, agent.id, now);
        if self
            .store
            .tell_of_budget(&told, agent.channel, part)
            .await?
        {
            self.emit(Event::Outbox(agent.channel));
        }
        Ok(())
    }

    /// Says in an agent's channel which budgets are nearly used, once a day for each.
    pub(in crate::agent) async fn tell_of_budgets(&self, agent: AgentId, near: &[NearLimit]) {
        for near in near {
            if let Err(error) = self.tell_of_budget(agent, near).await {
                warn!(agent.id = %agent, "failed to tell that a budget is nearly used: {error}");
            }
        }
    }

    async fn tell_of_budget(&self, agent: AgentId, near: &NearLimit) -> Result<(), StoreError> {
        let row = self.store.agent(agent).await?;
        let Some(channel) = row.and_then(|row| row.channel_id) else {
            return Ok(());
        };
        let part = near.notice();
        let is_new = self
            .store
            .tell_of_budget(&near.budget, channel, part)
            .await?;
        self.reservations.told(&near.budget);
        if is_new {
            self.emit(Event::Outbox(channel));
        }
        Ok(())
    }

    /// The same for what a turn has spent, once that is in the ledger.
    pub(in crate::agent) async fn look_at_budgets(&self, spender: &Spender, caps: Caps) {
        let near = self
            .reservations
            .near(&self.store, spender, caps, clock::now());
        match near.await {
            Ok(near) => self.tell_of_budgets(spender.agent, &near).await,
            Err(error) => warn!("failed to read what is left of budgets: {error}"),
        }
    }

    /// Who is charged for a turn that is served beside others, by the turn itself.
    pub async fn payer_of(
        &self,
        guild: GuildId,
        turn: crate::domain::TurnId,
    ) -> Result<Payer, StoreError> {
        let charged = self.store.charged_for(turn).await?;
        Ok(Payer {
            charged,
            held_to_share: self.held_to_share(guild, charged, None).await,
            is_unattended: self.store.is_unattended(turn).await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: UnattendedDay = UnattendedDay {
        usd: 5.0,
        unpriced: 1_000,
    };

    #[test]
    fn a_raise_counts_unless_the_operator_wants_none() {
        let of = |limits, used, extra| UnattendedOver::of(limits, used, extra, 0);
        assert_eq!(of(LIMITS, 4.99, 0.0), None);
        let over = UnattendedOver::Money {
            used: 5.0,
            limit: 5.0,
        };
        assert_eq!(of(LIMITS, 5.0, 0.0), Some(over));
        assert_eq!(of(LIMITS, 5.0, 1.0), None);
        let off = UnattendedDay { usd: 0.0, ..LIMITS };
        assert_eq!(of(off, 0.0, 5.0), Some(UnattendedOver::Off));
    }

    #[test]
    fn tokens_count_only_where_some_have_no_price() {
        let none = UnattendedDay {
            unpriced: 0,
            ..LIMITS
        };
        assert_eq!(UnattendedOver::of(none, 0.0, 0.0, 0), None);
        let over = UnattendedOver::Tokens {
            used: 1_000,
            limit: 1_000,
        };
        assert_eq!(UnattendedOver::of(LIMITS, 0.0, 0.0, 1_000), Some(over));
    }

    #[test]
    fn the_sentence_says_when_the_share_renews() {
        let used = ShareUsed {
            used: 0.52,
            limit: 0.5,
            renews: DateTime::UNIX_EPOCH,
        };
        assert_eq!(
            used.to_string(),
            "Your share of today is used: 0.52 of 0.50 USD. It renews <t:0:R>."
        );
    }
}
