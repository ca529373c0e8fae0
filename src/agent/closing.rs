//! Branches that are closed: a person ended them, or the thread they lived in is gone.

use tracing::error;

use super::actor::Actor;
use super::contexts::Context;
use super::mailbox::{ClosedBranches, Source, Target, Trigger};
use super::session_manager::{SUMMARY_PATIENCE, SessionError, Summary};
use super::sessions::ToSave;
use super::stop::Stop;
use crate::domain::{ConversationId, MessageId, SessionId, SessionMeta, Trigger as Cause};
use crate::store::StoreError;

impl Actor {
    /// Ends the turns of branches, saves what was said in these, and closes them. Their steps stay in the ledger, for
    /// `/branch history`. A branch that cannot be saved stays open.
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
        let mut closed = ClosedBranches::default();
        for id in &closing {
            closed.turns += self.end_turns(Target::Conversation(*id), Stop::Abort).await;
        }
        let full = self
            .contexts(|conversation| closing.contains(&conversation.id))
            .await?;
        let summaries = self.summaries(&full, SUMMARY_PATIENCE);
        let summaries = self.serve_while_waiting(summaries, None).await;
        let mut unsaved = Vec::new();
        for (context, summary) in full.into_iter().zip(summaries) {
            let id = context.0;
            match self.save_branch(context, summary).await {
                Ok(meta) => closed.saved.push(meta),
                Err(error) => {
                    let number = self.conversations.get(&id).and_then(|one| one.branch);
                    closed
                        .unsaved
                        .push((number.unwrap_or_default(), error.to_string()));
                    unsaved.push(id);
                }
            }
        }
        for id in closing.iter().filter(|id| !unsaved.contains(id)) {
            self.set_aside(*id, "its branch was closed").await?;
            self.deps.store.close_conversation(*id).await?;
            self.conversations.remove(id);
            closed.branches += 1;
        }
        self.rest_if_empty();
        Ok(closed)
    }

    async fn save_branch(
        &self,
        (id, items): Context,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let save = ToSave {
            id: SessionId::random(),
            conversation: Some(id),
            items,
            description: None,
            summary,
            trigger: Cause::BranchClosed,
        };
        self.deps.save_session(&self.agent, save).await
    }

    /// What waits in any conversation is for nobody any more.
    pub(super) async fn set_aside_all(&mut self, why: &str) {
        let all: Vec<ConversationId> = self.conversations.keys().copied().collect();
        for id in all {
            if let Err(error) = self.set_aside(id, why).await {
                error!(agent.id = %self.agent.id, "failed to set a waiting message aside: {error}");
            }
        }
    }

    /// A message that nobody will read any more.
    pub(super) async fn set_message_aside(&self, message: MessageId, why: &str) {
        if let Err(error) = self.deps.store.skip(message, why).await {
            error!(agent.id = %self.agent.id, "failed to set message {message} aside: {error}");
        }
    }

    async fn set_aside(&mut self, id: ConversationId, why: &str) -> Result<(), StoreError> {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return Ok(());
        };
        for Trigger { source, .. } in std::mem::take(&mut conversation.waiting) {
            if let Source::Message(message) = source {
                self.deps.store.skip(message.id, why).await?;
            }
        }
        Ok(())
    }
}
