//! Who calls a tool, and from where.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::domain::causes::{Cause, Refusal};
use crate::domain::{
    AgentConfig, AgentId, AgentName, CallId, ChannelId, ConversationId, GuildId, Participant,
    TurnId, UserId,
};
use crate::permission::Breadth;

use super::shelf::Shelf;

/// Who calls a tool, and from where. One per call.
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
    /// The agent's configuration as this step read it.
    pub config: Arc<AgentConfig>,
    /// The tools of which this step's model knows only the names.
    pub shelf: Arc<Shelf>,
    /// Everyone behind the turn, as they are now: those whose messages are in it or in a turn that led to it, else the
    /// owners of the agents in that chain. Empty for a tool that does not need them
    /// ([`BY_PEOPLE`](super::Tool::BY_PEOPLE)).
    pub people: Vec<Participant>,
    /// Who allowed this very call, if somebody was asked.
    pub allowed_by: Option<UserId>,
    /// How much of what this call does was meant by what allowed it.
    pub breadth: Breadth,
    /// Whether a person's message is in this very turn.
    pub has_message: bool,
    /// How many hops of tasks, hooks or other agents led here since a person spoke.
    pub depth: u32,
    /// How many hops one message may cause in a row.
    pub most_hops: u32,
    /// Whether words of its turn pass a role before people get them: what people see of the call shows none.
    pub hides_words: bool,
    /// Cancelled when the call is to end: by any stop of the turn, and by the end of its time.
    pub stop: CancellationToken,
    /// Cancelled by an abort of the turn: then even an orderly end is given almost no time.
    pub abort: CancellationToken,
}

impl Caller {
    /// Checks whether so few hops led here that one more may follow.
    ///
    /// # Errors
    ///
    /// When there were too many.
    pub fn may_hop(&self) -> Result<(), Refusal> {
        let cause = Cause {
            hops: self.depth + 1,
            begun: Some(0),
        };
        cause.may_begin(self.most_hops)
    }
}
