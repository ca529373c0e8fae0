//! Branches that are closed: a person ended them, or the thread they lived in is gone.

use tracing::error;

use super::actor::Actor;
use super::mailbox::{ClosedBranches, Source, Target, Trigger};
use super::stop::Stop;
use crate::domain::ConversationId;
use crate::store::StoreError;

impl Actor {
    /// Ends the turns of branches and closes these. Their steps stay in the ledger, for `/branch history`.
    pub(super) async fn close_branches(
        &mut self,
        target: Target,
    ) -> Result<ClosedBranches, StoreError> {
        let closing: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(|conversation| conversation.branch.is_some() && target.covers(conversation))
            .map(|conversation| conversation.id)
            .collect();
        let mut turns = 0;
        for id in &closing {
            turns += self.end_turns(Target::Conversation(*id), Stop::Abort).await;
            self.set_aside(*id, "its branch was closed").await?;
            self.parts.store.close_conversation(*id).await?;
            self.conversations.remove(id);
        }
        self.rest_if_empty();
        Ok(ClosedBranches {
            branches: closing.len(),
            turns,
        })
    }

    /// What waits in any conversation is for nobody any more.
    pub(super) async fn set_aside_all(&mut self, why: &str) {
        let all: Vec<ConversationId> = self.conversations.keys().copied().collect();
        for id in all {
            if let Err(error) = self.set_aside(id, why).await {
                error!(agent.id = %self.agent.id, "a message that waited was not set aside: {error}");
            }
        }
    }

    async fn set_aside(&mut self, id: ConversationId, why: &str) -> Result<(), StoreError> {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return Ok(());
        };
        for Trigger { source, .. } in std::mem::take(&mut conversation.waiting) {
            if let Source::Message(message) = source {
                self.parts.store.skip(message.id, why).await?;
            }
        }
        Ok(())
    }
}
