//! The caller of a tool, and its place.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::causes::{Cause, Refusal};
use crate::domain::{
    AgentConfig, AgentId, AgentName, CallId, ChannelId, ConversationId, GuildId, Participant,
    TurnId, UserId,
};
use crate::permission::Breadth;

use super::shelf::Shelf;

/// The caller of a tool, and its place. One per call.
#[derive(Clone, Debug)]
pub struct Caller {
    pub agent: AgentId,
    pub name: AgentName,
    pub guild: GuildId,
    /// The channel or thread of the turn: the agent's channel or a branch's thread.
    pub channel: ChannelId,
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub call: CallId,
    /// The agent's configuration, as this step read it.
    pub config: Arc<AgentConfig>,
    /// The tools that this step's model knows only by name.
    pub shelf: Arc<Shelf>,
    /// Everyone behind the turn, in their current state: the authors of messages in it or in a turn that led to it. If
    /// there are none, the owners of the agents in that chain. Empty for a tool that does not need them
    /// ([`BY_PEOPLE`](super::Tool::BY_PEOPLE)).
    pub people: Vec<Participant>,
    /// The person who allowed this very call, if one was asked.
    pub allowed_by: Option<UserId>,
    /// How much of the call's effect the matching rule intended.
    pub breadth: Breadth,
    /// Whether a person's message is in this very turn.
    pub has_message: bool,
    /// How many hops of tasks, hooks or other agents led here since a person's message.
    pub depth: u32,
    /// How many hops one message may cause in a row.
    pub most_hops: u32,
    /// Whether a role has to pass the words of its turn before people get them. Then people do not see these words in
    /// the call.
    pub hides_words: bool,
    /// Cancelled when the call has to end: by any stop of the turn, and by the end of its time.
    pub stop: CancellationToken,
    /// Cancelled by an abort of the turn: then even a clean end gets almost no time.
    pub abort: CancellationToken,
}

impl Caller {
    /// Checks whether one more hop may follow those that led here.
    ///
    /// # Errors
    ///
    /// Fails if there were too many.
    pub fn may_hop(&self) -> Result<(), Refusal> {
        let cause = Cause {
            hops: self.depth + 1,
            begun: Some(0),
        };
        cause.may_begin(self.most_hops)
    }
}
