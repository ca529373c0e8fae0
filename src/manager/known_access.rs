//! What is remembered of agents' files for [`Access`](super::Access).

use std::collections::HashMap;
use std::time::SystemTime;

use parking_lot::Mutex;

use crate::domain::{AgentId, RoleId};

/// What agents' files said when they were last looked at; asked for with every message, and read when they change.
#[derive(Debug, Default)]
pub(super) struct KnownAccess {
    pub(super) roles: Mutex<HashMap<AgentId, LastSeen>>,
}

/// A file's look, and the roles it named then.
pub(super) type LastSeen = (Stamp, Option<Vec<RoleId>>);

/// What changes when a file does.
pub(super) type Stamp = (Option<SystemTime>, u64);
