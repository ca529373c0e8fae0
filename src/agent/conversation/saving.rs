//! Contexts that are summarised together: after a silence, or because the agent ends.

use std::collections::BTreeMap;

use tokio::task::Id;
use tokio_util::sync::CancellationToken;

use super::Conversation;
use crate::agent::idle_timer::IdleFired;
use crate::agent::sessions::Summary;
use crate::domain::{ConversationId, SessionMeta};

/// For each of some contexts, the token that ends its summary.
#[derive(Clone, Default)]
pub(in crate::agent) struct SummaryStops(BTreeMap<ConversationId, CancellationToken>);

impl SummaryStops {
    pub(in crate::agent) fn of(contexts: impl IntoIterator<Item = ConversationId>) -> Self {
        let stops = contexts
            .into_iter()
            .map(|id| (id, CancellationToken::new()));
        Self(stops.collect())
    }

    /// The token that ends the summary of one context; a deadline of the summary itself does not count as a stop.
    pub(in crate::agent) fn signal(&self, id: ConversationId) -> CancellationToken {
        let stop = self.0.get(&id);
        stop.map(CancellationToken::child_token).unwrap_or_default()
    }

    /// Ends the summaries of those of `conversations` that have one here; returns how many.
    pub(in crate::agent) fn stop<'a>(
        &self,
        conversations: impl Iterator<Item = &'a Conversation>,
    ) -> usize {
        let stops = conversations.filter_map(|conversation| self.0.get(&conversation.id));
        stops.inspect(|stop| stop.cancel()).count()
    }

    pub(in crate::agent) fn is_stopped(&self, id: ConversationId) -> bool {
        let stop = self.0.get(&id);
        stop.is_some_and(CancellationToken::is_cancelled)
    }
}

/// The save that began after a silence. Dropping it ends its summaries: they have no purpose then.
pub(in crate::agent) struct IdleSaving {
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

/// The session that an idle conversation becomes.
pub(in crate::agent) enum IdleSave {
    /// A new session with this summary.
    New(Summary),
    /// The session that holds exactly its items, saved when the daemon stopped.
    Kept(Box<SessionMeta>),
}

/// The save at the end of the agent.
pub(in crate::agent) struct EndSaving {
    /// The task that waits for the summaries and writes the sessions.
    pub task: Id,
    pub stops: SummaryStops,
}
