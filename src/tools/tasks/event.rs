//! What tasks cause, for those above to do.

use async_trait::async_trait;

use crate::domain::AgentName;
use crate::store::TaskRow;

/// Shows and does what tasks cause. Implemented above the agents, joined by `daemon`.
#[async_trait]
pub trait TaskEvents: Send + Sync {
    /// Something happened; whatever must not be lost is stored before this returns.
    async fn happened(&self, event: TaskEvent);
}

/// One thing a task caused.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEvent {
    /// The task: it names the agent, the channel and the conversation it belongs to.
    pub task: TaskRow,
    pub agent_name: AgentName,
    pub effect: TaskEffect,
    /// Hops of hooks and agents that led to it: a turn it starts has this depth.
    pub depth: u8,
    /// The model of a turn it starts, where its hook has one.
    pub model: Option<String>,
}

/// What is to be done about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEffect {
    /// Tell people in the task's channel.
    Notify(String),
    /// Tell the agent in the task's conversation; if it is silent there, this starts a turn.
    Inject(String),
    /// Start a branch of the agent with this prompt.
    SpawnBranch(String),
    /// End the branch that the task belongs to.
    StopBranch,
}
