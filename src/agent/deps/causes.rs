//! Whether something may begin a turn without a person, as the ledger and the configuration say now.

use super::AgentDeps;
use crate::domain::Via;
use crate::domain::causes::{Cause, Refusal};
use crate::store::StoreError;

impl AgentDeps {
    /// Checks whether something may begin a turn without a person; returns the reason where it may not. The ledger judges it
    /// once more as the turn begins ([`Store::begin_turn`](crate::store::Store::begin_turn)).
    pub async fn refusal(&self, via: Option<&Via>) -> Result<Option<Refusal>, StoreError> {
        let Some(via) = via else {
            return Ok(Some(Refusal::UnknownMessage));
        };
        let cause = Cause {
            hops: via.depth,
            begun: self.store.caused_lately(via.parent).await?,
        };
        Ok(cause.may_begin(self.most_hops()).err())
    }

    /// Hops of tasks, hooks and agents that one message may cause in a row.
    pub fn most_hops(&self) -> u32 {
        self.config.load().max_hook_recursion_depth.get()
    }
}
