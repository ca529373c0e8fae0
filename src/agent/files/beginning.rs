//! What a turn reads of its agent at its beginning. It is read when the message comes, for who may talk to the agent stands in the
//! same files; a turn that begins in another moment reads it then.

use std::path::Path;
use std::time::{Duration, Instant};

use super::look::{Look, Wanted};
use super::seed::Brought;
use super::{DocsAndInstructions, FolderError, Hears, listing};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::setup::Configuration;
use crate::domain::{AgentName, SessionMeta};
use crate::store::StoreError;

/// How long it holds: while a message is stored and handed over, and no longer.
const FRESH: Duration = Duration::from_millis(100);

/// What was read of an agent for a turn that begins.
#[derive(Debug)]
pub struct Beginning {
    name: AgentName,
    read_at: Instant,
    pub(in crate::agent) look: Look<Surroundings>,
    /// The session of the branch that it closed last.
    pub(in crate::agent) closed_branch: Result<Option<SessionMeta>, StoreError>,
}

/// What else was read in its folder.
#[derive(Debug, Default)]
pub(in crate::agent) struct Surroundings {
    /// Top-level names of the workspace, sorted.
    pub(in crate::agent) workspace: Vec<String>,
    /// What it can know of earlier conversations, where one begins.
    pub(in crate::agent) brought: Option<Brought>,
    pub(in crate::agent) docs: Option<Result<DocsAndInstructions, FolderError>>,
    closed_branch: Option<Result<Option<SessionMeta>, StoreError>>,
}

impl Beginning {
    /// Its `agent.json`.
    pub fn configuration(&self) -> &Configuration {
        &self.look.configuration
    }

    /// Whether a turn of `agent` can begin with it now, in a conversation that has begun.
    pub(in crate::agent) fn holds_for(&self, agent: &Identity) -> bool {
        self.name == agent.name && self.read_at.elapsed() < FRESH
    }
}

impl AgentDeps {
    /// Reads what a turn begins with; where a conversation begins with it, what is known of earlier ones too.
    pub async fn beginning(&self, agent: &Identity, of_conversation: bool) -> Beginning {
        let read_at = Instant::now();
        let brings = of_conversation.then(|| self.brings(agent));
        let docs = self.docs_reader(Hears::usual());
        let (store, id) = (self.store.clone(), agent.id);
        let also = move |folder: &Path| Surroundings {
            workspace: listing(folder),
            brought: brings.map(|reads| reads(folder)),
            docs: docs(folder).transpose(),
            closed_branch: store.last_closed_branch_here(id),
        };
        let mut look = self.look_at(agent, Wanted::Roles, also).await;
        let read = look
            .also
            .as_mut()
            .and_then(|also| also.closed_branch.take());
        let closed_branch = match read {
            Some(read) => read,
            None => self.store.last_closed_branch(agent.id).await,
        };
        Beginning {
            name: agent.name.clone(),
            read_at,
            look,
            closed_branch,
        }
    }
}
