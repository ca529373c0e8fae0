//! Turns that stopped because the ledger failed. Each is stored as failed as soon as the ledger works again.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::domain::TurnId;
use crate::store::{FinishedTurn, StoreError};

impl AgentDeps {
    /// Ends a turn of which people have been told that the ledger failed. Where it fails again, the next turn of any agent
    /// tries once more as it begins; so does the next start.
    pub(super) async fn close_unstored(&self, agent: &Arc<Identity>, turn: TurnId) {
        if let Err(error) = self.end_unstored(agent, turn).await {
            error!(turn.id = %turn, "failed to close a turn, it is tried again: {error}");
            self.unclosed.put(turn, agent);
        }
    }

    /// Ends those that could not be ended before, and stores what was asked and could not be stored.
    pub(super) async fn close_former(&self) {
        self.store_unstored(None).await;
        for (turn, agent) in self.unclosed.take() {
            self.close_unstored(&agent, turn).await;
        }
    }

    async fn end_unstored(&self, agent: &Identity, turn: TurnId) -> Result<(), StoreError> {
        // Its signal is gone with it: nobody can abort it any more.
        let no_abort = CancellationToken::new();
        let left = self.close_left_open(agent, (turn, turn), &no_abort).await?;
        let ended = FinishedTurn::broken_off(Some(left.own));
        match self.store.finish_turn(turn, ended).await {
            // It has an outcome, or never began.
            Ok(_) | Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        self.log_broken(agent, turn).await;
        Ok(())
    }
}
