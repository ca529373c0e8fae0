//! Child turns: begun together with the call that they answer, ended together with its result.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::attached::AttachedRows;
use super::batch::Batch;
use super::calls::{CallEnd, end_call, start_call};
use super::codec::{now, parsed, text};
use super::conversations::ConversationRow;
use super::error::StoreError;
use super::items::insert_item_of;
use super::outbox::queue;
use super::part::NewPart;
use super::statement::checked;
use super::thread_words;
use super::turn_rows::{TurnRow, turn_row};
use super::turns::{ChildOf, FinishedTurn, NewTurn, end_turn};
use crate::domain::{CallId, ChannelId, ConversationId, Item, ToolResult, TurnId};

/// A child turn that is about to begin, in a conversation that is created for it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChild {
    /// `conversation` is that of its parent.
    pub turn: NewTurn,
    /// Its task.
    pub item: Item,
    /// Its knowledge of earlier conversations; for a new conversation.
    pub seed: Option<String>,
    /// The conversation of a former child turn that it continues.
    pub goes_on: Option<ConversationId>,
}

/// A child turn that ends together with something of its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedBelow {
    pub turn: TurnId,
    pub end: FinishedTurn,
    /// The results of the parent's calls in the answer that began it, in their order.
    pub results: Vec<(ToolResult, CallEnd)>,
}

/// The messages for people when a child turn ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToldOfEnd {
    /// The channel of the other agent that it worked as, and the message there.
    pub elsewhere: Option<(ChannelId, String)>,
    /// Its last messages in its own thread, if it has one.
    pub in_thread: Vec<NewPart>,
}

/// The change from one stage of a turn to the next, stored in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NextStage {
    pub ended: Vec<EndedBelow>,
    /// Their outcomes, as an item of their parent.
    pub note: Option<Item>,
    /// The child turns that begin.
    pub begun: Vec<NewChild>,
    pub attached: AttachedRows,
}

impl Store {
    /// Marks a call as started together with the child turn that answers it. Returns the child's conversation.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the call is not proposed. It also does so if the child would continue a
    /// conversation in which a turn runs, or that has become a branch. Then nothing begins.
    pub async fn start_child(
        &self,
        parent: TurnId,
        call: &CallId,
        child: &NewChild,
        attached: AttachedRows,
    ) -> Result<ConversationId, StoreError> {
        let mut batch = Batch::default();
        start_call(&mut batch, parent, call);
        attached.add_to(&mut batch);
        insert_child(&mut batch, child)?;
        self.row(batch, begun_child).await
    }

    /// Ends child turns of `parent`, stores their outcomes as an item of it, and begins others. Returns the
    /// conversations of those that begin, in their order.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the parent or a child turn to end is not running. Then nothing is stored.
    pub async fn next_stage(
        &self,
        parent: TurnId,
        stage: &NextStage,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let mut batch = Batch::default();
        for ended in &stage.ended {
            end_below(&mut batch, parent, ended)?;
        }
        if let Some(note) = &stage.note {
            insert_item_of(&mut batch, parent, note)?;
        }
        for child in &stage.begun {
            insert_child(&mut batch, child)?;
        }
        stage.attached.add_to(&mut batch);
        self.rows(batch, begun_child).await
    }

    /// Ends a child turn together with the call that it answers: the report, its parent's result and the messages for
    /// people are stored at once.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the child is not running, or the call has not started.
    pub async fn finish_child(
        &self,
        child: TurnId,
        end: &FinishedTurn,
        parent: TurnId,
        result: &ToolResult,
        told: ToldOfEnd,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        end_turn(&mut batch, child, end)?;
        end_call(&mut batch, parent, result, CallEnd::Finished)?;
        if let Some((channel, text)) = told.elsewhere {
            queue(&mut batch, channel, None, NewPart::notice(&text), None)?;
        }
        thread_words::keep(&mut batch, child, told.in_thread)?;
        self.run(batch).await.map(drop)
    }

    /// Returns the sub-agents of turns of `conversation` that `id` names, completely or by the beginning of the part
    /// that people see.
    pub async fn former_children(
        &self,
        conversation: ConversationId,
        id: &str,
    ) -> Result<Vec<TurnRow>, StoreError> {
        let query = checked(query!(
            "SELECT t.* FROM conversations c JOIN turns t ON t.conversation_id = c.id
             WHERE c.parent_id = ? AND t.kind = 'sub_agent' AND (t.id = ?2 OR substr(t.id, -8, length(?2)) = ?2) LIMIT 2",
            conversation.0,
            id
        ));
        query.all(&mut *self.reader().await?, turn_row).await
    }

    /// Stores the thread in which people see the child turns of a conversation.
    pub async fn child_lives_in(
        &self,
        conversation: ConversationId,
        thread: ChannelId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET thread_id = ? WHERE id = ? AND kind = 'child'",
            thread.as_i64(),
            conversation.0
        ));
        self.run(batch).await.map(drop)
    }

    /// Returns the conversation of the child turns that people see in a thread.
    pub async fn child_in_thread(
        &self,
        thread: ChannelId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        let condition = "WHERE c.thread_id = ? AND c.kind = 'child' ORDER BY c.id";
        let found = self.find_conversations(condition, thread.as_i64().to_string());
        Ok(found.await?.pop())
    }

    /// Turns the conversation of ended child turns into a branch; `None` if one is running, or it already is a branch.
    pub async fn child_becomes_branch(
        &self,
        conversation: ConversationId,
    ) -> Result<Option<ConversationRow>, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE conversations SET kind = 'branch', parent_id = NULL, closed_at = NULL, last_active_at = ?,
                     number = 1 + (SELECT max(number) FROM conversations o WHERE o.agent_id = conversations.agent_id)
                 WHERE id = ?2 AND kind = 'child'
                     AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = ?2 AND t.state = 'running')",
            now(),
            conversation.0
        ));
        self.run(batch).await?;
        let row = self.conversation(conversation).await?;
        Ok(row.filter(|row| row.number > 0))
    }

    /// Returns the child turns of a run, in the order they began.
    pub async fn children_of_run(&self, run: TurnId) -> Result<Vec<TurnRow>, StoreError> {
        let query = checked(query!(
            "SELECT * FROM turns WHERE run_id = ? AND kind <> 'turn' ORDER BY rowid",
            run.to_string()
        ));
        query.all(&mut *self.reader().await?, turn_row).await
    }
}

/// Ends a child turn, and closes the calls of its parent that waited for it.
pub(super) fn end_below(
    batch: &mut Batch,
    parent: TurnId,
    ended: &EndedBelow,
) -> Result<(), StoreError> {
    end_turn(batch, ended.turn, &ended.end)?;
    for (result, end) in &ended.results {
        end_call(batch, parent, result, *end)?;
    }
    Ok(())
}

/// Creates the child's conversation and begins its turn there. Gives one row: the conversation.
pub(super) fn insert_child(batch: &mut Batch, child: &NewChild) -> Result<(), StoreError> {
    let NewChild {
        turn,
        item,
        seed,
        goes_on,
    } = child;
    let Some(of) = &turn.child else {
        return Err(StoreError::bad_row("a child turn", "it has no role"));
    };
    let at = now();
    match goes_on {
        Some(former) => go_on_in(batch, *former, &at),
        None => open_for_child(batch, turn, of, seed.as_deref(), &at),
    }
    batch.add(query!(
        "INSERT INTO turns (id, agent_id, conversation_id, parent_id, origin_id, depth, channel_id, state, began_at,
                 kind, run_id, call_id, path, role, role_sha256, title, caused_by, cause, unattended)
             SELECT ?, ?, coalesce(?, last_insert_rowid()), t.id, t.origin_id, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?,
                 coalesce((SELECT max(n.message_id) FROM inbound n WHERE n.turn_id IN (t.id, root.id)),
                     root.caused_by, root.trigger_id,
                     CASE WHEN root.cause IN ('schedule', 'webhook') THEN -root.rowid END), t.cause, t.unattended
             FROM turns t JOIN turns root ON root.id = t.run_id WHERE t.id = ? AND t.state = 'running'",
        turn.id.to_string(),
        turn.agent.to_string(),
        goes_on.map(|former| former.0),
        turn.depth,
        turn.channel.as_i64(),
        &at,
        of.kind.as_str(),
        of.run.to_string(),
        of.call.as_ref().map(|call| call.0.as_str()),
        &turn.path,
        &of.role,
        &of.role_sha256,
        &of.title,
        turn.parent.map(|parent| parent.to_string())
    ))
        .must_change("running parent of a child turn");
    insert_item_of(batch, turn.id, item)
}

/// Continues a former child's conversation, if it still is one and no turn runs in it.
fn go_on_in(batch: &mut Batch, former: ConversationId, at: &str) {
    batch.add(query!(
        "UPDATE conversations SET last_active_at = ? WHERE id = ? AND kind = 'child' AND NOT EXISTS
                 (SELECT 1 FROM turns t WHERE t.conversation_id = conversations.id AND t.state = 'running')",
        at,
        former.0
    ))
        .must_change("former sub-agent at rest");
    batch.add(query!(
        "SELECT id FROM conversations WHERE id = ?",
        former.0
    ));
}

/// Creates the conversation of a child turn.
fn open_for_child(batch: &mut Batch, turn: &NewTurn, of: &ChildOf, seed: Option<&str>, at: &str) {
    batch.add(query!(
        "INSERT INTO conversations (agent_id, number, kind, role, parent_id, prompt, seed, opened_at, last_active_at, closed_at)
             VALUES (?, 0, 'child', ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        turn.agent.to_string(),
        &of.role,
        turn.conversation.0,
        &of.title,
        seed,
        at,
        at,
        at
    ));
}

pub(super) fn begun_child(row: &SqliteRow) -> Result<ConversationId, StoreError> {
    Ok(ConversationId(row.try_get("id")?))
}

/// Returns the place of a turn in its run; `None` for the root.
pub(super) fn child_of(row: &SqliteRow) -> Result<Option<ChildOf>, StoreError> {
    if text(row, "kind")? == "turn" {
        return Ok(None);
    }
    let words = |name: &str| -> Result<String, StoreError> {
        Ok(row.try_get::<Option<String>, _>(name)?.unwrap_or_default())
    };
    Ok(Some(ChildOf {
        kind: parsed(row, "kind")?,
        run: parsed(row, "run_id")?,
        call: row.try_get::<Option<String>, _>("call_id")?.map(CallId),
        role: words("role")?,
        role_sha256: words("role_sha256")?,
        title: words("title")?,
    }))
}
