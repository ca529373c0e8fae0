//! What is remembered of agents' files for [`Access`](super::Access).

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::domain::{AgentId, RoleId};
use crate::workspace::agent_file::Version;

/// What agents' files said when they were last looked at; asked for with every message, and read when they change.
#[derive(Debug, Default)]
pub(super) struct KnownAccess {
    pub(super) roles: Mutex<HashMap<AgentId, LastSeen>>,
}

/// A state of the file, and the roles it named then.
pub(super) type LastSeen = (Version, Option<Vec<RoleId>>);
