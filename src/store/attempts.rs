//! Requests to models and runs of tools, and their cost: the rows behind `/usage` and budgets.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::broken::costs;
use super::codec::{cost, count, counted, dollars, parsed, parsed_option, stamp, time, tokens};
use super::error::StoreError;
use super::statement::{Statement, checked, sql};
use crate::domain::{
    AgentId, AttemptKind, AttemptOutcome, ConversationId, Cost, GuildId, TurnId, Usage, UserId,
};

/// One request to a model or one tool run, ended.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRow {
    pub at: DateTime<Utc>,
    pub guild: Option<GuildId>,
    pub agent: AgentId,
    /// The turn it served; `None` for work outside turns (a summary).
    pub turn: Option<TurnId>,
    /// The turn that caused that one.
    pub parent: Option<TurnId>,
    /// The root of that turn's run.
    pub run: Option<TurnId>,
    /// The role that it served, in a child turn.
    pub role: Option<String>,
    /// The person who is charged.
    pub user: Option<UserId>,
    pub kind: AttemptKind,
    /// Requested provider; empty for a tool.
    pub provider: String,
    /// Requested model, or the tool's name.
    pub model: String,
    pub outcome: AttemptOutcome,
    pub usage: Usage,
    pub cost: Cost,
    pub duration: Duration,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Another line, for people.
    pub detail: Option<String>,
}

/// Which attempts to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    pub since: Option<DateTime<Utc>>,
    pub agent: Option<AgentId>,
    pub guild: Option<GuildId>,
    pub turn: Option<TurnId>,
    /// This turn and all child turns below it.
    pub below: Option<TurnId>,
    /// The person who is charged.
    pub user: Option<UserId>,
    /// The turns it served.
    pub served: Served,
}

/// Turns by their audience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Served {
    #[default]
    All,
    /// Turns that no person began.
    Unattended,
}

impl Served {
    const fn sql(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Unattended => Some(UNATTENDED),
        }
    }
}

impl UsageFilter {
    /// Returns the condition, with a place for each value that [`bind_filter`] binds. It contains only the requested
    /// parts, so that an index can be used.
    fn sql(&self) -> String {
        let conditions = [
            self.since.map(|_| " AND at >= ?"),
            self.agent.map(|_| " AND agent_id = ?"),
            self.guild.map(|_| " AND guild_id = ?"),
            self.turn.map(|_| " AND turn_id = ?"),
            self.below.map(|_| BELOW),
            self.user.map(|_| " AND user_id = ?"),
            self.served.sql(),
        ];
        let asked: String = conditions.into_iter().flatten().collect();
        format!("WHERE provider <> '' AND kind <> 'queue'{asked}")
    }

    /// Returns the same for rows after one that is bound first: they are few, so only the index of rows should be used.
    fn sql_behind(&self) -> String {
        let conditions = [
            self.since.map(|_| " AND +at >= ?"),
            self.agent.map(|_| " AND +agent_id = ?"),
            self.guild.map(|_| " AND +guild_id = ?"),
            self.turn.map(|_| " AND +turn_id = ?"),
            self.below.map(|_| ABOVE),
            self.user.map(|_| " AND +user_id = ?"),
            self.served.sql(),
        ];
        let asked: String = conditions.into_iter().flatten().collect();
        format!("WHERE id > ? AND provider <> '' AND kind <> 'queue'{asked}")
    }
}

/// Money and tokens together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    /// US dollars, as far as prices are known.
    pub usd: f64,
    /// Of requests and answers.
    pub tokens: u64,
    /// Tokens among them without a known price.
    pub unpriced: u64,
}

impl Sum {
    /// Creates the sum for a request with this cost and these tokens.
    pub fn of(cost: Cost, tokens: u64) -> Self {
        Self {
            usd: cost.known_usd(),
            tokens,
            unpriced: match cost {
                Cost::Usd(_) => 0,
                Cost::Unknown => tokens,
            },
        }
    }
}

/// The spending up to some row of the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentUpTo {
    pub sum: Sum,
    row: i64,
}

/// The use of one role of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleUsage {
    pub agent: AgentId,
    /// `None` for the agent itself.
    pub role: Option<String>,
    /// Requests, including failed ones.
    pub requests: u64,
    pub usage: Usage,
    /// Money, as far as prices are known.
    pub known_usd: f64,
    /// Requests with tokens without a known price.
    pub unpriced: u64,
}

/// The use of one model by one agent in one day.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageLine {
    /// Day in UTC, `YYYY-MM-DD`.
    pub day: String,
    pub agent: AgentId,
    pub provider: String,
    pub model: String,
    /// Requests, including failed ones.
    pub requests: u64,
    pub usage: Usage,
    /// Money, as far as prices are known.
    pub known_usd: f64,
    /// Requests with tokens without a known price; if there are any, `known_usd` is not the whole sum.
    pub unpriced: u64,
    /// The part of sub-agents in it.
    pub of_children: ChildrenUse,
}

/// The share of sub-agents in a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChildrenUse {
    pub requests: u64,
    /// Money, as far as prices are known.
    pub known_usd: f64,
    pub unpriced: u64,
}

impl UsageLine {
    /// Returns the whole sum, or that it is not known.
    pub const fn cost(&self) -> Cost {
        if self.unpriced == 0 {
            Cost::Usd(self.known_usd)
        } else {
            Cost::Unknown
        }
    }
}

/// The share of child turns in the same rows. The root of their run is another turn than their own.
const OF_CHILDREN: &str = "count(*) FILTER (WHERE turn_id <> run_id) AS children_requests,
         total(cost_usd) FILTER (WHERE turn_id <> run_id) AS children_usd,
         count(*) FILTER (WHERE turn_id <> run_id AND cost_usd IS NULL
             AND input + output + cache_read + cache_write > 0) AS children_unpriced";

/// Child turns are found through their parents; hops of hooks and messages begin separate runs.
const BELOW: &str = " AND turn_id IN (WITH RECURSIVE tree (id) AS (VALUES (?) UNION ALL
         SELECT turns.id FROM tree JOIN turns ON turns.parent_id = tree.id WHERE turns.kind <> 'turn') SELECT id FROM tree)";

/// The condition of [`BELOW`], from the row upwards.
const ABOVE: &str = " AND ? IN (WITH RECURSIVE up (id) AS (VALUES (turn_id) UNION ALL
         SELECT turns.parent_id FROM up JOIN turns ON turns.id = up.id WHERE turns.kind <> 'turn') SELECT id FROM up)";

/// Child turns have the mark of their root.
const UNATTENDED: &str =
    " AND EXISTS (SELECT 1 FROM turns WHERE turns.id = attempts.turn_id AND turns.unattended = 1)";

const UNPRICED: &str =
    "sum(cost_usd IS NULL AND input + output + cache_read + cache_write > 0) AS unpriced";

impl Store {
    /// Returns the models that answered in a server since then, as provider and model, the latest first; at most 25.
    pub async fn models_answering(
        &self,
        guild: GuildId,
        since: DateTime<Utc>,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let query = checked(query!(
            "SELECT provider, model FROM attempts
             WHERE guild_id = ? AND at > ? AND kind = 'model' AND outcome = 'ok'
             GROUP BY provider, model ORDER BY max(id) DESC LIMIT 25",
            guild.as_i64(),
            stamp(since)
        ));
        let read = |row: &SqliteRow| Ok((row.try_get("provider")?, row.try_get("model")?));
        query.all(&mut *self.reader().await?, read).await
    }

    /// Stores one attempt separately; a step's own attempts are stored with the step ([`super::AttachedRows`]). It is
    /// added to the cost of a turn that has ended, for example if its summary came after its answer.
    pub async fn record_attempt(&self, attempt: AttemptRow) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        insert_attempt(&mut batch, &attempt);
        self.record_with_costs(batch, &attempt).await
    }

    /// Stores the attempt of a turn that should have been stored with something else, unless the ledger has it. The
    /// task that stored it may have ended before it knew.
    pub async fn record_missing_attempt(&self, attempt: &AttemptRow) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO attempts (at, guild_id, agent_id, turn_id, parent_id, kind, provider, model, outcome, input,
                 output, cache_read, cache_write, cost_usd, millis, request_id, detail, run_id, role, user_id)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20
             WHERE NOT EXISTS (SELECT 1 FROM attempts WHERE turn_id = ?4 AND at = ?1 AND kind = ?6 AND model = ?8)",
            stamp(attempt.at),
            attempt.guild.map(GuildId::as_i64),
            attempt.agent.to_string(),
            attempt.turn.map(|turn| turn.to_string()),
            attempt.parent.map(|turn| turn.to_string()),
            attempt.kind.as_str(),
            &attempt.provider,
            &attempt.model,
            attempt.outcome.as_str(),
            count(attempt.usage.input),
            count(attempt.usage.output),
            count(attempt.usage.cache_read),
            count(attempt.usage.cache_write),
            dollars(attempt.cost),
            i64::try_from(attempt.duration.as_millis()).unwrap_or(i64::MAX),
            attempt.request_id.as_deref(),
            attempt.detail.as_deref(),
            attempt.run.map(|run| run.to_string()),
            attempt.role.as_deref(),
            attempt.user.map(UserId::as_i64)
        ));
        self.record_with_costs(batch, attempt).await
    }

    async fn record_with_costs(
        &self,
        mut batch: Batch,
        attempt: &AttemptRow,
    ) -> Result<(), StoreError> {
        if let Some(turn) = attempt.turn {
            let costs = concat!(
                "UPDATE turns SET ",
                costs!(),
                " WHERE id = ? AND state <> 'running'"
            );
            batch.add(sql(costs).bind(turn.to_string()));
        }
        self.run(batch).await.map(drop)
    }

    /// Returns the use of models, by day, agent and model; newest day first.
    pub async fn usage(&self, filter: UsageFilter) -> Result<Vec<UsageLine>, StoreError> {
        let query = sql(format!(
            "SELECT substr(at, 1, 10) AS day, agent_id, provider, model, count(*) AS requests,
                 sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
                 sum(cache_write) AS cache_write, total(cost_usd) AS known_usd, {UNPRICED}, {OF_CHILDREN}
             FROM attempts {} GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4",
            filter.sql()
        ));
        let query = bind_filter(query, filter);
        query.all(&mut *self.reader().await?, usage_line).await
    }

    /// Returns the use of agents and their roles, the most expensive first.
    pub async fn usage_by_role(&self, filter: UsageFilter) -> Result<Vec<RoleUsage>, StoreError> {
        let query = sql(format!(
            "SELECT agent_id, role, count(*) AS requests, sum(input) AS input, sum(output) AS output,
                 sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, total(cost_usd) AS known_usd, {UNPRICED}
             FROM attempts {} GROUP BY 1, 2 ORDER BY known_usd DESC, 1, 2",
            filter.sql()
        ));
        let query = bind_filter(query, filter);
        query.all(&mut *self.reader().await?, role_usage).await
    }

    /// Returns the spending on models, for comparison with budgets. If `before` was read with the same filter, only
    /// newer rows are read.
    pub async fn spent(
        &self,
        filter: UsageFilter,
        before: Option<SpentUpTo>,
    ) -> Result<SpentUpTo, StoreError> {
        let rows = match before {
            None => filter.sql(),
            Some(_) => filter.sql_behind(),
        };
        let mut query = sql(format!(
            "SELECT total(cost_usd) AS usd, coalesce(sum(input + output + cache_read + cache_write), 0) AS tokens,
                 coalesce(sum(input + output + cache_read + cache_write) FILTER (WHERE cost_usd IS NULL), 0) AS unpriced,
                 (SELECT coalesce(max(id), 0) FROM attempts) AS latest
             FROM attempts {rows}"
        ));
        if let Some(before) = before {
            query = query.bind(before.row);
        }
        let query = bind_filter(query, filter);
        let before = before.unwrap_or_default().sum;
        let read = |row: &SqliteRow| {
            Ok(SpentUpTo {
                sum: Sum {
                    usd: before.usd + row.try_get::<f64, _>("usd")?,
                    tokens: before.tokens + counted(row, "tokens")?,
                    unpriced: before.unpriced + counted(row, "unpriced")?,
                },
                row: row.try_get("latest")?,
            })
        };
        query.one(&mut *self.reader().await?, read).await
    }

    /// Returns the tokens of the latest answer in a conversation and of its request; `None` if no answer was counted.
    pub async fn latest_size(
        &self,
        conversation: ConversationId,
    ) -> Result<Option<u64>, StoreError> {
        let query = checked(query!(
            "SELECT attempts.input + attempts.output + attempts.cache_read + attempts.cache_write AS size
             FROM turns JOIN attempts ON attempts.turn_id = turns.id
             WHERE turns.conversation_id = ? AND attempts.outcome = ? AND attempts.kind = ?
             ORDER BY attempts.id DESC LIMIT 1",
            conversation.0,
            AttemptOutcome::Ok.as_str(),
            AttemptKind::Model.as_str()
        ));
        query
            .first(&mut *self.reader().await?, |row| counted(row, "size"))
            .await
    }

    /// Returns the attempts of one turn in order: its steps with their durations.
    pub async fn attempts(&self, turn: TurnId) -> Result<Vec<AttemptRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM attempts WHERE turn_id = ? ORDER BY id",
            turn.to_string()
        ));
        query
            .readable(&mut *self.reader().await?, "attempts", "id", attempt)
            .await
    }
}

fn bind_filter(mut query: Statement, filter: UsageFilter) -> Statement {
    let UsageFilter {
        since,
        agent,
        guild,
        turn,
        below,
        user,
        served: _,
    } = filter;
    if let Some(since) = since {
        query = query.bind(stamp(since));
    }
    if let Some(agent) = agent {
        query = query.bind(agent.to_string());
    }
    if let Some(guild) = guild {
        query = query.bind(guild.as_i64());
    }
    for turn in turn.into_iter().chain(below) {
        query = query.bind(turn.to_string());
    }
    if let Some(user) = user {
        query = query.bind(user.as_i64());
    }
    query
}

pub(super) fn insert_attempt(batch: &mut Batch, attempt: &AttemptRow) {
    batch.add(query!(
        "INSERT INTO attempts (at, guild_id, agent_id, turn_id, parent_id, kind, provider, model, outcome, input,
             output, cache_read, cache_write, cost_usd, millis, request_id, detail, run_id, role, user_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        stamp(attempt.at),
        attempt.guild.map(GuildId::as_i64),
        attempt.agent.to_string(),
        attempt.turn.map(|turn| turn.to_string()),
        attempt.parent.map(|turn| turn.to_string()),
        attempt.kind.as_str(),
        &attempt.provider,
        &attempt.model,
        attempt.outcome.as_str(),
        count(attempt.usage.input),
        count(attempt.usage.output),
        count(attempt.usage.cache_read),
        count(attempt.usage.cache_write),
        dollars(attempt.cost),
        i64::try_from(attempt.duration.as_millis()).unwrap_or(i64::MAX),
        attempt.request_id.as_deref(),
        attempt.detail.as_deref(),
        attempt.run.map(|run| run.to_string()),
        attempt.role.as_deref(),
        attempt.user.map(UserId::as_i64)
    ));
}

fn role_usage(row: &SqliteRow) -> Result<RoleUsage, StoreError> {
    Ok(RoleUsage {
        agent: parsed(row, "agent_id")?,
        role: row.try_get("role")?,
        requests: counted(row, "requests")?,
        usage: tokens(row)?,
        known_usd: row.try_get("known_usd")?,
        unpriced: counted(row, "unpriced")?,
    })
}

fn usage_line(row: &SqliteRow) -> Result<UsageLine, StoreError> {
    Ok(UsageLine {
        day: row.try_get("day")?,
        agent: parsed(row, "agent_id")?,
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        requests: counted(row, "requests")?,
        usage: tokens(row)?,
        known_usd: row.try_get("known_usd")?,
        unpriced: counted(row, "unpriced")?,
        of_children: ChildrenUse {
            requests: counted(row, "children_requests")?,
            known_usd: row.try_get("children_usd")?,
            unpriced: counted(row, "children_unpriced")?,
        },
    })
}

pub(super) fn attempt(row: &SqliteRow) -> Result<AttemptRow, StoreError> {
    Ok(AttemptRow {
        at: time(row, "at")?,
        guild: row
            .try_get::<Option<i64>, _>("guild_id")?
            .map(GuildId::from_i64),
        agent: parsed(row, "agent_id")?,
        turn: parsed_option(row, "turn_id")?,
        parent: parsed_option(row, "parent_id")?,
        run: parsed_option(row, "run_id")?,
        role: row.try_get("role")?,
        user: row
            .try_get::<Option<i64>, _>("user_id")?
            .map(UserId::from_i64),
        kind: parsed(row, "kind")?,
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        outcome: parsed(row, "outcome")?,
        usage: tokens(row)?,
        cost: cost(row)?,
        duration: Duration::from_millis(counted(row, "millis")?),
        request_id: row.try_get("request_id")?,
        detail: row.try_get("detail")?,
    })
}
