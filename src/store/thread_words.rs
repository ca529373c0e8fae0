//! The last messages of child turns in their threads. They are stored with the turn's end, because a thread may still
//! be opening then, and earlier messages in it may not be in the outbox yet.

use sqlx::query;

use super::Store;
use super::batch::Batch;
use super::codec::{json, now};
use super::error::StoreError;
use super::outbox::nonce;
use super::part::NewPart;
use super::statement::{checked, scalar};
use crate::domain::{ConversationId, TurnId};

impl Store {
    /// Puts the last messages of a conversation's child turn into the outbox of its thread, and returns whether there
    /// were any. Without a thread they are dropped.
    pub async fn say_in_thread(&self, conversation: ConversationId) -> Result<bool, StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT INTO outbox (channel_id, part, kind, body, nonce, state, queued_at)
                 SELECT c.thread_id, w.part, w.kind, w.body, w.nonce, 'pending', w.queued_at
                 FROM thread_words w JOIN conversations c ON c.id = w.conversation_id
                 WHERE w.conversation_id = ? AND c.thread_id IS NOT NULL ORDER BY w.id",
            conversation.0
        ));
        batch.add(query!(
            "DELETE FROM thread_words WHERE conversation_id = ?",
            conversation.0
        ));
        let said = self.run(batch).await?;
        Ok(said.first().is_some_and(|count| *count > 0))
    }

    /// Works like [`Self::say_in_thread`] for all messages that a crash left behind.
    pub async fn say_in_threads(&self) -> Result<(), StoreError> {
        let query = checked(query!("SELECT DISTINCT conversation_id FROM thread_words"));
        let left = query.all(&mut *self.reader().await?, scalar).await?;
        for conversation in left {
            self.say_in_thread(ConversationId(conversation)).await?;
        }
        Ok(())
    }
}

/// Stores the last messages for the thread of a child turn.
pub(super) fn keep(
    batch: &mut Batch,
    child: TurnId,
    words: Vec<NewPart>,
) -> Result<(), StoreError> {
    for (position, part) in (0_i64..).zip(words) {
        batch.add(query!(
            "INSERT INTO thread_words (conversation_id, part, kind, body, nonce, queued_at)
                 SELECT conversation_id, ?, ?, ?, ?, ? FROM turns WHERE id = ?",
            position,
            part.kind.as_str(),
            json(&part.body)?,
            nonce(),
            now(),
            child.to_string()
        ));
    }
    Ok(())
}
