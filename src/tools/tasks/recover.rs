//! Adopts the tasks that an earlier daemon left running.

use std::time::Duration;

use super::watch::End;
use super::{TaskError, Tasks};
use crate::domain::AgentName;
use crate::exec::{Process, TaskFiles};
use crate::store::TaskRow;

/// How often to check for the end of a process that is not our child.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long after a process's end its exit code may still appear.
const EXIT_CODE_WAIT: Duration = Duration::from_millis(500);

impl Tasks {
    /// Adopts the tasks that still run (same pid, same start time), and settles those that ended meanwhile: by the exit
    /// code that their supervisor left, or as lost. Their hooks keep their counts.
    pub async fn recover(&self) -> Result<(), TaskError> {
        for row in self.inner.store.running_tasks().await? {
            if self.live(row.task.agent, &row.id).is_some() {
                continue;
            }
            let Some(agent) = self.inner.store.agent(row.task.agent).await? else {
                continue;
            };
            let Ok(name) = AgentName::parse(&agent.name) else {
                continue;
            };
            let hooks = self.inner.store.hooks(row.task.agent, &row.id).await?;
            let end = end_of(process(&row), self.files(&name, &row.id));
            self.watch(row, name, hooks, end)?;
        }
        Ok(())
    }
}

fn process(row: &TaskRow) -> Option<Process> {
    Some(Process {
        pid: row.pid?,
        started: row.pid_started?,
    })
}

/// Waits for a process that another process started.
async fn end_of(process: Option<Process>, files: TaskFiles) -> End {
    let Some(process) = process else {
        // The daemon died after the row and before the process: nothing ran.
        return End::Lost;
    };
    while process.is_alive() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    if files.read_end().await.is_none() {
        tokio::time::sleep(EXIT_CODE_WAIT).await;
    }
    match files.read_end().await {
        Some(Ok(code)) => End::Code(code),
        Some(Err(why)) => End::Failed(why.to_string()),
        None => End::Lost,
    }
}
