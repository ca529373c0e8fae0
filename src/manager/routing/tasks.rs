//! The background tasks of agents: listed, ended, and their logs read.
//!
//! What tasks cause in agents is in `task_events`.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::agent::AgentDeps;
use crate::domain::{AgentId, Person, TaskId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::tools::tasks::{TaskView, Tasks};

/// Bytes at the end of a log in which its last lines are looked for.
const LOG_END: u64 = 64 << 10;

/// The background tasks of agents, for people.
pub(crate) struct AgentTasks {
    pub(crate) deps: Arc<AgentDeps>,
}

impl AgentTasks {
    /// Running tasks of an agent, and those that ended lately.
    pub(crate) async fn list(&self, agent: &AgentSummary) -> Result<Vec<TaskView>, ManagerError> {
        let views = self.registry()?.views(agent.id).await;
        views.map_err(|error| ManagerError::Failed(error.to_string()))
    }

    /// Ends a task of an agent.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub(crate) async fn stop(
        &self,
        agent: &AgentSummary,
        task: &str,
    ) -> Result<String, ManagerError> {
        let id = TaskId(task.trim().to_owned());
        let ended = self.registry()?.stop(agent.id, &id).await;
        ended.map_err(|error| ManagerError::refused(format!("{error}.")))?;
        Ok(format!("Stopped {id}."))
    }

    /// The latest lines that a task of an agent has printed, for `by`.
    ///
    /// # Errors
    ///
    /// When there is no such task, or it belongs to a run whose words pass a role and `by` does not manage the server.
    pub(crate) async fn logs(
        &self,
        agent: &AgentSummary,
        task: &str,
        lines: usize,
        by: &Person,
    ) -> Result<Vec<String>, ManagerError> {
        let id = TaskId(task.trim().to_owned());
        let tasks = self.registry()?;
        let row = tasks.row(agent.id, &id).await;
        let row = row.map_err(|error| ManagerError::refused(format!("{error}.")))?;
        if row.hides_words && !(by.may_manage_server || by.is_administrator) {
            return Err(ManagerError::refused(format!(
                "Only members with Manage Server may see what {id} prints, because a role checks this agent's answers before people see them."
            )));
        }
        let mut all = match tasks.tail(agent.id, &id) {
            Some(tail) => tail,
            None => {
                let files = tasks.files(&agent.name, &id);
                let read = tokio::task::spawn_blocking(move || {
                    [ends(&files.stdout), ends(&files.stderr)].concat()
                });
                read.await
                    .map_err(|error| ManagerError::Failed(error.to_string()))?
            }
        };
        let over = all.len().saturating_sub(lines);
        all.drain(..over);
        Ok(all)
    }

    fn registry(&self) -> Result<&Tasks, ManagerError> {
        match &self.deps.services.shell {
            Ok(shell) => Ok(&shell.tasks),
            Err(why) => Err(ManagerError::refused(format!(
                "Commands cannot run on this machine: {why}."
            ))),
        }
    }

    pub(crate) async fn end_all(&self, agent: AgentId) {
        if let Ok(tasks) = self.registry() {
            tasks.stop_all(agent).await;
        }
    }

    pub(crate) fn any_running(&self, agent: &AgentSummary) -> bool {
        self.registry()
            .is_ok_and(|tasks| tasks.any_running(agent.id))
    }
}

/// The last lines of the log of a task that has ended.
fn ends(log: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(LOG_END);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(LOG_END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .lines()
        .map(str::to_owned)
        .collect()
}
