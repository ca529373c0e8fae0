//! What people write in the thread of a child turn: it steers the child while that works; afterwards it continues the
//! conversation as a branch.

use super::Actor;
use crate::agent::conversation::mailbox::NewBranch;
use crate::clock;
use crate::domain::{Inbound, Item, UserText};
use crate::store::{ConversationRow, StoreError};

impl Actor {
    /// Hands a message to the child turn in whose thread it was written. Where no child turn takes it any more, the message
    /// is returned, and the branch that it now belongs to is open.
    pub(super) async fn give_to_child(
        &mut self,
        message: Box<Inbound>,
    ) -> Result<Option<Box<Inbound>>, StoreError> {
        let thread = message.channel_id;
        let mut known = self.conversations.values();
        if message.parent_id.is_none() || known.any(|one| one.channel == thread) {
            return Ok(Some(message));
        }
        let Some(child) = self.deps.store.child_in_thread(thread).await? else {
            return Ok(Some(message));
        };
        if child.agent != self.agent.id {
            return Ok(Some(message));
        }
        let mut left = message;
        for stop in self.stops() {
            match stop.hand_child(child.id, left) {
                None => return Ok(None),
                Some(back) => left = back,
            }
        }
        let other = child.role.as_deref().filter(|role| role.starts_with('@'));
        let branch = match other {
            Some(other) => Some(self.branch_behind(&child, other).await?),
            None => self.deps.store.child_becomes_branch(child.id).await?,
        };
        if let Some(branch) = branch {
            self.take_in(&branch);
        }
        Ok(Some(left))
    }

    /// Opens a branch of this agent in the thread of a child that worked as the agent `other`. The branch knows what people
    /// read there; the rest of the child's conversation belongs to that agent's folder, where this one has no rights.
    async fn branch_behind(
        &self,
        child: &ConversationRow,
        other: &str,
    ) -> Result<ConversationRow, StoreError> {
        let report = match self.deps.store.turns(child.id, 1).await?.pop() {
            Some(turn) => self.told(turn.begun.id, child.id).await?,
            None => String::new(),
        };
        let note = format!(
            "People write to you in the thread in which `{other}` worked for you. It is done, and this was its report:\n{report}"
        );
        let note = Item::User(UserText {
            at: Some(clock::now()),
            ..UserText::note(note)
        });
        let branch = NewBranch {
            thread: child.thread,
            history: vec![note],
            ..NewBranch::default()
        };
        self.open_branch(branch, &child.prompt, None).await
    }
}
