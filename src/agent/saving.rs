//! Contexts that are summarised together: after a silence, or because the agent ends.

use std::collections::BTreeMap;

use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use crate::domain::ConversationId;

use super::conversation::Conversation;
use super::idle_timer::IdleFired;

/// For each of some contexts, the token that ends its summary.
#[derive(Clone, Default)]
pub(super) struct SummaryStops(BTreeMap<ConversationId, CancellationToken>);

impl SummaryStops {
    pub(super) fn of(contexts: impl IntoIterator<Item = ConversationId>) -> Self {
        let stops = contexts
            .into_iter()
            .map(|id| (id, CancellationToken::new()));
        Self(stops.collect())
    }

    /// The token that ends the summary of one context; a deadline of the summary itself does not count as a stop.
    pub(super) fn signal(&self, id: ConversationId) -> CancellationToken {
        let stop = self.0.get(&id);
        stop.map(CancellationToken::child_token).unwrap_or_default()
    }

    /// Ends the summaries of those of `conversations` that have one here; returns how many.
    pub(super) fn stop<'a>(&self, conversations: impl Iterator<Item = &'a Conversation>) -> usize {
        let stops = conversations.filter_map(|conversation| self.0.get(&conversation.id));
        stops.inspect(|stop| stop.cancel()).count()
    }

    pub(super) fn is_stopped(&self, id: ConversationId) -> bool {
        let stop = self.0.get(&id);
        stop.is_some_and(CancellationToken::is_cancelled)
    }
}

/// The save that began after a silence. Dropping it ends its summaries: they have no purpose then.
pub(super) struct IdleSaving {
    pub fired: IdleFired,
    /// The task that waits for the summaries.
    pub task: Id,
    pub stops: SummaryStops,
}

impl Drop for IdleSaving {
    fn drop(&mut self) {
        for stop in self.stops.0.values() {
            stop.cancel();
        }
    }
}

/// The save at the end of the agent.
pub(super) struct EndSaving {
    /// The task that waits for the summaries and writes the sessions.
    pub task: Id,
    pub stops: SummaryStops,
}
