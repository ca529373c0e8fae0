//! Agents' configurations as their files say: a file that can be used applies at once; otherwise the last good one stays in
//! use.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinError;

use super::core_agents::CoreAgents;
use super::file_news::{News, Told};
use crate::domain::{AgentConfig, AgentId, MOST_ADVISORS, MOST_HANDOFFS, ProfileRef, RoleId};
use crate::permission::Profiles;
use crate::workspace::agent_file::{self, AgentFile};
use crate::workspace::{Version, Workspace};

/// Most seconds of a timeout: a year. Much longer ones cannot be added to a time.
const LONGEST: u64 = 365 * 86_400;

/// What was read of all agents since the start.
#[derive(Debug, Default)]
pub struct Configurations {
    read: Mutex<HashMap<AgentId, LastRead>>,
    /// The agents that go first, according to the same files.
    pub core: CoreAgents,
}

/// An `agent.json` as last read.
#[derive(Debug, Default)]
struct LastRead {
    version: Option<Version>,
    good: Option<Arc<AgentConfig>>,
    /// The roles that it named when its keys could last be read, whether or not all values could be used.
    roles: Option<OwnRoles>,
    told: Told,
}

/// The `access_roles` of an `agent.json`; `None` where those of the server apply.
pub(super) type OwnRoles = Option<Vec<RoleId>>;

/// Why an `agent.json` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// File, line and reason.
    pub text: String,
    /// The roles that it names, where its keys can be read and only a value is wrong.
    roles: Option<OwnRoles>,
    /// The agent's whole folder is missing.
    pub is_folder_missing: bool,
}

impl Fault {
    fn unreadable(text: String) -> Self {
        Self {
            text,
            roles: None,
            is_folder_missing: false,
        }
    }
}

/// What an `agent.json` says now.
#[derive(Clone, Debug)]
pub enum Configuration {
    /// It can be used.
    Good(Arc<AgentConfig>),
    Faulty {
        fault: Fault,
        /// The last one that could be used since the start.
        last: Option<Arc<AgentConfig>>,
        /// The roles that apply: those last read since the start.
        roles: Option<OwnRoles>,
    },
}

impl Configuration {
    /// Whether the agent's whole folder is missing.
    pub(in crate::agent) fn is_folder_missing(&self) -> bool {
        matches!(self, Self::Faulty { fault, .. } if fault.is_folder_missing)
    }

    /// Whether instructions of the workspace's repositories are used. None are while the agent's own file cannot be read.
    pub(in crate::agent) fn repo_instructions(&self) -> bool {
        match self {
            Self::Good(config)
            | Self::Faulty {
                last: Some(config), ..
            } => config.repo_instructions.unwrap_or(true),
            Self::Faulty { last: None, .. } => false,
        }
    }
}

impl Configurations {
    /// What the file in `folder` says; read only when it has changed.
    pub fn look(&self, agent: AgentId, folder: &Path, profiles: &Profiles) -> Configuration {
        let read = self.read_file(agent, folder, profiles);
        let mut all = self.read.lock();
        let last = all.entry(agent).or_default();
        match read {
            Ok((version, config)) => {
                self.core.note(agent, config.core.unwrap_or_default());
                last.version = Some(version);
                last.roles = Some(config.access_roles.clone());
                last.good = Some(config.clone());
                Configuration::Good(config)
            }
            Err(fault) => {
                // Without its version, the file is read again when it changes back.
                last.version = None;
                if fault.roles.is_some() {
                    last.roles.clone_from(&fault.roles);
                }
                Configuration::Faulty {
                    fault,
                    last: last.good.clone(),
                    roles: last.roles.clone(),
                }
            }
        }
    }

    /// The state of a file that `error` kept from being read.
    pub(in crate::agent) fn unread(&self, agent: AgentId, error: &JoinError) -> Configuration {
        let all = self.read.lock();
        let known = all.get(&agent);
        Configuration::Faulty {
            fault: Fault::unreadable(format!("agent.json: {error}")),
            last: known.and_then(|known| known.good.clone()),
            roles: known.and_then(|known| known.roles.clone()),
        }
    }

    fn read_file(
        &self,
        agent: AgentId,
        folder: &Path,
        profiles: &Profiles,
    ) -> Result<(Version, Arc<AgentConfig>), Fault> {
        let workspace = Workspace::open(folder).map_err(|error| Fault {
            is_folder_missing: error.kind() == io::ErrorKind::NotFound,
            ..Fault::unreadable(format!("{}: {error}", folder.display()))
        })?;
        let version = Version::of(workspace.agent(), agent_file::NAME)
            .map_err(|error| Fault::unreadable(format!("agent.json: {error}")))?;
        if let Some(config) = self.known(agent, version)
            && is_still_named(&config.permissions, profiles)
        {
            return Ok((version, config));
        }
        let file = agent_file::read(workspace.agent())
            .map_err(|error| Fault::unreadable(error.to_string()))?;
        check(&file, profiles)?;
        Ok((version, Arc::new(file.config)))
    }

    fn known(&self, agent: AgentId, version: Version) -> Option<Arc<AgentConfig>> {
        let all = self.read.lock();
        let last = all.get(&agent)?;
        last.good.clone().filter(|_| last.version == Some(version))
    }

    /// What people are to be told about what was just read, once.
    pub(in crate::agent) fn news(&self, agent: AgentId, fault: Option<&Fault>) -> News {
        let mut all = self.read.lock();
        let told = &mut all.entry(agent).or_default().told;
        told.news(fault.map(|fault| fault.text.as_str()))
    }
}

/// A profile that is spelled out stays valid; a named one may be removed from `config.json`.
fn is_still_named(profile: &ProfileRef, profiles: &Profiles) -> bool {
    match profile {
        ProfileRef::Named(_) => profiles.resolve(profile).is_ok(),
        ProfileRef::Custom(_) => true,
    }
}

/// Values of the right type that still cannot be used.
fn check(file: &AgentFile, profiles: &Profiles) -> Result<(), Fault> {
    let config = &file.config;
    let fault = |key: &str, reason: &str| {
        Err(Fault {
            roles: Some(config.access_roles.clone()),
            ..Fault::unreadable(file.fault(key, reason))
        })
    };
    if let Err(error) = profiles.resolve(&config.permissions) {
        return fault("permissions", &error.to_string());
    }
    let advisors = config.advisors.as_ref().map_or(0, Vec::len);
    if advisors > MOST_ADVISORS {
        return fault("advisors", &format!("name at most {MOST_ADVISORS} roles"));
    }
    let handoff = config.handoff.as_ref().map_or(0, Vec::len);
    if handoff > MOST_HANDOFFS {
        return fault("handoff", &format!("name at most {MOST_HANDOFFS} roles"));
    }
    let timeouts = [
        ("idle_timeout", config.idle_timeout, 0),
        ("turn_timeout", config.turn_timeout, 1),
        ("notify_after", config.notify_after, 0),
    ];
    for (key, timeout, least) in timeouts {
        if timeout.is_some_and(|seconds| !(least..=LONGEST).contains(&seconds)) {
            let reason = format!("write seconds from {least} to {LONGEST} (a year), or null");
            return fault(key, &reason);
        }
    }
    let budgets = [
        ("budget_turn", config.budget_turn),
        ("budget_day", config.budget_day),
    ];
    for (key, budget) in budgets {
        if budget.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return fault(key, "write US dollars, 0 or more, or null");
        }
    }
    Ok(())
}
