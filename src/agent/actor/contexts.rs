//! Context commands of an actor: save, clear, restore. Each is a job of its conversation.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::Actor;
use crate::agent::auxiliary::summaries::{self, SummaryLimit};
use crate::agent::conversation::job::{Held, JobKind};
use crate::agent::conversation::mailbox::{
    AfterSave, AgentCommand, Cleared, ContextAction, Restored, Target,
};
use crate::agent::conversation::saving::SummaryStops;
use crate::agent::conversation::{Conversation, Items};
use crate::agent::sessions::{self, Save, SessionError, Summary};
use crate::agent::stop::Stopper;
use crate::agent::turn::trigger::Trigger;
use crate::clock;
use crate::domain::{ConversationId, Item, SaveTrigger, SessionId, SessionMeta};
use crate::llm::history;
use crate::store::{SavedAs, StoreError};

/// A conversation and its items.
pub(super) type Context = (ConversationId, Arc<Vec<Item>>);

impl Actor {
    pub(super) async fn context_action(
        &mut self,
        target: Target,
        by: Stopper,
        action: ContextAction,
    ) {
        let id = match self.meant(target).await {
            Ok(id) => id,
            Err(error) => return action.refuse(error.into()),
        };
        if self.has_job(id) {
            return self.defer(id, AgentCommand::Context(target, by, action));
        }
        let kind = match action {
            ContextAction::Save {
                description,
                then,
                reply,
            } => JobKind::Save {
                description,
                then,
                reply,
            },
            ContextAction::Clear { first, reply } => JobKind::Clear { first, reply },
            ContextAction::Restore { session, reply } => {
                // Read first: if anything is wrong with the file, the context stays untouched.
                match self.sessions.restore(&session).await {
                    Ok(session) => JobKind::Restore {
                        session: Box::new(session),
                        reply,
                    },
                    Err(error) => {
                        let _ = reply.send(Err(error));
                        return;
                    }
                }
            }
            ContextAction::Compact { reply } => match self.to_compact(id).await {
                Ok((items, cut)) => {
                    self.set_job(id, JobKind::Compact { cut, reply }, false);
                    return self.ask_for_compaction(id, items, cut);
                }
                Err(why) => {
                    let _ = reply.send(Err(why));
                    return;
                }
            },
        };
        self.begin_job(id, kind, &by).await;
    }

    /// The one conversation that a context command acts on: a thread's branch, else the main one.
    async fn meant(&mut self, target: Target) -> Result<ConversationId, StoreError> {
        if let Target::Channel(channel) = target
            && channel != self.agent.channel
            && let Some(row) = self.deps.store.conversation_by_thread(channel).await?
            && row.agent == self.agent.id
        {
            return Ok(self.take_in(&row));
        }
        self.main().await
    }

    pub(super) async fn save_by_hand(
        &mut self,
        id: ConversationId,
        items: Held,
        summary: Option<Summary>,
        description: Option<String>,
        then: AfterSave,
    ) -> Result<SessionMeta, SessionError> {
        let summary = summary.unwrap_or(Summary::Failed);
        let meta = self
            .save(id, items?, description, SaveTrigger::ManualSave, summary)
            .await?;
        if then == AfterSave::Clear {
            self.empty(id).await?;
        }
        Ok(meta)
    }

    /// Saves what was said before the running turn. Nothing is noted as saved: the turn adds to the conversation, and may
    /// have compacted it since.
    pub(super) async fn save_beside_turn(
        &self,
        id: ConversationId,
        items: Held,
        summary: Option<Summary>,
        description: Option<String>,
    ) -> Result<SessionMeta, SessionError> {
        let save = Save {
            id: SessionId::random(),
            conversation: None,
            items: items?,
            description,
            trigger: SaveTrigger::ManualSave,
            summary: summary.unwrap_or(Summary::Failed),
            hides_words: false,
        };
        self.deps
            .save_session_in(&self.sessions, &self.agent, id, save)
            .await
    }

    pub(super) async fn clear(
        &mut self,
        id: ConversationId,
        items: Held,
        summary: Option<Summary>,
        aborted: bool,
    ) -> Result<Cleared, SessionError> {
        let items = items?;
        let messages = items.len();
        let saved = self.save_first(id, items, summary).await?;
        self.empty(id).await?;
        self.rest_if_empty();
        Ok(Cleared {
            messages,
            aborted,
            saved,
        })
    }

    pub(super) async fn restore(
        &mut self,
        id: ConversationId,
        items: Held,
        summary: Option<Summary>,
        session: sessions::Restored,
    ) -> Result<Restored, SessionError> {
        let before = items?;
        let replaced = before.len();
        let saved_first = self.save_first(id, before, summary).await?;
        let items = session.items;
        let messages = items.len();
        let saved = if session.repaired.is_empty() {
            SavedAs::This(session.meta.id)
        } else {
            SavedAs::Others
        };
        self.deps.end_card(id).await?;
        if session.meta.hides_words {
            self.deps.store.hide_words(id).await?;
        }
        self.deps
            .store
            .replace_items(id, items.clone(), saved)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.put(Arc::new(items));
            conversation.seed.restored(session.meta.saved_at);
            conversation.saved = messages;
            conversation.last_activity = clock::now();
        }
        self.rearm().await;
        Ok(Restored {
            meta: session.meta,
            messages,
            replaced,
            saved_first,
            repaired: session.repaired,
            aborted: false,
        })
    }

    /// Saves a context that is about to be dropped, where there is a summary to save it with.
    async fn save_first(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        summary: Option<Summary>,
    ) -> Result<Option<SessionMeta>, SessionError> {
        let Some(summary) = summary else {
            return Ok(None);
        };
        let saved = self.save(id, items, None, SaveTrigger::ContextClear, summary);
        saved.await.map(Some)
    }

    /// The items of a conversation up to the last finished exchange.
    pub(super) async fn finished_items(
        &self,
        id: ConversationId,
    ) -> Result<Arc<Vec<Item>>, StoreError> {
        let conversation = self.conversations.get(&id);
        let running = conversation
            .and_then(|conversation| conversation.turn.as_ref())
            .map(|turn| turn.id);
        if let Some(conversation) = conversation
            && let Items::Here(items) = &conversation.items
        {
            return Ok(items.clone());
        }
        let items = match running {
            Some(turn) => self.deps.store.items_before(id, turn).await?,
            None => self.deps.store.items(id).await?,
        };
        Ok(Arc::new(if history::is_valid(&items) {
            items
        } else {
            history::repair(&items).items
        }))
    }

    /// Saves `items` as a session of this agent.
    pub(super) async fn save(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        description: Option<String>,
        trigger: SaveTrigger,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let len = items.len();
        let save = Save {
            id: SessionId::random(),
            conversation: Some(id),
            items,
            description,
            trigger,
            summary,
            hides_words: false,
        };
        let meta = self
            .deps
            .save_session_in(&self.sessions, &self.agent, id, save)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.saved = len;
        }
        Ok(meta)
    }

    /// Empties a conversation: the main one is closed and replaced by a new one, a branch stays open without items.
    pub(super) async fn empty(&mut self, id: ConversationId) -> Result<(), StoreError> {
        self.deps.end_card(id).await?;
        if self.main == Some(id) {
            self.deps.store.close_conversation(id).await?;
            let closed = self.conversations.remove(&id);
            self.main = None;
            return match closed.map(|closed| closed.waiting) {
                Some(waiting) if !waiting.is_empty() => self.begin_with(waiting).await,
                Some(_) | None => Ok(()),
            };
        }
        self.deps
            .store
            .replace_items(id, Vec::new(), SavedAs::Others)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.clear();
        }
        Ok(())
    }

    /// Moves what waited for the old main conversation to a new one.
    async fn begin_with(&mut self, waiting: VecDeque<Trigger>) -> Result<(), StoreError> {
        let main = self.main().await?;
        if let Some(conversation) = self.conversations.get_mut(&main) {
            conversation.waiting = waiting;
        }
        Ok(())
    }

    /// The conversations that `are_meant` and hold items, with those items.
    pub(super) async fn contexts(
        &self,
        are_meant: impl Fn(&Conversation) -> bool,
    ) -> Result<Vec<Context>, StoreError> {
        let meant = self.conversations.values().filter(|one| are_meant(one));
        let ids: Vec<ConversationId> = meant.map(|conversation| conversation.id).collect();
        let mut contexts = Vec::new();
        for id in ids {
            let items = self.finished_items(id).await?;
            if !items.is_empty() {
                contexts.push((id, items));
            }
        }
        Ok(contexts)
    }

    /// Summaries of all `contexts`, requested at the same time.
    pub(super) fn summaries(
        &self,
        contexts: &[Context],
        stops: &SummaryStops,
        timeout: Duration,
    ) -> impl Future<Output = Vec<Summary>> + use<> {
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let all = contexts.iter();
        let all: Vec<_> = all
            .map(|(id, items)| (*id, Arc::clone(items), stops.signal(*id)))
            .collect();
        async move {
            let config = deps.agent_config(&agent).await;
            let summaries = all.into_iter().map(|(id, items, stop)| {
                let (deps, agent, config) = (&deps, &agent, &config);
                async move {
                    let limit = SummaryLimit { timeout, stop };
                    summaries::summary(deps, agent, config, id, &items, limit).await
                }
            });
            join_all(summaries).await
        }
    }
}

pub(super) fn refused(why: &str) -> SessionError {
    SessionError::Refused(why.to_owned())
}
