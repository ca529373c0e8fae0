//! What an actor does with contexts: save, clear, restore, compact, and save them all at the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::clock;
use crate::domain::{AgentConfig, ConversationId, Item, SessionId, SessionMeta, Trigger};
use crate::llm::history;
use crate::store::{SavedAs, StoreError};

use super::actor::Actor;
use super::compact::{self, During, Summarised};
use super::conversation::{Conversation, Items};
use super::deferred::Stoppable;
use super::mailbox::{
    AfterSave, BeforeClear, Cleared, ContextAction, Restored, Target, Trigger as Waiting,
};
use super::session_manager::{SUMMARY_PATIENCE, SessionError, Summary};
use super::sessions::ToSave;
use super::stop::Stop;

/// How long all summaries together may take while the daemon stops.
const SHUTDOWN_SUMMARIES: Duration = Duration::from_secs(5);

/// A conversation with what it holds.
pub(super) type Context = (ConversationId, Arc<Vec<Item>>);

impl Actor {
    pub(super) async fn context_action(&mut self, target: Target, action: ContextAction) {
        let conversation = self.meant(target).await;
        match action {
            ContextAction::Save {
                description,
                then,
                reply,
            } => {
                let saved = match conversation {
                    Ok(id) => self.save_by_hand(id, description, then).await,
                    Err(error) => Err(error.into()),
                };
                let _ = reply.send(saved);
            }
            ContextAction::Clear { first, reply } => {
                let cleared = match conversation {
                    Ok(id) => self.clear(id, first).await,
                    Err(error) => Err(error.into()),
                };
                let _ = reply.send(cleared);
            }
            ContextAction::Restore { session, reply } => {
                let restored = match conversation {
                    Ok(id) => self.restore(id, &session).await,
                    Err(error) => Err(error.into()),
                };
                let _ = reply.send(restored);
            }
            ContextAction::Compact { reply } => {
                let compacted = match conversation {
                    Ok(id) => self.compact(id).await,
                    Err(error) => Err(error.into()),
                };
                let _ = reply.send(compacted);
            }
        }
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

    /// Saves what is finished of a conversation. A turn that runs goes on.
    async fn save_by_hand(
        &mut self,
        id: ConversationId,
        description: Option<String>,
        then: AfterSave,
    ) -> Result<SessionMeta, SessionError> {
        if then == AfterSave::Clear {
            self.end_turn(id).await;
        }
        let items = self.finished_items(id).await?;
        let meta = self
            .save(id, items, description, Trigger::ManualSave)
            .await?;
        if then == AfterSave::Clear {
            self.empty(id).await?;
        }
        Ok(meta)
    }

    async fn clear(
        &mut self,
        id: ConversationId,
        first: BeforeClear,
    ) -> Result<Cleared, SessionError> {
        let aborted = self.end_turn(id).await;
        let items = self.finished_items(id).await?;
        let saved = match first {
            BeforeClear::Save if !items.is_empty() => Some(
                self.save(id, items.clone(), None, Trigger::ContextClear)
                    .await?,
            ),
            BeforeClear::Save | BeforeClear::Discard => None,
        };
        self.empty(id).await?;
        self.rest_if_empty();
        Ok(Cleared {
            messages: items.len(),
            aborted,
            saved,
        })
    }

    async fn restore(
        &mut self,
        id: ConversationId,
        session: &str,
    ) -> Result<Restored, SessionError> {
        // Read first: whatever is wrong with the file, the context stays untouched.
        let loaded = self.deps.sessions(&self.agent).restore(session).await?;
        let aborted = self.end_turn(id).await;
        let before = self.finished_items(id).await?;
        let unsaved = self
            .conversations
            .get(&id)
            .is_some_and(|conversation| conversation.is_unsaved());
        let saved_first = match unsaved && !before.is_empty() {
            true => Some(
                self.save(id, before.clone(), None, Trigger::ContextClear)
                    .await?,
            ),
            false => None,
        };
        let items = loaded.items;
        let messages = items.len();
        let saved = match loaded.repaired.is_empty() {
            true => SavedAs::This(loaded.meta.id),
            false => SavedAs::Others,
        };
        self.deps
            .store
            .replace_items(id, items.clone(), saved)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.put(Arc::new(items));
            conversation.saved = messages;
            conversation.last_activity = clock::now();
        }
        self.rearm().await;
        Ok(Restored {
            meta: loaded.meta,
            messages,
            replaced: before.len(),
            saved_first,
            repaired: loaded.repaired,
            aborted,
        })
    }

    async fn compact(&mut self, id: ConversationId) -> Result<String, SessionError> {
        if self
            .conversations
            .get(&id)
            .is_some_and(|conversation| conversation.turn.is_some())
        {
            return Err(SessionError::Refused(
                "A turn is running; it compacts by itself when it must. Try again when it is done."
                    .to_owned(),
            ));
        }
        let items = self.finished_items(id).await?;
        let config = self.deps.agent_config(&self.agent).await;
        let targets = self.deps.targets(&self.agent, &config).unwrap_or_default();
        let keep = self.deps.room(&targets) / 8;
        let refused = |why: &str| SessionError::Refused(why.to_owned());
        let cut = history::split_for_compaction(&items, keep)
            .ok_or_else(|| refused("There is nothing to compact: the conversation is short."))?;
        let summary = self
            .summarised(id, &config, &items[..cut])
            .await
            .map_err(refused)?;
        let shorter = compact::shorter(&items, cut, &summary.text).ok_or_else(|| {
            refused(
                "A summary would not be shorter than what it stands for, so nothing was changed.",
            )
        })?;
        let meta = self
            .deps
            .save_session(
                &self.agent,
                ToSave {
                    id: SessionId::random(),
                    conversation: Some(id),
                    items,
                    description: None,
                    summary: Summary::of(&summary.text),
                    trigger: Trigger::Compaction,
                },
            )
            .await?;
        self.deps
            .store
            .replace_items(id, shorter.clone(), SavedAs::Others)
            .await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.saved = shorter.len();
            conversation.put(Arc::new(shorter));
        }
        Ok(compact::done(cut, meta.id))
    }

    /// What stands for `items` in a conversation that is compacted by hand; else why there is nothing.
    async fn summarised(
        &mut self,
        id: ConversationId,
        config: &AgentConfig,
        items: &[Item],
    ) -> Result<Summarised, &'static str> {
        let stop = CancellationToken::new();
        let during = During {
            stop: stop.child_token(),
            ..During::default()
        };
        let stoppable = Stoppable {
            conversation: id,
            stop,
        };
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let summary = compact::summarise(&deps, &agent, config, items, Some(during));
        let summary = self.serve_while_waiting(summary, Some(&stoppable)).await;
        summary.ok_or(match stoppable.stop.is_cancelled() {
            true => "It was stopped before there was a summary, so nothing was changed.",
            false => "No summary could be had from the model, so nothing was changed.",
        })
    }

    /// Ends the turn of a conversation for a command that replaces its context; says whether there was one.
    async fn end_turn(&mut self, id: ConversationId) -> bool {
        let Some(turn) = self
            .conversations
            .get(&id)
            .and_then(|conversation| conversation.turn.as_ref())
        else {
            return false;
        };
        let turn = turn.id;
        self.end_turns(Target::Turn(turn), Stop::Abort).await > 0
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
        Ok(Arc::new(match history::is_valid(&items) {
            true => items,
            false => history::repair(&items).items,
        }))
    }

    /// Saves `items` as a session of this agent, with a summary of its own model.
    async fn save(
        &mut self,
        id: ConversationId,
        items: Arc<Vec<Item>>,
        description: Option<String>,
        trigger: Trigger,
    ) -> Result<SessionMeta, SessionError> {
        if items.is_empty() {
            return Err(SessionError::Empty);
        }
        let config = self.deps.agent_config(&self.agent).await;
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let summary = compact::summary(&deps, &agent, &config, &items, SUMMARY_PATIENCE);
        let summary = self.serve_while_waiting(summary, None).await;
        let len = items.len();
        let save = ToSave {
            id: SessionId::random(),
            conversation: Some(id),
            items,
            description,
            summary,
            trigger,
        };
        let meta = self.deps.save_session(&self.agent, save).await?;
        if let Some(conversation) = self.conversations.get_mut(&id) {
            conversation.saved = len;
        }
        Ok(meta)
    }

    /// Empties a conversation: the main one gives way to a new one, a branch goes on with nothing in it.
    pub(super) async fn empty(&mut self, id: ConversationId) -> Result<(), StoreError> {
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

    /// What waited for the old main conversation waits for a new one.
    async fn begin_with(&mut self, waiting: VecDeque<Waiting>) -> Result<(), StoreError> {
        let main = self.main().await?;
        if let Some(conversation) = self.conversations.get_mut(&main) {
            conversation.waiting = waiting;
        }
        Ok(())
    }

    /// Saves every context while the daemon stops, but for what is saved already, and keeps it open: the next start goes
    /// on with it. One that cannot be saved stays in the ledger and is told in the log.
    pub(super) async fn save_for_shutdown(&mut self) -> Vec<SessionMeta> {
        self.keep_silence().await;
        let unsaved = self
            .contexts(|conversation| conversation.is_unsaved())
            .await;
        let unsaved = match unsaved {
            Ok(unsaved) => unsaved,
            Err(error) => {
                warn!(agent.id = %self.agent.id, "failed to read the contexts of {}, the ledger keeps them: {error}", self.agent.name);
                return Vec::new();
            }
        };
        let summaries = self.summaries(&unsaved, SHUTDOWN_SUMMARIES).await;
        let mut saved = Vec::new();
        for ((conversation, items), summary) in unsaved.into_iter().zip(summaries) {
            match self.save_at_the_stop(conversation, items, summary).await {
                Ok(meta) => saved.push(meta),
                Err(error) => {
                    warn!(agent.id = %self.agent.id, "failed to save a context of {}, the ledger keeps it: {error}", self.agent.name);
                }
            }
        }
        saved
    }

    /// The id is in the ledger before the file is: killed between the two, the next start knows the file for what it is.
    async fn save_at_the_stop(
        &mut self,
        conversation: ConversationId,
        items: Arc<Vec<Item>>,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let id = SessionId::random();
        self.deps.store.promise_session(conversation, id).await?;
        let save = ToSave {
            id,
            conversation: Some(conversation),
            items,
            description: None,
            summary,
            trigger: Trigger::Shutdown,
        };
        self.deps.save_session(&self.agent, save).await
    }

    /// Keeps how long it has been silent, so that the next start gives the timer what remains.
    async fn keep_silence(&self) {
        let latest = clock::now() - self.timer.silence();
        if let Err(error) = self.deps.store.keep_activity(self.agent.id, latest).await {
            warn!(agent.id = %self.agent.id, "failed to keep when {} was last active: {error}", self.agent.name);
        }
    }

    /// Saves every context before the agent goes; a failure stops the destruction.
    pub(super) async fn save_for_destroy(&mut self) -> Result<Vec<SessionMeta>, SessionError> {
        let full = self.contexts(|conversation| conversation.len() > 0).await?;
        let summaries = self.summaries(&full, SUMMARY_PATIENCE).await;
        let mut saved = Vec::new();
        for ((id, items), summary) in full.into_iter().zip(summaries) {
            let save = ToSave {
                id: SessionId::random(),
                conversation: Some(id),
                items,
                description: None,
                summary,
                trigger: Trigger::Destroy,
            };
            saved.push(self.deps.save_session(&self.agent, save).await?);
            self.empty(id).await?;
        }
        Ok(saved)
    }

    /// The conversations that `are_meant` and hold something, with what that is.
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

    /// A summary of each, asked for at once.
    pub(super) fn summaries(
        &self,
        contexts: &[Context],
        patience: Duration,
    ) -> impl Future<Output = Vec<Summary>> + use<> {
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let all: Vec<Arc<Vec<Item>>> = contexts.iter().map(|(_, items)| items.clone()).collect();
        async move {
            let config = deps.agent_config(&agent).await;
            let summaries = all
                .iter()
                .map(|items| compact::summary(&deps, &agent, &config, items, patience));
            join_all(summaries).await
        }
    }
}
