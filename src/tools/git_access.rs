//! The git hosts and forges that the operator allows for agents.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::config::{ForgeKind, Secret};

/// The hosts agents may push to, and the forges that take their merge requests.
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// By host, as URLs write it: `github.com`, or `127.0.0.1:8080` with its port.
    pub hosts: BTreeMap<String, HostAccess>,
    /// By host of the remote.
    pub forges: BTreeMap<String, ForgeAccess>,
    pub ssh: PathBuf,
}

/// Credentials for one git host.
#[derive(Clone)]
pub struct HostAccess {
    /// User name sent with the token.
    pub username: String,
    /// The token; `None` if only SSH with the operator's agent is used.
    pub token: Option<Secret>,
}

#[derive(Clone)]
pub struct ForgeAccess {
    pub kind: ForgeKind,
    /// Base URL of it, without a slash at the end.
    pub base_url: String,
    /// The token; `None` means that of the git host.
    pub token: Option<Secret>,
}

impl Default for GitAccess {
    fn default() -> Self {
        Self {
            hosts: BTreeMap::new(),
            forges: BTreeMap::new(),
            ssh: "ssh".into(),
        }
    }
}

impl fmt::Debug for HostAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostAccess")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ForgeAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgeAccess")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}
