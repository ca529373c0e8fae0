//! Branches: further conversations of an agent besides the main one, in the same workspace.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::oneshot;
use tracing::warn;

use crate::agent::{AgentCommand, ClosedBranches, NewBranch, Overrides, Place, Stopper, Target};
use crate::domain::{AgentId, AttemptKind, ChannelId, ConversationId, Inbound, Person};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::routing::Routing;
use crate::store::{AttemptRow, ConversationRow, TurnEnd};

/// Turns of a branch that its history shows.
const TURNS_SHOWN: u32 = 20;

/// A branch as `/branch list` shows it.
#[derive(Clone, Debug)]
pub struct BranchView {
    pub number: u32,
    /// Its thread, when it lives in one.
    pub thread: Option<ChannelId>,
    /// What it was opened for.
    pub prompt: String,
    /// The role that it works as.
    pub role: Option<String>,
    /// When an item was last added to it.
    pub last_active_at: DateTime<Utc>,
    /// Its step and what it does, while a turn runs.
    pub running: Option<crate::agent::event::Progress>,
    /// Messages in its context.
    pub messages: u64,
}

#[derive(Clone, Debug)]
pub struct BranchHistory {
    pub branch: BranchView,
    /// Its steps, oldest first.
    pub steps: Vec<StepView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepView {
    /// Counted from 1 over the branch's latest turns.
    pub number: usize,
    pub description: String,
    /// How long it took; `None` while it runs.
    pub duration: Option<Duration>,
}

/// Which branches to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchTarget {
    /// The one with this number.
    One(u32),
    All,
}

impl Routing {
    /// Opens a branch that answers `message`, the post shown for its prompt. Returns its number.
    ///
    /// # Errors
    ///
    /// When no agent lives there, or the ledger fails.
    pub(crate) async fn branch_from(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        branch: NewBranch,
    ) -> Result<u32, ManagerError> {
        let (opened, number) = oneshot::channel();
        let place = Place::NewBranch(NewBranch {
            opened: Some(opened),
            ..branch
        });
        self.prompt(agent, message, place, Overrides::default())
            .await?;
        number
            .await
            .map_err(|_| ManagerError::Failed("the branch could not be opened".to_owned()))
    }

    /// `/branch list`: all branches that are open, newest first.
    pub(crate) async fn branch_list(
        &self,
        agent: &AgentSummary,
    ) -> Result<Vec<BranchView>, ManagerError> {
        let states = self.directory.states(agent).await;
        let rows = self.deps.store.branches(agent.id).await?;
        let open = rows.into_iter().filter(|row| row.closed_at.is_none());
        Ok(open.map(|row| view(row, &states)).collect())
    }

    /// `/branch kill`: ends branches and the turns that run in them. They are saved first, and their history stays.
    ///
    /// # Errors
    ///
    /// When there is no such branch or it is closed already, or the ledger fails.
    pub(crate) async fn branch_kill(
        &self,
        agent: &AgentSummary,
        which: BranchTarget,
        by: &Person,
    ) -> Result<ClosedBranches, ManagerError> {
        let target = match which {
            BranchTarget::All => Target::Branches,
            BranchTarget::One(number) => {
                let row = self.branch(agent, number).await?;
                if row.closed_at.is_some() {
                    return Err(ManagerError::refused(format!(
                        "Branch #{number} is already closed. `/branch list` shows the open ones."
                    )));
                }
                Target::Branch(number)
            }
        };
        self.close_branches(agent, target, by.into()).await
    }

    /// A thread was deleted: the branch that lived in it is saved and closed, and its turn ends.
    pub(crate) async fn thread_deleted(&self, thread: ChannelId) -> Result<(), ManagerError> {
        let store = &self.deps.store;
        let Some(branch) = store.conversation_by_thread(thread).await? else {
            return Ok(());
        };
        let Some(agent) = self.directory.registry.get(branch.agent) else {
            return Ok(());
        };
        let target = Target::Conversation(branch.id);
        let by = Stopper::Machine("the deletion of its thread");
        self.close_branches(&agent, target, by)
            .await
            .map(|closed| warn_of_unsaved(&agent, &closed))
    }

    /// An agent's channel was deleted, and all threads below it with it: the branches in these are saved and closed, and nobody
    /// works as the agent any more. The main conversation stays, for a channel that it is given instead.
    pub(crate) async fn channel_deleted(&self, channel: ChannelId) -> Result<(), ManagerError> {
        let Some(agent) = self.directory.agent_for(channel, None) else {
            return Ok(());
        };
        drop(self.deps.at_work.end(agent.id).await);
        let open = self.deps.store.conversations(agent.id).await?;
        let lost = |row: &ConversationRow| row.thread.is_some() && row.items > 0;
        if !open.iter().any(lost) {
            return Ok(());
        }
        let by = Stopper::Machine("the deletion of the channel");
        self.close_branches(&agent, Target::Threads(channel), by)
            .await
            .map(|closed| warn_of_unsaved(&agent, &closed))
    }

    /// Branches that ended without reporting to the conversations that opened them.
    pub(crate) async fn reports_due(&self) -> Vec<(AgentId, ConversationId)> {
        let due = self.deps.store.reports_due().await;
        due.unwrap_or_else(|error| {
            warn!("failed to read which branches are to report: {error}");
            Vec::new()
        })
    }

    /// Has branches report, after a start.
    pub(crate) async fn report_branches(&self, due: Vec<(AgentId, ConversationId)>) {
        for (agent, branch) in due {
            let Some(agent) = self.directory.registry.get(agent) else {
                continue;
            };
            let command = AgentCommand::Report(branch);
            if let Err(error) = self.deliver(&agent, command).await {
                warn!(agent.id = %agent.id, "failed to have a branch of {} report: {error}", agent.name);
            }
        }
    }

    async fn close_branches(
        &self,
        agent: &AgentSummary,
        target: Target,
        by: Stopper,
    ) -> Result<ClosedBranches, ManagerError> {
        let (reply, closed) = oneshot::channel();
        self.deliver(agent, AgentCommand::CloseBranches(target, by, reply))
            .await?;
        let closed = closed
            .await
            .map_err(|_| ManagerError::Failed("the agent ended in the meantime".to_owned()))?;
        Ok(closed?)
    }

    /// `/branch history`: its latest steps with their durations.
    ///
    /// # Errors
    ///
    /// When there is no such branch.
    pub(crate) async fn branch_history(
        &self,
        agent: &AgentSummary,
        number: u32,
    ) -> Result<BranchHistory, ManagerError> {
        let row = self.branch(agent, number).await?;
        let store = &self.deps.store;
        let mut turns = store.turns(row.id, TURNS_SHOWN).await?;
        turns.reverse();
        let mut steps = Vec::new();
        for turn in turns {
            for attempt in store.attempts(turn.begun.id).await? {
                steps.push(StepView {
                    number: steps.len() + 1,
                    description: describe(&attempt),
                    duration: Some(attempt.duration),
                });
            }
            if turn.state == TurnEnd::Running {
                steps.push(StepView {
                    number: steps.len() + 1,
                    description: "running".to_owned(),
                    duration: None,
                });
            }
        }
        let states = self.directory.states(agent).await;
        Ok(BranchHistory {
            branch: view(row, &states),
            steps,
        })
    }

    async fn branch(
        &self,
        agent: &AgentSummary,
        number: u32,
    ) -> Result<ConversationRow, ManagerError> {
        let rows = self.deps.store.branches(agent.id).await?;
        rows.into_iter()
            .find(|row| row.number == number)
            .ok_or_else(|| {
                ManagerError::refused(format!(
                    "There is no branch #{number} of `{}`. `/branch list` shows them.",
                    agent.name
                ))
            })
    }
}

/// Nobody asked for it, so only the operator can be told. The ledger keeps what could not be saved.
fn warn_of_unsaved(agent: &AgentSummary, closed: &ClosedBranches) {
    for (number, reason) in &closed.unsaved {
        warn!(agent.id = %agent.id, "failed to save branch #{number} of {}, it stays open: {reason}", agent.name);
    }
}

fn view(row: ConversationRow, states: &[crate::agent::ConversationState]) -> BranchView {
    let state = states.iter().find(|state| state.id == row.id);
    BranchView {
        number: row.number,
        thread: row.thread,
        prompt: row.shown_prompt().to_owned(),
        role: row.role,
        last_active_at: row.last_active_at,
        running: state
            .and_then(|state| state.turn.as_ref())
            .map(|turn| turn.progress.clone()),
        messages: state.map_or(row.items, |state| state.messages as u64),
    }
}

fn describe(attempt: &AttemptRow) -> String {
    match attempt.kind {
        AttemptKind::Model => format!("asked {} ({})", attempt.model, attempt.outcome),
        AttemptKind::Tool => format!("ran {} ({})", attempt.model, attempt.outcome),
        kind => format!("{}: {} ({})", kind.as_str(), attempt.model, attempt.outcome),
    }
}
