//! Conversations: opened, found, closed. Their items are in `items`.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{counted, now, parsed, parsed_option, stamp, time, time_option};
use super::error::StoreError;
use super::items::replace;
use super::statement::{checked, scalar, sql};
use super::turn_rows::OF_MESSAGE;
use crate::domain::{AgentId, ChannelId, ConversationId, Item, MessageId, SessionId, TurnId};

/// A branch to open beside an agent's main conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConversation {
    /// The Discord thread it lives in, if it has one.
    pub thread: Option<ChannelId>,
    /// Its purpose.
    pub prompt: String,
    /// The role that it works as.
    pub role: Option<String>,
    /// The conversation that gets the report of its first turn.
    pub reports_to: Option<ConversationId>,
    /// The turn that opens it.
    pub opened_by: Option<TurnId>,
    /// The conversation from which its first items come.
    pub from: Option<ConversationId>,
    /// The schedule or webhook whose run it is for.
    pub plan: Option<PlanOf>,
}

/// What a conversation was opened for, other than a person or a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanOf {
    /// A run of the schedule with this id.
    Schedule(i64),
    /// Deliveries of a webhook.
    Webhook {
        id: String,
        /// The value of `thread_by` that they share; without one, each turn has a conversation of its own.
        thread: Option<String>,
    },
}

/// One conversation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    pub id: ConversationId,
    pub agent: AgentId,
    /// 0 for the main one, otherwise the branch's number, counted per agent and never used twice.
    pub number: u32,
    /// The Discord thread it lives in.
    pub thread: Option<ChannelId>,
    /// The purpose of a branch.
    pub prompt: String,
    /// The role that it works as.
    pub role: Option<String>,
    /// The conversation that still expects a branch's report.
    pub reports_to: Option<ConversationId>,
    /// The turn that opened a branch, if a turn did.
    pub opened_by: Option<TurnId>,
    /// The schedule or webhook whose run a branch was opened for.
    pub plan: Option<PlanOf>,
    pub opened_at: DateTime<Utc>,
    /// When an item was last added to it.
    pub last_active_at: DateTime<Utc>,
    /// When it was closed, if it was.
    pub closed_at: Option<DateTime<Utc>>,
    pub items: u64,
    /// How many of its items, from the first, a saved session covers.
    pub saved_items: u64,
    /// The session with exactly its first [`Self::saved_items`] items, if there is one.
    pub saved_as: Option<SessionId>,
    /// The id of the session that is being saved, or is due after a crash.
    pub crash_session: Option<SessionId>,
    /// Its knowledge of earlier conversations.
    pub seed: Option<String>,
    /// Whether notes wait for its next turn.
    pub has_kept_notes: bool,
    /// Whether it contains text that a role has to pass before people get it.
    pub hides_words: bool,
}

impl ConversationRow {
    /// Returns whether it has items that no session contains.
    pub const fn is_unsaved(&self) -> bool {
        self.items > self.saved_items
    }

    /// Returns the purpose of a branch as people may see it: empty if a model wrote text that a role has to pass first.
    pub fn shown_prompt(&self) -> &str {
        if self.hides_words && self.opened_by.is_some() {
            ""
        } else {
            &self.prompt
        }
    }

    /// Returns the session with exactly its items, if there is one.
    pub fn held_by(&self) -> Option<SessionId> {
        let is_as_saved = self.closed_at.is_none() && self.items == self.saved_items;
        self.saved_as.filter(|_| is_as_saved)
    }
}

/// Each conversation with its number of items and the time when its last turn was active. A turn is active from its
/// beginning to its end; its interruption does not count.
pub(super) const SELECT: &str = "SELECT c.*, (SELECT count(*) FROM items i WHERE i.conversation_id = c.id AND i.dropped_at IS NULL) AS items,
    (SELECT iif(t.state = 'finished', t.ended_at, t.began_at) FROM turns t
     WHERE t.conversation_id = c.id ORDER BY t.rowid DESC LIMIT 1) AS turn_at,
    EXISTS (SELECT 1 FROM kept_notes k WHERE k.agent_id = c.agent_id AND k.number = c.number) AS has_kept_notes
    FROM conversations c";

/// The open main conversation of an agent.
static OPEN_MAIN: LazyLock<String> = LazyLock::new(|| {
    format!("{SELECT} WHERE c.agent_id = ? AND c.number = 0 AND c.closed_at IS NULL")
});

impl Store {
    /// Returns the main conversation of an agent, and opens one if none is open. That does not wait for the disk: the
    /// commit that adds an item does.
    pub async fn main_conversation(&self, agent: AgentId) -> Result<ConversationRow, StoreError> {
        let (agent, at) = (agent.to_string(), now());
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO conversations (agent_id, number, kind, opened_at, last_active_at) SELECT ?, 0, 'main', ?, ?
                 WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE agent_id = ? AND number = 0 AND closed_at IS NULL)",
            &agent,
            &at,
            &at,
            &agent
        ));
        batch.add(sql(OPEN_MAIN.as_str()).bind(&agent));
        self.row(batch.unsynced(), conversation).await
    }

    /// Opens a branch with these first `items`.
    pub async fn open_branch_with(
        &self,
        agent: AgentId,
        branch: NewConversation,
        items: Vec<Item>,
    ) -> Result<ConversationRow, StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                let mut row = open_branch(db, agent, branch).await?;
                replace(db, row.id, &items).await?;
                row.items = items.len() as u64;
                Ok(row)
            })
        })
        .await
    }

    /// Returns the open conversations of an agent, main one first.
    pub async fn conversations(&self, agent: AgentId) -> Result<Vec<ConversationRow>, StoreError> {
        self.find_conversations(
            "WHERE c.agent_id = ? AND c.closed_at IS NULL ORDER BY c.number",
            agent.to_string(),
        )
        .await
    }

    /// Returns all branches an agent ever had, newest first.
    pub async fn branches(&self, agent: AgentId) -> Result<Vec<ConversationRow>, StoreError> {
        self.find_conversations(
            "WHERE c.agent_id = ? AND c.number > 0 ORDER BY c.number DESC",
            agent.to_string(),
        )
        .await
    }

    /// Returns one conversation, open or closed.
    pub async fn conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(self
            .find_conversations("WHERE c.id = ?", id.0.to_string())
            .await?
            .pop())
    }

    /// Returns the open conversation that lives in the Discord thread `thread`.
    pub async fn conversation_by_thread(
        &self,
        thread: ChannelId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        Ok(self
            .find_conversations(
                "WHERE c.thread_id = ? AND c.closed_at IS NULL ORDER BY c.id",
                thread.as_i64().to_string(),
            )
            .await?
            .pop())
    }

    /// Returns the conversation that a message belongs to, a person's message or one of ours.
    pub async fn conversation_of_message(
        &self,
        message: MessageId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        let condition = format!(
            "WHERE c.id = (SELECT t.conversation_id FROM turns t WHERE t.id = {OF_MESSAGE})"
        );
        let found = self.find_conversations(&condition, message.as_i64().to_string());
        Ok(found.await?.pop())
    }

    /// Runs a query of this file; SQLite itself converts `key` to the column's type.
    pub(super) async fn find_conversations(
        &self,
        condition: &str,
        key: String,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        let query = sql(format!("{SELECT} {condition}")).bind(key);
        query
            .readable(
                &mut *self.reader().await?,
                "conversations",
                "id",
                conversation,
            )
            .await
    }

    /// Returns branches without a running turn that have not reported yet.
    pub async fn reports_due(&self) -> Result<Vec<(AgentId, ConversationId)>, StoreError> {
        let condition = "WHERE c.kind = ? AND c.parent_id IS NOT NULL AND NOT EXISTS
             (SELECT 1 FROM turns t WHERE t.conversation_id = c.id AND t.state = 'running')";
        let due = self.find_conversations(condition, "branch".to_owned());
        let due = due.await?.into_iter();
        Ok(due.map(|branch| (branch.agent, branch.id)).collect())
    }

    /// Drops the report of a branch, which is no longer given to a conversation.
    pub async fn drop_report(&self, branch: ConversationId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        has_reported(&mut batch, branch);
        self.run(batch).await.map(drop)
    }

    /// Returns whether a conversation contains text that a role has to pass before people get it. True for an unknown
    /// one.
    pub async fn hides_words(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        let query = checked(query!(
            "SELECT hides_words FROM conversations WHERE id = ?",
            conversation.0
        ));
        let found = query
            .first(&mut *self.reader().await?, scalar::<bool>)
            .await?;
        Ok(found.unwrap_or(true))
    }

    /// Records that a conversation contains text that a role has to pass before people get it.
    pub async fn hide_words(&self, conversation: ConversationId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET hides_words = 1 WHERE id = ?",
            conversation.0
        ));
        self.run(batch).await.map(drop)
    }

    /// Ends a conversation: its items stay in the ledger, and the agent's next message opens a new one.
    pub async fn close_conversation(&self, id: ConversationId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET closed_at = ?, crash_session = NULL WHERE id = ? AND closed_at IS NULL",
            now(),
            id.0
        ));
        self.run(batch).await.map(drop)
    }

    /// Stores a conversation's knowledge of earlier ones. That does not wait for the disk: the commit that adds an item
    /// does.
    pub async fn set_seed(
        &self,
        conversation: ConversationId,
        seed: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET seed = ? WHERE id = ?",
            seed,
            conversation.0
        ));
        self.run(batch.unsynced()).await.map(drop)
    }

    /// Records the id of the session as which a conversation is about to be saved: after a crash between its file and
    /// its row, the next start completes it.
    pub async fn promise_session(
        &self,
        conversation: ConversationId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET crash_session = ? WHERE id = ? AND closed_at IS NULL",
            session.to_string(),
            conversation.0
        ));
        self.run(batch).await.map(drop)
    }

    /// Stores when a person last wrote to an agent, or near it; the remaining time of its conversations follows from
    /// that.
    pub async fn keep_activity(
        &self,
        agent: AgentId,
        latest: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET last_active_at = max(last_active_at, ?)
                 WHERE agent_id = ? AND closed_at IS NULL",
            stamp(latest),
            agent.to_string()
        ));
        self.run(batch).await.map(drop)
    }
}

async fn open_branch(
    db: &mut SqliteConnection,
    agent: AgentId,
    branch: NewConversation,
) -> Result<ConversationRow, StoreError> {
    let last: i64 = checked(query!(
        "SELECT coalesce(max(number), 0) AS number FROM conversations WHERE agent_id = ?",
        agent.to_string()
    ))
    .one(db, scalar)
    .await?;
    let opened = now();
    let (schedule, webhook, webhook_thread) = match branch.plan {
        None => (None, None, None),
        Some(PlanOf::Schedule(id)) => (Some(id), None, None),
        Some(PlanOf::Webhook { id, thread }) => (None, Some(id), thread),
    };
    checked(query!(
        "INSERT INTO conversations (agent_id, number, kind, thread_id, prompt, role, parent_id, opened_by, schedule_id, webhook_id,
             webhook_thread, hides_words, opened_at, last_active_at)
         VALUES (?, ?, 'branch', ?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT root.hides_words FROM turns t JOIN turns root ON root.id = t.run_id
             WHERE t.id = ?), (SELECT c.hides_words FROM conversations c WHERE c.id = ?), 0), ?, ?)
         RETURNING *, 0 AS items, opened_at AS turn_at, 0 AS has_kept_notes",
        agent.to_string(),
        last + 1,
        branch.thread.map(ChannelId::as_i64),
        branch.prompt,
        branch.role,
        branch.reports_to.map(|conversation| conversation.0),
        branch.opened_by.map(|turn| turn.to_string()),
        schedule,
        webhook,
        webhook_thread,
        branch.opened_by.map(|turn| turn.to_string()),
        branch.from.map(|conversation| conversation.0),
        &opened,
        &opened
    ))
    .one(db, conversation)
    .await
}

/// Records that a branch has reported, which it does only once.
pub(super) fn has_reported(batch: &mut Batch, branch: ConversationId) {
    batch.add(query!(
        "UPDATE conversations SET parent_id = NULL WHERE id = ? AND kind = 'branch' AND parent_id IS NOT NULL",
        branch.0
    ))
        .must_change("branch that has not reported");
}

/// Records that an item was added to a conversation outside of its turns.
pub(super) fn touch(batch: &mut Batch, conversation: ConversationId) {
    batch.add(query!(
        "UPDATE conversations SET last_active_at = ? WHERE id = ?",
        now(),
        conversation.0
    ));
}

pub(super) fn conversation(row: &SqliteRow) -> Result<ConversationRow, StoreError> {
    Ok(ConversationRow {
        id: ConversationId(row.try_get("id")?),
        agent: parsed(row, "agent_id")?,
        number: row.try_get("number")?,
        thread: row
            .try_get::<Option<i64>, _>("thread_id")?
            .map(ChannelId::from_i64),
        prompt: row.try_get("prompt")?,
        role: row.try_get("role")?,
        reports_to: row
            .try_get::<Option<i64>, _>("parent_id")?
            .map(ConversationId),
        opened_by: parsed_option(row, "opened_by")?,
        plan: plan_of(row)?,
        opened_at: time(row, "opened_at")?,
        last_active_at: last_active_at(row)?,
        closed_at: time_option(row, "closed_at")?,
        items: counted(row, "items")?,
        saved_items: counted(row, "saved_items")?,
        saved_as: parsed_option(row, "saved_as")?,
        crash_session: parsed_option(row, "crash_session")?,
        seed: row.try_get("seed")?,
        has_kept_notes: row.try_get("has_kept_notes")?,
        hides_words: row.try_get("hides_words")?,
    })
}

fn plan_of(row: &SqliteRow) -> Result<Option<PlanOf>, StoreError> {
    let schedule: Option<i64> = row.try_get("schedule_id")?;
    let webhook: Option<String> = row.try_get("webhook_id")?;
    let thread = row.try_get("webhook_thread")?;
    let of_webhook = webhook.map(|id| PlanOf::Webhook { id, thread });
    Ok(schedule.map(PlanOf::Schedule).or(of_webhook))
}

/// Reads the time of the last activity. A turn with unreadable times makes its own row unreadable, not its
/// conversation's.
fn last_active_at(row: &SqliteRow) -> Result<DateTime<Utc>, StoreError> {
    let turn = time_option(row, "turn_at").ok().flatten();
    Ok(time(row, "last_active_at")?.max(turn.unwrap_or_default()))
}
