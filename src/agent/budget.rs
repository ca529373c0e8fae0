//! Budgets: the worst case of a request is set aside before it is made, so that none goes past its cap unseen.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Datelike, TimeZone, Utc};

use crate::domain::{AgentId, Cost, GuildId};
use crate::store::{Store, StoreError, UsageFilter};

/// The most that may be spent; none is no limit. In US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caps {
    /// By this turn.
    pub turn: Option<f64>,
    /// By this agent today (UTC).
    pub agent_day: Option<f64>,
    /// By this server this month (UTC).
    pub month: Option<f64>,
}

/// Who asks, and what the turn has spent already.
#[derive(Clone, Copy, Debug)]
pub struct Spender {
    /// The agent.
    pub agent: AgentId,
    /// Its server.
    pub guild: GuildId,
    /// What the turn has cost so far.
    pub turn: Cost,
    /// What is spent and not in the ledger yet: an answer goes there together with what is made of it.
    pub pending: f64,
}

/// Money promised to requests that are under way.
#[derive(Default)]
pub struct Reservations {
    promised: Mutex<HashMap<Scope, f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    Agent(AgentId),
    Guild(GuildId),
}

/// A promise; given back with [`Reservations::release`] when the request has ended.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    agent: AgentId,
    guild: GuildId,
    usd: f64,
}

impl Reservations {
    /// Sets the worst case of one request aside.
    ///
    /// A request whose price is not known is not held against money: it would be a guess.
    ///
    /// # Errors
    ///
    /// Which budget it would go past, in a sentence for people. The ledger's own failure is one as well.
    pub async fn promise(
        &self,
        store: &Store,
        caps: Caps,
        spender: Spender,
        worst: Cost,
        now: DateTime<Utc>,
    ) -> Result<Promise, String> {
        let usd = match worst {
            Cost::Usd(usd) => usd,
            Cost::Unknown => 0.0,
        };
        if let (Some(cap), Cost::Usd(spent)) = (caps.turn, spender.turn)
            && spent + usd > cap
        {
            return Err(over("turn", cap, spent, usd));
        }
        let ledger = |error: StoreError| format!("what was spent cannot be read: {error}");
        if let Some(cap) = caps.agent_day {
            let spent = spent_since(store, start_of_day(now), Some(spender.agent), None)
                .await
                .map_err(ledger)?;
            let promised = self.promised(Scope::Agent(spender.agent)) + spender.pending;
            if spent + promised + usd > cap {
                return Err(over("day", cap, spent + promised, usd));
            }
        }
        if let Some(cap) = caps.month {
            let spent = spent_since(store, start_of_month(now), None, Some(spender.guild))
                .await
                .map_err(ledger)?;
            let promised = self.promised(Scope::Guild(spender.guild)) + spender.pending;
            if spent + promised + usd > cap {
                return Err(over("month", cap, spent + promised, usd));
            }
        }
        let promise = Promise {
            agent: spender.agent,
            guild: spender.guild,
            usd,
        };
        self.change(promise, usd);
        Ok(promise)
    }

    /// Gives a promise back: what the request really cost is in the ledger now.
    pub fn release(&self, promise: Promise) {
        self.change(promise, -promise.usd);
    }

    fn promised(&self, scope: Scope) -> f64 {
        let promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        promised.get(&scope).copied().unwrap_or_default()
    }

    fn change(&self, promise: Promise, by: f64) {
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        for scope in [Scope::Agent(promise.agent), Scope::Guild(promise.guild)] {
            let sum = promised.entry(scope).or_default();
            *sum += by;
            if *sum <= f64::EPSILON {
                promised.remove(&scope);
            }
        }
    }
}

fn over(what: &str, cap: f64, spent: f64, worst: f64) -> String {
    let [cap, spent, worst] = [cap, spent, worst].map(dollars);
    format!(
        "the budget of this {what} is {cap}; {spent} is spent or promised, and the next request may cost up to {worst}"
    )
}

/// A sum with as many digits as it takes to see it: budgets of a cent and prices of a thousandth of one are real.
fn dollars(usd: f64) -> String {
    match usd {
        usd if usd == 0.0 || usd >= 0.1 => format!("${usd:.2}"),
        usd if usd >= 0.001 => format!("${usd:.4}"),
        usd => format!("${usd:.6}"),
    }
}

async fn spent_since(
    store: &Store,
    since: DateTime<Utc>,
    agent: Option<AgentId>,
    guild: Option<GuildId>,
) -> Result<f64, StoreError> {
    let filter = UsageFilter {
        since: Some(since),
        agent,
        guild,
    };
    store.spent(filter).await
}

fn start_of_day(now: DateTime<Utc>) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(now.year(), now.month(), now.day(), 0, 0, 0)
        .single()
        .unwrap_or(now)
}

fn start_of_month(now: DateTime<Utc>) -> DateTime<Utc> {
    Utc.with_ymd_and_hms(now.year(), now.month(), 1, 0, 0, 0)
        .single()
        .unwrap_or(now)
}
