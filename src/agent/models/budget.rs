//! Budgets: the worst case of a request is reserved before it is made, so that no request exceeds its cap unseen.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Datelike, TimeZone, Utc};
use parking_lot::Mutex;

use crate::config::{DayBudget, DaySet};
use crate::domain::{AgentId, Cost, GuildId, TurnId, UserId};
use crate::llm::route::Planned;
use crate::store::{SpentUpTo, Store, StoreError, Sum, UsageFilter};

/// Fewest output tokens to ask for: a thought, a call and a sentence fit.
///
/// Where a budget leaves fewer, the turn gets its last step instead.
pub(in crate::agent) const LEAST_OUTPUT: u32 = 1_024;

/// What the budget of a day is called where nobody set it.
const DEFAULT_DAY: &str = "day (the default of `budgets.agent_day`)";

/// Fewest tokens of an answer without tools: enough to say what is done and what is not.
pub(in crate::agent) const LEAST_WORDS: u32 = 256;

/// The most that may be spent; `None` means no limit. Money is in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Caps {
    /// By this run: a turn and all child turns below it.
    pub turn: Option<f64>,
    /// The same in tokens of requests and answers.
    pub turn_tokens: Option<u64>,
    /// By this agent today (UTC).
    pub agent_day: DayBudget,
    /// By this server this month (UTC).
    pub month: Option<f64>,
}

/// What a role allows its turn and all below it; `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoleCap {
    pub turn: TurnId,
    /// In US dollars.
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
}

impl RoleCap {
    /// The caps that `limits` set for the turn; `None` where they set no limit.
    pub(in crate::agent) fn of(turn: TurnId, limits: crate::charter::Limits) -> Option<Self> {
        let is_limited = limits.budget_usd.is_some() || limits.max_tokens.is_some();
        is_limited.then_some(Self {
            turn,
            usd: limits.budget_usd,
            tokens: limits.max_tokens,
        })
    }
}

/// What has been spent, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// By an agent today (UTC).
    pub today: f64,
    /// Its tokens today of models without a known price.
    pub unpriced_today: u64,
    /// By its server this month (UTC).
    pub this_month: f64,
}

impl Spent {
    /// The spending of an agent and its server, as far as prices are known.
    pub(in crate::agent) async fn of(
        store: &Store,
        agent: AgentId,
        guild: GuildId,
        now: DateTime<Utc>,
    ) -> Result<Self, StoreError> {
        let (of_day, of_month) = day_and_month(agent, guild, now);
        let today = store.spent(of_day, None).await?.sum;
        Ok(Self {
            today: today.usd,
            unpriced_today: today.unpriced,
            this_month: store.spent(of_month, None).await?.sum.usd,
        })
    }
}

/// Who spends: what a request is charged to.
#[derive(Clone, Debug)]
pub struct Spender {
    pub agent: AgentId,
    pub guild: GuildId,
    /// The turn that is served, if any.
    pub turn: Option<TurnId>,
    /// The root of that turn's run.
    pub run: Option<TurnId>,
    /// The role that it serves, in a child turn.
    pub role: Option<String>,
    /// The person who is charged, if any.
    pub user: Option<UserId>,
    /// What the roles of a child turn and of those above it allow.
    pub within: Vec<RoleCap>,
    /// The sums of that run that were read before.
    pub known: KnownSums,
}

/// Sums of the ledger as they were last read, so that a request reads only the rows added since. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct KnownSums(Arc<Mutex<HashMap<Scope, (UsageFilter, SpentUpTo)>>>);

impl KnownSums {
    /// The spending that a budget is compared with.
    async fn spent(
        &self,
        store: &Store,
        scope: Scope,
        filter: UsageFilter,
    ) -> Result<Sum, StoreError> {
        let before = self.0.lock().get(&scope).copied();
        // A new day begins at zero.
        let before = before.filter(|(of, _)| *of == filter);
        let spent = store.spent(filter, before.map(|(_, spent)| spent)).await?;
        self.0.lock().insert(scope, (filter, spent));
        Ok(spent.sum)
    }
}

impl Spender {
    fn scopes(&self) -> Vec<Scope> {
        let own = [Scope::Agent(self.agent), Scope::Guild(self.guild)];
        let turns = self.within.iter().map(|cap| cap.turn);
        let turns = self.run.into_iter().chain(turns).map(Scope::Turn);
        own.into_iter().chain(turns).collect()
    }
}

/// A request that asks for a reservation.
#[derive(Clone, Copy, Debug)]
pub struct ReservationRequest<'a> {
    pub spender: &'a Spender,
    pub caps: Caps,
    pub planned: &'a Planned<'a>,
    /// Fewest output tokens that make the request worth its price.
    pub least: u32,
}

/// Money and tokens reserved for requests that are under way. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Reservations(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    reserved: Mutex<HashMap<Scope, Held>>,
    /// Held from reading the sums until the reservation is made, so that no two requests are given the same money.
    looking: tokio::sync::Mutex<()>,
    /// What agents and servers have spent.
    known: KnownSums,
}

/// The sum of all reservations of one budget.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    sum: Sum,
    /// Number of reservations: with the last one the entry goes, so that no rounding error of prices remains.
    count: usize,
}

/// What a budget is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    /// A turn and all child turns below it.
    Turn(TurnId),
    Agent(AgentId),
    Guild(GuildId),
}

/// What is reserved until this is dropped. It has to live until the real cost of the request is in the ledger.
#[derive(Debug)]
pub struct Reservation {
    /// Tokens that the answer may have.
    pub output: u32,
    scopes: Vec<Scope>,
    sum: Sum,
    shared: Arc<Shared>,
}

impl Reservation {
    /// Replaces the worst case with what the request cost, until the ledger has it.
    pub fn settle(&mut self, sum: Sum) {
        self.shared.put(&self.scopes, sum);
        self.shared.take(&self.scopes, self.sum);
        self.sum = sum;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shared.take(&self.scopes, self.sum);
    }
}

/// Why nothing is reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Which budget the request would exceed, in a sentence for people.
    pub why: String,
    /// There is money for a last answer of [`LEAST_WORDS`].
    pub last_words: bool,
}

/// One budget, with what is spent and reserved of it.
struct Account {
    /// Whose it is.
    what: &'static str,
    cap: Cap,
    used: Sum,
}

/// A limit, in its own unit.
#[derive(Clone, Copy)]
enum Cap {
    Usd(f64),
    Tokens(u64),
    /// Tokens of models whose price is not known.
    Unpriced(u64),
}

impl Reservations {
    /// Reserves the worst case of one request: with the longest answer that is asked for, or that the budgets still allow.
    ///
    /// What was reserved of the same budgets in its stead is given back with that, so that nobody else is promised it.
    ///
    /// A request of unknown price is not held against money: its cost would be a guess.
    ///
    /// # Errors
    ///
    /// When not even the shortest answer can be paid for, or the ledger cannot be read.
    pub async fn reserve(
        &self,
        store: &Store,
        request: ReservationRequest<'_>,
        in_stead: &mut Option<Reservation>,
        now: DateTime<Utc>,
    ) -> Result<Reservation, OverBudget> {
        let planned = request.planned;
        let _alone = self.0.looking.lock().await;
        let before = in_stead.as_ref().map_or(Sum::default(), |held| held.sum);
        let accounts = self
            .accounts(store, request, before, now)
            .await
            .map_err(|error| OverBudget {
                why: format!("what was spent cannot be read: {error}"),
                last_words: false,
            })?;
        let tightest = accounts
            .iter()
            .min_by_key(|account| account.allows(planned));
        let output = tightest.map_or(planned.max_output, |account| account.allows(planned));
        let least = request.least.min(planned.max_output);
        if let Some(account) = tightest
            && output < least
        {
            return Err(OverBudget {
                why: account.words(planned, least),
                last_words: output >= LEAST_WORDS.min(planned.max_output),
            });
        }
        let held = self.hold(request.spender, worst(planned, output), output);
        *in_stead = None;
        Ok(held)
    }

    /// Reserves the last answer of a turn while its children spend, whatever the budgets say.
    pub fn hold_last_words(&self, spender: &Spender, planned: &Planned<'_>) -> Reservation {
        let output = LEAST_WORDS.min(planned.max_output);
        self.hold(spender, worst(planned, output), output)
    }

    fn hold(&self, spender: &Spender, sum: Sum, output: u32) -> Reservation {
        let scopes = spender.scopes();
        self.0.put(&scopes, sum);
        Reservation {
            output,
            scopes,
            sum,
            shared: Arc::clone(&self.0),
        }
    }

    /// The budgets that apply to a request, in each of which `before` is reserved in its stead.
    async fn accounts(
        &self,
        store: &Store,
        request: ReservationRequest<'_>,
        before: Sum,
        now: DateTime<Utc>,
    ) -> Result<Vec<Account>, StoreError> {
        let Spender {
            agent,
            guild,
            run,
            role,
            within,
            known,
            ..
        } = request.spender;
        let (agent, guild) = (*agent, *guild);
        let of_turn = |turn| UsageFilter {
            below: Some(turn),
            ..UsageFilter::default()
        };
        let (of_day, of_month) = day_and_month(agent, guild, now);
        let Caps {
            turn,
            turn_tokens,
            agent_day,
            month,
        } = request.caps;
        let day = [
            agent_day.usd.map(Cap::Usd),
            agent_day.unpriced.map(Cap::Unpriced),
        ];
        let month = month.map(Cap::Usd);
        let day_name = match agent_day.set {
            DaySet::ByPeople => "day",
            DaySet::ByDefault => DEFAULT_DAY,
        };
        let mut budgets = vec![
            (day_name, Scope::Agent(agent), of_day, day),
            ("month", Scope::Guild(guild), of_month, [month, None]),
        ];
        if let Some(run) = *run {
            // The last words of a root turn may exceed its tokens; what its children take stays within them.
            let tokens = turn_tokens.filter(|_| role.is_some());
            let caps = [turn.map(Cap::Usd), tokens.map(Cap::Tokens)];
            budgets.push(("turn", Scope::Turn(run), of_turn(run), caps));
        }
        for cap in within {
            let caps = [cap.usd.map(Cap::Usd), cap.tokens.map(Cap::Tokens)];
            budgets.push(("sub-agent", Scope::Turn(cap.turn), of_turn(cap.turn), caps));
        }
        let mut accounts = Vec::new();
        for (what, scope, filter, caps) in budgets {
            if caps.iter().all(Option::is_none) {
                continue;
            }
            // Reservations first: one that becomes a row meanwhile is counted twice rather than not at all.
            let reserved = self.0.reserved(scope);
            let known = match scope {
                Scope::Turn(_) => known,
                Scope::Agent(_) | Scope::Guild(_) => &self.0.known,
            };
            let spent = known.spent(store, scope, filter).await?;
            let used = Sum {
                usd: spent.usd + (reserved.usd - before.usd).max(0.0),
                tokens: spent.tokens + reserved.tokens.saturating_sub(before.tokens),
                unpriced: spent.unpriced + reserved.unpriced.saturating_sub(before.unpriced),
            };
            let of_scope = caps.into_iter().flatten();
            accounts.extend(of_scope.map(|cap| Account { what, cap, used }));
        }
        Ok(accounts)
    }
}

/// The use of an agent on the day of `now`, and of its server in that month (UTC).
fn day_and_month(agent: AgentId, guild: GuildId, now: DateTime<Utc>) -> (UsageFilter, UsageFilter) {
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

/// The most that a request with an answer of `output` tokens can take.
fn worst(planned: &Planned<'_>, output: u32) -> Sum {
    Sum::of(planned.worst(output), planned.input + u64::from(output))
}

impl Shared {
    fn reserved(&self, scope: Scope) -> Sum {
        let reserved = self.reserved.lock();
        reserved.get(&scope).copied().unwrap_or_default().sum
    }

    fn put(&self, scopes: &[Scope], sum: Sum) {
        let mut reserved = self.reserved.lock();
        for scope in scopes {
            let held = reserved.entry(*scope).or_default();
            held.sum.usd += sum.usd;
            held.sum.tokens += sum.tokens;
            held.sum.unpriced += sum.unpriced;
            held.count += 1;
        }
    }

    /// Removes a sum that was reserved.
    fn take(&self, scopes: &[Scope], sum: Sum) {
        let mut reserved = self.reserved.lock();
        for scope in scopes {
            let held = reserved.entry(*scope).or_default();
            held.sum.usd -= sum.usd;
            held.sum.tokens = held.sum.tokens.saturating_sub(sum.tokens);
            held.sum.unpriced = held.sum.unpriced.saturating_sub(sum.unpriced);
            held.count = held.count.saturating_sub(1);
            if held.count == 0 {
                reserved.remove(scope);
            }
        }
    }
}

impl Account {
    /// Tokens of an answer that it still allows.
    fn allows(&self, planned: &Planned<'_>) -> u32 {
        match self.cap {
            Cap::Usd(cap) => planned.affordable(cap - self.used.usd),
            Cap::Tokens(cap) => left_of(cap, self.used.tokens, planned),
            Cap::Unpriced(_) if planned.worst(0) != Cost::Unknown => planned.max_output,
            Cap::Unpriced(cap) => left_of(cap, self.used.unpriced, planned),
        }
    }

    fn words(&self, planned: &Planned<'_>, least: u32) -> String {
        let worst = worst(planned, least);
        let [cap, used, worst] = match self.cap {
            Cap::Usd(cap) => [cap, self.used.usd, worst.usd].map(dollars),
            Cap::Tokens(cap) => {
                [cap, self.used.tokens, worst.tokens].map(|count| format!("{count} tokens"))
            }
            Cap::Unpriced(cap) => {
                let [cap, used, worst] = [cap, self.used.unpriced, worst.unpriced]
                    .map(|count| format!("{count} tokens"));
                [
                    format!("{cap} of models without a known price"),
                    used,
                    worst,
                ]
            }
        };
        let takes = match self.cap {
            Cap::Usd(_) => "cost up to",
            Cap::Tokens(_) | Cap::Unpriced(_) => "take up to",
        };
        format!(
            "the budget of this {} is {cap}; {used} is spent or promised, and the next request may {takes} {worst}",
            self.what
        )
    }
}

/// Tokens of an answer that a limit of tokens still allows.
fn left_of(cap: u64, used: u64, planned: &Planned<'_>) -> u32 {
    let left = cap.saturating_sub(used + planned.input);
    u32::try_from(left)
        .unwrap_or(u32::MAX)
        .min(planned.max_output)
}

/// A sum with as many digits as are needed to see it: budgets of a cent and prices of a thousandth of one exist.
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
