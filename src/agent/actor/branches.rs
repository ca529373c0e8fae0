//! Prompts that take the place of a message, and the branches that they or a thread's first message open.

use chrono::{DateTime, TimeDelta, Utc};
use tracing::error;

use super::Actor;
use crate::agent::conversation::Conversation;
use crate::agent::conversation::mailbox::{AgentCommand, NewBranch, Place, Prompt};
use crate::clock;
use crate::domain::{ChannelId, ConversationId, TurnId};
use crate::store::{ConversationRow, NewConversation, PlanOf, StoreError};
use crate::text;

/// How long a reply continues the conversation of a run of a schedule or a webhook.
const CONTINUED_WITHIN: TimeDelta = TimeDelta::hours(24);
/// How long further deliveries, or a reply, continue the conversation of deliveries that share a value.
const SHARED_WITHIN: TimeDelta = TimeDelta::days(7);
/// Open conversations of one webhook, one for each value: whoever sends chooses the values.
const MOST_SHARED: usize = 100;

/// Says whether a conversation was opened for planned work, and nobody has continued it for as long as that may take.
pub(super) fn is_over(row: &ConversationRow) -> bool {
    is_past(row.plan.as_ref(), row.last_active_at)
}

/// Says whether a conversation is one that deliveries of this webhook share.
fn is_shared_of(plan: Option<&PlanOf>, webhook: &str) -> bool {
    match plan {
        Some(PlanOf::Webhook {
            id,
            thread: Some(_),
        }) => id == webhook,
        Some(PlanOf::Webhook { thread: None, .. } | PlanOf::Schedule(_)) | None => false,
    }
}

fn is_past(plan: Option<&PlanOf>, last_active: DateTime<Utc>) -> bool {
    let within = match plan {
        None => return false,
        Some(PlanOf::Webhook {
            thread: Some(_), ..
        }) => SHARED_WITHIN,
        Some(PlanOf::Schedule(_) | PlanOf::Webhook { thread: None, .. }) => CONTINUED_WITHIN,
    };
    clock::now() - last_active >= within
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
            plan: branch.plan,
        };
        let store = &self.deps.store;
        let opened = store.open_branch_with(self.agent.id, conversation, branch.history);
        let row = opened.await?;
        if let Some(opened) = branch.opened {
            let _ = opened.send(row.number);
        }
        Ok(row)
    }

    /// Closes the conversation of planned work that said nothing: nobody can reply to it. One that further deliveries continue
    /// stays open.
    pub(super) async fn close_unsaid(&mut self, id: ConversationId) {
        let is_shared = |one: &Conversation| {
            matches!(
                one.plan,
                Some(PlanOf::Webhook {
                    thread: Some(_),
                    ..
                })
            )
        };
        let is_meant = |one: &Conversation| {
            one.plan.is_some() && !is_shared(one) && one.waiting.is_empty() && one.is_quiet()
        };
        if self.conversations.get(&id).is_some_and(|one| is_meant(one)) {
            self.close_silently(id).await;
        }
    }

    /// Closes the conversations of planned work which nobody has continued.
    async fn close_over(&mut self) {
        let over = self
            .conversations
            .values()
            .filter(|one| one.is_quiet() && is_past(one.plan.as_ref(), one.last_activity));
        let over: Vec<ConversationId> = over.map(|one| one.id).collect();
        for id in over {
            self.close_silently(id).await;
        }
    }

    /// Returns the open conversation of deliveries that share a value, if there is one. Else, where a webhook has too many of
    /// them, closes the one that has been silent longest.
    async fn shared_with(&mut self, plan: Option<&PlanOf>) -> Option<ConversationId> {
        let Some(
            plan @ PlanOf::Webhook {
                id: webhook,
                thread: Some(_),
            },
        ) = plan
        else {
            return None;
        };
        let mut all = self.conversations.values();
        if let Some(found) = all.find(|one| one.plan.as_ref() == Some(plan)) {
            return Some(found.id);
        }
        let open: Vec<_> = self
            .conversations
            .values()
            .filter(|one| is_shared_of(one.plan.as_ref(), webhook))
            .map(|one| (one.last_activity, one.id, one.is_quiet()))
            .collect();
        let oldest = open.iter().filter(|(_, _, is_quiet)| *is_quiet).min();
        if let (true, Some((_, id, _))) = (open.len() >= MOST_SHARED, oldest) {
            self.close_silently(*id).await;
        }
        None
    }

    async fn close_silently(&mut self, id: ConversationId) {
        match self.deps.store.close_conversation(id).await {
            Ok(()) => drop(self.conversations.remove(&id)),
            Err(error) => {
                error!(agent.id = %self.agent.id, "failed to close the conversation of planned work: {error}");
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
                if branch.plan.is_some() {
                    self.close_over().await;
                }
                match self.shared_with(branch.plan.as_ref()).await {
                    Some(shared) => Ok(shared),
                    None => {
                        let opened = self.open_branch(branch, trigger.text(), trigger.caused_by());
                        opened.await.map(|row| self.take_in(&row))
                    }
                }
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
