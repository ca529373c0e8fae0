//! What people write in the thread of a child turn: it steers the child while it works, and goes on with it as a branch after that.

use crate::domain::Inbound;
use crate::store::StoreError;

use super::actor::Actor;

impl Actor {
    /// Hands a message to the child turn in whose thread it was written. It comes back where there is none, or no longer: then
    /// what the child knew is a branch, which the message belongs to.
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
        if let Some(branch) = self.deps.store.child_becomes_branch(child.id).await? {
            self.take_in(&branch);
        }
        Ok(Some(left))
    }
}
