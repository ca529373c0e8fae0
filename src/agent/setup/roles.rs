//! The roles that each agent can take, compiled again only when a file of them changed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::charter::{Catalog, Known};
use crate::domain::AgentId;
use crate::workspace::Workspace;
use crate::workspace::charter_places::{Places, Stamps};

/// What was read of all agents since the start.
#[derive(Debug, Default)]
pub struct Roles(Mutex<HashMap<AgentId, (Stamps, Arc<Catalog>)>>);

impl Roles {
    /// The roles of the agent in `folder`, as their files are now, with those of its workspace if `repositories`.
    pub fn look(
        &self,
        agent: AgentId,
        (home, folder): (&Path, &Path),
        repositories: bool,
        known: &Known<'_>,
    ) -> Arc<Catalog> {
        let workspace = Workspace::open(folder).ok();
        let places = Places::open(workspace.as_ref(), home, repositories);
        let stamps = places.stamps();
        if let Some((before, catalog)) = self.0.lock().get(&agent)
            && *before == stamps
        {
            return catalog.clone();
        }
        let catalog = Arc::new(Catalog::compile(places.read(&stamps), known));
        // A role whose model or profile is missing is compiled again: it may be there next time.
        let is_whole = catalog.entries().iter().all(|entry| entry.role.is_ok());
        let mut all = self.0.lock();
        if is_whole {
            all.insert(agent, (stamps, catalog.clone()));
        } else {
            all.remove(&agent);
        }
        catalog
    }
}
