//! Branches that are closed: a person ended them, or the thread they lived in is gone.

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::error;

use super::Actor;
use crate::agent::conversation::job::JobKind;
use crate::agent::conversation::mailbox::{AgentCommand, ClosedBranches, Target};
use crate::agent::sessions::Summary;
use crate::agent::stop::Stopper;
use crate::agent::turn::trigger::{Source, Trigger};
use crate::domain::{ConversationId, Item, MessageId, SaveTrigger};
use crate::store::StoreError;

/// The outcome of closing branches; an error where the ledger failed.
type Closed = Result<ClosedBranches, StoreError>;

impl Actor {
    /// Ends the turns of branches, saves what was said in these, and closes them, each on its own. Their steps stay in the
    /// ledger, for `/branch history`. A branch that cannot be saved stays open.
    pub(super) async fn close_branches(
        &mut self,
        target: Target,
        by: &Stopper,
        reply: oneshot::Sender<Closed>,
    ) {
        let meant = self.conversations.values().filter(|one| target.covers(one));
        let branches: Vec<ConversationId> = meant
            .filter(|conversation| conversation.branch.is_some())
            .map(|conversation| conversation.id)
            .collect();
        let mut parts = Vec::new();
        for id in branches {
            let (part, closed) = oneshot::channel();
            parts.push(closed);
            self.close_branch(id, by, part).await;
        }
        self.replies.spawn(async move {
            if let Some(closed) = all_closed(parts).await {
                let _ = reply.send(closed);
            }
        });
    }

    /// A job of the branch is finished first, except a compaction, which has no purpose now.
    async fn close_branch(
        &mut self,
        id: ConversationId,
        by: &Stopper,
        reply: oneshot::Sender<Closed>,
    ) {
        if !self.has_job(id) {
            return self.begin_job(id, JobKind::Close { reply }, by).await;
        }
        let target = Target::Conversation(id);
        self.stop_compactions(target);
        self.defer(id, AgentCommand::CloseBranches(target, by.clone(), reply));
    }

    /// Saves a branch, given a summary, and closes it.
    pub(super) async fn close(
        &mut self,
        id: ConversationId,
        items: Result<Arc<Vec<Item>>, StoreError>,
        summary: Option<Summary>,
        ended_turn: bool,
    ) -> Closed {
        let mut closed = ClosedBranches {
            turns: usize::from(ended_turn),
            ..ClosedBranches::default()
        };
        let items = items?;
        if let Some(summary) = summary {
            let saved = self.save(id, items, None, SaveTrigger::BranchClosed, summary);
            match saved.await {
                Ok(meta) => closed.saved.push(meta),
                Err(error) => {
                    let number = self.conversations.get(&id).and_then(|one| one.branch);
                    let unsaved = (number.unwrap_or_default(), error.to_string());
                    closed.unsaved.push(unsaved);
                    return Ok(closed);
                }
            }
        }
        self.drop_waiting(id, "its branch was closed").await?;
        self.deps.store.close_conversation(id).await?;
        self.conversations.remove(&id);
        self.rest_if_empty();
        closed.branches = 1;
        Ok(closed)
    }

    /// A message that nobody will read any more.
    pub(super) async fn skip_message(&self, message: MessageId, why: &str) {
        if let Err(error) = self.deps.store.skip(message, why).await {
            error!(agent.id = %self.agent.id, "failed to skip message {message}: {error}");
        }
    }

    /// Drops what waits in a conversation: nobody will answer it.
    pub(super) async fn drop_waiting(
        &mut self,
        id: ConversationId,
        why: &str,
    ) -> Result<(), StoreError> {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return Ok(());
        };
        for Trigger { source, .. } in std::mem::take(&mut conversation.waiting) {
            match source {
                Source::Message(message) => {
                    self.deps.store.skip(message.id, why).await?;
                }
                Source::Note(note) => {
                    if let Some(branch) = note.report_of {
                        self.deps.store.drop_report(branch).await?;
                    }
                }
                // The ledger has the interrupted turn; the next start looks at it again.
                Source::Interrupted(_) => {}
                // Dropping it gives the run back: it is still due.
                Source::Planned(_) => {}
            }
        }
        Ok(())
    }
}

/// Joins the outcomes of closing several branches; `None` where the actor ended before.
async fn all_closed(parts: Vec<oneshot::Receiver<Closed>>) -> Option<Closed> {
    let mut all = ClosedBranches::default();
    for part in parts {
        match part.await.ok()? {
            Ok(one) => {
                all.branches += one.branches;
                all.turns += one.turns;
                all.saved.extend(one.saved);
                all.unsaved.extend(one.unsaved);
            }
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(all))
}
