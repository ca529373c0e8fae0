//! Budgets: the worst case of a request is reserved before it is made, so that no request exceeds its cap unseen.

mod applied;

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use self::applied::{budgets, day_and_month, of_person, of_unattended};
pub use self::applied::{start_of_day, start_of_month};
use super::budget_days::{BudgetDays, NEAR, NearLimit, reaches};
use crate::config::{Budgets, DayBudget, UnattendedDay};
use crate::domain::{AgentId, Cost, GuildId, TurnId, UserId};
use crate::llm::route::Planned;
use crate::store::{
    AuditRow, BudgetDay, BudgetKind, BudgetOfDay, Raised, SpentUpTo, Store, StoreError, Sum,
    UsageFilter,
};

/// Fewest output tokens to ask for: a thought, a call and a sentence fit.
///
/// Where a budget leaves fewer, the turn gets its last step instead.
pub(in crate::agent) const LEAST_OUTPUT: u32 = 1_024;

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
    /// By the person who is charged today (UTC), in this server.
    pub user_day: Option<f64>,
    /// By this agent's turns that no person began, today (UTC).
    pub unattended_day: Option<UnattendedDay>,
}

impl Caps {
    /// The limits that hold for all agents of a server.
    pub fn of_server(budgets: &Budgets) -> Self {
        Self {
            month: budgets.month.map(|usd| usd.get()),
            user_day: budgets.user_day.map(|usd| usd.get()),
            unattended_day: Some(UnattendedDay::of(budgets)),
            ..Self::default()
        }
    }
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
    /// What people added to the budget of today.
    pub extra_today: f64,
    /// What people added today to the budget of this month.
    pub extra_this_month: f64,
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
        let added = async |budget: BudgetOfDay| store.budget_day(&budget).await;
        let day = added(BudgetOfDay::of_agent(BudgetKind::AgentDay, agent, now)).await?;
        let month = added(BudgetOfDay::of_month(guild, now)).await?;
        Ok(Self {
            today: today.usd,
            unpriced_today: today.unpriced,
            this_month: store.spent(of_month, None).await?.sum.usd,
            extra_today: day.extra_usd,
            extra_this_month: month.extra_usd,
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
    pub payer: Payer,
    /// What the roles of a child turn and of those above it allow.
    pub within: Vec<RoleCap>,
    /// The sums of that run that were read before.
    pub known: KnownSums,
}

/// Who is charged for a run, and which limits hold besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Payer {
    /// The person who is charged, if any: the one who began the run. People who join later are not charged.
    pub charged: Option<UserId>,
    /// The person whose budget of a day holds; `None` for those who have none.
    pub held_to_share: Option<UserId>,
    /// Whether no person began the run.
    pub is_unattended: bool,
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
        let person = self.payer.held_to_share;
        let person = person.map(|user| Scope::Person(self.guild, user));
        let unattended = self.payer.is_unattended;
        let unattended = unattended.then_some(Scope::Unattended(self.agent));
        let further = person.into_iter().chain(unattended);
        own.into_iter().chain(turns).chain(further).collect()
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
    /// What agents, servers and persons have spent.
    known: KnownSums,
    /// What people added to budgets today.
    days: BudgetDays,
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
    /// A person in a server.
    Person(GuildId, UserId),
    /// The turns of an agent that no person began.
    Unattended(AgentId),
}

/// What is reserved until this is dropped. It has to live until the real cost of the request is in the ledger.
#[derive(Debug)]
pub struct Reservation {
    /// Tokens that the answer may have.
    pub output: u32,
    /// Budgets of which most is used and people were not told.
    pub near: Vec<NearLimit>,
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
    /// The budget, where people can raise it for a day.
    pub raisable: Option<BudgetOfDay>,
}

/// One limit, with what is spent and reserved of it.
struct Account {
    /// Whose it is.
    what: &'static str,
    cap: Cap,
    used: Sum,
    raisable: Option<BudgetOfDay>,
}

/// The limits that apply to a request.
#[derive(Default)]
struct Accounts {
    all: Vec<Account>,
    /// Those of which most is used and people were not told.
    near: Vec<NearLimit>,
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
        let Accounts { all, near } = self
            .accounts(store, request.spender, request.caps, before, now)
            .await
            .map_err(|error| OverBudget {
                why: format!("what was spent cannot be read: {error}"),
                last_words: false,
                raisable: None,
            })?;
        let tightest = all.iter().min_by_key(|account| account.allows(planned));
        let output = tightest.map_or(planned.max_output, |account| account.allows(planned));
        let least = request.least.min(planned.max_output);
        if let Some(account) = tightest
            && output < least
        {
            return Err(OverBudget {
                why: account.words(planned, least),
                last_words: output >= LEAST_WORDS.min(planned.max_output),
                raisable: account.raisable.clone(),
            });
        }
        let mut held = self.hold(request.spender, worst(planned, output), output);
        held.near = near;
        *in_stead = None;
        Ok(held)
    }

    /// Returns the budgets of which most is used and people were not told.
    pub(in crate::agent) async fn near(
        &self,
        store: &Store,
        spender: &Spender,
        caps: Caps,
        now: DateTime<Utc>,
    ) -> Result<Vec<NearLimit>, StoreError> {
        let accounts = self.accounts(store, spender, caps, Sum::default(), now);
        Ok(accounts.await?.near)
    }

    /// What a person is charged for in a server today (UTC), as far as it is in the ledger.
    pub async fn share(
        &self,
        store: &Store,
        (guild, user): (GuildId, UserId),
        now: DateTime<Utc>,
    ) -> Result<f64, StoreError> {
        let (scope, filter) = of_person(guild, user, now);
        Ok(self.0.known.spent(store, scope, filter).await?.usd)
    }

    /// What the turns of an agent that no person began have used today (UTC), and what people added to that budget.
    pub(in crate::agent) async fn unattended(
        &self,
        store: &Store,
        (agent, guild): (AgentId, GuildId),
        now: DateTime<Utc>,
    ) -> Result<(Sum, f64), StoreError> {
        let (scope, filter) = of_unattended(agent, guild, now);
        let spent = self.0.known.spent(store, scope, filter).await?;
        let budget = BudgetOfDay::of_agent(BudgetKind::UnattendedDay, agent, now);
        let day = self.0.days.of(store, &budget).await?;
        Ok((spent, day.extra_usd))
    }

    /// Raises a budget until the end of its day, at most `most` times, with its row in the audit log.
    ///
    /// # Errors
    ///
    /// When the ledger fails; it is as before then.
    pub async fn raise(
        &self,
        store: &Store,
        budget: &BudgetOfDay,
        usd: f64,
        most: u32,
        row: &AuditRow,
    ) -> Result<Raised, StoreError> {
        let raised = store.raise_budget(budget, usd, most, row).await?;
        if let Raised::By(day) = raised {
            self.0.days.put(budget, day);
        }
        Ok(raised)
    }

    /// People were told of a budget: it is near its limit no more today.
    pub(in crate::agent) fn told(&self, budget: &BudgetOfDay) {
        self.0.days.told(budget);
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
            near: Vec::new(),
            scopes,
            sum,
            shared: Arc::clone(&self.0),
        }
    }

    /// The limits that apply to a request, in each of which `before` is reserved in its stead.
    async fn accounts(
        &self,
        store: &Store,
        spender: &Spender,
        caps: Caps,
        before: Sum,
        now: DateTime<Utc>,
    ) -> Result<Accounts, StoreError> {
        let mut accounts = Accounts::default();
        for budget in budgets(spender, caps, now) {
            if budget.caps.iter().all(Option::is_none) {
                continue;
            }
            let day = match &budget.raisable {
                Some(budget) => self.0.days.of(store, budget).await?,
                None => BudgetDay::default(),
            };
            // Reservations first: one that becomes a row meanwhile is counted twice rather than not at all.
            let reserved = self.0.reserved(budget.scope);
            let known = match budget.scope {
                Scope::Turn(_) => &spender.known,
                Scope::Agent(_) | Scope::Guild(_) | Scope::Person(..) | Scope::Unattended(_) => {
                    &self.0.known
                }
            };
            let spent = known.spent(store, budget.scope, budget.filter).await?;
            let used = Sum {
                usd: spent.usd + (reserved.usd - before.usd).max(0.0),
                tokens: spent.tokens + reserved.tokens.saturating_sub(before.tokens),
                unpriced: spent.unpriced + reserved.unpriced.saturating_sub(before.unpriced),
            };
            for cap in budget.caps.into_iter().flatten() {
                let cap = cap.raised_by(day.extra_usd);
                let raisable = budget.raisable.clone().filter(|_| cap.is_money());
                if let (Some(budget), Cap::Usd(limit)) = (&raisable, cap)
                    && !day.is_told
                    && reaches(spent.usd, limit * NEAR)
                {
                    accounts.near.push(NearLimit {
                        budget: budget.clone(),
                        used: spent.usd,
                        limit,
                    });
                }
                accounts.all.push(Account {
                    what: budget.what,
                    cap,
                    used,
                    raisable,
                });
            }
        }
        Ok(accounts)
    }
}

/// The most that a request with an answer of `output` tokens can take.
fn worst(planned: &Planned<'_>, output: u32) -> Sum {
    Sum::of(planned.worst(output), planned.input + u64::from(output))
}

impl Cap {
    const fn is_money(self) -> bool {
        matches!(self, Self::Usd(_))
    }

    /// The same with what people added to it.
    fn raised_by(self, extra_usd: f64) -> Self {
        match self {
            Self::Usd(usd) => Self::Usd(usd + extra_usd),
            other @ (Self::Tokens(_) | Self::Unpriced(_)) => other,
        }
    }
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
            "the budget of this {} is {cap}; {used} is spent or reserved, and the next request may {takes} {worst}",
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
