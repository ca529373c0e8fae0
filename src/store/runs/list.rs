//! Lists of runs, and runs by the beginning of their ids.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::TURNS;
use crate::domain::{AgentId, ChannelId, Cost, GuildId, TurnId};
use crate::store::Store;
use crate::store::codec::{parsed, parsed_option, stamp, time, time_option};
use crate::store::error::StoreError;
use crate::store::statement::{checked, sql};
use crate::store::turns::EndReason;

/// A run in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    pub run: TurnId,
    pub agent: AgentId,
    /// The agent's name at that time.
    pub path: String,
    /// The person who asked for it; `None` if no person did.
    pub asked_by: Option<String>,
    /// The beginning of the request.
    pub words: String,
    pub began_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
    /// `None` while it runs.
    pub exit: Option<EndReason>,
    /// Of its root.
    pub steps: u32,
    /// Child turns in it.
    pub children: u32,
    /// Including all child turns.
    pub cost: Cost,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    pub agent: Option<AgentId>,
    /// Shown in this channel or thread.
    pub channel: Option<ChannelId>,
    pub since: Option<DateTime<Utc>>,
    /// How many newer runs to skip.
    pub offset: u32,
    pub limit: u32,
}

/// A run that an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundRun {
    pub run: TurnId,
    pub agent: AgentId,
    pub guild: GuildId,
}

/// Fewest characters of an id to search for.
const LEAST: usize = 4;

/// Most runs that one id can name.
const MOST: u32 = 100;

const LISTED: &str = "SELECT t.id, t.agent_id, t.path, t.began_at, t.ended_at, t.exit, t.steps,
        (SELECT iif(json_valid(body), json_extract(body, '$.author.name'), NULL) FROM inbound WHERE message_id = t.trigger_id) AS name,
        coalesce((SELECT iif(json_valid(body), substr(json_extract(body, '$.content'), 1, 400), NULL) FROM inbound
            WHERE message_id = t.trigger_id), '') AS words,
        (SELECT count(*) FROM turns x WHERE x.run_id = t.id AND x.kind <> 'turn') AS children";

/// The cost of a run, and its requests of unknown price.
const COST: &str = "SELECT total(cost_usd) AS usd,
        count(*) FILTER (WHERE cost_usd IS NULL AND input + output + cache_read + cache_write > 0) AS unpriced FROM attempts";

impl Store {
    /// Returns runs, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<RunLine>, StoreError> {
        let RunFilter {
            agent,
            channel,
            since,
            offset,
            limit,
        } = filter;
        let narrowed = "(?2 IS NULL OR t.channel_id = ?2) AND (?3 IS NULL OR t.began_at >= ?3)";
        let text = match agent {
            // The newest of each of its conversations, by an index; there are few conversations.
            Some(_) => format!(
                "{LISTED} FROM conversations c JOIN turns t ON t.rowid IN (SELECT t.rowid FROM turns t
                     WHERE t.conversation_id = c.id AND {narrowed} ORDER BY t.rowid DESC LIMIT ?4 + ?5)
                 WHERE c.agent_id = ?1 AND c.kind <> 'child' ORDER BY t.id DESC LIMIT ?4 OFFSET ?5"
            ),
            None => format!(
                "{LISTED} FROM turns t WHERE ?1 IS NULL AND t.kind = 'turn' AND {narrowed} ORDER BY t.rowid DESC LIMIT ?4 OFFSET ?5"
            ),
        };
        let query = sql(text)
            .bind(agent.map(|agent| agent.to_string()))
            .bind(channel.map(ChannelId::as_i64))
            .bind(since.map(stamp))
            .bind(limit)
            .bind(offset);
        let db = &mut *self.reader().await?;
        let mut lines = query.readable(db, "turns", "id", line).await?;
        for line in &mut lines {
            line.cost = cost_of(db, line.run).await?;
        }
        Ok(lines)
    }

    /// Returns the runs that `word` names, newest first: the whole id of one of its turns, or the beginning (4 or more
    /// characters) of the part that people see.
    pub async fn find_runs(&self, word: &str) -> Result<Vec<FoundRun>, StoreError> {
        let word = word.trim().to_ascii_lowercase();
        let is_id = word.len() >= LEAST
            && word
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if !is_id {
            return Ok(Vec::new());
        }
        // For this, only the ids are read, from the index of the table.
        let query = checked(query!(
            "SELECT DISTINCT r.id, r.agent_id, a.guild_id FROM turns t JOIN turns r ON r.id = coalesce(t.run_id, t.id)
                 JOIN agents a ON a.id = r.agent_id
             WHERE t.id IN (SELECT id FROM turns WHERE id = ?1 OR substr(id, -8, length(?1)) = ?1)
             ORDER BY r.id DESC LIMIT ?2",
            word,
            MOST
        ));
        query
            .readable(&mut *self.reader().await?, "turns", "id", found)
            .await
    }
}

/// Returns the cost of a run with all of its child turns.
async fn cost_of(db: &mut SqliteConnection, run: TurnId) -> Result<Cost, StoreError> {
    let (unpriced, usd): (i64, f64) = sql(format!("{COST} WHERE turn_id IN ({TURNS})"))
        .bind(run.to_string())
        .one(db, |row| {
            Ok((row.try_get("unpriced")?, row.try_get("usd")?))
        })
        .await?;
    Ok(match unpriced {
        0 => Cost::Usd(usd),
        _ => Cost::Unknown,
    })
}

fn line(row: &SqliteRow) -> Result<RunLine, StoreError> {
    Ok(RunLine {
        run: parsed(row, "id")?,
        agent: parsed(row, "agent_id")?,
        path: row
            .try_get::<Option<String>, _>("path")?
            .unwrap_or_default(),
        asked_by: row.try_get("name")?,
        words: row.try_get("words")?,
        began_at: time(row, "began_at")?,
        ended_at: time_option(row, "ended_at")?,
        exit: parsed_option(row, "exit")?,
        steps: row.try_get("steps")?,
        children: row.try_get("children")?,
        cost: Cost::Unknown,
    })
}

fn found(row: &SqliteRow) -> Result<FoundRun, StoreError> {
    Ok(FoundRun {
        run: parsed(row, "id")?,
        agent: parsed(row, "agent_id")?,
        guild: GuildId::from_i64(row.try_get("guild_id")?),
    })
}
