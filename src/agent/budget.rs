//! Budgets: the worst case of a request is set aside before it is made, so that none goes past its cap unseen.

use std::collections::HashMap;

use chrono::{DateTime, Datelike, TimeZone, Utc};
use parking_lot::Mutex;

use crate::domain::{AgentId, Cost, GuildId, TurnId};
use crate::llm::route::Planned;
use crate::store::{Store, StoreError, UsageFilter};

/// Fewest tokens that an answer is asked for with: a thought, a call and a sentence fit.
///
/// Where a budget leaves fewer, the turn is given its last step instead.
pub(super) const LEAST_OUTPUT: u32 = 1_024;

/// Fewest tokens of an answer without tools: enough to say what is done and what is not.
pub(super) const LEAST_WORDS: u32 = 256;

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

/// What was spent already. In US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// By an agent today (UTC).
    pub today: f64,
    /// By its server this month (UTC).
    pub this_month: f64,
}

impl Spent {
    /// Of an agent in its server, as far as prices are known.
    pub(super) async fn of(
        store: &Store,
        agent: AgentId,
        guild: GuildId,
        now: DateTime<Utc>,
    ) -> Result<Self, StoreError> {
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
        Ok(Self {
            today: store.spent(of_day).await?,
            this_month: store.spent(of_month).await?,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Spender {
    pub agent: AgentId,
    pub guild: GuildId,
    /// The turn that is served, where one is.
    pub turn: Option<TurnId>,
    /// The root of that turn's run.
    pub run: Option<TurnId>,
}

/// A request that wants its money.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRequest<'a> {
    pub spender: Spender,
    pub caps: Caps,
    /// What is spent and not in the ledger yet: an answer goes there together with what is made of it.
    pub pending: f64,
    pub planned: &'a Planned<'a>,
    /// Fewest tokens of an answer with which it is worth its price.
    pub least: u32,
}

/// Money set aside for requests that are under way.
#[derive(Debug, Default)]
pub struct Reservations {
    reserved: Mutex<HashMap<Scope, f64>>,
    /// Held from looking to setting aside, so that no two requests are given the same money.
    looking: tokio::sync::Mutex<()>,
}

/// What a budget is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    Turn(TurnId),
    Agent(AgentId),
    Guild(GuildId),
}

/// Given back with [`Reservations::release`] when the request has ended.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// Tokens that the answer may have.
    pub output: u32,
    spender: Spender,
    usd: f64,
}

/// Why nothing is set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Which budget it would go past, in a sentence for people.
    pub why: String,
    /// There is money for a last answer of [`LEAST_WORDS`].
    pub last_words: bool,
}

/// One budget as it stands.
struct Account {
    what: &'static str,
    cap: f64,
    used: f64,
}

impl Reservations {
    /// Sets the worst case of one request aside: with as long an answer as is asked for, or as the money still allows.
    ///
    /// A request whose price is not known is not held against money: it would be a guess.
    ///
    /// # Errors
    ///
    /// When not even the shortest answer can be paid, or the ledger cannot be read.
    pub async fn reserve(
        &self,
        store: &Store,
        request: ReservationRequest<'_>,
        now: DateTime<Utc>,
    ) -> Result<Reservation, OverBudget> {
        let planned = request.planned;
        let _alone = self.looking.lock().await;
        let accounts = self
            .accounts(store, request, now)
            .await
            .map_err(|error| OverBudget {
                why: format!("what was spent cannot be read: {error}"),
                last_words: false,
            })?;
        let tightest = accounts
            .into_iter()
            .min_by(|a, b| a.left().total_cmp(&b.left()));
        let output = match &tightest {
            Some(account) => planned.affordable(account.left()),
            None => planned.max_output,
        };
        let least = request.least.min(planned.max_output);
        if let Some(account) = tightest
            && output < least
        {
            return Err(OverBudget {
                why: account.words(planned.worst(least)),
                last_words: output >= LEAST_WORDS.min(planned.max_output),
            });
        }
        let reservation = Reservation {
            output,
            spender: request.spender,
            usd: match planned.worst(output) {
                Cost::Usd(usd) => usd,
                Cost::Unknown => 0.0,
            },
        };
        self.change(reservation, reservation.usd);
        Ok(reservation)
    }

    /// Gives a reservation back: what the request really cost is in the ledger now.
    pub fn release(&self, reservation: Reservation) {
        self.change(reservation, -reservation.usd);
    }

    /// The budgets that hold for a request.
    async fn accounts(
        &self,
        store: &Store,
        request: ReservationRequest<'_>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Account>, StoreError> {
        let Spender {
            agent, guild, turn, ..
        } = request.spender;
        let all = UsageFilter::default();
        let of_turn = UsageFilter { turn, ..all };
        let of_day = UsageFilter {
            since: Some(start_of_day(now)),
            agent: Some(agent),
            guild: Some(guild),
            ..all
        };
        let of_month = UsageFilter {
            since: Some(start_of_month(now)),
            guild: Some(guild),
            ..all
        };
        let caps = [
            ("turn", request.caps.turn, turn.map(Scope::Turn), of_turn),
            (
                "day",
                request.caps.agent_day,
                Some(Scope::Agent(agent)),
                of_day,
            ),
            (
                "month",
                request.caps.month,
                Some(Scope::Guild(guild)),
                of_month,
            ),
        ];
        let mut accounts = Vec::new();
        for (what, cap, scope, filter) in caps {
            let (Some(cap), Some(scope)) = (cap, scope) else {
                continue;
            };
            // Promises first: one that becomes a row meanwhile is counted twice, and never not at all.
            let reserved = self.reserved(scope);
            let spent = store.spent(filter).await?;
            accounts.push(Account {
                what,
                cap,
                used: spent + reserved + request.pending,
            });
        }
        Ok(accounts)
    }

    fn reserved(&self, scope: Scope) -> f64 {
        let reserved = self.reserved.lock();
        reserved.get(&scope).copied().unwrap_or_default()
    }

    fn change(&self, reservation: Reservation, by: f64) {
        let Spender {
            agent, guild, turn, ..
        } = reservation.spender;
        let scopes = [Scope::Agent(agent), Scope::Guild(guild)];
        let mut reserved = self.reserved.lock();
        for scope in scopes.into_iter().chain(turn.map(Scope::Turn)) {
            let sum = reserved.entry(scope).or_default();
            *sum += by;
            if *sum <= f64::EPSILON {
                reserved.remove(&scope);
            }
        }
    }
}

impl Account {
    fn left(&self) -> f64 {
        self.cap - self.used
    }

    fn words(&self, worst: Cost) -> String {
        let worst = match worst {
            Cost::Usd(usd) => usd,
            Cost::Unknown => 0.0,
        };
        let [cap, used, worst] = [self.cap, self.used, worst].map(dollars);
        format!(
            "the budget of this {} is {cap}; {used} is spent or promised, and the next request may cost up to {worst}",
            self.what
        )
    }
}

/// A sum with as many digits as it takes to see it: budgets of a cent and prices of a thousandth of one are real.
fn dollars(usd: f64) -> String {
    match usd {
        usd if usd == 0.0 || usd >= 0.1 => format!("${usd:.2}"),
        usd if usd >= 0.001 => format!("${usd:.4}"),
        usd => format!("${usd:.6}"),
    }
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
