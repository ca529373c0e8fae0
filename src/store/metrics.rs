//! The figures behind `/metrics`: sums over attempts and turns that ended, and the work in progress.
//!
//! A row that ended never changes again, so it is added only once: a [`Tally`] remembers how far it has read.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};
use std::collections::BTreeMap;
use std::time::Duration;

use super::Store;
use super::codec::counted;
use super::error::StoreError;
use super::statement::{checked, scalar, sql};
use crate::domain::Usage;

/// Upper bounds of the buckets for requests to models and for tool calls, in milliseconds.
pub const CALL_BOUNDS: &[u64] = &[
    10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/// Upper bounds of the buckets for turns, which may wait for a person, in milliseconds.
pub const TURN_BOUNDS: &[u64] = &[
    1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000,
];

/// Durations of attempts or turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    pub sum: Duration,
    pub count: u64,
    /// How many took at most as long as each bound.
    pub within: Vec<u64>,
}

impl Durations {
    /// Adds the counts of `other`, which has the same bounds.
    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
        self.within.resize(other.within.len(), 0);
        for (mine, theirs) in self.within.iter_mut().zip(&other.within) {
            *mine += theirs;
        }
    }
}

/// Upper bounds of the buckets for the cost of runs, in millionths of a US dollar.
pub const COST_BOUNDS: &[u64] = &[
    1_000, 5_000, 10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// The cost of runs with known prices, in US dollars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    pub sum: f64,
    pub count: u64,
    /// How many cost at most as much as each of [`COST_BOUNDS`].
    pub within: Vec<u64>,
}

impl Costs {
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
        self.within.resize(COST_BOUNDS.len(), 0);
        for (mine, theirs) in self.within.iter_mut().zip(&other.within) {
            *mine += theirs;
        }
    }
}

/// The labels by which attempts are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttemptLabels {
    /// Empty for a tool call.
    pub provider: String,
    /// The model, or the tool's name.
    pub model: String,
    /// `ok`, or a failure class.
    pub outcome: String,
}

/// Sums over attempts with the same labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptSums {
    pub usage: Usage,
    /// Money, as far as prices are known.
    pub known_usd: f64,
    pub durations: Durations,
}

/// Counts of everything that ended, up to some row.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    attempts: BTreeMap<AttemptLabels, AttemptSums>,
    /// Attempts up to this id are counted.
    attempts_to: i64,
    turns: BTreeMap<String, Durations>,
    /// Turns up to this row are counted: all of them have ended.
    turns_to: i64,
    /// Later turns that have ended, counted again each time.
    later_turns: BTreeMap<String, Durations>,
    /// Runs up to the same row, and later runs.
    runs: Costs,
    later_runs: Costs,
}

impl Tally {
    pub const fn attempts(&self) -> &BTreeMap<AttemptLabels, AttemptSums> {
        &self.attempts
    }

    /// Returns the costs of runs.
    pub fn runs(&self) -> Costs {
        let mut runs = self.runs.clone();
        runs.add(&self.later_runs);
        runs
    }

    /// Returns the durations of turns, by the reason why they ended.
    pub fn turns(&self) -> BTreeMap<String, Durations> {
        let mut turns = self.turns.clone();
        for (exit, durations) in &self.later_turns {
            turns.entry(exit.clone()).or_default().add(durations);
        }
        turns
    }

    /// Adds everything that ended since its last update.
    async fn add_ended(&mut self, db: &mut SqliteConnection) -> Result<(), StoreError> {
        let settled = checked(query!(
            "SELECT coalesce((SELECT min(rowid) - 1 FROM turns WHERE state = 'running'),
                 (SELECT max(rowid) FROM turns), 0) AS settled"
        ))
        .one(db, scalar)
        .await?;
        self.add_turns(db, settled).await?;
        self.add_runs(db, settled).await?;
        self.turns_to = settled.max(self.turns_to);
        self.add_attempts(db).await
    }

    async fn add_turns(
        &mut self,
        db: &mut SqliteConnection,
        settled: i64,
    ) -> Result<(), StoreError> {
        let ended = sql(format!(
            "SELECT exit, is_settled, {} FROM
                 (SELECT coalesce(exit, 'interrupted') AS exit, rowid <= ?2 AS is_settled,
                      max(0, round((julianday(ended_at) - julianday(began_at)) * 86400000)) AS millis
                  FROM turns WHERE rowid > ?1 AND state <> 'running' AND ended_at IS NOT NULL)
             GROUP BY 1, 2",
            durations_sql(TURN_BOUNDS)
        ));
        let ended = ended.bind(self.turns_to).bind(settled);
        self.later_turns.clear();
        let add = |row: &SqliteRow| {
            let into = if row.try_get("is_settled")? {
                &mut self.turns
            } else {
                &mut self.later_turns
            };
            into.entry(row.try_get("exit")?)
                .or_default()
                .add(&durations(row, TURN_BOUNDS)?);
            Ok(())
        };
        ended.each(db, add).await
    }

    async fn add_runs(
        &mut self,
        db: &mut SqliteConnection,
        settled: i64,
    ) -> Result<(), StoreError> {
        let ended = sql(run_costs_sql()).bind(self.turns_to).bind(settled);
        self.later_runs = Costs::default();
        let add = |row: &SqliteRow| {
            let into = if row.try_get("is_settled")? {
                &mut self.runs
            } else {
                &mut self.later_runs
            };
            into.add(&costs(row)?);
            Ok(())
        };
        ended.each(db, add).await
    }

    async fn add_attempts(&mut self, db: &mut SqliteConnection) -> Result<(), StoreError> {
        let ended = sql(format!(
            "SELECT provider, model, outcome, max(id) AS last, sum(input) AS input, sum(output) AS output,
                 sum(cache_read) AS cache_read, sum(cache_write) AS cache_write, total(cost_usd) AS known_usd, {}
             FROM attempts WHERE id > ? AND kind <> 'queue' GROUP BY 1, 2, 3",
            durations_sql(CALL_BOUNDS)
        ));
        let ended = ended.bind(self.attempts_to);
        let add = |row: &SqliteRow| {
            self.attempts_to = self.attempts_to.max(row.try_get("last")?);
            let sums = self.attempts.entry(labels(row)?).or_default();
            sums.usage.input += counted(row, "input")?;
            sums.usage.output += counted(row, "output")?;
            sums.usage.cache_read += counted(row, "cache_read")?;
            sums.usage.cache_write += counted(row, "cache_write")?;
            sums.known_usd += row.try_get::<f64, _>("known_usd")?;
            sums.durations.add(&durations(row, CALL_BOUNDS)?);
            Ok(())
        };
        ended.each(db, add).await
    }
}

/// The waiting and running work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnderWay {
    pub turns: u64,
    /// Child turns among them.
    pub children: u64,
    /// Messages of people that have no turn yet.
    pub messages: u64,
    /// Messages to Discord that are not yet sent.
    pub parts: u64,
    /// Unanswered questions.
    pub approvals: u64,
    pub tasks: u64,
}

impl Store {
    /// Adds to `tally` everything that ended since its last update. An update that failed or was interrupted counts
    /// nothing twice.
    pub async fn bring_up_to_date(&self, tally: &mut Tally) -> Result<(), StoreError> {
        let mut next = tally.clone();
        next.add_ended(&mut *self.reader().await?).await?;
        *tally = next;
        Ok(())
    }

    /// Returns the waiting and running work.
    pub async fn under_way(&self) -> Result<UnderWay, StoreError> {
        let query = checked(query!(
            "SELECT (SELECT count(*) FROM turns WHERE state = 'running') AS turns,
                 (SELECT count(*) FROM turns WHERE state = 'running' AND kind <> 'turn') AS children,
                 (SELECT count(*) FROM inbound WHERE state = 'new') AS messages,
                 (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')) AS parts,
                 (SELECT count(*) FROM approvals WHERE decision IS NULL) AS approvals,
                 (SELECT count(*) FROM tasks WHERE status = 'running') AS tasks"
        ));
        query.one(&mut *self.reader().await?, under_way).await
    }

    /// Returns how many questions were decided, by the decision.
    pub async fn decisions(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let query = checked(query!(
            "SELECT decision, count(*) AS count FROM approvals WHERE decision IS NOT NULL GROUP BY 1"
        ));
        let decision = |row: &SqliteRow| Ok((row.try_get("decision")?, counted(row, "count")?));
        let found = query.all(&mut *self.reader().await?, decision).await?;
        Ok(found.into_iter().collect())
    }
}

/// Returns columns for [`durations`], of a column `millis`.
fn durations_sql(bounds: &[u64]) -> String {
    let within: String = bounds
        .iter()
        .map(|bound| format!(", sum(millis <= {bound}) AS within_{bound}"))
        .collect();
    format!("count(*) AS count, CAST(sum(millis) AS INTEGER) AS millis{within}")
}

/// Returns the costs of runs with an ended root, by whether nothing before them still runs. A run without a known price
/// is left out.
fn run_costs_sql() -> String {
    let within: String = COST_BOUNDS
        .iter()
        .map(|bound| format!(", sum(usd * 1000000 <= {bound}) AS within_{bound}"))
        .collect();
    format!(
        "SELECT is_settled, count(*) AS count, total(usd) AS usd{within} FROM
             (SELECT rowid <= ?2 AS is_settled, cost_usd
                  + (SELECT total(c.cost_usd) FROM turns c WHERE c.run_id = turns.id AND c.kind <> 'turn') AS usd
              FROM turns WHERE rowid > ?1 AND state <> 'running' AND ended_at IS NOT NULL AND kind = 'turn' AND cost_usd IS NOT NULL)
         GROUP BY 1"
    )
}

fn costs(row: &SqliteRow) -> Result<Costs, StoreError> {
    let within = COST_BOUNDS
        .iter()
        .map(|bound| counted(row, &format!("within_{bound}")));
    Ok(Costs {
        sum: row.try_get("usd")?,
        count: counted(row, "count")?,
        within: within.collect::<Result<_, _>>()?,
    })
}

fn durations(row: &SqliteRow, bounds: &[u64]) -> Result<Durations, StoreError> {
    let within = bounds
        .iter()
        .map(|bound| counted(row, &format!("within_{bound}")));
    Ok(Durations {
        sum: Duration::from_millis(counted(row, "millis")?),
        count: counted(row, "count")?,
        within: within.collect::<Result<_, _>>()?,
    })
}

fn labels(row: &SqliteRow) -> Result<AttemptLabels, StoreError> {
    Ok(AttemptLabels {
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        outcome: row.try_get("outcome")?,
    })
}

fn under_way(row: &SqliteRow) -> Result<UnderWay, StoreError> {
    Ok(UnderWay {
        turns: counted(row, "turns")?,
        children: counted(row, "children")?,
        messages: counted(row, "messages")?,
        parts: counted(row, "parts")?,
        approvals: counted(row, "approvals")?,
        tasks: counted(row, "tasks")?,
    })
}
