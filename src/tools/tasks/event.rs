//! The effects of tasks, which higher layers carry out.

use async_trait::async_trait;

use crate::domain::AgentName;
use crate::store::TaskRow;

/// Carries out the effects of tasks. Implemented above the agents, connected by `daemon`.
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
    /// Hops of hooks and agents that led to it; the depth of a turn that it starts.
    pub depth: u32,
    /// The model for a turn that it starts, if its hook names one.
    pub model: Option<String>,
}

/// What an agent is told about a task, and what people are where that begins no turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNote {
    /// For the model.
    pub text: String,
    /// For people: which task, and what happened. It holds no words of a model or of the task.
    pub about: String,
    /// The last lines of the task's output.
    pub output: String,
}

/// What is to be done about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEffect {
    /// Tell people in the task's channel.
    Notify(String),
    /// Tell the agent in the task's conversation; if it is silent there, this starts a turn.
    Inject(TaskNote),
    /// Start a branch of the agent with this prompt.
    SpawnBranch(TaskNote),
    /// End the branch that the task belongs to.
    StopBranch,
}
