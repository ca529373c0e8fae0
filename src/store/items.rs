//! The items of conversations: an agent's memory.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection, query};

use super::Store;
use super::batch::Batch;
use super::codec::{count, from_json, json, now, report_unreadable, text, text_option};
use super::conversations::touch;
use super::error::StoreError;
use super::statement::{Statement, checked};
use crate::domain::{CallId, ConversationId, Item, MessageId, SessionId, TurnId, UserText};
use crate::text::long;

/// Replaces an item that cannot be read.
const UNREADABLE: &str = "Something stood here that does not read back from the database any more.";

/// Returns a statement for the current items of a conversation, without those that its compactions dropped.
fn told(conversation: ConversationId) -> Statement {
    checked(query!(
        "SELECT id, body FROM items WHERE conversation_id = ? AND dropped_at IS NULL ORDER BY id",
        conversation.0
    ))
}

/// Whether items that replace a conversation are already in a saved session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedAs {
    /// Exactly these are in this one.
    This(SessionId),
    /// They are saved, in a session with more items or in several sessions.
    Others,
    /// They are not saved.
    Nothing,
}

impl Store {
    /// Returns the items of a conversation in order, with the results of one answer's calls in the order of the calls.
    pub async fn items(&self, conversation: ConversationId) -> Result<Vec<Item>, StoreError> {
        let query = told(conversation);
        items_of(query, &mut *self.reader().await?).await
    }

    /// Returns the items of a conversation from before `turn`.
    pub async fn items_before(
        &self,
        conversation: ConversationId,
        turn: TurnId,
    ) -> Result<Vec<Item>, StoreError> {
        let query = checked(query!(
            "SELECT id, body FROM items WHERE conversation_id = ?1 AND dropped_at IS NULL
                 AND id < coalesce((SELECT min(id) FROM items WHERE conversation_id = ?1 AND turn_id = ?2), 9223372036854775807)
             ORDER BY id",
            conversation.0,
            turn.to_string()
        ));
        items_of(query, &mut *self.reader().await?).await
    }

    /// Returns the items of a conversation up to those of `message`, which `turn` took or gave. Returns `None` if they
    /// are no longer in it, because it was cleared or compacted.
    pub async fn items_until(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        message: MessageId,
    ) -> Result<Option<Vec<Item>>, StoreError> {
        let query = checked(query!(
            "SELECT id, turn_id, body FROM items WHERE conversation_id = ? AND dropped_at IS NULL ORDER BY id",
            conversation.0
        ));
        let turn = turn.to_string();
        let rows = query
            .all(&mut *self.reader().await?, |row| {
                let of = text_option(row, "turn_id");
                Ok((item(row), of.is_ok_and(|of| of == Some(turn.as_str()))))
            })
            .await?;
        let (mut items, of_turn): (Vec<Item>, Vec<bool>) = rows.into_iter().unzip();
        let is_message = |item: &Item| match item {
            Item::User(user) => user.message_id == Some(message),
            Item::Assistant(_) | Item::ToolResult(_) => false,
        };
        let last = items.iter().rposition(is_message);
        let Some(last) = last.or_else(|| of_turn.iter().rposition(|of_turn| *of_turn)) else {
            return Ok(None);
        };
        items.truncate(last + 1);
        order_results(&mut items);
        Ok(Some(items))
    }

    /// Replaces all items of a conversation (restore, compaction, repair).
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
                    SavedAs::This(_) | SavedAs::Others => items.len() as u64,
                    SavedAs::Nothing => 0,
                };
                let session = match saved {
                    SavedAs::This(session) => Some(session.to_string()),
                    SavedAs::Others | SavedAs::Nothing => None,
                };
                let mut batch = Batch::default();
                batch.add(query!(
                    "UPDATE conversations SET saved_items = ?, saved_as = ? WHERE id = ?",
                    count(covered),
                    session,
                    conversation.0
                ));
                touch(&mut batch, conversation);
                batch.run(db).await.map(drop)
            })
        })
        .await
    }
}

impl Store {
    /// Replaces all current items of a child's conversation. The old ones stay in the ledger, because no session
    /// contains them.
    pub async fn drop_items(
        &self,
        conversation: ConversationId,
        items: &[Item],
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE items SET dropped_at = ? WHERE conversation_id = ? AND dropped_at IS NULL",
            now(),
            conversation.0
        ));
        for item in items {
            insert_item(&mut batch, conversation, item)?;
        }
        self.run(batch).await.map(drop)
    }
}

/// Adds an item at the end of a conversation.
fn insert_item(
    batch: &mut Batch,
    conversation: ConversationId,
    item: &Item,
) -> Result<(), StoreError> {
    batch.add(query!(
        "INSERT INTO items (conversation_id, role, body) VALUES (?, ?, ?)",
        conversation.0,
        role(item),
        json(item)?
    ));
    Ok(())
}

/// Adds an item at the end of the conversation of a running turn.
pub(super) fn insert_item_of(
    batch: &mut Batch,
    turn: TurnId,
    item: &Item,
) -> Result<(), StoreError> {
    batch
        .add(query!(
            "INSERT INTO items (conversation_id, turn_id, role, body)
             SELECT conversation_id, id, ?, ? FROM turns WHERE id = ? AND state = 'running'",
            role(item),
            long::work_on(item.size(), || json(item))?,
            turn.to_string()
        ))
        .must_change(format!("running turn {turn}"));
    Ok(())
}

/// Replaces all items of `conversation` with `items`. Unchanged rows at the beginning are not written again: a repair
/// changes only the end of a history that may be long.
pub(super) async fn replace(
    db: &mut SqliteConnection,
    conversation: ConversationId,
    items: &[Item],
) -> Result<(), StoreError> {
    let kept = unchanged(db, conversation, items).await?;
    checked(query!(
        "DELETE FROM items WHERE conversation_id = ? AND id > ? AND dropped_at IS NULL",
        conversation.0,
        kept.last_row
    ))
    .execute(db)
    .await?;
    for item in &items[kept.items..] {
        let mut batch = Batch::default();
        insert_item(&mut batch, conversation, item)?;
        batch.run(db).await?;
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
    let mut rows = told(conversation).stream(db)?;
    for item in items {
        let Some(row) = rows.try_next().await? else {
            break;
        };
        if json(item)? != text(&row, "body")? {
            break;
        }
        kept.items += 1;
        kept.last_row = row.try_get("id")?;
    }
    Ok(kept)
}

/// Returns the items of the rows that `query` finds.
async fn items_of(query: Statement, db: &mut SqliteConnection) -> Result<Vec<Item>, StoreError> {
    let mut items = query.all(db, |row| Ok(item(row))).await?;
    order_results(&mut items);
    Ok(items)
}

/// Returns the item of a row. An item that cannot be read is replaced with a note, so that the rest is kept.
fn item(row: &SqliteRow) -> Item {
    from_json(row, "body").unwrap_or_else(|error| {
        report_unreadable(row, "items", "id", &error);
        Item::User(UserText::note(UNREADABLE))
    })
}

/// Sorts results, which are stored as calls end: a model gets them in the order of the calls.
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
