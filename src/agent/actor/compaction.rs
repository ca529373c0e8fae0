//! Compaction by hand: the older part of a conversation becomes a summary, as a job of that conversation.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::contexts::refused;
use super::{Actor, Done};
use crate::agent::auxiliary::summaries::{self, During};
use crate::agent::conversation::job::{JobKind, Stage};
use crate::agent::sessions::{SessionError, Summary};
use crate::domain::{ConversationId, Item, SaveTrigger};
use crate::llm::history;
use crate::store::SavedAs;

impl Actor {
    /// The input of a compaction by hand: the items, and how many of them the summary will replace.
    pub(super) async fn to_compact(
        &self,
        id: ConversationId,
    ) -> Result<(Arc<Vec<Item>>, usize), SessionError> {
        let conversation = self.conversations.get(&id);
        if conversation.is_some_and(|conversation| conversation.turn.is_some()) {
            return Err(refused(
                "A turn is running; it compacts by itself when it has to. Try again when it is done.",
            ));
        }
        let items = self.finished_items(id).await?;
        let config = self.deps.agent_config(&self.agent).await;
        let targets = self.deps.targets(&self.agent, &config).unwrap_or_default();
        let keep = self.deps.room(&targets) / 8;
        let cut = history::split_for_compaction(&items, keep)
            .ok_or_else(|| refused("There is nothing to compact: the conversation is short."))?;
        Ok((items, cut))
    }

    pub(super) fn ask_for_compaction(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        cut: usize,
    ) {
        let stop = CancellationToken::new();
        let during = During {
            stop: stop.child_token(),
            ..During::default()
        };
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let held = Arc::clone(&items);
        let task = self.work.spawn(async move {
            let config = deps.agent_config(&agent).await;
            let older = held.get(..cut).unwrap_or_default();
            let summary = summaries::summarise(&deps, &agent, &config, older, Some(during));
            Done::Compaction(id, summary.await)
        });
        self.set_stage(id, items, stop, &task);
    }

    /// The summary for the older part of a conversation has been made, or has failed.
    pub(super) async fn compacted(&mut self, id: ConversationId, summary: Option<String>) {
        let Some((job, deferred)) = self.take_job(id) else {
            return;
        };
        if let JobKind::Compact { cut, reply } = job.kind
            && let Stage::Summary { items, stop, .. } = job.stage
        {
            let summary = summary.ok_or(if stop.is_cancelled() {
                "The compaction was stopped before it had a summary, so nothing was changed. Run `/context compact` to try again."
            } else {
                "The model returned no summary, so nothing was changed. Try again, or choose another model with `/agent config`."
            });
            let compacted = match summary {
                Ok(summary) => self.compact(id, items, cut, summary).await,
                Err(why) => Err(refused(why)),
            };
            let _ = reply.send(compacted);
        }
        self.job_is_over(job.ended_turn, deferred).await;
    }

    async fn compact(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        cut: usize,
        summary: String,
    ) -> Result<String, SessionError> {
        let shorter = summaries::shorter(&items, cut, &summary).ok_or_else(|| {
            refused(
                "A summary would not be shorter than the messages that it replaces, so nothing was changed.",
            )
        })?;
        let summary = Summary::of(&summary);
        let meta = self
            .save(id, items, None, SaveTrigger::Compaction, summary)
            .await?;
        self.deps
            .store
            .replace_items(id, shorter.clone(), SavedAs::Others)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.saved = shorter.len();
            conversation.put(Arc::new(shorter));
        }
        Ok(summaries::done(cut, meta.id))
    }
}
