//! Jobs of an actor: begun, handed the summary that they wait for, and finished.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::{Actor, Done};
use crate::agent::auxiliary::summaries::{self, SummaryLimit};
use crate::agent::conversation::job::{Held, Job, JobKind, Stage};
use crate::agent::conversation::mailbox::{AgentCommand, Restored, Target};
use crate::agent::sessions::{SUMMARY_TIMEOUT, Summary};
use crate::agent::stop::{Stop, Stopper};
use crate::domain::{ConversationId, Item};

impl Actor {
    pub(super) fn has_job(&self, id: ConversationId) -> bool {
        let conversation = self.conversations.get(&id);
        conversation.is_some_and(|conversation| conversation.job.is_some())
    }

    /// Begins a job in a conversation without one; ends the turn there first, where the job requires that.
    pub(super) async fn begin_job(&mut self, id: ConversationId, kind: JobKind, by: &Stopper) {
        let ended_turn =
            kind.ends_turn() && self.ask_to_stop(Target::Conversation(id), Stop::Abort, by) > 0;
        self.set_job(id, kind, ended_turn);
        if !ended_turn {
            self.go_on_with_job(id).await;
        }
    }

    pub(super) fn set_job(&mut self, id: ConversationId, kind: JobKind, ended_turn: bool) {
        self.idle_saving = None;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.job = Some(Job {
                kind,
                stage: Stage::TurnEnd,
                ended_turn,
                _hold: self.timer.hold(),
            });
        }
    }

    /// The job no longer waits for a turn: its summary is requested, or else it is finished.
    pub(super) async fn go_on_with_job(&mut self, id: ConversationId) {
        let items = self.finished_items(id).await;
        let saves = self.conversations.get(&id).is_some_and(|conversation| {
            let kind = conversation.job.as_ref().map(|job| &job.kind);
            kind.is_some_and(|kind| kind.saves(conversation.is_unsaved()))
        });
        match items {
            Ok(items) if saves && !items.is_empty() => self.ask_for_summary(id, items),
            items => self.finish_job(id, items, None).await,
        }
    }

    fn ask_for_summary(&mut self, id: ConversationId, items: Arc<Vec<Item>>) {
        let stop = CancellationToken::new();
        if self.has_no_time() {
            stop.cancel();
        }
        let limit = SummaryLimit {
            timeout: SUMMARY_TIMEOUT,
            stop: stop.clone(),
        };
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let held = Arc::clone(&items);
        let task = self.work.spawn(async move {
            let config = deps.agent_config(&agent).await;
            Done::Summary(
                id,
                summaries::summary(&deps, &agent, &config, id, &held, limit).await,
            )
        });
        self.set_stage(id, items, stop, &task);
    }

    pub(super) fn set_stage(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        stop: CancellationToken,
        task: &AbortHandle,
    ) {
        let Some(conversation) = self.conversations.get_mut(&id) else {
            return;
        };
        let beside_turn = conversation.turn.is_some();
        if let Some(job) = conversation.job.as_mut() {
            job.stage = Stage::Summary {
                items,
                beside_turn,
                stop,
                task: task.id(),
            };
        }
    }

    /// The summary to save a conversation with has been made, or has failed.
    pub(super) async fn summed_up(&mut self, id: ConversationId, summary: Summary) {
        let conversation = self.conversations.get(&id);
        let job = conversation.and_then(|conversation| conversation.job.as_ref());
        if let Some(Stage::Summary { items, .. }) = job.map(|job| &job.stage) {
            let items = Arc::clone(items);
            self.finish_job(id, Ok(items), Some(summary)).await;
        }
    }

    /// Does what the job is for, and tells whoever waits for it. With a summary, the conversation is saved first.
    async fn finish_job(&mut self, id: ConversationId, items: Held, summary: Option<Summary>) {
        let Some((job, deferred)) = self.take_job(id) else {
            return;
        };
        match job.kind {
            JobKind::Save {
                description,
                then,
                reply,
            } => {
                let saved = match job.stage {
                    Stage::Summary {
                        beside_turn: true, ..
                    } => self.save_beside_turn(id, items, summary, description).await,
                    Stage::Summary { .. } | Stage::TurnEnd => {
                        let saved = self.save_by_hand(id, items, summary, description, then);
                        saved.await
                    }
                };
                let _ = reply.send(saved);
            }
            JobKind::Clear { reply, .. } => {
                let cleared = self.clear(id, items, summary, job.ended_turn).await;
                let _ = reply.send(cleared);
            }
            JobKind::Restore { session, reply } => {
                let restored = self.restore(id, items, summary, *session).await;
                let aborted = job.ended_turn;
                let _ = reply.send(restored.map(|restored| Restored {
                    aborted,
                    ..restored
                }));
            }
            JobKind::Close { reply } => {
                let _ = reply.send(self.close(id, items, summary, job.ended_turn).await);
            }
            JobKind::Compact { .. } => {}
        }
        self.job_is_over(job.ended_turn, deferred).await;
    }

    /// Removes a job from its conversation, with the commands that waited for it.
    pub(super) fn take_job(&mut self, id: ConversationId) -> Option<(Job, VecDeque<AgentCommand>)> {
        let conversation = self.conversations.get_mut(&id)?;
        let job = conversation.job.take()?;
        Some((job, std::mem::take(&mut conversation.deferred)))
    }

    /// Handles the commands that waited for a job, in their order.
    pub(super) async fn job_is_over(&mut self, ended_turn: bool, deferred: VecDeque<AgentCommand>) {
        self.replayed.extend(deferred);
        self.go_on_everywhere();
        if ended_turn {
            self.rearm().await;
        }
    }
}
