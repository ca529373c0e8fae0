//! Prompts that take the place of a message, and the branches that they or a thread's first message open.

use chrono::TimeDelta;
use tracing::error;

use super::Actor;
use crate::agent::conversation::Conversation;
use crate::agent::conversation::mailbox::{AgentCommand, NewBranch, Place, Prompt};
use crate::clock;
use crate::domain::{ChannelId, ConversationId, TurnId};
use crate::store::{ConversationRow, NewConversation, StoreError};
use crate::text;

/// How long a reply continues the conversation of a run of a schedule.
const CONTINUED_WITHIN: TimeDelta = TimeDelta::hours(24);

/// Says whether a conversation is that of a run of a schedule which nobody has continued for a day.
pub(super) fn is_over(row: &ConversationRow) -> bool {
    row.schedule.is_some() && clock::now() - row.last_active_at >= CONTINUED_WITHIN
}

impl Actor {
    /// The branch that lives in a thread; opened with the thread's first message.
    pub(super) async fn thread(
        &mut self,
        thread: ChannelId,
        prompt: &str,
    ) -> Result<ConversationId, StoreError> {
        let here = self
            .conversations
            .values()
            .find(|conversation| conversation.channel == thread);
        if let Some(conversation) = here {
            return Ok(conversation.id);
        }
        let row = match self.deps.store.conversation_by_thread(thread).await? {
            Some(row) if row.agent == self.agent.id => row,
            _ => {
                let branch = NewBranch {
                    thread: Some(thread),
                    ..NewBranch::default()
                };
                self.open_branch(branch, prompt, None).await?
            }
        };
        Ok(self.take_in(&row))
    }

    pub(super) async fn open_branch(
        &self,
        branch: NewBranch,
        prompt: &str,
        opened_by: Option<TurnId>,
    ) -> Result<ConversationRow, StoreError> {
        let conversation = NewConversation {
            thread: branch.thread,
            prompt: text::one_line(&self.deps.services.redactor.redact(prompt), 200),
            role: branch.role,
            reports_to: branch.reports_to,
            opened_by,
            from: branch.from,
            schedule: branch.schedule,
        };
        let store = &self.deps.store;
        let opened = store.open_branch_with(self.agent.id, conversation, branch.history);
        let row = opened.await?;
        if let Some(opened) = branch.opened {
            let _ = opened.send(row.number);
        }
        Ok(row)
    }

    /// Closes the conversation of a run of a schedule that said nothing: nobody can reply to it.
    pub(super) async fn close_unsaid(&mut self, id: ConversationId) {
        let is_meant =
            |one: &Conversation| one.schedule.is_some() && one.waiting.is_empty() && one.is_quiet();
        if self.conversations.get(&id).is_some_and(|one| is_meant(one)) {
            self.close_silently(id).await;
        }
    }

    /// Closes the conversations of runs of schedules which nobody has continued for a day.
    async fn close_over(&mut self) {
        let over = self.conversations.values().filter(|one| {
            one.schedule.is_some()
                && one.is_quiet()
                && clock::now() - one.last_activity >= CONTINUED_WITHIN
        });
        let over: Vec<ConversationId> = over.map(|one| one.id).collect();
        for id in over {
            self.close_silently(id).await;
        }
    }

    async fn close_silently(&mut self, id: ConversationId) {
        match self.deps.store.close_conversation(id).await {
            Ok(()) => drop(self.conversations.remove(&id)),
            Err(error) => {
                error!(agent.id = %self.agent.id, "failed to close the conversation of a schedule: {error}");
            }
        }
    }

    pub(super) async fn prompt(&mut self, prompt: Prompt) {
        if self.is_destroyed {
            let command = AgentCommand::Prompt(Box::new(prompt));
            return self.leave_unanswered(command).await;
        }
        self.silence_is_over();
        let Prompt { trigger, place } = prompt;
        let place = match place {
            Place::NewBranch(branch) => {
                if branch.schedule.is_some() {
                    self.close_over().await;
                }
                let opened = self.open_branch(branch, trigger.text(), trigger.caused_by());
                let opened = opened.await;
                opened.map(|row| self.take_in(&row))
            }
            Place::Channel(channel) if channel != self.agent.channel => {
                self.thread(channel, trigger.text()).await
            }
            Place::Conversation(id) if self.conversations.contains_key(&id) => Ok(id),
            Place::Channel(_) | Place::Conversation(_) => self.main().await,
        };
        match place {
            Ok(id) if self.defers(id) => {
                let place = Place::Conversation(id);
                let prompt = Prompt { trigger, place };
                self.defer(id, AgentCommand::Prompt(Box::new(prompt)));
            }
            Ok(id) => self.give(id, trigger),
            Err(error) => self.trouble(Some(self.agent.channel), &error),
        }
    }
}
