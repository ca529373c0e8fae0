//! Agents' own charters as their files say: a file that compiles applies at once; otherwise the last good role stays in
//! use.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::file_news::{News, Told};
use crate::charter::{self, Catalog, Charter, Known, Problems, Role, Trust, Unreadable};
use crate::domain::AgentId;
use crate::workspace::charter_file;
use crate::workspace::{Version, Workspace};

/// What was read of all agents since the start.
#[derive(Debug, Default)]
pub struct Charters(Mutex<HashMap<AgentId, LastRead>>);

/// A `charter.md` as last read.
#[derive(Debug, Default)]
struct LastRead {
    version: Option<Version>,
    good: Option<Arc<Role>>,
    told: Told,
}

/// What an agent's `charter.md` says now.
#[derive(Clone, Debug)]
pub enum OwnRole {
    /// It has none.
    None,
    Good(Arc<Role>),
    Faulty {
        /// Every problem, a line each, with the file and the line.
        fault: String,
        /// The last one that could be used since the start.
        last: Option<Arc<Role>>,
        /// The role where the only problem is that it names missing roles: an answer must still pass its gates.
        gates: Option<Arc<Role>>,
    },
}

/// Why a `charter.md` gives no role.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("{name}: {0}", name = charter_file::NAME)]
    Folder(#[from] io::Error),
    #[error("{name}: {0}", name = charter_file::NAME)]
    File(#[from] Unreadable),
    #[error("{}", .0.of_file_named(charter_file::NAME))]
    Charter(#[from] Problems),
    /// It names roles that are not there.
    #[error("{}", .0.of_file_named(charter_file::NAME))]
    Names(Problems, Arc<Role>),
}

impl Charters {
    /// What the file in `folder` says; compiled only when it has changed. The roles that it names are looked up in `roles`.
    pub fn look(
        &self,
        agent: AgentId,
        folder: &Path,
        known: &Known<'_>,
        roles: impl FnOnce() -> Arc<Catalog>,
    ) -> OwnRole {
        let read = self.read(agent, folder, known, roles);
        let mut all = self.0.lock();
        if let Ok(None) = read
            && !all.contains_key(&agent)
        {
            return OwnRole::None;
        }
        let last = all.entry(agent).or_default();
        match read {
            Ok(None) => {
                (last.version, last.good) = (None, None);
                OwnRole::None
            }
            Ok(Some((version, role))) => {
                (last.version, last.good) = (Some(version), Some(role.clone()));
                OwnRole::Good(role)
            }
            Err(error) => {
                // A missing model or profile may be there next time.
                last.version = None;
                OwnRole::Faulty {
                    fault: error.to_string(),
                    last: last.good.clone(),
                    gates: match error {
                        ReadError::Names(_, role) => Some(role),
                        ReadError::Folder(_) | ReadError::File(_) | ReadError::Charter(_) => None,
                    },
                }
            }
        }
    }

    fn read(
        &self,
        agent: AgentId,
        folder: &Path,
        known: &Known<'_>,
        roles: impl FnOnce() -> Arc<Catalog>,
    ) -> Result<Option<(Version, Arc<Role>)>, ReadError> {
        let workspace = Workspace::open(folder)?;
        let Some(version) = charter_file::version(workspace.agent())? else {
            return Ok(None);
        };
        if let Some(role) = self.known(agent, version) {
            return Ok(Some((version, role)));
        }
        let bytes = charter_file::read(workspace.agent(), charter_file::NAME)?;
        let charter = Charter {
            path: charter_file::NAME,
            bytes: &bytes,
            trust: Trust::People,
        };
        let role = Arc::new(charter::compile(&charter, known)?);
        if role.names_roles()
            && let Err(missing) = roles().check(&role)
        {
            return Err(ReadError::Names(missing, role));
        }
        Ok(Some((version, role)))
    }

    fn known(&self, agent: AgentId, version: Version) -> Option<Arc<Role>> {
        let all = self.0.lock();
        let last = all.get(&agent)?;
        last.good.clone().filter(|_| last.version == Some(version))
    }

    /// What people are to be told about what was just read, once. For an agent that never had a charter there is nothing to
    /// tell.
    pub(in crate::agent) fn news(&self, agent: AgentId, fault: Option<&str>) -> News {
        let mut all = self.0.lock();
        match (all.get_mut(&agent), fault) {
            (Some(last), fault) => last.told.news(fault),
            (None, _) => News::None,
        }
    }
}
