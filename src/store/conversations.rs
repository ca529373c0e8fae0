//! Conversations and their items: what an agent's memory is read back from.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::codec::{
    count, counted, from_json, json, now, parsed, parsed_option, time, time_option,
};
use super::{Store, StoreError};
use crate::domain::{
    AgentId, CallId, ChannelId, ConversationId, Item, MessageId, SessionId, TurnId,
};

/// Which conversation to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationKind {
    /// The agent's main one; at most one is open.
    Root,
    /// A branch beside it.
    Branch {
        /// The Discord thread it lives in, if it has one.
        thread: Option<ChannelId>,
        /// What it was opened for.
        prompt: String,
    },
}

/// One conversation of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Whose it is.
    pub agent: AgentId,
    /// 0 for the main one, else the branch's number, counted per agent and never used twice.
    pub number: u32,
    /// The Discord thread it lives in.
    pub thread: Option<ChannelId>,
    /// What a branch was opened for.
    pub prompt: String,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// When something last entered it.
    pub last_active_at: DateTime<Utc>,
    /// When it was closed, if it was.
    pub closed_at: Option<DateTime<Utc>>,
    /// Items it holds.
    pub items: u64,
    /// How many of them, from the first, a saved session covers.
    pub saved_items: u64,
    /// The id its `crash_recovery` session has or will get, while one is due.
    pub crash_session: Option<SessionId>,
}

impl Conversation {
    /// Whether it holds something that no session covers.
    pub const fn is_unsaved(&self) -> bool {
        self.items > self.saved_items
    }
}

/// Whether items that replace a conversation are in a saved session already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedAs {
    /// They were read from one.
    Session,
    /// They are not saved.
    Nothing,
}

const SELECT: &str = "SELECT c.*, (SELECT count(*) FROM items i WHERE i.conversation_id = c.id) AS items FROM conversations c";

impl Store {
    /// Opens a conversation. An agent's main one is given as it is when it is open already.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn open_conversation(
        &self,
        agent: AgentId,
        kind: ConversationKind,
    ) -> Result<Conversation, StoreError> {
        self.write(move |db| Box::pin(async move { open(db, agent, kind).await }))
            .await
    }

    /// The open conversations of an agent, main one first.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn conversations(&self, agent: AgentId) -> Result<Vec<Conversation>, StoreError> {
        self.find_conversations(
            "WHERE c.agent_id = ? AND c.closed_at IS NULL ORDER BY c.number",
            agent.to_string(),
        )
        .await
    }

    /// All branches an agent ever had, newest first.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn branches(&self, agent: AgentId) -> Result<Vec<Conversation>, StoreError> {
        self.find_conversations(
            "WHERE c.agent_id = ? AND c.number > 0 ORDER BY c.number DESC",
            agent.to_string(),
        )
        .await
    }

    /// One conversation, open or closed.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<Conversation>, StoreError> {
        Ok(self
            .find_conversations("WHERE c.id = ?", id.0.to_string())
            .await?
            .pop())
    }

    /// The open conversation that lives in the Discord thread `thread`.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn conversation_by_thread(
        &self,
        thread: ChannelId,
    ) -> Result<Option<Conversation>, StoreError> {
        Ok(self
            .find_conversations(
                "WHERE c.thread_id = ? AND c.closed_at IS NULL ORDER BY c.id",
                thread.as_i64().to_string(),
            )
            .await?
            .pop())
    }

    /// The conversation that a message belongs to, be it a person's or one of ours.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn conversation_of_message(
        &self,
        message: MessageId,
    ) -> Result<Option<Conversation>, StoreError> {
        Ok(self
            .find_conversations(
                "WHERE c.id = (SELECT t.conversation_id FROM turns t WHERE t.id = coalesce(
                     (SELECT o.turn_id FROM outbox o WHERE o.message_id = ?1),
                     (SELECT n.turn_id FROM inbound n WHERE n.message_id = ?1),
                     (SELECT a.turn_id FROM approvals a WHERE a.message_id = ?1),
                     (SELECT p.id FROM turns p WHERE p.status_id = ?1 OR p.preview_id = ?1)))",
                message.as_i64().to_string(),
            )
            .await?
            .pop())
    }

    /// Runs a query of this file; SQLite turns `key` into the column's type by itself.
    async fn find_conversations(
        &self,
        condition: &'static str,
        key: String,
    ) -> Result<Vec<Conversation>, StoreError> {
        let mut db = self.reader().await?;
        let rows = sqlx::query(sqlx::AssertSqlSafe(format!("{SELECT} {condition}")))
            .bind(key)
            .fetch_all(&mut *db)
            .await?;
        rows.iter().map(conversation).collect()
    }

    /// Ends a conversation: its items stay in the ledger, the agent's next message opens a new one.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn close_conversation(&self, id: ConversationId) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                sqlx::query("UPDATE conversations SET closed_at = ?, crash_session = NULL WHERE id = ? AND closed_at IS NULL")
                    .bind(now())
                    .bind(id.0)
                    .execute(db)
                    .await?;
                Ok(())
            })
        })
        .await
    }

    /// The items of a conversation in order; results of one answer's calls in the order of the calls.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn items(&self, conversation: ConversationId) -> Result<Vec<Item>, StoreError> {
        let mut db = self.reader().await?;
        read_items(&mut db, conversation).await
    }

    /// The items of a conversation that entered it before `turn` did.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn items_before(
        &self,
        conversation: ConversationId,
        turn: TurnId,
    ) -> Result<Vec<Item>, StoreError> {
        let mut db = self.reader().await?;
        let rows = sqlx::query(
            "SELECT body FROM items WHERE conversation_id = ?1
                 AND id < coalesce((SELECT min(id) FROM items WHERE conversation_id = ?1 AND turn_id = ?2), 9223372036854775807)
             ORDER BY id",
        )
        .bind(conversation.0)
        .bind(turn.to_string())
        .fetch_all(&mut *db)
        .await?;
        let mut items = rows
            .iter()
            .map(|row| from_json(row, "body"))
            .collect::<Result<Vec<Item>, _>>()?;
        order_results(&mut items);
        Ok(items)
    }

    /// Adds one item that belongs to no turn (a note, say).
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn append_item(
        &self,
        conversation: ConversationId,
        item: Item,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                insert_item(db, conversation, None, &item).await?;
                touch(db, conversation).await
            })
        })
        .await
    }

    /// Puts other items in the place of all a conversation holds (restore, compaction, repair).
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn replace_items(
        &self,
        conversation: ConversationId,
        items: Vec<Item>,
        saved: SavedAs,
    ) -> Result<(), StoreError> {
        self.write(move |db| {
            Box::pin(async move {
                replace(db, conversation, &items).await?;
                let covered = match saved {
                    SavedAs::Session => items.len() as u64,
                    SavedAs::Nothing => 0,
                };
                sqlx::query("UPDATE conversations SET saved_items = ? WHERE id = ?")
                    .bind(count(covered))
                    .bind(conversation.0)
                    .execute(&mut *db)
                    .await?;
                touch(db, conversation).await
            })
        })
        .await
    }
}

async fn open(
    db: &mut SqliteConnection,
    agent: AgentId,
    kind: ConversationKind,
) -> Result<Conversation, StoreError> {
    let (number, thread, prompt) = match kind {
        ConversationKind::Root => {
            let row = sqlx::query(sqlx::AssertSqlSafe(format!(
                "{SELECT} WHERE c.agent_id = ? AND c.number = 0 AND c.closed_at IS NULL"
            )))
            .bind(agent.to_string())
            .fetch_optional(&mut *db)
            .await?;
            if let Some(row) = row {
                return conversation(&row);
            }
            (0, None, String::new())
        }
        ConversationKind::Branch { thread, prompt } => {
            let last: i64 = sqlx::query_scalar(
                "SELECT coalesce(max(number), 0) FROM conversations WHERE agent_id = ?",
            )
            .bind(agent.to_string())
            .fetch_one(&mut *db)
            .await?;
            (last + 1, thread, prompt)
        }
    };
    let opened = now();
    let row = sqlx::query(
        "INSERT INTO conversations (agent_id, number, thread_id, prompt, opened_at, last_active_at)
         VALUES (?, ?, ?, ?, ?, ?) RETURNING *, 0 AS items",
    )
    .bind(agent.to_string())
    .bind(number)
    .bind(thread.map(ChannelId::as_i64))
    .bind(prompt)
    .bind(&opened)
    .bind(&opened)
    .fetch_one(db)
    .await?;
    conversation(&row)
}

/// Adds an item at the end of a conversation.
pub(super) async fn insert_item(
    db: &mut SqliteConnection,
    conversation: ConversationId,
    turn: Option<TurnId>,
    item: &Item,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO items (conversation_id, turn_id, role, body) VALUES (?, ?, ?, ?)")
        .bind(conversation.0)
        .bind(turn.map(|turn| turn.to_string()))
        .bind(role(item))
        .bind(json(item)?)
        .execute(db)
        .await?;
    Ok(())
}

/// Notes that something entered a conversation.
pub(super) async fn touch(
    db: &mut SqliteConnection,
    conversation: ConversationId,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE conversations SET last_active_at = ? WHERE id = ?")
        .bind(now())
        .bind(conversation.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Puts `items` in the place of all that `conversation` holds. Rows at the beginning that stay as they are are not
/// written again: a repair changes the end of what may be a long history.
pub(super) async fn replace(
    db: &mut SqliteConnection,
    conversation: ConversationId,
    items: &[Item],
) -> Result<(), StoreError> {
    let kept = unchanged(db, conversation, items).await?;
    sqlx::query("DELETE FROM items WHERE conversation_id = ? AND id > ?")
        .bind(conversation.0)
        .bind(kept.last_row)
        .execute(&mut *db)
        .await?;
    for item in &items[kept.items..] {
        insert_item(db, conversation, None, item).await?;
    }
    Ok(())
}

/// The beginning of a conversation that needs no writing.
struct Kept {
    items: usize,
    last_row: i64,
}

async fn unchanged(
    db: &mut SqliteConnection,
    conversation: ConversationId,
    items: &[Item],
) -> Result<Kept, StoreError> {
    let mut kept = Kept {
        items: 0,
        last_row: 0,
    };
    let mut rows = sqlx::query("SELECT id, body FROM items WHERE conversation_id = ? ORDER BY id")
        .bind(conversation.0)
        .fetch(db);
    while let Some(row) = rows.try_next().await? {
        let Some(item) = items.get(kept.items) else {
            break;
        };
        let body: &str = row.try_get("body")?;
        if json(item)? != body {
            break;
        }
        kept.items += 1;
        kept.last_row = row.try_get("id")?;
    }
    Ok(kept)
}

pub(super) async fn read_items(
    db: &mut SqliteConnection,
    conversation: ConversationId,
) -> Result<Vec<Item>, StoreError> {
    let rows = sqlx::query("SELECT body FROM items WHERE conversation_id = ? ORDER BY id")
        .bind(conversation.0)
        .fetch_all(db)
        .await?;
    let mut items = rows
        .iter()
        .map(|row| from_json(row, "body"))
        .collect::<Result<Vec<Item>, _>>()?;
    order_results(&mut items);
    Ok(items)
}

/// Results are stored as calls end; a model is shown them in the order of the calls.
fn order_results(items: &mut [Item]) {
    let mut from = 0;
    while from < items.len() {
        let Some(Item::Assistant(answer)) = items.get(from) else {
            from += 1;
            continue;
        };
        let order: HashMap<CallId, usize> = answer
            .tool_calls
            .iter()
            .enumerate()
            .map(|(at, call)| (call.id.clone(), at))
            .collect();
        let results = &mut items[from + 1..];
        let run = results
            .iter()
            .take_while(|item| matches!(item, Item::ToolResult(_)))
            .count();
        results[..run].sort_by_key(|item| match item {
            Item::ToolResult(result) => order.get(&result.call_id).copied().unwrap_or(usize::MAX),
            Item::User(_) | Item::Assistant(_) => usize::MAX,
        });
        from += 1 + run;
    }
}

const fn role(item: &Item) -> &'static str {
    match item {
        Item::User(_) => "user",
        Item::Assistant(_) => "assistant",
        Item::ToolResult(_) => "tool_result",
    }
}

pub(super) fn conversation(row: &SqliteRow) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: ConversationId(row.try_get("id")?),
        agent: parsed(row, "agent_id")?,
        number: row.try_get("number")?,
        thread: row
            .try_get::<Option<i64>, _>("thread_id")?
            .map(ChannelId::from_i64),
        prompt: row.try_get("prompt")?,
        opened_at: time(row, "opened_at")?,
        last_active_at: time(row, "last_active_at")?,
        closed_at: time_option(row, "closed_at")?,
        items: counted(row, "items")?,
        saved_items: counted(row, "saved_items")?,
        crash_session: parsed_option(row, "crash_session")?,
    })
}
