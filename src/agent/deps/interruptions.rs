//! Conversations with an interrupted turn about which nothing is settled. The ledger has the turns; this says quickly that there
//! is none, which is the usual case.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::domain::{AgentId, ChannelId, ConversationId};

/// Longest wait for what was written while the daemon was away.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(1);

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The daemon has not looked at it since the start.
    Decision,
    /// People are asked by a card.
    Answer,
    /// Its question to people is open.
    Question,
}

#[derive(Debug, Default)]
pub struct Interruptions {
    pending: Mutex<HashMap<ConversationId, (AgentId, Pending)>>,
    /// Channels in which everything was read that came while the daemon was away.
    caught_up: watch::Sender<HashSet<ChannelId>>,
}

impl Interruptions {
    pub fn put(&self, conversation: ConversationId, agent: AgentId, pending: Pending) {
        self.pending.lock().insert(conversation, (agent, pending));
    }

    pub fn remove(&self, conversation: ConversationId) {
        self.pending.lock().remove(&conversation);
    }

    /// Everything was read that came in a channel while the daemon was away.
    pub fn is_caught_up(&self, channel: ChannelId) {
        self.caught_up.send_modify(|all| {
            all.insert(channel);
        });
    }

    /// Waits until these channels are caught up with, a moment at most: Discord may not let us read one.
    pub async fn catches_up(&self, channels: &[ChannelId]) {
        let mut caught_up = self.caught_up.subscribe();
        let all = caught_up.wait_for(|all| channels.iter().all(|channel| all.contains(channel)));
        let _ = tokio::time::timeout(CATCHES_UP_WITHIN, all).await;
    }

    /// Whether people are asked about a turn of this conversation, or by it.
    pub fn is_asked(&self, conversation: ConversationId) -> bool {
        let all = self.pending.lock();
        matches!(
            all.get(&conversation),
            Some((_, Pending::Answer | Pending::Question))
        )
    }

    /// Takes an interrupted turn that waits for the end of its question; only the first who asks gets it.
    pub fn take_question(&self, conversation: ConversationId) -> bool {
        let mut all = self.pending.lock();
        let waits = matches!(all.get(&conversation), Some((_, Pending::Question)));
        if waits {
            all.remove(&conversation);
        }
        waits
    }

    /// Whether the daemon has yet to look at a turn of this agent.
    pub fn is_undecided(&self, agent: AgentId) -> bool {
        let all = self.pending.lock();
        all.values().any(|one| *one == (agent, Pending::Decision))
    }
}
