//! Who calls a tool, and from where.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

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
    /// How many hops of hooks or other agents led here; a person's turn is 0.
    pub depth: u8,
    /// Cancelled when the call is to end: by any stop of the turn, and by the end of its time.
    pub stop: CancellationToken,
    /// Cancelled by an abort of the turn: then even an orderly end is given almost no time.
    pub abort: CancellationToken,
}
