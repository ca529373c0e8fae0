//! The effects of tasks, which higher layers carry out.

use async_trait::async_trait;

use crate::domain::AgentName;
use crate::store::TaskRow;

/// Carries out the effects of tasks. Implemented above the agents, connected by `daemon`.
#[async_trait]
pub trait TaskEvents: Send + Sync {
    /// Handles an event; everything that must not be lost is stored before this returns.
    async fn happened(&self, event: TaskEvent);
}

/// One effect of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskEvent {
    /// The task, which names its agent, channel and conversation.
    pub task: TaskRow,
    pub agent_name: AgentName,
    pub effect: TaskEffect,
    /// Hops of hooks and agents that led to it; the depth of a turn that it starts.
    pub depth: u32,
    /// The model for a turn that it starts, if its hook names one.
    pub model: Option<String>,
}

/// The agent's note about a task, and the people's notice if that begins no turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNote {
    /// For the model.
    pub text: String,
    /// For people: the task and the event. It contains no words of a model or of the task.
    pub about: String,
    /// The last lines of the task's output.
    pub output: String,
}

/// The effect of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEffect {
    /// Send people a notice in the task's channel.
    Notify(String),
    /// Send the agent a note in the task's conversation; if it is idle there, this starts a turn.
    Inject(TaskNote),
    /// Start a branch of the agent with this prompt.
    SpawnBranch(TaskNote),
    /// End the branch that the task belongs to.
    StopBranch,
}
