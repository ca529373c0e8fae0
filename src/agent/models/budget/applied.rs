//! Which budgets a request is held to, and which rows of the ledger count for each. Pure.

use chrono::{DateTime, Datelike, TimeZone, Utc};

use super::{Cap, Caps, Scope, Spender};
use crate::config::DaySet;
use crate::domain::{AgentId, GuildId, UserId};
use crate::store::{BudgetKind, BudgetOfDay, Served, UsageFilter};

/// What the budget of a day is called where nobody set it.
const DEFAULT_DAY: &str = "day (the default of `budgets.agent_day`)";

/// A budget that applies to a request.
pub(super) struct Budget {
    /// Whose it is.
    pub(super) what: &'static str,
    pub(super) scope: Scope,
    /// The rows that count.
    pub(super) filter: UsageFilter,
    pub(super) caps: [Option<Cap>; 2],
    /// Where people can raise it for a day.
    pub(super) raisable: Option<BudgetOfDay>,
}

impl Budget {
    fn new(what: &'static str, scope: Scope, filter: UsageFilter, caps: [Option<Cap>; 2]) -> Self {
        Self {
            what,
            scope,
            filter,
            caps,
            raisable: None,
        }
    }

    fn raisable(self, budget: BudgetOfDay) -> Self {
        Self {
            raisable: Some(budget),
            ..self
        }
    }
}

/// The budgets that a request of `spender` is held to.
pub(super) fn budgets(spender: &Spender, caps: Caps, now: DateTime<Utc>) -> Vec<Budget> {
    let (agent, guild) = (spender.agent, spender.guild);
    let of_turn = |turn| UsageFilter {
        below: Some(turn),
        ..UsageFilter::default()
    };
    let (of_day, of_month) = day_and_month(agent, guild, now);
    let day = [
        caps.agent_day.usd.map(Cap::Usd),
        caps.agent_day.unpriced.map(Cap::Unpriced),
    ];
    let day_name = match caps.agent_day.set {
        DaySet::ByPeople => "day",
        DaySet::ByDefault => DEFAULT_DAY,
    };
    let month = [caps.month.map(Cap::Usd), None];
    let mut budgets =
        vec![
            Budget::new(day_name, Scope::Agent(agent), of_day, day)
                .raisable(BudgetOfDay::of_agent(BudgetKind::AgentDay, agent, now)),
            Budget::new("month", Scope::Guild(guild), of_month, month)
                .raisable(BudgetOfDay::of_month(guild, now)),
        ];
    if let (Some(limits), true) = (caps.unattended_day, spender.payer.is_unattended) {
        let (scope, filter) = of_unattended(agent, guild, now);
        let caps = [
            Some(Cap::Usd(limits.usd)),
            Some(Cap::Unpriced(limits.unpriced)),
        ];
        let budget = Budget::new("day for turns that no person began", scope, filter, caps);
        budgets.push(if limits.is_off() {
            budget
        } else {
            budget.raisable(BudgetOfDay::of_agent(BudgetKind::UnattendedDay, agent, now))
        });
    }
    if let (Some(usd), Some(user)) = (caps.user_day, spender.payer.held_to_share) {
        let (scope, filter) = of_person(guild, user, now);
        let caps = [Some(Cap::Usd(usd)), None];
        budgets.push(Budget::new("person's day", scope, filter, caps));
    }
    if let Some(run) = spender.run {
        // The last words of a root turn may exceed its tokens; what its children take stays within them.
        let tokens = caps.turn_tokens.filter(|_| spender.role.is_some());
        let caps = [caps.turn.map(Cap::Usd), tokens.map(Cap::Tokens)];
        budgets.push(Budget::new("turn", Scope::Turn(run), of_turn(run), caps));
    }
    budgets.extend(spender.within.iter().map(|cap| {
        let caps = [cap.usd.map(Cap::Usd), cap.tokens.map(Cap::Tokens)];
        Budget::new("sub-agent", Scope::Turn(cap.turn), of_turn(cap.turn), caps)
    }));
    budgets
}

/// The use that a person is charged for in a server on the day of `now` (UTC).
pub(super) fn of_person(guild: GuildId, user: UserId, now: DateTime<Utc>) -> (Scope, UsageFilter) {
    let filter = UsageFilter {
        since: Some(start_of_day(now)),
        guild: Some(guild),
        user: Some(user),
        ..UsageFilter::default()
    };
    (Scope::Person(guild, user), filter)
}

/// The use of an agent's turns that no person began, on the day of `now` (UTC).
pub(super) fn of_unattended(
    agent: AgentId,
    guild: GuildId,
    now: DateTime<Utc>,
) -> (Scope, UsageFilter) {
    let (of_day, _) = day_and_month(agent, guild, now);
    let filter = UsageFilter {
        served: Served::Unattended,
        ..of_day
    };
    (Scope::Unattended(agent), filter)
}

/// The use of an agent on the day of `now`, and of its server in that month (UTC).
pub(super) fn day_and_month(
    agent: AgentId,
    guild: GuildId,
    now: DateTime<Utc>,
) -> (UsageFilter, UsageFilter) {
    let of_day = UsageFilter {
        since: Some(start_of_day(now)),
        agent: Some(agent),
        guild: Some(guild),
        ..UsageFilter::default()
    };
    let of_month = UsageFilter {
        since: Some(start_of_month(now)),
        agent: None,
        ..of_day
    };
    (of_day, of_month)
}

/// When the day (UTC) of `now` began.
pub fn start_of_day(now: DateTime<Utc>) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(now.year(), now.month(), now.day(), 0, 0, 0)
        .single()
        .unwrap_or(now)
}

/// When the month (UTC) of `now` began.
pub fn start_of_month(now: DateTime<Utc>) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(now.year(), now.month(), 1, 0, 0, 0)
        .single()
        .unwrap_or(now)
}
