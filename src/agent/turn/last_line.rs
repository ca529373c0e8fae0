//! The last line that the log has of a turn, under event names that other agent programs use too.

use tracing::info;

use crate::domain::{AgentId, ChannelId, GuildId, TurnId};
use crate::store::{EndFacts, EndReason, exit_code};

/// A turn that ended, as its last line tells it.
#[derive(Clone, Copy, Debug)]
pub struct LastLine<'a> {
    pub agent: AgentId,
    /// The agent's name, then those of the roles.
    pub path: &'a str,
    pub turn: TurnId,
    pub parent: Option<TurnId>,
    /// The first turn in the chain that led to it.
    pub origin: TurnId,
    pub guild: GuildId,
    pub channel: ChannelId,
    pub exit: EndReason,
    pub facts: EndFacts,
    pub steps: u32,
    pub millis: u64,
}

impl LastLine<'_> {
    pub fn log(&self) {
        let Self {
            path, exit, facts, ..
        } = *self;
        let is_success = facts.has_answer || exit == EndReason::Refused;
        let status = match (is_success, exit) {
            (true, EndReason::Answered | EndReason::Refused) => "success",
            (true, _) => "partial",
            (false, _) => "failure",
        };
        let ended = exit_code(exit, facts);
        let parent = self.parent.map(|parent| parent.to_string());
        info!(
            event = "agent:fin",
            exit = exit.as_str(),
            exit_code = ended.code,
            exit_reason = ended.reason.unwrap_or_default(),
            ai.agent.id = %self.agent,
            ai.agent.call_path = path,
            ai.session.txn_id = %self.turn,
            ai.session.parent_txn_id = parent.unwrap_or_default(),
            ai.session.origin_txn_id = %self.origin,
            ai.session.headend_id = %format_args!("discord:{}/{}", self.guild, self.channel),
            ai.agent.success = is_success,
            ai.agent.turn_count = self.steps,
            ai.agent.final_report.status = status,
            agent.id = %self.agent,
            turn.id = %self.turn,
            turn.duration_ms = self.millis,
            "{path} finished its turn: {}",
            exit.as_str()
        );
    }
}
