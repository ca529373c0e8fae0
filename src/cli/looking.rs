//! Shared by the commands that read the database: a small runtime, and agents by name.

use std::future::Future;

use anyhow::{Context, anyhow};
use tokio::runtime::Runtime;

use super::failure::Failure;
use crate::config::Paths;
use crate::store::{AgentRow, Store};
use crate::text;

/// Runs `work` to its end.
pub(super) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> Result<T, Failure> {
    Ok(runtime()?.block_on(work)?)
}

/// Creates a runtime on this thread only.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    runtime.context("starting the runtime")
}

/// The database of a home, opened for reading, and all agents in it.
pub(super) struct Agents {
    pub(super) store: Store,
    rows: Vec<AgentRow>,
}

impl Agents {
    pub(super) async fn of(paths: &Paths) -> anyhow::Result<Self> {
        let store = Store::open_read_only(&paths.database()).await?;
        let rows = store.agents().await?;
        Ok(Self { store, rows })
    }

    /// Returns the agents with this name (it may have been used more than once), or all.
    pub(super) fn named(&self, name: Option<&str>) -> anyhow::Result<Vec<&AgentRow>> {
        let Some(name) = name else {
            return Ok(self.rows.iter().collect());
        };
        let found: Vec<&AgentRow> = self
            .rows
            .iter()
            .filter(|agent| agent.name == name)
            .collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let known = self.rows.iter().map(|agent| agent.name.as_str());
        Err(match text::near(name, known) {
            Some(near) => anyhow!("there is no agent {name}: did you mean {near}?"),
            None => anyhow!("there is no agent {name}"),
        })
    }
}
