//! The index of saved sessions; the sessions themselves are files.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};
use tokio::runtime::Handle;

use super::Store;
use super::batch::Batch;
use super::codec::{cost, count, counted, parsed, stamp, text, time};
use super::error::StoreError;
use super::statement::{Statement, checked, scalar, sql};
use crate::domain::{AgentId, ConversationId, SaveTrigger, SessionId, SessionMeta, SessionUsage};

/// A page of sessions, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    pub total: u64,
    /// The sessions of the page.
    pub sessions: Vec<SessionMeta>,
}

/// How much of a conversation a saved session contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    pub conversation: ConversationId,
    /// Items saved, from the first.
    pub items: u64,
}

/// An agent's sessions, without those that a stop saved while the conversation is still open and unchanged.
const OF_AGENT: &str = "WHERE agent_id = ?1 AND NOT (trigger = 'shutdown' AND id IN (SELECT c.saved_as FROM conversations c
    WHERE c.agent_id = ?1 AND c.closed_at IS NULL AND c.saved_as IS NOT NULL
        AND c.saved_items = (SELECT count(*) FROM items i WHERE i.conversation_id = c.id)))";

/// Newest sessions to search for the one of a closed branch: an older one would be of no use.
const RECENT: u32 = 20;

/// Writes the use of a conversation's finished turns, including the child turns of their runs, which used tokens of their
/// own.
const SPENT: &str = "WITH roots AS (SELECT * FROM turns WHERE conversation_id = ? AND state = 'finished'),
    took AS (SELECT input, output, cache_read, cache_write, cost_usd FROM roots
        UNION ALL SELECT c.input, c.output, c.cache_read, c.cache_write, c.cost_usd
        FROM roots JOIN turns c ON c.run_id = roots.id AND c.kind <> 'turn' AND c.state = 'finished')
    UPDATE sessions SET (tokens_in, tokens_out, tokens_cached, cost_usd) = (
        SELECT coalesce(sum(input + cache_read + cache_write), 0), coalesce(sum(output), 0), coalesce(sum(cache_read), 0),
            iif(count(*) = count(cost_usd), coalesce(sum(cost_usd), 0.0), NULL) FROM took)
    WHERE id = ? AND tokens_in IS NULL";

fn last_closed_branch(agent: AgentId) -> Statement {
    checked(query!(
        "SELECT * FROM (SELECT * FROM sessions WHERE agent_id = ? ORDER BY saved_at DESC LIMIT ?)
         WHERE trigger = ? ORDER BY saved_at DESC LIMIT 1",
        agent.to_string(),
        RECENT,
        SaveTrigger::BranchClosed.as_str()
    ))
}

impl Store {
    /// Returns the session of the agent's last closed branch, if that was recent.
    pub async fn last_closed_branch(
        &self,
        agent: AgentId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        let query = last_closed_branch(agent);
        query.first(&mut *self.reader().await?, session).await
    }

    /// Returns the same on a thread that may wait for the disk; `None` while all connections are in use.
    pub fn last_closed_branch_here(
        &self,
        agent: AgentId,
    ) -> Option<Result<Option<SessionMeta>, StoreError>> {
        let query = last_closed_branch(agent);
        let mut reader = self.inner.readers.try_acquire()?;
        let found = async { query.first(&mut reader, session).await };
        Some(Handle::try_current().ok()?.block_on(found))
    }

    /// Indexes a session whose file is on disk, and records which part of which conversation it contains. Indexing the
    /// same session again changes nothing.
    pub async fn insert_session(
        &self,
        session: SessionMeta,
        covered: Option<Covered>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        let id = session.id.to_string();
        batch.add(query!(
            "INSERT INTO sessions (id, session_id, agent_id, agent_name, description, summary, saved_at, trigger,
                     message_count, token_estimate, file_path, file_sha256, hides_words)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            &id,
            session.session_id,
            session.agent_id.to_string(),
            session.agent_name,
            session.description,
            session.summary,
            stamp(session.saved_at),
            session.trigger.as_str(),
            count(session.message_count),
            count(session.token_estimate),
            session.file_path,
            session.file_sha256,
            session.hides_words
        ));
        if let Some(covered) = covered {
            batch.add(sql(SPENT).bind(covered.conversation.0).bind(&id));
            batch.add(query!(
                "UPDATE conversations SET saved_as = CASE WHEN ? >= saved_items THEN ? ELSE saved_as END,
                         saved_items = max(saved_items, min(?, (SELECT count(*) FROM items WHERE conversation_id = conversations.id))),
                         crash_session = nullif(crash_session, ?)
                     WHERE id = ?",
                count(covered.items),
                &id,
                count(covered.items),
                &id,
                covered.conversation.0
            ));
        }
        self.run(batch).await.map(drop)
    }

    /// Returns a page of an agent's sessions, newest first. Sessions of a clean stop are left out while the
    /// conversation is open and unchanged.
    pub async fn sessions(
        &self,
        agent: AgentId,
        offset: u32,
        limit: u32,
    ) -> Result<SessionPage, StoreError> {
        let agent = agent.to_string();
        let total = sql(format!("SELECT count(*) FROM sessions {OF_AGENT}")).bind(&agent);
        let page = sql(format!(
            "SELECT * FROM sessions {OF_AGENT} ORDER BY saved_at DESC, rowid DESC LIMIT ?2 OFFSET ?3"
        ));
        let page = page.bind(&agent).bind(limit).bind(offset);
        let db = &mut *self.reader().await?;
        Ok(SessionPage {
            total: u64::try_from(total.one(db, scalar::<i64>).await?).unwrap_or(0),
            sessions: page.readable(db, "sessions", "id", session).await?,
        })
    }

    /// Returns the session with this id, of any agent.
    pub async fn session(&self, id: SessionId) -> Result<Option<SessionMeta>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM sessions WHERE id = ?",
            id.to_string()
        ));
        query.first(&mut *self.reader().await?, session).await
    }

    /// Returns an agent's sessions that `word` names: a file stem or the beginning of an id. If a whole stem matches,
    /// only that session is returned. If several ids match, at most `limit` sessions are returned, newest first.
    pub async fn find_sessions(
        &self,
        agent: AgentId,
        word: &str,
        limit: u32,
    ) -> Result<Vec<SessionMeta>, StoreError> {
        let by_stem = checked(query!(
            "SELECT * FROM sessions WHERE agent_id = ? AND session_id = ?",
            agent.to_string(),
            word
        ));
        let by_id = checked(query!(
            "SELECT * FROM sessions WHERE agent_id = ? AND substr(id, 1, ?) = ?
             ORDER BY saved_at DESC, rowid DESC LIMIT ?",
            agent.to_string(),
            i64::try_from(word.chars().count()).unwrap_or(i64::MAX),
            word.to_lowercase(),
            limit
        ));
        let db = &mut *self.reader().await?;
        match by_stem.first(db, session).await? {
            Some(named) => Ok(vec![named]),
            None => by_id.readable(db, "sessions", "id", session).await,
        }
    }

    /// Returns when the first turn of an agent began with text that a role has to pass before people get it.
    pub async fn hides_words_since(
        &self,
        agent: AgentId,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let query = checked(query!(
            "SELECT began_at FROM turns WHERE agent_id = ? AND hides_words = 1 ORDER BY began_at LIMIT 1",
            agent.to_string()
        ));
        query
            .first(&mut *self.reader().await?, |row| time(row, "began_at"))
            .await
    }

    /// Returns the files of an agent's sessions that the index knows, relative to the agent's directory.
    pub async fn session_files(&self, agent: AgentId) -> Result<Vec<String>, StoreError> {
        let query = checked(query!(
            "SELECT file_path FROM sessions WHERE agent_id = ?",
            agent.to_string()
        ));
        query.all(&mut *self.reader().await?, scalar).await
    }
}

fn session(row: &SqliteRow) -> Result<SessionMeta, StoreError> {
    let word = text(row, "trigger")?;
    let trigger = SaveTrigger::ALL
        .into_iter()
        .find(|trigger| trigger.as_str() == word)
        .ok_or_else(|| StoreError::bad_row("sessions.trigger", format!("unknown word `{word}`")))?;
    Ok(SessionMeta {
        id: parsed(row, "id")?,
        session_id: row.try_get("session_id")?,
        agent_id: parsed(row, "agent_id")?,
        agent_name: row.try_get("agent_name")?,
        description: row.try_get("description")?,
        summary: row.try_get("summary")?,
        saved_at: time(row, "saved_at")?,
        trigger,
        message_count: counted(row, "message_count")?,
        token_estimate: counted(row, "token_estimate")?,
        file_path: row.try_get("file_path")?,
        file_sha256: row.try_get("file_sha256")?,
        spent: spent(row)?,
        hides_words: row.try_get("hides_words")?,
    })
}

fn spent(row: &SqliteRow) -> Result<Option<SessionUsage>, StoreError> {
    if row.try_get::<Option<i64>, _>("tokens_in")?.is_none() {
        return Ok(None);
    }
    Ok(Some(SessionUsage {
        input: counted(row, "tokens_in")?,
        output: counted(row, "tokens_out")?,
        cached: counted(row, "tokens_cached")?,
        cost: cost(row)?,
    }))
}
