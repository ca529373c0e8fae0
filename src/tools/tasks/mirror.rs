//! Keeps `running_tasks` in `agent.json` in step with the database.

use serde_json::{Map, Value, json};
use tracing::warn;

use super::{RECENT, Tasks};
use crate::clock;
use crate::domain::{AgentId, AgentName};
use crate::store::TaskRow;
use crate::workspace::{Workspace, agent_file};

impl Tasks {
    /// Updates the copy. It is only a copy: a failure is logged and the task continues.
    pub(super) async fn mirror(&self, agent: AgentId, agent_name: &AgentName) {
        let rows = match self.inner.store.tasks(agent, RECENT).await {
            Ok(rows) => rows,
            Err(error) => {
                warn!(%error, "failed to read the tasks of {agent_name}");
                return;
            }
        };
        let folder = self.folder(agent_name);
        let mirrored: Vec<Value> = rows.iter().rev().map(entry).collect();
        let written = tokio::task::spawn_blocking(move || {
            let workspace = Workspace::open(&folder)?;
            agent_file::rewrite(workspace.agent(), |file| {
                file.insert("running_tasks".to_owned(), Value::Array(mirrored));
            })
        });
        if let Ok(Err(error)) = written.await {
            warn!(%error, "failed to write running_tasks of {agent_name}");
        }
    }
}

/// Returns one task in the form for `agent.json`.
fn entry(row: &TaskRow) -> Value {
    let mut entry = Map::new();
    entry.insert("id".into(), json!(row.id));
    entry.insert("command".into(), json!(row.task.command));
    entry.insert("started_at".into(), json!(clock::rfc3339(row.started_at)));
    entry.insert("pid".into(), json!(row.pid));
    entry.insert("status".into(), json!(row.status.as_str()));
    if let Some(code) = row.exit_code {
        entry.insert("exit_code".into(), json!(code));
    }
    if let Some(ended) = row.ended_at {
        entry.insert("ended_at".into(), json!(clock::rfc3339(ended)));
    }
    Value::Object(entry)
}
